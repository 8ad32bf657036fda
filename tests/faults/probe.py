"""Asks a server (port, process) for /healthz until stdin closes, and prints how many seconds each answer took.

A process of its own: in the attacker's, it would wait for Python's lock. Time in which a thread only waited for a core
does not count, here or in the server (where it may have held Python's lock): other tests run on this machine.
"""

import json
import os
import select
import socket
import sys
import time

GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LEAST = 10
PAUSE = 0.02


def main(port: int, process: int) -> None:
    seconds: list[float] = []
    while len(seconds) < LEAST or not select.select([sys.stdin], [], [], PAUSE)[0]:
        here, there, start = waits("self"), all_waits(process), time.perf_counter()
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(GET)
            assert connection.recv(1000).startswith(b"HTTP/1.1 200 ")
        took = time.perf_counter() - start
        waited = max(after - there.get(task, after) for task, after in all_waits(process).items())
        seconds.append(max(0.0, took - waited - (waits("self") - here)))
    print(json.dumps(seconds))


def all_waits(process: int) -> dict[str, float]:
    return {task: waits(f"{process}/task/{task}") for task in os.listdir(f"/proc/{process}/task")}


def waits(task: str) -> float:
    """Seconds that a thread was ready to run and had no core."""
    try:
        with open(f"/proc/{task}/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except FileNotFoundError:  # it has just ended
        return 0.0


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

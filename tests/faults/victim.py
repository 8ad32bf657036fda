"""A real server process that tests attack, and what is measured meanwhile."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPResponse
from pathlib import Path
from typing import IO

import httpx

ROOT = Path(__file__).parents[2]
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
PROBE = Path(__file__).with_name("probe.py")
HEALTH_SECONDS, LONGEST_SECONDS = 0.1, 0.5
"""The bounds of /healthz during an attack: of 99 in 100 probes (of few, all but one), and of every probe."""


@dataclass
class Victim:
    """A server on a port of this machine."""

    process: "subprocess.Popen[str]"
    said: list[str] = field(default_factory=list)
    """What it printed before it was ready."""

    @property
    def url(self) -> str:
        return self.link.partition("/?")[0]

    @property
    def link(self) -> str:
        """The address that it printed, with its token if it has one."""
        line = next(line for line in self.said if "is ready" in line)
        return next(word for word in line.split() if word.startswith("http"))

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", httpx.URL(self.url).port or 80

    def connect(self, timeout: float = 20) -> socket.socket:
        return socket.create_connection(self.address, timeout=timeout)

    def ask(self, data: bytes) -> bytes:
        """Everything that comes back on a connection of its own, until the server closes it."""
        with self.connect() as connection:
            connection.sendall(data)
            return read_all(connection)

    def stop_while_it_streams(self, seconds: float) -> None:
        """SIGTERM in the middle of a generation: its client gets an `error` event, and the process ends in time."""
        slow = {"text": "a" * 200, "max_new_tokens": 256, "masks": {"causal": False}}
        with httpx.stream("POST", f"{self.url}/api/generate", json=slow, timeout=60) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith("event: ")
            self.process.send_signal(signal.SIGTERM)
            said = [*lines]
        assert '"code":"stopping"' in "".join(said)
        assert self.process.wait(seconds) == 0

    def metric(self, name: str) -> float:
        page = httpx.get(f"{self.url}/metrics").text
        return float(next(line for line in page.splitlines() if line.startswith(name)).split()[-1])

    def memory(self, field: str = "VmRSS") -> float:
        """The process's memory in MB; `VmHWM`: the largest since the peak was last forgotten."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return float(status.split(f"{field}:")[1].split()[0]) / 1024

    @contextmanager
    def attacked(self, megabytes: float) -> Iterator[None]:
        """Checks that in this block the server's memory grows by no more than `megabytes`, and that it stays quick."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")  # forget the peak
        before = self.memory()
        probing = [sys.executable, "-S", "-E", str(PROBE), str(self.address[1]), str(self.process.pid)]
        with subprocess.Popen(probing, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as prober:
            try:
                yield
            finally:
                seconds = json.loads(prober.communicate()[0])
        assert self.process.poll() is None
        p99 = sorted(seconds)[99 * (len(seconds) - 1) // 100]
        grown = self.memory("VmHWM") - before
        print(f"p99 of {len(seconds)} probes: {1000 * p99:.1f} ms; memory +{grown:.1f} MB")
        assert p99 <= HEALTH_SECONDS
        assert max(seconds) <= LONGEST_SECONDS
        assert grown <= megabytes


@contextmanager
def serving(
    *args: str, files: int | None = None, log: int | IO[str] = subprocess.DEVNULL, **settings: object
) -> Iterator[Victim]:
    """`chumoku serve` on a free port, with these settings, until the block ends. Its stderr goes to `log`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CHUMOKU_")}
    environment |= {f"CHUMOKU_{name.upper()}": str(value) for name, value in settings.items()}
    environment |= {"CHUMOKU_DEVICE": "cpu", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "chumoku", "serve", "--port", "0", *args]
    if files is not None:  # the soft limit is half of the hard one
        limit = f'ulimit -Sn {files // 2} && ulimit -Hn {files} && exec "$@"'
        command = ["sh", "-c", limit, "sh", *command]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log, text=True) as process:
        victim = Victim(process)
        assert process.stdout is not None
        try:
            for line in process.stdout:
                victim.said.append(line)
                if "Ctrl+C" in line and "--host" not in args:
                    break
                if "can use this server" in line:
                    break
            assert process.poll() is None
            yield victim
        finally:
            process.send_signal(signal.SIGKILL)


def status_of(answer: bytes) -> int:
    return int(answer[9:12])


def status_after(connection: socket.socket, request: bytes) -> int:
    """The status of the answer to a request. The answer is read to its end; the connection stays open."""
    connection.sendall(request)
    with HTTPResponse(connection) as response:
        response.begin()
        response.read()
        return response.status


def read_all(connection: socket.socket) -> bytes:
    """What arrives until the server closes or resets the connection."""
    parts = []
    try:
        while part := connection.recv(65_536):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)

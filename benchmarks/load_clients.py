"""A process of clients for `benchmarks.load`. It reads its orders as JSON from stdin, prints `ready`, and waits until
the start time.

A client is one person's page. It sends what the page sends, and abandons requests that it no longer needs.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class Client:
    """One person. `seconds`: the times of the answers that a person waits for; `refused`: how many answers were a 503;
    `kept`: the steps and their answers, if the order says `keep`."""

    order: Json
    seconds: list[float] = field(default_factory=list)
    refused: int = 0
    failed: int = 0
    tokens: int = 0
    kept: list[Json] = field(default_factory=list)

    async def post(self, path: str, body: Json, until: bytes | None = None) -> tuple[float, bytes]:
        """The seconds until the answer, or its part `until`, had arrived, and the answer. Waits and retries after a
        503, as the page does."""
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
        head += "Accept-Encoding: gzip\r\n"  # as browsers do
        head += f"X-Session-Id: {os.getpid()}-{id(self)}\r\n"  # as the page has one
        request = f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content
        began = time.perf_counter()
        while True:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.order["port"], limit=2**20)
            try:
                writer.write(request)
                answer, came = b"", 0.0
                while chunk := await reader.read(65536):
                    answer += chunk
                    if not came and until is not None and until in answer:
                        came = time.perf_counter()
            finally:
                writer.close()
            if b" 503 " not in answer[:20]:
                self.failed += b" 200 " not in answer[:20]
                return (came or time.perf_counter()) - began, answer
            self.refused += 1
            await asyncio.sleep(1 + random.random())

    async def run(self, start: float) -> None:
        await asyncio.sleep(max(0.0, start + self.order["after"] - time.time()))
        await {"step": self.steps, "type": self.types, "stream": self.streams, "ask": self.asks}[self.order["kind"]]()

    async def steps(self) -> None:
        """One step every `every` seconds, each followed by the requests of the open panels for the new token."""
        ids = list(self.order["ids"])
        for _ in range(self.order["times"]):
            began = time.perf_counter()
            seconds, answer = await self.post("/api/generate", self.order["step"] | {"token_ids": ids}, b"event: end")
            self.seconds.append(seconds)
            if self.order.get("keep"):
                self.kept.append({"ids": list(ids), "answer": answer.partition(b"\r\n\r\n")[2].decode()})
            ids += drawn(answer)
            follow = asyncio.create_task(self.follow(self.order["follow"], {"token_ids": ids}))
            await asyncio.sleep(max(0.0, self.order["every"] - (time.perf_counter() - began)))
            await left(follow)

    async def types(self) -> None:
        """A new sentence every `every` seconds; open requests for the previous sentence are abandoned."""
        for text in self.order["texts"]:
            task = asyncio.create_task(self.sentence(text))
            await asyncio.sleep(self.order["every"])
            if not task.done():
                self.seconds.append(self.order["every"])
            await left(task)

    async def sentence(self, text: str) -> None:
        seconds, _ = await self.post("/api/trace", self.order["overview"] | {"text": text})
        self.seconds.append(seconds)
        with suppress(asyncio.CancelledError):
            await self.follow(self.order["follow"], {"text": text})

    async def follow(self, requests: list[Json], what: Json) -> None:
        for one in requests:
            await asyncio.sleep(one["after"])
            await self.post(one["path"], one["body"] | what)

    async def asks(self) -> None:
        """One request after the other, as fast as they are answered."""
        for body in self.order["bodies"]:
            seconds, _ = await self.post(self.order["path"], body)
            self.seconds.append(seconds)

    async def streams(self) -> None:
        seconds, answer = await self.post("/api/generate", self.order["stream"] | {"token_ids": self.order["ids"]})
        self.seconds.append(seconds)
        self.tokens += answer.count(b"event: step")
        self.failed += b"event: end" not in answer

    def told(self) -> Json:
        names = ("seconds", "refused", "failed", "tokens", "kept")
        return {name: getattr(self, name) for name in names}


def drawn(answer: bytes) -> list[int]:
    """The ids of the tokens in a stream of events."""
    steps = [part.partition(b"\n\n")[0] for part in answer.split(b"event: step\ndata: ")[1:]]
    return [json.loads(step)["token"]["id"] for step in steps]


async def left(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def run(clients: list[Client], start: float) -> None:
    await asyncio.gather(*(client.run(start) for client in clients))


if __name__ == "__main__":
    made = [Client(order) for order in json.loads(sys.stdin.readline())]
    print("ready", flush=True)
    asyncio.run(run(made, float(sys.stdin.readline())))
    print(json.dumps([client.told() for client in made]))

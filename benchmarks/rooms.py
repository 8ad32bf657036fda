"""A class of 300 in one room: how soon all have what the teacher shows, whether every answer counts, and what it costs.

The clients are 300 connections of this process, on the server's machine.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from contextlib import suppress
from typing import Any

import httpx

from benchmarks.load import DETAIL, HEADS, OVERVIEW, WRITES, prompt
from benchmarks.measure import Row
from benchmarks.start import server, wait_for_trace
from chumoku.app.services.rooms.limits import TEACHER_SECONDS

Json = dict[str, Any]
PUPILS, CHANGES, ANSWER_SECONDS = 300, 20, 3.0
TOKENS, FOLLOWERS = 16, 50
W_O = "layers.2.attn.w_o.weight"
OUTPUT = {"model": "stories-gpt", "want": [W_O], "columns": list(range(7 * 32, 8 * 32))}
"""Once for each head, of 32 dimensions: with it the page says how far a value moves the stream."""
JOBS = 'chumoku_work_seconds_count{kind="trace"}'


def measure() -> list[Row]:
    with server(answer_cache=2**26) as (process, url):
        wait_for_trace(url)
        return asyncio.run(a_class(process.pid, url))


async def a_class(pid: int, url: str) -> list[Row]:
    limits = httpx.Limits(max_connections=40)
    async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:
        opened = (await client.post("/api/rooms", json={})).json()
        teacher = {"x-room-key": opened["key"]}
        keys = await asyncio.gather(*(joined(client, opened["code"]) for _ in range(PUPILS)))
        before = resident(pid)
        pupils = [Pupil(key, int(url.rpartition(":")[2])) for key in keys]
        tasks = [asyncio.create_task(pupil.watch()) for pupil in pupils]
        await asyncio.gather(*(pupil.first.wait() for pupil in pupils))
        rows = [await leading(client, teacher, pupils), await answering(client, teacher, pupils)]
        rows.append(Row(f"memory of a room of {PUPILS}", (resident(pid) - before) / 2**20, "MB", 50))
        rows += await following(client)
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await client.delete("/api/room", headers=teacher)
        return rows


async def joined(client: httpx.AsyncClient, code: str) -> str:
    answer = await client.post("/api/rooms/join", json={"code": code})
    return str(answer.raise_for_status().json()["key"])


class Pupil:
    """One stream. `came`: when each link of the teacher's arrived."""

    def __init__(self, key: str, port: int) -> None:
        self.key, self.port = key, port
        self.first, self.came = asyncio.Event(), dict[str, float]()

    async def watch(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(
            f"GET /api/room/events HTTP/1.1\r\nHost: localhost\r\nX-Room-Key: {self.key}\r\n\r\n".encode("ascii")
        )
        try:
            while line := await reader.readline():
                if line.startswith(b'data: {"lead"'):
                    self.first.set()
                    lead = json.loads(line[6:])["lead"]
                    if lead is not None:
                        self.came.setdefault(lead["link"], time.perf_counter())
        finally:
            writer.close()


async def leading(client: httpx.AsyncClient, teacher: Json, pupils: list[Pupil]) -> Row:
    """From the teacher's request to each pupil's event."""
    seconds = []
    for n in range(CHANGES):
        link, began = f"./?layer={n}#text=Tom+lost+his+red+car.", time.perf_counter()
        message = {"message": {"kind": "lead", "link": link}}
        (await client.post("/api/room", json=message, headers=teacher)).raise_for_status()
        while not all(link in pupil.came for pupil in pupils):
            await asyncio.sleep(0.01)
        seconds += [pupil.came[link] - began for pupil in pupils]
        await asyncio.sleep(TEACHER_SECONDS)  # the server takes ten changes a second
    seconds.sort()
    what = f"a change of the teacher's, until {PUPILS} pupils have it: p95"
    note = f"median {1000 * statistics.median(seconds):.0f} ms; all after {1000 * seconds[-1]:.0f}"
    return Row(what, 1000 * seconds[int(0.95 * len(seconds))], "ms", 500, note=note)


async def answering(client: httpx.AsyncClient, teacher: Json, pupils: list[Pupil]) -> Row:
    """Everybody votes at some moment of three seconds."""
    asked = {"message": {"kind": "ask", "ask": "Which?", "options": ["a", "b", "c"]}}
    (await client.post("/api/room", json=asked, headers=teacher)).raise_for_status()
    question = (await client.get("/api/room", headers=teacher)).json()["room"]["question"]["id"]
    chance, seconds = random.Random(1), []

    async def vote(pupil: Pupil, after: float) -> None:
        await asyncio.sleep(after)
        message = {"kind": "vote", "question": question, "round": 1, "choice": chance.randrange(3)}
        began = time.perf_counter()
        answer = await client.post("/api/room", json={"message": message}, headers={"x-room-key": pupil.key})
        answer.raise_for_status()
        seconds.append(time.perf_counter() - began)

    await asyncio.gather(*(vote(pupil, ANSWER_SECONDS * chance.random()) for pupil in pupils))
    shown = (await client.get("/api/room", headers=teacher)).json()["room"]["question"]
    what = f"{PUPILS} answers within {ANSWER_SECONDS:.0f} s: how many are counted, each once"
    note = f"p95 of an answer {1000 * sorted(seconds)[int(0.95 * len(seconds))]:.0f} ms"
    return Row(what, sum(shown["counts"][0]), "", PUPILS, at_most=False, note=note)


async def following(client: httpx.AsyncClient) -> list[Row]:
    """What followers ask for when the teacher opens another sentence, with a head open."""
    sentence = {"token_ids": (prompt(7) + prompt(8))[:TOKENS]}
    before = await jobs(client)
    answers = await asyncio.gather(*(client.post("/api/trace", json=OVERVIEW | sentence) for _ in range(FOLLOWERS)))
    computed = await jobs(client) - before
    asked = [await client.post(one["path"], json=one["body"] | sentence) for one in (DETAIL, WRITES, HEADS)]
    asked.append(await client.post("/api/weights", json=OUTPUT))
    sizes = [answer.raise_for_status().num_bytes_downloaded / 1000 for answer in [answers[0], *asked]]
    overview, head, writes, labels, output = sizes
    of_head = f"its numbers {head:.0f}, what it writes {writes:.0f}, its part of W_O {output:.0f}"
    of_sentence = f"overview {overview:.0f}, the open head's numbers {head:.0f}, labels of all heads {labels:.0f}"
    what = "a follower's download for another"
    return [
        Row(f"traces computed for {FOLLOWERS} followers of one state", computed, "", 1),
        Row(f"{what} head, {TOKENS} tokens", head + writes + output, "kB", 60, note=of_head),
        Row(f"{what} sentence of {TOKENS} tokens", sum(sizes) - output, "kB", 60, note=of_sentence),
    ]


async def jobs(client: httpx.AsyncClient) -> float:
    """Traces that the server has computed."""
    page = (await client.get("/metrics")).text
    return float(next(line.rpartition(" ")[2] for line in page.splitlines() if line.startswith(JOBS)))


def resident(pid: int) -> int:
    """A process's memory in bytes."""
    with open(f"/proc/{pid}/status") as file:
        return 1024 * int(next(line.split()[1] for line in file if line.startswith("VmRSS")))

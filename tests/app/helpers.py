"""How tests read the app's answers, without using the app's own code."""

import json
from typing import Any

import anyio
import numpy as np
import safetensors.numpy
from anyio.lowlevel import checkpoint
from httpx import AsyncClient, Response

TEXT = "Once upon a time there was a little dog."


async def settled() -> None:
    """Until all other tasks wait. anyio looks again only after 0.1 s, so they have some turns before it looks."""
    for _ in range(10):
        await checkpoint()
    await anyio.wait_all_tasks_blocked()


def cell(**where: Any) -> dict[str, Any]:
    """An intervention that forbids a cell of the first head's mask."""
    return {"kind": "mask", "where": {"layer": 0, "head": 0, "query": 0, "key": 0} | where, "allow": False}


def head(**where: Any) -> dict[str, Any]:
    """An intervention that switches the first head off."""
    return {"kind": "ablate", "where": {"layer": 0, "head": 0} | where}


def decode(body: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """A safetensors body: its tensors, and the JSON in its metadata under `chumoku`."""
    length = int.from_bytes(body[:8], "little")
    header = json.loads(body[8 : 8 + length])
    return safetensors.numpy.load(body), json.loads(header["__metadata__"]["chumoku"])


async def trace(client: AsyncClient, **request: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    response = await client.post("/api/trace", json={"text": TEXT} | request)
    assert response.status_code == 200, response.text
    return decode(response.content)


async def refused(client: AsyncClient, path: str, status: int, code: str, **request: Any) -> dict[str, Any]:
    """Post a request that must be refused in the usual error shape; returns the error."""
    response = await client.post(path, json=request)
    return error_of(response, status, code)


def error_of(response: Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    error: dict[str, Any] = response.json()["error"]
    assert error["code"] == code
    assert error["message"]
    assert error["hint"]
    assert set(error) <= {"code", "message", "hint", "where", "got", "limit", "known"}
    return error


def samples(page: str) -> dict[str, float]:
    """A page of `/metrics`: each sample's value under its name and labels."""
    lines = [line.rpartition(" ") for line in page.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


async def metrics(client: AsyncClient) -> dict[str, float]:
    response = await client.get("/metrics")
    assert response.status_code == 200
    return samples(response.text)


def parse_events(stream: str) -> list[tuple[str, dict[str, Any]]]:
    """Server-sent events as (name, data)."""
    events = []
    for block in stream.replace("\r\n", "\n").strip().split("\n\n"):
        lines = [line.partition(": ") for line in block.split("\n") if not line.startswith(":")]
        names = [value for field, _, value in lines if field == "event"]
        data = "\n".join(value for field, _, value in lines if field == "data")
        if names:
            events.append((names[0], json.loads(data)))
    return events

"""Whether a busy server answers like an idle one: the same steps are requested again, one after the other."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import httpx

from benchmarks.measure import Row

Json = dict[str, Any]
PROBABILITY, BYTE = 1e-5, 1
"""By how much a probability, and a weight as a byte, may differ: batched results differ in the last bits."""


@dataclass(frozen=True)
class Apart:
    """By how much two answers to one request differ. `other`: they differ in a token, or in the u that drew it."""

    other: bool = False
    probability: float = 0.0
    byte: int = 0

    @property
    def too_far(self) -> bool:
        return self.other or self.probability > PROBABILITY or self.byte > BYTE


def compared(url: str, step: Json, kept: Sequence[Json]) -> Row:
    """How many answers of an idle server to the steps that clients kept are too far from theirs. Raises `ValueError` if
    they kept none, because an empty comparison would pass."""
    if not kept:
        raise ValueError("no client kept a step to compare")
    with httpx.Client(base_url=url) as client:
        asked = (client.post("/api/generate", json=step | {"token_ids": one["ids"]}) for one in kept)
        found = [apart(one["answer"], answer.text) for one, answer in zip(kept, asked, strict=True)]
    probability, byte = max(one.probability for one in found), max(one.byte for one in found)
    note = f"of {len(found)}; a probability is at most {probability:.1g} apart, a weight {byte}/255"
    what = "one process: steps under load that an idle server answers otherwise"
    return Row(what, sum(one.too_far for one in found), "", 0, note=note)


def apart(busy: str, idle: str) -> Apart:
    """The difference between two answers of /api/generate."""
    pairs = [*zip_longest(events(busy), events(idle), fillvalue={})]
    other = any(drawn(a) != drawn(b) or len(weights(a)) != len(weights(b)) for a, b in pairs)
    probabilities = [abs(p[name] - q[name]) for a, b in pairs for p, q in both(a, b) for name in ("before", "after")]
    cells = [abs(x - y) for a, b in pairs for x, y in zip(weights(a), weights(b), strict=False)]
    return Apart(other, max(probabilities, default=0.0), max(cells, default=0))


def events(answer: str) -> list[Json]:
    """The data of the `start` event and of each step. Chunk sizes may appear between events."""
    return [json.loads(data) for data in re.findall(r"event: (?:start|step)\ndata: (.*)\n\n", answer)]


def drawn(event: Json) -> tuple[int | None, float | None]:
    return event.get("token", {}).get("id"), event.get("u")


def both(a: Json, b: Json) -> Iterator[tuple[Json, Json]]:
    """Pairs of records with probabilities: of the token that was drawn, and of each candidate that both events list."""
    if "before" in a and "before" in b:
        yield a, b
    listed = [{one["id"]: one for one in (event.get("prediction") or {}).get("candidates", ())} for event in (a, b)]
    yield from ((listed[0][known], listed[1][known]) for known in listed[0].keys() & listed[1].keys())


def weights(event: Json) -> bytes:
    """The attention weights of an event's rows, as bytes."""
    rows = event.get("rows") or {}
    return b"".join(base64.b64decode(rows[name]["data"]) for name in sorted(rows))

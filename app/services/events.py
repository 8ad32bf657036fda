"""What a stream of server-sent events is made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
"""ASCII, unlike that of explanations: clients that split lines as Python does (httpx) also end them at U+2028."""


@dataclass(frozen=True)
class Event:
    """One message of the stream; `data` is JSON. It is encoded where it is made: not on the event loop."""

    name: str
    data: dict[str, Any]
    encoded: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        encoded = f"event: {self.name}\ndata: {ENCODER.encode(self.data)}\n\n".encode()
        object.__setattr__(self, "encoded", encoded)


@dataclass(frozen=True)
class Piece:
    """Several messages that are sent at once."""

    encoded: bytes


def piece(events: Sequence[Event]) -> Piece:
    return Piece(b"".join(event.encoded for event in events))

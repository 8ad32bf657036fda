"""What a stream of server-sent events is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Event:
    """One message of the stream; `data` is JSON."""

    name: str
    data: dict[str, Any]

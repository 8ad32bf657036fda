"""A connection's transport, as uvicorn sees it."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Protocol

try:
    from fcntl import ioctl
    from termios import TIOCOUTQ
except ImportError:  # Windows
    ioctl = None  # type: ignore[assignment]


class TransportOwner(Protocol):
    """What `CountingTransport` needs of its connection."""

    leaving: bool
    written: int

    def leave(self) -> None: ...


class CountingTransport:
    """A transport that counts the bytes written. Closing it lets the connection `leave`, which sends all of them."""

    def __init__(self, transport: asyncio.Transport, owner: TransportOwner) -> None:
        self._transport, self._owner = transport, owner

    def write(self, data: bytes) -> None:
        if not self._owner.leaving:
            self._owner.written += len(data)
            self._transport.write(data)

    def close(self) -> None:
        self._owner.leave()

    def is_closing(self) -> bool:
        return self._owner.leaving or self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def system_buffer(transport: asyncio.Transport) -> int:
    """Bytes in the kernel's send buffer that the client has not acknowledged; 0 on systems that do not report it."""
    if ioctl is None:
        return 0
    try:
        answer = ioctl(transport.get_extra_info("socket").fileno(), TIOCOUTQ, bytes(4))
    except OSError:
        return 0
    return int.from_bytes(answer, sys.byteorder)

"""Encoded answers to requests that are refused before the app sees them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from chumoku.app.errors import AppError
from chumoku.app.http.security import SECURITY


def answer(error: AppError, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The complete response: the error as JSON, with `connection: close`."""
    body = json.dumps(error.body()).encode()
    ours = {name.lower().encode(): value.encode() for name, value in SECURITY.items()} | {
        b"content-type": b"application/json",
        b"content-length": str(len(body)).encode(),
        b"cache-control": b"no-store",
        b"connection": b"close",
    }
    if error.retry_after is not None:
        ours[b"retry-after"] = str(error.retry_after).encode()
    lines = [name + b": " + value + b"\r\n" for name, value in [*headers, *ours.items()]]
    return b"".join([STATUS_LINE[error.status], *lines, b"\r\n", body])


def invalid_http() -> AppError:
    message = "This is not a valid HTTP request."
    return AppError("invalid_http", message, "Use HTTP/1.1 without TLS: http://, not https://.", status=400)


def head_too_large(limit: int) -> AppError:
    message = f"The request has more than {limit} bytes besides its body: its address, header fields and framing."
    return AppError("head_too_large", message, "Send a long text in the body.", status=431, limit=limit)


def too_many_fields(limit: int) -> AppError:
    message = f"The request has more than {limit} header fields."
    return AppError("head_too_large", message, "Send fewer.", status=431, limit=limit)


def too_many_pipelined(limit: int) -> AppError:
    message = f"More than {limit} requests were sent on one connection without waiting for an answer."
    return AppError(
        "head_too_large", message, "Wait for the answers, or open more connections.", status=431, limit=limit
    )


def too_slow(part: str, seconds: float) -> AppError:
    message = f"The request's {part} did not arrive within {seconds:g} seconds."
    return AppError("too_slow", message, "Send it faster, or send less.", status=408, limit=seconds)


def too_many_connections(limit: int) -> AppError:
    message = f"The server is busy: all {limit} connections are in use."
    return AppError("full", message, "Try again in a second.", status=503, limit=limit, retry_after=1)

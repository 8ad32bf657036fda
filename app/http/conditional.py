"""Answers that a client has already: `If-None-Match` and 304 (RFC 9110, 13.1.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fastapi import Response
from starlette.datastructures import Headers

TAG = re.compile(r'(?:W/)?("[^"]*")')


def is_known(headers: Headers, etag: str) -> bool:
    """Whether the client has the answer with this etag. Weak and strong ones compare equal, as GET has it."""
    said = headers.get("if-none-match", "")
    return said.strip() == "*" or etag.removeprefix("W/") in TAG.findall(said)


def not_modified(headers: Mapping[str, str]) -> Response:
    """`headers`: those of the whole answer that matter to caches."""
    return Response(status_code=304, headers=dict(headers))

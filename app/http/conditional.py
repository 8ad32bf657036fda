"""Responses with an ETag: `If-None-Match` and 304 (RFC 9110, 13.1.2), and responses that are built once for all
clients."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from hashlib import sha256

from anyio import Lock, to_thread
from fastapi import Response
from starlette.datastructures import Headers

TAG = re.compile(r'(?:W/)?("[^"]*")')


def is_known(headers: Headers, etag: str) -> bool:
    """Whether the client has the answer with this etag. Weak and strong ones compare equal, as GET requires."""
    said = headers.get("if-none-match", "")
    return said.strip() == "*" or etag.removeprefix("W/") in TAG.findall(said)


def not_modified(headers: Mapping[str, str]) -> Response:
    """`headers`: the headers of the full answer that matter to caches."""
    return Response(status_code=304, headers=dict(headers))


MOST = 64
"""Answers; the least recently used go first. The docs contain the requested host, so there may be many."""


class Built:
    """Belongs to one event loop."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[bytes, str]] = OrderedDict()
        self._building = Lock()

    async def response(
        self, headers: Headers, key: Hashable, build: Callable[[], bytes], media_type: str = "application/json"
    ) -> Response:
        """The answer, or 304 if the client has it. `key`: everything that it depends on."""
        body, etag = await self._get(key, build)
        told = {"ETag": etag, "Cache-Control": "no-cache"}
        if is_known(headers, etag):
            return not_modified(told)
        return Response(body, headers=told, media_type=media_type)

    async def _get(self, key: Hashable, build: Callable[[], bytes]) -> tuple[bytes, str]:
        if key not in self._kept:
            async with self._building:
                if key not in self._kept:
                    body = await to_thread.run_sync(build)
                    self._kept[key] = body, f'"{sha256(body).hexdigest()[:32]}"'
                    if len(self._kept) > MOST:
                        self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]

"""Static files: our modules and style sheets, joined and revalidated on every load, and plotly.js from its package."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

from chumoku.app import page_scripts
from chumoku.app.errors import AppError
from chumoku.app.http.handlers import respond
from chumoku.app.http.packing import takes_gzip
from chumoku.app.page_files import sheet

# Windows may map .js to text/plain, which nosniff then forbids.
mimetypes.add_type("text/javascript", ".js")


SINGLE = "single/"
WRONG_RANGE = (400, 416)
"""The statuses of starlette's files for a `Range` that is not one, or not in the file."""


class FreshFiles(StaticFiles):
    """Static files that a browser caches but revalidates before use (ETag): never a stale module.

    Modules are joined (`page_scripts`). Below `single/`, where `/?debug` loads them, each is the file as it is.
    """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses a range that the file does not have in our shape; starlette does in plain text."""
        refused: Message = {}

        async def watch(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in WRONG_RANGE:
                refused.update(message)
            elif not refused:
                await send(message)

        await super().__call__(scope, receive, watch)
        if refused:
            there = {name: value for name, value in Headers(raw=refused["headers"]).items() if name == "content-range"}
            error = AppError("invalid_request", "The file has no such range.", "Leave Range out.",
                             status=refused["status"], where="Range")  # fmt: skip
            await respond(scope, error, there)(scope, receive, send)

    async def get_response(self, path: str, scope: Scope) -> Response:
        if path.startswith(SINGLE):
            return await super().get_response(path.removeprefix(SINGLE), scope)
        if path.endswith(".js") and scope["method"] in ("GET", "HEAD"):
            script = await run_in_threadpool(page_scripts.answer, path)
            if script is not None:
                return revalidated(script, Headers(scope=scope), "text/javascript")
        return await super().get_response(path, scope)

    def file_response(self, *args: object, **options: object) -> Response:
        response = super().file_response(*args, **options)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = "no-cache"
        return response


def sheet_response(headers: Headers) -> Response:
    """All style sheets of the page as one: one request instead of thirty."""
    return revalidated(sheet(), headers, "text/css")


def revalidated(joined: str, headers: Headers, media_type: str) -> Response:
    """A joined file, which browsers cache and revalidate."""
    etag = f'"{hashlib.sha256(joined.encode()).hexdigest()[:16]}"'
    answer = {"ETag": etag, "Cache-Control": "no-cache"}
    if etag in headers.get("if-none-match", ""):
        return Response(status_code=304, headers=answer)
    return Response(joined, headers=answer, media_type=media_type)


def plotly_file() -> Path:
    """The path of plotly.js in the installed package, found without importing plotly, which takes half a second."""
    spec = find_spec("plotly")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


@lru_cache(maxsize=1)
def plotly_gzipped() -> bytes:
    """plotly.js compressed: 1.4 MB instead of 4.8. Computed once, in about 0.2 s."""
    return gzip.compress(plotly_file().read_bytes(), compresslevel=6, mtime=0)


def plotly_etag() -> str:
    found = plotly_file().stat()
    return f'"{found.st_mtime_ns:x}-{found.st_size:x}"'


def plotly_response(headers: Headers) -> Response:
    """plotly.js, cached by the browser for a week and then revalidated (ETag)."""
    etag = plotly_etag()
    answer = {"ETag": etag, "Cache-Control": "public, max-age=604800", "Vary": "Accept-Encoding"}
    if etag in headers.get("if-none-match", ""):
        return Response(status_code=304, headers=answer)
    if takes_gzip(headers):
        return Response(plotly_gzipped(), headers=answer | {"Content-Encoding": "gzip"}, media_type="text/javascript")
    return Response(plotly_file().read_bytes(), headers=answer, media_type="text/javascript")

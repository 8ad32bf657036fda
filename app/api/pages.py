"""The pages: the explorer, the API's documentation, and files that are joined or come from packages."""

from __future__ import annotations

import json
from functools import cache

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from chumoku.app.http.assets import plotly_response, sheet_response
from chumoku.app.http.deps import BuiltDep, LibraryDep
from chumoku.app.http.pages import addressed, page, reader_of, render
from chumoku.app.page_files import STATIC
from chumoku.app.services.api_page import endpoints, schemas
from chumoku.app.services.library import Library
from chumoku.app.services.wire import dump

router = APIRouter(tags=["pages"])


@router.get("/", include_in_schema=False)
async def index(request: Request, library: LibraryDep) -> Response:
    """The explorer, in the requested language; `?lang=` is remembered. `?debug` loads each module by itself."""
    main = "single/main.js" if "debug" in request.query_params else "main.js"
    first = paints_first(request, library)
    return page(request, "index.html", {"default_model": library.default, "main": main, "first_paint": first})


NOTHING = {"theme", "lang", "type", "debug", "room"}
"""The fields of a link that say nothing of what is shown."""


def paints_first(request: Request, library: Library) -> bool:
    """Whether the page begins with the first example, whose river is part of it (`templates/first_paint/`)."""
    return not request.query_params.keys() - NOTHING and library.default == first_example()


@cache
def first_example() -> str:
    """The model of the first example."""
    model: str = json.loads((STATIC / "examples.json").read_text("utf-8"))["examples"][0]["model"]
    return model


@router.get("/join", include_in_schema=False)
async def join() -> Response:
    """What pupils type: the page then asks for their room's code."""
    return RedirectResponse("./?room=", 303)


@router.get("/docs", include_in_schema=False)
async def docs(request: Request, built: BuiltDep, library: LibraryDep) -> Response:
    """The API on one page, rendered here: no CDN."""
    reader, base, default = reader_of(request), str(request.base_url).rstrip("/"), library.default

    def build() -> bytes:
        openapi = request.app.openapi()
        listed = endpoints(openapi, base, default)
        about = {"openapi": openapi, "endpoints": listed, "schemas": schemas(openapi), "base": base, "root": "./"}
        return render("docs.html", reader, about)

    answer = await built.response(request.headers, ("docs", reader, base, default), build, "text/html")
    return addressed(answer, request, reader)


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request, built: BuiltDep) -> Response:
    return await built.response(request.headers, "openapi", lambda: dump(request.app.openapi()))


@router.get("/static/vendor/plotly.min.js", include_in_schema=False)
def plotly(request: Request) -> Response:
    return plotly_response(request.headers)


@router.get("/static/css/page.css", include_in_schema=False)
def sheet(request: Request) -> Response:
    return sheet_response(request.headers)

"""The pages."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from app.http.assets import plotly_response, sheet_response
from app.http.deps import LibraryDep
from app.http.pages import page
from app.services.api_page import endpoints, schemas

router = APIRouter(tags=["pages"])


@router.get("/", include_in_schema=False)
async def index(request: Request, library: LibraryDep) -> Response:
    """The explorer, in the requested language; `?lang=` is remembered."""
    return page(request, "index.html", {"default_model": library.default})


@router.get("/docs", include_in_schema=False)
def docs(request: Request) -> Response:
    """The API on one page, rendered here: no CDN, no script. In a thread, because it takes tens of milliseconds."""
    openapi = request.app.openapi()
    content = {
        "openapi": openapi,
        "endpoints": endpoints(openapi, str(request.base_url).rstrip("/")),
        "schemas": schemas(openapi),
    }
    return page(request, "docs.html", content)


@router.get("/static/vendor/plotly.min.js", include_in_schema=False)
def plotly(request: Request) -> Response:
    return plotly_response(request.headers)


@router.get("/static/css/page.css", include_in_schema=False)
def sheet(request: Request) -> Response:
    return sheet_response(request.headers)

"""The pages."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.templating import Jinja2Templates

from app.api.pages import i18n
from app.http.assets import STATIC, TEMPLATES, plotly_response
from app.http.deps import LibraryDep
from app.services.api_page import endpoints, schemas

router = APIRouter(tags=["pages"])
templates = Jinja2Templates(directory=TEMPLATES)

YEAR = 365 * 24 * 3600


@router.get("/", include_in_schema=False)
async def index(request: Request, library: LibraryDep) -> Response:
    """The explorer, in the requested language; `?lang=` is remembered."""
    return page(request, "index.html", {"default_model": library.default})


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> Response:
    """The API on one page, rendered here: no CDN, no script."""
    openapi = request.app.openapi()
    content = {
        "openapi": openapi,
        "endpoints": endpoints(openapi, str(request.base_url).rstrip("/")),
        "schemas": schemas(openapi),
    }
    return page(request, "docs.html", content)


def page(request: Request, template: str, context: dict[str, Any]) -> Response:
    """Render a template with the reader's language, theme and type size."""
    asked = request.query_params.get("lang")
    lang = i18n.choose(asked, request.cookies.get("lang"), request.headers.get("accept-language", ""))
    theme = request.query_params.get("theme") or request.cookies.get("theme")
    context |= {
        "lang": lang,
        "theme": theme,
        "type": request.cookies.get("type"),
        "t": i18n.translator(STATIC / "i18n", lang),
    }
    response = templates.TemplateResponse(request, template, context)
    response.headers.update({"Cache-Control": "no-cache", "Content-Language": lang, "Vary": "Accept-Language, Cookie"})
    if asked == lang:
        response.set_cookie("lang", lang, max_age=YEAR, samesite="lax")
    return response


@router.get("/static/vendor/plotly.min.js", include_in_schema=False)
def plotly(request: Request) -> Response:
    return plotly_response(request.headers)

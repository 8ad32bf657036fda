"""Pages, rendered from templates/."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fastapi import Request, Response
from fastapi.templating import Jinja2Templates

from chumoku.app.api.pages import i18n
from chumoku.app.page_files import STATIC, TEMPLATES

templates = Jinja2Templates(directory=TEMPLATES)

YEAR = 365 * 24 * 3600


@dataclass(frozen=True)
class Reader:
    """Who reads a page: language, theme and type size; None as the browser has it."""

    lang: str
    theme: str | None
    type: str | None


def reader_of(request: Request) -> Reader:
    lang = i18n.choose(
        request.query_params.get("lang"), request.cookies.get("lang"), request.headers.get("accept-language", "")
    )
    theme = request.query_params.get("theme") or request.cookies.get("theme")
    large = request.cookies.get("type") == "large"
    return Reader(lang, theme if theme in ("light", "dark") else None, "large" if large else None)


def render(template: str, reader: Reader, context: dict[str, Any]) -> bytes:
    t = i18n.translator(STATIC / "i18n", reader.lang)
    return templates.get_template(template).render(**asdict(reader), t=t, **context).encode()


def addressed(response: Response, request: Request, reader: Reader) -> Response:
    """The response as a page for this reader; a language that was asked for is remembered."""
    response.headers.update(
        {"Cache-Control": "no-cache", "Content-Language": reader.lang, "Vary": "Accept-Language, Cookie"}
    )
    if request.query_params.get("lang") == reader.lang:
        response.set_cookie("lang", reader.lang, max_age=YEAR, samesite="lax")
    return response


def page(request: Request, template: str, context: dict[str, Any], status: int = 200) -> Response:
    """Render a template with the reader's language, theme and type size."""
    reader = reader_of(request)
    return addressed(Response(render(template, reader, context), status, media_type="text/html"), request, reader)

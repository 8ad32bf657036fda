"""Pages, rendered from templates/."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from fastapi.templating import Jinja2Templates

from app.api.pages import i18n
from app.http.assets import STATIC, TEMPLATES

templates = Jinja2Templates(directory=TEMPLATES)

YEAR = 365 * 24 * 3600


def page(request: Request, template: str, context: dict[str, Any], status: int = 200) -> Response:
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
    response = templates.TemplateResponse(request, template, context, status)
    response.headers.update({"Cache-Control": "no-cache", "Content-Language": lang, "Vary": "Accept-Language, Cookie"})
    if asked == lang:
        response.set_cookie("lang", lang, max_age=YEAR, samesite="lax")
    return response

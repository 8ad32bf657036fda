"""Pages, rendered from `templates/` in the reader's language, with the texts of `static/i18n/`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from fastapi.templating import Jinja2Templates

from chumoku.app.page_files import STATIC, TEMPLATES

templates = Jinja2Templates(directory=TEMPLATES)

YEAR = 365 * 24 * 3600


@dataclass(frozen=True)
class Reader:
    """A reader's language, theme and type size; None: the browser's."""

    lang: str
    theme: str | None
    type: str | None


def reader_of(request: Request) -> Reader:
    lang = choose(
        request.query_params.get("lang"), request.cookies.get("lang"), request.headers.get("accept-language", "")
    )
    theme = request.query_params.get("theme") or request.cookies.get("theme")
    large = request.cookies.get("type") == "large"
    return Reader(lang, theme if theme in ("light", "dark") else None, "large" if large else None)


def render(template: str, reader: Reader, context: dict[str, Any]) -> bytes:
    t = translator(STATIC / "i18n", reader.lang)
    return templates.get_template(template).render(**asdict(reader), t=t, **context).encode()


def addressed(response: Response, request: Request, reader: Reader) -> Response:
    """The response as a page for this reader; a language that was asked for is remembered.

    Without a path, a cookie is for the folder of the address, which a proxy may have put under a prefix.
    """
    response.headers.update(
        {"Cache-Control": "no-cache", "Content-Language": reader.lang, "Vary": "Accept-Language, Cookie"}
    )
    if request.query_params.get("lang") == reader.lang:
        response.set_cookie("lang", reader.lang, max_age=YEAR, path=None, samesite="lax")
    return response


def page(request: Request, template: str, context: dict[str, Any], status: int = 200) -> Response:
    """Render a template with the reader's language, theme and type size."""
    reader, root = reader_of(request), {"root": root_of(request)}
    body = render(template, reader, context | root)
    return addressed(Response(body, status, media_type="text/html"), request, reader)


def root_of(request: Request) -> str:
    """The app's address as seen from the requested one: `./` of /docs, `../` of /api/models. Whatever a proxy puts
    before the path is not known here, and need not be."""
    path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    return "../" * (path.count(b"/") - 1) or "./"


LANGUAGES = ("en", "ja")
DEFAULT = "en"
PLACEHOLDER = re.compile(r"\{(\w+)\}")
ROOMY = re.compile(r"\[\[([^\]]*)\]\]")

Translate = Callable[..., str]


def translator(folder: Path, language: str) -> Translate:
    """`t(key, name=value, …)`: the string with `{name}` filled in; `n=1` uses `key.one` if it exists.

    A missing key is shown as it is, so that the page still opens. `[[…]]` is left out on a phone (css/layout.css);
    such a text is HTML: a template shows it with `| safe`.
    """
    path = folder / f"{language}.json"
    strings = catalogue(path, path.stat().st_mtime_ns)

    def t(key: str, /, **values: object) -> str:
        one = strings.get(f"{key}.one") if str(values.get("n")) == "1" else None
        text = ROOMY.sub(r'<span class="roomy">\1</span>', one or strings.get(key, key))
        return PLACEHOLDER.sub(lambda hit: str(values.get(hit[1], hit[0])), text)

    return t


@lru_cache(maxsize=8)
def catalogue(path: Path, changed_ns: int) -> dict[str, str]:
    """The strings of a file, read again when the file changes."""
    strings: dict[str, str] = json.loads(path.read_text("utf-8"))
    return strings


def choose(asked: str | None, kept: str | None, accepted: str) -> str:
    """The language to show: the requested one (`?lang=`), else the cookie's, else the browser's."""
    for language in (asked, kept):
        if language in LANGUAGES:
            return language
    return best_accepted(accepted)


def best_accepted(header: str) -> str:
    """The available language that an `Accept-Language` header prefers: `fr, ja;q=0.8, en;q=0.5` → ja."""
    liked: dict[str, float] = {}
    for part in header.split(","):
        tag, _, weight = part.strip().partition(";q=")
        language = tag.split("-")[0].strip().lower()
        if language in LANGUAGES:
            liked[language] = max(liked.get(language, 0.0), quality(weight))
    best = max(liked, key=lambda language: liked[language], default=DEFAULT)
    return best if liked.get(best, 0.0) > 0 else DEFAULT


def quality(weight: str) -> float:
    """A q-value: 1 if missing, 0 if invalid."""
    try:
        return float(weight) if weight else 1.0
    except ValueError:
        return 0.0

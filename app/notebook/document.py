"""The HTML of a document that needs no server and no network."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from typing import Any

from chumoku.app.page_files import STATIC, sheet
from chumoku.app.page_scripts import script

ENTRY = "notebook.js"
LEFT_OUT = re.compile(r"(learn|export)/|views/generation/(?!tree)|chart/plotly")
"""Modules that only controls missing from documents would load."""

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
"""The document loads nothing, whatever it contains."""

START = """
async function part(element) {
  const bytes = Uint8Array.from(atob(element.textContent), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}
async function start() {
  const text = async (name) => new TextDecoder().decode(await part(document.getElementById(name)));
  const [code, about] = await Promise.all([text("code"), text("about")]);
  const tensors = await Promise.all(Array.from(document.querySelectorAll(".tensors"), part));
  document.head.append(Object.assign(document.createElement("script"), { textContent: code }));
  await need("notebook.js").show(document.body, JSON.parse(about), tensors);
}
start().catch((error) => {
  document.body.textContent = `Chumoku could not draw this: ${error.message}`;
  throw error;
});
"""


def html_of(about: Mapping[str, Any], tensors: Iterable[bytes], *, title: str, lang: str, theme: str | None) -> str:
    """The page's own modules, what they show, and its style."""
    chosen = f' data-theme="{theme}"' if theme else ""
    parts = [
        code(),
        part("about", json.dumps(dict(about), ensure_ascii=False, allow_nan=False).encode()),
        *(part("", body) for body in tensors),
    ]
    return f"""<!doctype html>
<html lang="{lang}"{chosen}>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="chumoku">
<link rel="icon" href="data:,">
<title>{escape(title)}</title>
<style>{style()}</style>
</head>
<body class="page alone">
<noscript>{escape(title)}: this document needs JavaScript.</noscript>
{"".join(parts)}<script>{START}</script>
</body>
</html>
"""


def part(name: str, content: bytes) -> str:
    """Bytes, compressed to a third of their size and encoded without markup. Level 9 would take three times as long for
    1 % less."""
    attribute = f'id="{name}"' if name else 'class="tensors"'
    packed = b64encode(gzip.compress(content, 6, mtime=0)).decode()
    return f'<script type="application/gzip" {attribute}>{packed}</script>\n'


@cache
def code() -> str:
    return part("code", script(ENTRY, lambda path: not LEFT_OUT.match(path)).encode())


@cache
def style() -> str:
    return re.sub(r"<(?=/style)", r"\\3c ", sheet())


@cache
def texts(lang: str) -> dict[str, str]:
    """The page's texts, without those of the lessons."""
    catalogue: dict[str, str] = json.loads((STATIC / "i18n" / f"{lang}.json").read_text("utf-8"))
    return {key: text for key, text in catalogue.items() if not key.startswith(("lesson.", "quiz."))}

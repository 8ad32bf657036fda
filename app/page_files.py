"""The page's files, next to this package in a checkout as in an installation."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
STATIC = ROOT / "static"
TEMPLATES = ROOT / "templates"


def sheet() -> str:
    """css/page.css with every `@import` replaced by its sheet."""
    folder = STATIC / "css"
    sheets = (folder / "page.css").read_text("utf-8")
    return re.sub(r'@import "([\w-]+\.css)";', lambda line: (folder / line[1]).read_text("utf-8"), sheets)

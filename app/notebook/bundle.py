"""The page's modules as one script, for files that have no server to load them from.

Each module becomes a function that runs when it is first imported. It relies on what Biome and the tests hold for
`static/`: imports and exports begin a line, bindings are constants or functions, and imports have no cycles.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator
from functools import cache

from chumoku.app.page_files import STATIC

IMPORT = re.compile(r'^import (?:(?P<what>[^;"]+?) from )?"(?P<path>[^"]+)";$', re.MULTILINE)
LOADED = re.compile(r'\bimport\("([^"]+)"\)')
"""A module that is loaded later."""
EXPORTED = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) ?([\w$]+))", re.MULTILINE)
LISTED = re.compile(r"^export \{ ([^}]+) \};$", re.MULTILINE)
PASSED_ON = re.compile(r'^export \{ ([^}]+) \} from "([^"]+)";$', re.MULTILINE)
DEFAULT = re.compile(r"^export default ", re.MULTILINE)
LEFT = re.compile(r"^(?:import|export) .*", re.MULTILINE)
COMMENT = re.compile(r"/\*\*(?:[^*]|\*(?!/))*\*/")
"""Of types: they import modules that nothing loads."""

RUNTIME = """"use strict";
const modules = {};
const ready = new Map();
function need(path) {
  if (!ready.has(path)) ready.set(path, modules[path]());
  return ready.get(path);
}
async function later(path) {
  if (!modules[path]) throw new (need("data/api.js").ApiError)({ code: "not_saved", status: 404 });
  return need(path);
}
"""


def script(entry: str, belongs: Callable[[str], bool]) -> str:
    """A classic script that sets `need(path)`, for `entry` and all that it imports, paths relative to `static/`.

    `belongs` chooses among the modules that are only loaded later: without them, what needs them says so.
    """
    functions = (f"modules[{json.dumps(path)}] = () => {{\n{body}\n}};\n" for path, body in modules(entry, belongs))
    return RUNTIME + "".join(functions)


def modules(entry: str, belongs: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Each module's path and its body as a function's."""
    waiting, known = [entry], {entry}
    while waiting:
        path = waiting.pop()
        body, imported, loaded = converted(path)
        yield path, body
        found = [*imported, *(one for one in loaded if belongs(one))]
        waiting += (new := [one for one in dict.fromkeys(found) if one not in known])
        known |= set(new)


@cache
def converted(path: str) -> tuple[str, list[str], list[str]]:
    """A module as the body of a function that returns what it exports; what it imports, and what it loads later.

    Raises `ValueError` for an import or an export in a form that is not known here.
    """
    code = COMMENT.sub("", (STATIC / path).read_text("utf-8"))
    imported: list[str] = []
    loaded: list[str] = []
    exported: dict[str, str] = {}

    def place(relative: str, among: list[str]) -> str:
        among.append(posixpath.normpath(posixpath.join(posixpath.dirname(path), relative)))
        return json.dumps(among[-1])

    def bind(found: re.Match[str]) -> str:
        needed = f"need({place(found['path'], imported)})"
        return f"{bound(found['what'])} = {needed};" if found["what"] else f"{needed};"

    def passed_on(found: re.Match[str]) -> str:
        module = f"need({place(found[2], imported)})"
        exported.update({new: f"{module}.{old}" for old, new in renamed(found[1])})
        return ""

    def listed(found: re.Match[str]) -> str:
        exported.update({new: old for old, new in renamed(found[1])})
        return ""

    def named(found: re.Match[str]) -> str:
        exported[found[1]] = found[1]
        return ""

    def default(_: re.Match[str]) -> str:
        exported["default"] = "byDefault"
        return "const byDefault = "

    for pattern, use in (
        (IMPORT, bind), (PASSED_ON, passed_on), (LISTED, listed), (EXPORTED, named), (DEFAULT, default),
    ):  # fmt: skip
        code = pattern.sub(use, code)
    if left := LEFT.search(code):
        raise ValueError(f"{path}: {left[0]!r} is not an import or export that can be put into one script")
    code = LOADED.sub(lambda found: f"later({place(found[1], loaded)})", code)
    code = code.replace("import.meta.url", '""')
    answer = ", ".join(f"{new}: {old}" if new != old else new for new, old in exported.items())
    return f"{code}return {{ {answer} }};", imported, loaded


def bound(what: str) -> str:
    """The left side of a declaration for the names of an import."""
    if what.startswith("* as "):
        return f"const {what.removeprefix('* as ')}"
    if what.startswith("{"):
        return f"const {{ {', '.join(f'{old}: {new}' for old, new in renamed(what.strip('{} ')))} }}"
    return f"const {{ default: {what} }}"


def renamed(names: str) -> list[tuple[str, str]]:
    """`a, b as c` as pairs: the name there and the name here."""
    parts = [name.strip().split(" as ") for name in names.split(",") if name.strip()]
    return [(part[0], part[-1]) for part in parts]

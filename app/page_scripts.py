"""The page's modules, joined: many in one file, for the page and for a document that has no server.

Each module becomes a function that runs when it is first needed. This relies on what Biome and the tests check in
`static/`: imports and exports begin a line, bindings are constants or functions, and imports have no cycles.

For the page, every address of a module still answers with that module. `joined.js` has all that `main.js` imports, and
`shared.js` what many of the modules that are loaded later draw with. Such a module brings what it imports beyond these.
Any other address passes on what `joined.js` has.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from chumoku.app.page_files import STATIC

IMPORT = re.compile(r'^import (?:(?P<what>[^;"]+?) from )?"(?P<path>[^"]+)";$', re.MULTILINE)
LOADED = re.compile(r'\bimport\("([^"]+)"\)')
"""A module that is loaded later."""
EXPORTED = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) ?([\w$]+))", re.MULTILINE)
LISTED = re.compile(r"^export \{ ([^}]+) \};$", re.MULTILINE)
PASSED_ON = re.compile(r'^export \{ ([^}]+) \} from "([^"]+)";$', re.MULTILINE)
DEFAULT = re.compile(r"^export default ", re.MULTILINE)
LEFT = re.compile(r"^(?:import|export) .*", re.MULTILINE)
COMMENT = re.compile(r"/\*\*(?:[^*]|\*(?!/))*\*/|^ *//.*$", re.MULTILINE)
"""Type comments, which import modules that nothing loads, and lines that are a comment."""

MAIN, JOINED, SHARED = "main.js", "joined.js", "shared.js"
DRAWING = (
    *("chart/matrix/matrix.js", "chart/bars/bars.js", "views/formulas.js", "views/parts.js"),
    *("views/query_key.js", "model/activations.js"),
)
"""With what they import, they are in `shared.js`: eight or more of the modules that are loaded later need each."""
APART = {"theme.js", "docs.js", "export/offline_page.js", MAIN}
"""Never joined: three classic scripts, and the module that starts the page when loaded."""

EAGER = "//# allFunctionsCalledOnLoad\n"
"""V8's explicit compile hint: most functions of the start run at once, and a function that is compiled when it is first
called is parsed twice, the second time on the page's thread (v8.dev/blog/explicit-compile-hints)."""

REGISTRY = """const modules = {};
const ready = new Map();
function need(path) {
  if (!ready.has(path)) ready.set(path, modules[path]());
  return ready.get(path);
}
"""
DOCUMENT = f"""\"use strict\";
{REGISTRY}async function later(path) {{
  if (!modules[path]) throw new (need("data/api.js").ApiError)({{ code: "not_saved", status: 404 }});
  return need(path);
}}
"""
PROVIDE = f"""function shared() {{
  import("./{SHARED}").catch(() => {{}});
}}
function provide(path, make) {{
  modules[path] ??= make;
}}
export {{ need, provide }};
"""
"""`shared` asks for `shared.js` with the first module that is loaded later, so that none waits for both in turn."""


@dataclass(frozen=True)
class Module:
    """A module of the page, with its imports replaced by `need(…)`."""

    path: str
    code: str
    exports: dict[str, str]
    """Its exports: name → expression."""
    imports: tuple[str, ...]
    loads: tuple[str, ...]
    """Modules that it loads later. In the code, `LATER[path]` stands for the promise of one."""

    def function(self, later: Callable[[str], str]) -> str:
        """A function that runs it and returns what it exports. `later`: how the module of a path is loaded."""
        named = ", ".join(f"{new}: {old}" if new != old else new for new, old in self.exports.items())
        return f"() => {{\n{self.body(later)}return {{ {named} }};\n}}"

    def body(self, later: Callable[[str], str]) -> str:
        return LATER.sub(lambda found: later(found[1]), self.code)


LATER = re.compile(r'LATER\["([^"]+)"\]')


def script(entry: str, belongs: Callable[[str], bool]) -> str:
    """A classic script that sets `need(path)`, for `entry` and all that it imports, paths relative to `static/`.

    `belongs` chooses among the modules that are only loaded later: without them, what needs them says so.
    """
    functions = (
        f"modules[{json.dumps(one.path)}] = {one.function(lambda path: f'later({json.dumps(path)})')};\n"
        for one in modules(entry, belongs)
    )
    return DOCUMENT + "".join(functions).replace("import.meta.url", '""')


def answer(path: str) -> str | None:
    """The body for a module's address; None if it is not a module of the page.

    Raises `ValueError` for an import or an export in a form that is not known here.
    """
    if path in APART - {MAIN} or not (path in (JOINED, SHARED) or (STATIC / path).is_file()):
        return None
    start = imports_of(MAIN)
    start.pop(MAIN)
    if path == JOINED:
        return EAGER + REGISTRY + PROVIDE + "".join(provided(start.values(), JOINED))
    here = f'import {{ need, provide }} from "{relative(JOINED, path)}";\n'
    if path == MAIN:
        return here + module(MAIN).body(lambda other: imported(other, MAIN))
    shared = {name: one for entry in DRAWING for name, one in imports_of(entry).items() if name not in start}
    if path == SHARED:
        return EAGER + here + "".join(provided(shared.values(), SHARED))
    beyond = [one for name, one in imports_of(path).items() if name not in start]
    more = [one for one in beyond if one.path not in shared]
    if len(more) < len(beyond):
        here += f'import "{relative(SHARED, path)}";\n'
    names = ", ".join(name for name in module(path).exports if name != "default")
    default = "export default found.default;\n" if "default" in module(path).exports else ""
    passed_on = f"const found = need({json.dumps(path)});\nexport const {{ {names} }} = found;\n{default}"
    return EAGER + here + "".join(provided(more, path)) + passed_on


def imports_of(entry: str) -> dict[str, Module]:
    """A module and all that it imports, by path."""
    return {one.path: one for one in modules(entry, lambda _: False)}


def provided(some: Iterable[Module], at: str) -> Iterator[str]:
    """The statements that make these modules known, in the file `at`."""
    for one in some:
        make = one.function(lambda path: imported(path, at))
        # In parentheses: it will run at once, so the browser compiles it in one pass.
        known = "modules[{}] = ({});\n" if at == JOINED else "provide({}, ({}));\n"
        yield known.format(json.dumps(one.path), make)


def imported(path: str, at: str) -> str:
    found = f'import("{relative(path, at)}")'
    return f"(shared(), {found})" if at == JOINED else found


def relative(path: str, at: str) -> str:
    """The address of `path` as `at` imports it: a server may stand under a prefix."""
    found = posixpath.relpath(path, posixpath.dirname(at) or ".")
    return found if found.startswith(".") else f"./{found}"


def modules(entry: str, belongs: Callable[[str], bool]) -> Iterator[Module]:
    """A module and all that it imports, and of what it loads later, what `belongs`."""
    waiting, known = [entry], {entry}
    while waiting:
        one = module(waiting.pop())
        yield one
        found = [*one.imports, *(path for path in one.loads if belongs(path))]
        waiting += (new := [path for path in dict.fromkeys(found) if path not in known])
        known |= set(new)


def module(path: str) -> Module:
    """The current file, so that an edit takes effect at the next load."""
    return converted(path, (STATIC / path).stat().st_mtime_ns)


@lru_cache(maxsize=2048)
def converted(path: str, _changed: int) -> Module:
    code = COMMENT.sub("", (STATIC / path).read_text("utf-8"))
    needed: list[str] = []
    loaded: list[str] = []
    exported: dict[str, str] = {}

    def place(relative: str, among: list[str]) -> str:
        among.append(posixpath.normpath(posixpath.join(posixpath.dirname(path), relative)))
        return json.dumps(among[-1])

    def bind(found: re.Match[str]) -> str:
        there = f"need({place(found['path'], needed)})"
        return f"{bound(found['what'])} = {there};" if found["what"] else f"{there};"

    def passed_on(found: re.Match[str]) -> str:
        there = f"need({place(found[2], needed)})"
        exported.update({new: f"{there}.{old}" for old, new in renamed(found[1])})
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
        raise ValueError(f"{path}: {left[0]!r} is not an import or export that can be joined")
    code = LOADED.sub(lambda found: f"LATER[{place(found[1], loaded)}]", code)
    return Module(path, code, exported, tuple(needed), tuple(loaded))


def bound(what: str) -> str:
    """The left side of a declaration for the names of an import."""
    if what.startswith("* as "):
        return f"const {what.removeprefix('* as ')}"
    default, _, named = what.partition("{")
    pairs = [("default", name) for name in [default.strip(" ,")] if name] + renamed(named.strip("} "))
    return f"const {{ {', '.join(f'{old}: {new}' for old, new in pairs)} }}"


def renamed(names: str) -> list[tuple[str, str]]:
    """`a, b as c` as pairs: the name there and the name here."""
    parts = [name.strip().split(" as ") for name in names.split(",") if name.strip()]
    return [(part[0], part[-1]) for part in parts]

"""The rules of the architecture, read from the files: imports, DOM access, texts and pinned versions."""

import ast
import importlib.metadata
import json
import posixpath
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


# --- Python: imports go one way -----------------------------------------------------------------------


def python_files(folder: str) -> list[Path]:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files, f"no Python files in {folder}/: has it moved?"
    return files


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imports(path: Path) -> list[str]:
    """Every module that a file imports, anywhere in it: absolute, and with each imported name appended."""
    package = ("chumoku", *path.relative_to(ROOT).parent.parts)
    found: list[str] = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            found += (f"{module}.{alias.name}" for alias in node.names)
    return found


def offences(folder: str, *forbidden: str, but: str | tuple[str, ...] = ()) -> list[str]:
    """Imports of forbidden modules, or of anything inside them, in a folder (parts of it may be left out)."""
    left_out = (but,) if isinstance(but, str) else but
    return [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in python_files(folder)
        if not any(path.is_relative_to(ROOT / part) for part in left_out)
        for module in imports(path)
        if any(f"{module}.".startswith(f"{name}.") for name in forbidden)
    ]


def test_ours_is_imported_from_the_package() -> None:
    """Also from `tests/` and `benchmarks/`: the folders' own names are not on the path of an installed package."""
    for folder in ("app", "model", "tests", "benchmarks"):
        assert offences(folder, "app", "model") == []
    links = {path.name: path.resolve() for path in (ROOT / "chumoku").iterdir() if path.is_symlink()}
    assert links == {name: ROOT / name for name in ("app", "model", "static", "templates")}


def test_model_knows_nothing_of_the_app() -> None:
    assert offences("model", "chumoku.app", "fastapi", "starlette", "uvicorn") == []


def test_models_run_without_the_training_code() -> None:
    assert python_files("model/training")
    assert offences("model", "chumoku.model.training", but="model/training") == []


REQUESTS = ("schema", "run", "requests", "room_requests", "explain.requests")
"""The modules of `app/api/` that say what may be asked. All others answer."""


def test_services_know_nothing_of_http() -> None:
    """Of `chumoku.app.api` they import what may be asked, but neither routes nor the schemas of answers."""
    assert offences("app/services", "fastapi", "starlette", "uvicorn") == []
    assert offences("app/services", *(f"chumoku.app.{name}" for name in ("http", "main", "cli"))) == []
    asked = tuple(f"chumoku.app.api.{name}." for name in REQUESTS)
    assert [
        one for one in offences("app/services", "chumoku.app.api") if not f"{one.split()[-1]}.".startswith(asked)
    ] == []


def test_what_may_be_asked_depends_on_nothing_that_answers() -> None:
    """A request's schema imports other schemas and the kinds of interventions, which define their own."""
    schemas = [ROOT / "app/api" / f"{name.replace('.', '/')}.py" for name in REQUESTS]
    others = (*(f"chumoku.app.api.{name}." for name in REQUESTS), "chumoku.app.services.interventions.")
    outside = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in schemas
        for name in imports(path)
        if name.startswith(("chumoku.app.", "fastapi", "starlette")) and not name.startswith(others)
    ]
    assert outside == []


def test_routes_know_nothing_of_what_assembles_them() -> None:
    assert offences("app/api", "chumoku.app.main", "chumoku.app.cli") == []
    assert offences("app/http", "chumoku.app.main", "chumoku.app.cli") == []


def test_the_command_line_needs_no_http() -> None:
    """Except `serve`."""
    serving = ("app/cli/serving.py", "app/cli/workers.py")
    assert offences("app/cli", "chumoku.app.http", "chumoku.app.main", "fastapi", but=serving) == []


def test_processes_of_their_own_start_without_torch() -> None:
    """They are run by their path, and import nothing of ours."""
    for name in ("app/services/download_process.py", "model/traceable/huggingface/chat_process.py"):
        assert not any(module.startswith(("chumoku", "torch", "transformers")) for module in imports(ROOT / name))


@pytest.mark.parametrize("folder", ["app", "model"])
def test_nothing_imports_the_tests(folder: str) -> None:
    assert offences(folder, "tests", "pytest", "conftest") == []


# --- browser tests: their pages are transparent -----------------------------------------------------------------

SEES = r"""\.screenshot\( | to_have_screenshot | opacityProperty | checkOpacity | to_have_css\(\s*["']opacity
    | getComputedStyle\([^()]*\)(?:\.opacity|\[["']opacity|\.getPropertyValue\(["']opacity)
    | \{[^{}]*\bopacity\b[^{}]*\}\s*=\s*getComputedStyle"""


def seeing(code: str) -> list[str]:
    """What in a browser test looks at pixels, or asks whether something can be seen through."""
    return [" ".join(hit.split()) for hit in re.findall(SEES, code, re.VERBOSE)]


@pytest.mark.parametrize(
    "line",
    [
        "page.screenshot(path=path)",
        "expect(board).to_have_css('opacity', '1')",
        'expect(board).to_have_css(\n    "opacity", "1")',
        'board.evaluate("board => getComputedStyle(board).opacity")',
        "const { color, opacity } = getComputedStyle(element);",
        "element.checkVisibility({ opacityProperty: true })",
    ],
)
def test_a_look_at_pixels_is_found(line: str) -> None:
    assert seeing(line)


def test_only_serious_looks_at_pixels() -> None:
    """Every document of a browser test is transparent (`UNSEEN`), so anything else would see an empty page.
    Those of `make look` are not."""
    found = {
        f"{path.relative_to(ROOT)}: {hit}"
        for path in python_files("tests/browser")
        if path.name != "look.py"
        for hit in seeing(path.read_text("utf-8"))
    }
    mark = ("{ backgroundColor, backgroundImage, opacity, filter } = getComputedStyle", "opacityProperty")
    instead = "set `unseen.disabled = true` in the page (and in each of its frames) meanwhile, as `serious` does"
    assert found == {f"tests/browser/helpers.py: {hit}" for hit in mark}, instead


def test_no_two_modules_define_a_class_of_the_same_name() -> None:
    """One name, one thing. `chumoku.Trace` is the notebook's public view of the model's."""
    modules: dict[str, list[str]] = {}
    for path in (*python_files("app"), *python_files("model")):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                modules.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert len(modules) > 200
    assert {name for name, where in modules.items() if len(where) > 1} == {"Trace"}


def named_in(path: Path) -> Iterator[str]:
    """Every name that a file uses, also as an attribute, in an import or in a short string such as `"app:create"`."""
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
                yield name
            case ast.ImportFrom():
                yield from (alias.name for alias in node.names)
            case ast.Constant(value=str(text)) if len(text) < 80:
                yield from re.findall(r"\w+", text)


def test_every_function_class_and_constant_is_used() -> None:
    """By `app/` or `model/`: what only tests use is dead. A decorator may register what it decorates."""
    files = [*python_files("app"), *python_files("model")]
    used = Counter(name for file in files for name in named_in(file))
    found = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        for node in parsed(file).body
        for name in defined_by(node)
        if used[name] == 0 and name != "__all__"
    }
    assert len(used) > 5000
    assert found == set()


def defined_by(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [] if node.decorator_list else [node.name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


# --- JavaScript: data never draws, views never fetch --------------------------------------------------------


@cache
def javascript(folder: str) -> dict[str, str]:
    """The code of each module below a folder, without its comments."""
    files = sorted((ROOT / folder).rglob("*.js"))
    assert files, f"no JavaScript in {folder}/: has it moved?"
    comment = re.compile(r"/\*.*?\*/|(?<![:\"'`\\])//[^\n]*", re.DOTALL)
    return {str(path.relative_to(ROOT)): comment.sub("", path.read_text("utf-8")) for path in files}


def mentions(folder: str, pattern: str) -> set[str]:
    modules = javascript(folder).items()
    return {f"{name}: {hit}" for name, code in modules for hit in re.findall(pattern, code)}


LAYERS = ("learn", "shell", "river", "views", "export", "chart", "ui", "data", "model", "state")


def layer(module: str) -> int:
    """Modules directly in static/ assemble the page: they may import from every folder."""
    folder, _, rest = module.removeprefix("static/").partition("/")
    return LAYERS.index(folder) if rest else -1


AT_ONCE = r"""(?:\bfrom|\bimport)\s*["'](\.[^"']+)["']"""
LATER = r"""\bimport\s*\(\s*["'](\.[^"']+)["']"""


def imported(pattern: str) -> dict[str, set[str]]:
    """What each module of the page imports: with itself (AT_ONCE), or when it is first needed (LATER)."""
    return imports_of(pattern, javascript("static"))


def imports_of(pattern: str, modules: dict[str, str]) -> dict[str, set[str]]:
    return {
        name: {posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) for path in re.findall(pattern, code)}
        for name, code in modules.items()
    }


def test_imports_only_go_down() -> None:
    upwards = [
        f"{name} imports {path}"
        for pattern in (AT_ONCE, LATER)
        for name, paths in imported(pattern).items()
        for path in paths
        if layer(path) < layer(name)
    ]
    assert upwards == []


RIVER = (
    "playing.js", "input", "draw", "layout", "style.js",
    "words", "facts.js", "knockout_effects.js", "view_state.js",
)  # fmt: skip


def river_layer(module: str) -> int:
    """Modules directly in river/ assemble it, except those in the list, which its folders import."""
    place, _, rest = module.removeprefix("static/river/").partition("/")
    return RIVER.index(place) if rest or place in RIVER else -1


def test_the_rivers_folders_import_only_downwards() -> None:
    modules = {name: paths for name, paths in imported(AT_ONCE).items() if name.startswith("static/river/")}
    assert {river_layer(name) for name in modules} == set(range(-1, len(RIVER)))
    upwards = [
        f"{name} imports {path}"
        for name, paths in modules.items()
        for path in paths & modules.keys()
        if river_layer(path) < river_layer(name)
    ]
    assert upwards == []


def test_the_start_loads_nothing_that_is_loaded_when_it_is_needed() -> None:
    """One import too many would bring a view's code, and all that it imports, to every start."""
    at_once, todo, start = imported(AT_ONCE), ["static/main.js", "static/theme.js"], set[str]()
    while todo:
        if (name := todo.pop()) not in start:
            start.add(name)
            todo += at_once[name]
    later = set[str]().union(*imported(LATER).values())
    assert {"static/views/qkv.js", "static/shell/export_items.js"} <= later
    assert start & later == set()
    assert len(start) <= 136, "a new view adds no file to the start; anything else can wait"


def test_no_two_modules_export_the_same_name() -> None:
    """One name, one thing. Only `draw` is the interface of every view."""
    modules: dict[str, list[str]] = {}
    for name, code in javascript("static").items():
        for exported in re.findall(r"^export (?:async )?(?:function\*?|const|let|class) (\w+)", code, re.MULTILINE):
            modules.setdefault(exported, []).append(name)
    assert len(modules) > 500
    assert {name: where for name, where in modules.items() if len(where) > 1 and name != "draw"} == {}
    assert mentions("static", r"(?m)^export (?:\{|\*).*") == set(), "what a module exports is declared in it"


def exports(code: str) -> set[str]:
    """The names that a module exports; of `export const [a, b] = …`, or with braces, each."""
    one = re.findall(r"^export (?:async )?(?:function\*?|const|let|class) (\w+)", code, re.MULTILINE)
    several = re.findall(r"^export (?:const|let) [\[{]([^=]*)[\]}] =", code, re.MULTILINE)
    return {*one, *(name for names in several for name in re.findall(r"\w+", names))}


def unused(modules: dict[str, str], tests: str) -> set[str]:
    """Exports that no module names that imports theirs. Of code that comes later (`lazy`), any module may name them."""
    (later, at_once), words = (imports_of(pattern, modules) for pattern in (LATER, AT_ONCE)), re.compile(r"\w+")
    lazily = {path for paths in later.values() for path in paths}
    named = {name: set(words.findall(code)) for name, code in modules.items()}
    attributes = {name for code in modules.values() for name in re.findall(r"\.(\w+)", code)}
    tested = set(re.findall(r"\.(\w+)", tests))
    for names in re.findall(r"(?:import|const) \{([^}]*)\} =? ?(?:from|await)", tests):
        tested |= set(words.findall(names))
    return {
        f"{module}: {name}"
        for module, code in modules.items()
        for name in exports(code) - tested - (attributes if module in lazily else set())
        if not any(name in named[other] for other, paths in at_once.items() if module in paths)
        and not any(name in named[other] for other, paths in later.items() if module in paths)
    }


def test_every_export_is_imported() -> None:
    """By the page or by tests of it: a name that only its own module uses needs no `export`, and one without any use
    is dead code."""
    tests = [path for folder in ("tests/js", "tests/pictures") for path in sorted((ROOT / folder).rglob("*.js"))]
    outside = {
        "static/notebook.js: show",  # called by app/notebook/page.py
        "static/learn/lesson/guide.js: ANCHORS",  # compared with the lessons in tests/test_lessons.py
    }
    modules = javascript("static")
    assert sum(len(exports(code)) for code in modules.values()) > 1500
    assert unused(modules, "\n".join(path.read_text("utf-8") for path in tests)) == outside


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('import { used } from "./a.js"; used();', {"static/a.js: alone"}),
        ('const a = lazy(() => import("./a.js")); a.code.alone();', {"static/a.js: used"}),
        ('import { b } from "./b.js"; b(alone, used);', {"static/a.js: alone", "static/a.js: used"}),
    ],
)
def test_an_export_without_an_import_is_found(code: str, found: set[str]) -> None:
    modules = {"static/a.js": "export const used = 1;\nexport function alone() {}", "static/c.js": code}
    assert unused(modules, "") == found
    assert unused(modules, 'import { alone, used } from "a.js";') == set()
    assert unused(modules, "// alone used") == found, "a word in a comment is no use"


def test_every_import_names_its_file() -> None:
    """So that these tests can follow it."""
    assert mentions("static", r"\bimport\s*\(\s*[^\s\"']") == set()


SPELLING = {"static/model/description.js"}
"""The only modules that spell names of tensors and parameters; all others ask for a role."""
PARTS = (
    "q k v scores mask pattern z head_out attn_out input out pre post weight bias norm attn cross_attn ffn w_[qkvo12]"
)


def test_no_name_of_a_tensor_is_put_together_elsewhere() -> None:
    part = "|".join(PARTS.split())
    built = rf"""\}}\.(?:{part})\b(?=[.`$]) | ["'`](?:layers|encoder|decoder)\. | resid_(?:pre|mid|cross|post)
        | endsWith\(["'`]\. | (?:final_norm|token_embedding|unembedding|classifier)\.(?:weight|bias|out|input)"""
    dotted = r"""startsWith\(`\$\{[^}]*\}\.` | ===?\s*`\$\{[^}]*\}\.`"""
    found = mentions("static", f"(?x){built} | {dotted}")
    assert {one for one in found if one.partition(":")[0] not in SPELLING} == set()


def test_no_code_asks_for_a_family() -> None:
    """Descriptions have `predicts`, `writes` and `can` instead. Only files of version 1 have nothing but a family."""
    found = mentions("static", r"family\s*[!=]==?\s*[\"']|[\"'](?:de|en)coder-only[\"']\s*[!=]==?")
    assert {one for one in found if one.partition(":")[0] not in SPELLING} == set()


@pytest.mark.parametrize("folder", ["data", "model", "state"])
def test_modules_below_ui_touch_no_dom(folder: str) -> None:
    dom = r"\b(?:document\b|window\.|localStorage|HTML\w*Element\b|querySelector|createElement)"
    assert mentions(f"static/{folder}", dom) == set()


# A test id is set on an element and read by tests only: in a selector, from `dataset`, or taken out of it by name.
READS_TEST_ID = (
    r"\bdata-testid\b"
    r"|\bdataset(?:\?\.|\.)testid\b(?!\s*=[^=])"
    r"|\bdataset(?:\?\.)?\[[\"'`]testid\b"
    r"|\{[^{}]*\btestid\b[^{}]*\}\s*=\s*[^;]*\bdataset\b"
    r"|\bdataset:\s*\{[^{}:]*\btestid\b[^{}]*\}\s*\}\s*(?:=|\)\s*=>)"
)


def test_no_module_looks_for_elements_in_the_whole_document() -> None:
    """Modules get their elements, so that two pages fit in one document. Except main.js, and
    the scripts of the API page and of a saved file."""
    found = mentions("static", rf"\bdocument\.(?:querySelector\w*|getElement\w*)\b|{READS_TEST_ID}")
    own = ("static/main.js", "static/docs.js", "static/export/offline_page.js")
    assert {hit for hit in found if not hit.startswith(own)} == set()


@pytest.mark.parametrize(
    "code",
    [
        "const { testid = '' } = target.closest('button')?.dataset ?? {};",
        "const {\n  testid,\n  part,\n} = button.dataset;",
        "if (button.dataset.testid === 'help') close();",
        "list(target.dataset?.testid);",
        "read(button.dataset['testid'])",
        "const find = ({ dataset: { testid } }) => testid;",
        "root.querySelector('[data-testid=help]')",
    ],
)
def test_reading_a_test_id_is_found(code: str) -> None:
    assert re.search(READS_TEST_ID, code)


@pytest.mark.parametrize(
    "code",
    [
        "const attrs = { dataset: { testid, focus: id } };",
        "h('p', { dataset: { testid: 'help' } }, words);",
        "table.said.dataset.testid = 'position-row';",
        "const button = (testid, text) => h('button', { dataset: { testid } }, text);",
    ],
)
def test_a_test_id_may_be_set(code: str) -> None:
    assert not re.search(READS_TEST_ID, code)


def test_no_style_depends_on_a_test_id() -> None:
    """One such rule makes every element with a test id restyle whenever the page begins or ends to load."""
    sheets = {sheet.name: sheet.read_text("utf-8") for sheet in (ROOT / "static/css").glob("*.css")}
    assert len(sheets) > 20
    assert [name for name, text in sheets.items() if "data-testid" in text] == []


def test_a_box_that_may_scroll_is_made_in_one_place() -> None:
    """There it can be reached by keyboard. Whether a table fits depends on a machine's fonts and its numbers."""
    assert {hit.split(":")[0] for hit in mentions("static", r'class: "scroll"')} == {"static/ui/dom.js"}


def test_views_never_fetch() -> None:
    assert mentions("static/views", r"\b(?:fetch\s*\(|XMLHttpRequest\b|EventSource\b|WebSocket\b)") == set()


def test_one_module_holds_plotly() -> None:
    """Also the script inside a saved HTML file, which cannot import."""
    holders = {"static/chart/plotly.js: Plotly", "static/export/offline_page.js: Plotly"}
    assert mentions("static", r"\bPlotly\b") == holders


def test_text_never_becomes_markup() -> None:
    sinks = r"innerHTML|outerHTML|insertAdjacentHTML|setHTMLUnsafe|createContextualFragment|document\.write"
    assert mentions("static", sinks) == set()


# --- English and Japanese say the same things ---------------------------------------------------------------


def messages(language: str) -> dict[str, str]:
    """A language's texts by key."""

    def flatten(node: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
        if isinstance(node, dict):
            for key, value in node.items():
                yield from flatten(value, (*path, key))
        else:
            yield ".".join(path), str(node)

    return dict(flatten(json.loads((ROOT / f"static/i18n/{language}.json").read_text("utf-8"))))


def test_languages_have_the_same_keys() -> None:
    """Except singulars: English has `key.one` beside `key`; Japanese has no singular."""
    english, japanese = messages("en"), messages("ja")
    assert english
    singulars = {key for key in english if key.removesuffix(".one") in english.keys() - {key}}
    assert (english.keys() - singulars) ^ japanese.keys() == set()
    assert [key for key, text in (english | japanese).items() if not text.strip()] == []


def test_languages_fill_in_the_same_names() -> None:
    english, japanese = messages("en"), messages("ja")
    names = re.compile(r"\{(\w+)\}")
    shared = english.keys() & japanese.keys()
    differ = [key for key in shared if set(names.findall(english[key])) != set(names.findall(japanese[key]))]
    assert differ == []


# --- what is installed is pinned ----------------------------------------------------------------------------


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def requirements() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    return [Requirement(line) for line in project["dependencies"] + extras]


def test_constraints_satisfy_the_project() -> None:
    pinned = pins()
    for requirement in requirements():
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not in constraints.txt"
        assert requirement.specifier.contains(version), f"{requirement} against the pin {version}"


def test_torch_is_pinned_without_a_local_suffix() -> None:
    pinned = pins()
    assert pinned["torch"] == "2.13.0"
    assert [name for name, version in pinned.items() if "+" in version] == []
    assert "chumoku" not in pinned


def test_what_only_inseq_needs_is_pinned_beside_it() -> None:
    """`make slow` installs these lines as they are: a name in both files could have two versions in one test."""
    lines = [line for line in (ROOT / "tests/inseq.txt").read_text("utf-8").splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9.]+", line)] == []
    assert {line.split("==")[0] for line in lines} & pins().keys() == set()


def test_constraints_reach_what_the_requirements_require() -> None:
    """Follows the requirements of the installed packages, except torch's: its CUDA builds pin their own wheels."""
    pinned, seen, todo = pins(), set[str](), requirements()
    while todo:
        requirement = todo.pop()
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{name} is not in constraints.txt: make constraints"
        if name != "torch":
            todo += required_by(requirement)


def required_by(parent: Requirement) -> list[Requirement]:
    try:
        children = [Requirement(line) for line in importlib.metadata.requires(parent.name) or []]
    except importlib.metadata.PackageNotFoundError:  # an extra that is not installed here
        return []
    extras = ("", *parent.extras)
    return [
        child
        for child in children
        if not child.marker or any(child.marker.evaluate({"extra": extra}) for extra in extras)
    ]


@pytest.mark.parametrize("command", ["run", "test"])
def test_readme_and_makefile_agree_on_the_two_commands(command: str) -> None:
    assert f"make {command}" in (ROOT / "README.md").read_text("utf-8")
    assert re.search(rf"^{command}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)

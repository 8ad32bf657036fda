"""README.md, CONTRIBUTING.md and docs/: the files, folders, commands and packages that they name exist."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from chumoku.app.cli.program import cli
from chumoku.app.settings import Settings
from chumoku.model.training.presets import PRESETS, Preset

ROOT = Path(__file__).parent.parent
DOCS = {f"docs/{page.name}": page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md")}
PAGES = {name: (ROOT / name).read_text("utf-8") for name in ("README.md", "CONTRIBUTING.md")}
LINKED = PAGES | DOCS
FOLDERS = {name: (ROOT / name).read_text("utf-8") for name in ("app/README.md", "model/README.md")}
NAMING = {**PAGES, **{page: text for page, text in DOCS.items() if re.search("`(?:app|model|static|tests)/", text)}}
COMMANDS = DOCS["docs/cli.md"]
GROUPS = {"train", "hf", "figures", "scale", "test", "bench", "dev"}


@pytest.mark.parametrize("page", LINKED)
def test_links_and_pictures_exist(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", LINKED[page])
    assert links or page in DOCS
    at = (ROOT / page).parent
    assert [link for link in links if not link.startswith("https:") and not (at / link).exists()] == []


def test_the_readme_lists_every_page_of_docs() -> None:
    assert set(re.findall(r"^\| .+\? \| \[(docs/\w+\.md)\]", PAGES["README.md"], re.MULTILINE)) == set(DOCS)


@pytest.mark.parametrize("page", DOCS)
def test_a_page_of_docs_begins_with_its_question(page: str) -> None:
    title, empty, *_ = DOCS[page].splitlines()
    assert re.fullmatch(r"# .+\?", title)
    assert empty == ""


@pytest.mark.parametrize("page", NAMING)
def test_named_files_exist(page: str) -> None:
    named = re.findall(r"`((?:app|model|static|tests|templates)/[\w./-]*)`", NAMING[page])
    assert named or page == "README.md"
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_exist(page: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", PAGES[page], re.MULTILINE))
    assert named
    assert named <= targets


def test_the_commands_have_the_options_that_are_shown() -> None:
    known = get_command(cli).commands  # type: ignore[attr-defined]
    lines = re.findall(r"^\.venv/bin/chumoku (.*?)(?:\s+#.*)?$", COMMANDS, re.MULTILINE)
    assert len(lines) >= len(known) - 1
    for line in lines:
        name, *arguments = shlex.split(line)
        options = {option for parameter in known[name].params for option in parameter.opts}
        assert {word for word in arguments if word.startswith("-")} <= options, line


WORDS = LINKED | FOLDERS


@pytest.mark.parametrize("page", WORDS)
def test_commands_and_settings_in_a_sentence_exist(page: str) -> None:
    """`chumoku serve --workers 4`, `CHUMOKU_WORKERS`."""
    known = get_command(cli).commands  # type: ignore[attr-defined]
    for line in re.findall(r"`chumoku ([a-z][^`]*)`", WORDS[page]):
        name, *arguments = line.split()
        if name in known:
            options = {option for parameter in known[name].params for option in parameter.opts}
            assert {word for word in arguments if word.startswith("--")} <= options, line
    named = set(re.findall(r"\bCHUMOKU_([A-Z_]+[A-Z])\b", WORDS[page]))
    assert {name.lower() for name in named} <= {*Settings.model_fields, "write_fixtures"}


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_the_files_that_a_preset_reads_are_named(preset: Preset) -> None:
    help_text = get_command(cli).commands["train"].help  # type: ignore[attr-defined]
    files = {f"`{Path(source.file).name}`" for source in preset.sources if source.reads not in ("package", "own")}
    assert {file for file in files if file not in COMMANDS or file not in help_text} == set()


def test_every_folder_has_its_row_in_the_layout() -> None:
    layout = PAGES["CONTRIBUTING.md"].split("## Repository layout")[1].split("## ")[0]
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and any(path.glob("*.*")) and path.name[0] != "."}
    tools = {"node_modules", "build", "dist", "runs", "look"} | {path.name for path in ROOT.glob("*.egg-info")}
    assert {f"{name}/" for name in folders - tools} <= set(re.findall(r"^\| \[?(\w+/)", layout, re.MULTILINE))


def test_the_layout_lists_the_folders_of_the_page() -> None:
    """In the order of their imports, which test_house.py enforces."""
    listed = re.search(r"go down this list: `([\w/ ]+)`", PAGES["CONTRIBUTING.md"])
    assert listed
    folders = {f"{path.parent.name}/" for path in (ROOT / "static").glob("*/*.js")}
    assert set(listed.group(1).split()) >= folders


def test_every_dependency_has_its_reason() -> None:
    """In pyproject.toml, on its line."""
    source = (ROOT / "pyproject.toml").read_text("utf-8")
    project = tomllib.loads(source)["project"]
    extras = project["optional-dependencies"]
    assert set(extras) == GROUPS
    lines = [*project["dependencies"], *(line for group in extras.values() for line in group)]
    reasons = dict(re.findall(r'^    "([^"]+)", +# (.+)$', source, re.MULTILINE))
    assert [line for line in lines if len(reasons.get(line, "").split()) < 2] == []


def test_the_license_is_the_one_that_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert "Apache License\n                           Version 2.0" in (ROOT / "LICENSE").read_text("utf-8")


def test_the_picture_of_the_architecture_names_files_that_exist() -> None:
    picture = (ROOT / "static/img/architecture.svg").read_text("utf-8")
    assert "prefers-color-scheme: dark" in picture
    folders = [ROOT / name for name in re.findall(r'class="folder"[^>]*>([\w/]+)<', picture)]
    named = [name for line in re.findall(r'class="where"[^>]*>([^<]+)<', picture) for name in line.split()]
    assert len(folders) == 3
    assert len(named) >= 7
    assert [name for name in named if not any((folder / name).exists() for folder in folders)] == []


def stops(folder: str) -> list[str]:
    """The files of the path in a folder's README, in order: of each stop, those before what comes in."""
    path = (ROOT / folder / "README.md").read_text("utf-8").split("## The path of a ")[1].split("\n## ")[0]
    lines = [line for line in path.splitlines() if re.match(r"\d+\. ", line)]
    assert all(re.match(rf"{n}\. \*\*[^*]+\*\*: `.+ In: .+ Out: ", line) for n, line in enumerate(lines, 1))
    files = [file for line in lines for file in re.findall(r"`([\w/]+\.(?:py|js))`", line.split(" In: ")[0])]
    assert f"passes {len(files)} files" in path
    return files


@pytest.mark.parametrize(("folder", "most"), [("app", 16), ("static", 14)])
def test_a_path_has_few_stops_and_each_is_a_file(folder: str, most: int) -> None:
    files = stops(folder)
    assert len(set(files)) == len(files) <= most
    assert [file for file in files if not (ROOT / folder / file).is_file()] == []

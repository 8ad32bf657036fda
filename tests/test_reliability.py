"""docs/reliability.md: every promise names a test, and these tests exist."""

import ast
import re
from pathlib import Path

import pytest

from chumoku.app.settings import Settings

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "reliability.md").read_text("utf-8")
ROWS = [row for row in re.findall(r"^\| (.*) \|$", PAGE, re.MULTILINE) if not row.endswith("tested by")]


@pytest.mark.parametrize("row", ROWS, ids=[row.partition(" | ")[0][:50] for row in ROWS])
def test_a_promise_has_its_tests(row: str) -> None:
    """Tests are named as `file` or `file::test`."""
    named = re.findall(r"`(tests/[\w/.]+?)(?:::(\w+))?`", row.rpartition(" | ")[2])
    assert named
    for file, test in named:
        assert (ROOT / file).is_file()
        assert not test or test in names_in(ROOT / file)


def names_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_there_are_promises_and_their_settings_exist() -> None:
    assert len(ROWS) > 10
    named = set(re.findall(r"`CHUMOKU_(\w+)`", PAGE))
    assert {name.lower() for name in named} <= set(Settings.model_fields)

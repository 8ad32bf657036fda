"""Only model/describe builds the name of a tap, a module or a parameter, or takes one apart.

A mechanism names what is inside its own module; model/describe adds where the module is.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from chumoku.model.describe import describe, parameters
from tests.model.helpers import tiny_checkpoint

ROOT = Path(__file__).parent.parent.parent
FILES = [
    path
    for room in ("model", "app", "benchmarks")
    for path in sorted((ROOT / room).rglob("*.py"))
    if not any(path.is_relative_to(ROOT / "model" / room) for room in ("describe", "mechanisms"))
]
ON_STRINGS = {
    "startswith",
    "endswith",
    "removeprefix",
    "removesuffix",
    "partition",
    "rpartition",
    "split",
    "format",
    "replace",
}


def words() -> set[str]:
    """Every word between two dots in the name of a tap or a parameter."""
    config = tiny_checkpoint("encoder-decoder").config
    names = [*describe(config).taps, *parameters(config)]
    return {word for name in names for word in name.split(".") if not word.isdigit()}


WORDS = words()


def is_piece(text: str) -> bool:
    """Whether a string is a piece of a name: `.pattern`, `layers.`, `encoder.layers.{n}.attn`."""
    parts = re.sub(r"%\w|\{\w*\}", "0", text).split(".")
    return len(parts) > 1 and any(parts) and all(part in WORDS or not part or part.isdigit() for part in parts)


def built(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, text) of the strings that are joined with, or searched for in, something else."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found: list[ast.expr] = node.values if any(isinstance(x, ast.FormattedValue) for x in node.values) else []
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
            found = [node.left, node.right]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ON_STRINGS:
            found = [*node.args, node.func.value]
        else:
            continue
        yield from ((x.lineno, x.value) for x in found if isinstance(x, ast.Constant) and isinstance(x.value, str))


THEIRS = {"model/traceable/huggingface/layout.py"}  # the names of transformers' parameters
NAMED = {"tap", "module"}


def named(node: ast.AST) -> bool:
    """Whether an expression is a name that a description gives: `part.module`."""
    return isinstance(node, ast.Attribute) and node.attr in NAMED


def handled(tree: ast.AST) -> Iterator[int]:
    """The lines in which such a name is taken apart, or is joined with a dot."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ON_STRINGS and named(node.func.value):
                yield node.lineno
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and (named(node.left) or named(node.right)):
            yield node.lineno
        elif isinstance(node, ast.JoinedStr):
            for one, next_ in pairwise(node.values):
                before, after = isinstance(one, ast.FormattedValue), isinstance(next_, ast.FormattedValue)
                if before and named(one.value) and isinstance(next_, ast.Constant):
                    dotted = str(next_.value).startswith(".")
                elif after and named(next_.value) and isinstance(one, ast.Constant):
                    dotted = str(one.value).endswith(".")
                else:
                    dotted = False
                if dotted:
                    yield node.lineno


def offences(source: str) -> list[str]:
    tree = ast.parse(source)
    pieces = [f"{line}: {text!r}" for line, text in built(tree) if is_piece(text)]
    return [*pieces, *(f"{line}: a description's name" for line in handled(tree))]


def test_no_name_of_a_tap_is_built_outside_the_description() -> None:
    assert len(FILES) > 100
    found = {str(path.relative_to(ROOT)): offences(path.read_text("utf-8")) for path in FILES}
    assert {name: lines for name, lines in found.items() if lines and name not in THEIRS} == {}


@pytest.mark.parametrize(
    "source",
    [
        'f"{path}.out"',
        'f"layers.{n}.attn.pattern"',
        'f"{prefix}layers.{n}.resid_pre"',
        'f"{norm}.{end}" + ".input"',
        'prefix + "final_norm.out"',
        '"layers.{layer}.attn".format(layer=2)',
        'name.startswith("decoder.")',
        'name.endswith(".pattern")',
        'name.removesuffix(".post")',
        'tap.replace("layers.0.", "layers.{layer}.")',
        '"encoder.layers.%d.attn.q" % n',
        'part.module.rpartition(".")[2]',
        'f"{part.module}."',
        'f"decoder.{role.tap}"',
        "part.writes.tap + end",
    ],
)
def test_the_search_finds_what_was_done_before(source: str) -> None:
    assert offences(source)


@pytest.mark.parametrize(
    "source",
    [
        'f"{name}.json"',
        'f"{n} layers."',
        'f"{folder}/encoder.json"',
        'roles["pattern"]',
        'f"{part.module} is unknown."',
    ],
)
def test_the_search_leaves_other_strings_alone(source: str) -> None:
    assert offences(source) == []

"""model/README.md tells the truth: its examples run, and its table of taps is the models'."""

import doctest
import re
from pathlib import Path

import pytest

import model
from model.taps import tap_dims
from tests.model.helpers import tiny_model

README = Path(model.__file__).with_name("README.md").read_text("utf-8")
TABLE = dict(re.findall(r"^\| `([\w.]+)` \| ([a-z_ ]+) \|", README, re.MULTILINE))


def taps(norm_order: str) -> dict[str, str]:
    return {
        re.sub(r"^layers\.\d+", "layers.N", n): dims for n, dims in tap_dims(tiny_model(norm_order=norm_order)).items()
    }


def test_the_table_of_taps_is_the_models() -> None:
    assert taps("pre") == TABLE


def test_what_the_table_calls_pre_norm_only_is() -> None:
    only = set(re.findall(r"^\| `([\w.]+)` .*pre-norm models only", README, re.MULTILINE))
    assert taps("pre").keys() - taps("post").keys() == only
    assert taps("post").keys() <= taps("pre").keys()


def test_the_map_names_every_file() -> None:
    files = {path.name for path in Path(model.__file__).parent.glob("*.py")} - {"__init__.py"}
    assert set(re.findall(r"`(\w+\.py)`", README.split("## Words")[0])) == files


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    test = doctest.DocTestParser().get_doctest(README, {}, "model/README.md", None, 0)
    assert len(test.examples) > 20
    failed, _ = doctest.DocTestRunner().run(test)
    assert failed == 0, capsys.readouterr().out

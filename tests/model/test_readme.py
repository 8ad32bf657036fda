"""The examples of model/README.md run, and the taps that `model/describe` lists are those of the models."""

import doctest
import re
from pathlib import Path

import pytest

from chumoku import model
from chumoku.model import describe
from chumoku.model.config import Family
from chumoku.model.taps import tap_dims
from tests.model.helpers import FAMILIES, tiny_checkpoint

README = Path(model.__file__).with_name("README.md").read_text("utf-8")
EXAMPLES = Path(__file__).with_name("examples.txt").read_text("utf-8")
TAPS = str(describe.__doc__)


def table(text: str) -> dict[str, str]:
    return dict(re.findall(r"^  ([\w.]+) \[([a-z_ ]+)\]: ", text, re.MULTILINE))


DECODER, ENCODER, CROSS = (table(part) for part in re.split(r"\nEncoder-(?:only|decoder): ", TAPS))
TABLES: dict[Family, dict[str, str]] = {
    "decoder-only": DECODER,
    "encoder-only": DECODER | ENCODER,
    "encoder-decoder": CROSS
    | {
        f"{stack}.{name}": dims
        for stack in ("encoder", "decoder")
        for name, dims in DECODER.items()
        if name != "logits"
    }
    | {"logits": DECODER["logits"]},
}


def taps(family: Family, norm_order: str) -> dict[str, str]:
    model = tiny_checkpoint(family, norm_order=norm_order).model
    return {re.sub(r"layers\.\d+", "layers.N", name): dims for name, dims in tap_dims(model).items()}


@pytest.mark.parametrize("norm_order", ["pre", "res-post"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_tables_of_taps_are_the_models(family: Family, norm_order: str) -> None:
    assert taps(family, norm_order) == TABLES[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_table_says_is_not_in_post_norm_models_is_not(family: Family) -> None:
    but = set(re.findall(r"^  ([\w.]+) .*not in post-norm models", TAPS, re.MULTILINE))
    missing = taps(family, "pre").keys() - taps(family, "post").keys()
    assert {re.sub(r"^(encoder|decoder)\.", "", name) for name in missing} == but
    assert taps(family, "post").keys() <= taps(family, "pre").keys()


def test_the_map_names_every_file() -> None:
    files = {path.name for path in Path(model.__file__).parent.glob("*.py")} - {"__init__.py"}
    assert set(re.findall(r"`(\w+\.py)`", README.split("## Words")[0])) == files


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    test = doctest.DocTestParser().get_doctest(f"{README}\n{EXAMPLES}", {}, "model/README.md", None, 0)
    assert len(test.examples) > 20
    failed, _ = doctest.DocTestRunner().run(test)
    assert failed == 0, capsys.readouterr().out

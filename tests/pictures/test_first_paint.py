"""The river of the first paint (templates/first_paint/) shows what the model says, within 1e-4."""

import base64
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chumoku.app.page_files import STATIC, TEMPLATES
from tests.app.helpers import decode
from tests.pictures.test_stored import ask

HERE = Path(__file__).parent
EXAMPLE = json.loads((STATIC / "examples.json").read_text("utf-8"))["examples"][0]
NEAR = {"rtol": 0.0, "atol": 1e-4}


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    _, meta = decode(gzip.decompress((HERE / "stored" / f"{EXAMPLE['model']}.safetensors.gz").read_bytes()))
    return meta


def questions(stored: dict[str, Any], about: str) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """What was asked about the first example's text, and the answer."""
    for question, answer in stored["answers"].items():
        *_, path, body = re.split(" (?=[/{])", f" {question}", maxsplit=2)
        if path.endswith(about) and body and json.loads(body).get("text") == EXAMPLE["text"]:
            yield path, json.loads(body), answer


def floats(array: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(array["data"]), array.get("dtype", "float32")).astype(np.float64)


def test_its_widths_are_the_models(server_url: str, stored: dict[str, Any]) -> None:
    ((path, body, drawn),) = questions(stored, "/route")
    now = json.loads(ask(server_url, path, body))
    for was, river in zip(drawn["rivers"], now["rivers"], strict=True):
        np.testing.assert_allclose(floats(was["ffn"]), floats(river["ffn"]), **NEAR)
        for flow, other in zip(was["flows"], river["flows"], strict=True):
            for part in ("share", "own"):
                np.testing.assert_allclose(floats(flow[part]), floats(other[part]), **NEAR, err_msg=part)


def test_its_best_guesses_are_the_models(server_url: str, stored: dict[str, Any]) -> None:
    ((path, body, drawn),) = questions(stored, "/lens")
    now = json.loads(ask(server_url, path, body))
    assert drawn["top"] == now["top"]
    np.testing.assert_allclose(drawn["probability"], now["probability"], **NEAR)


def test_its_answers_are_the_models(server_url: str, stored: dict[str, Any]) -> None:
    (run,) = [one for one in stored["runs"] if one["run"]["text"] == EXAMPLE["text"]]
    predict = {"positions": None, "n": 20, "temperature": 0.8, "top_k": 20, "top_p": 0.95}
    _, meta = decode(ask(server_url, "/api/trace", {**run["run"], "want": ["layers.0.attn.mask"], "predict": predict}))
    (drawn,) = run["predictions"].values()
    for was, now in zip(drawn[-1]["candidates"], meta["predictions"][-1]["candidates"], strict=True):
        assert was["id"] == now["id"]
        assert was["before"] == pytest.approx(now["before"], abs=1e-4)


def test_its_darkness_and_its_sentence_are_the_models(server_url: str, stored: dict[str, Any]) -> None:
    asked = list(questions(stored, "/effects"))
    assert len(asked) == 2
    for path, body, drawn in asked:
        for was, now in zip(events(drawn), events(ask(server_url, path, body).decode()), strict=True):
            assert was.keys() == now.keys()
            for name in was.keys() & {"p", "delta"}:
                assert was[name] == pytest.approx(now[name], abs=1e-4), (was, name)


def events(stream: str) -> list[dict[str, Any]]:
    return [json.loads(line.removeprefix("data:")) for line in stream.splitlines() if line.startswith("data:")]


def test_it_is_words_of_the_page() -> None:
    """Every word of it that is not the example's goes through `t`."""
    for lang in ("en", "ja"):
        strings = json.loads((STATIC / "i18n" / f"{lang}.json").read_text("utf-8"))
        keys = {
            key
            for file in (TEMPLATES / "first_paint").iterdir()
            for key in re.findall(r'\bt\("([^"]+)"', file.read_text("utf-8"))
        }
        assert len(keys) >= 7
        assert keys <= strings.keys()

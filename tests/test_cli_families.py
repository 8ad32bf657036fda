"""The commands with a translator and with a classifier: random ones, on disk."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy
import torch

from chumoku.app.errors import written
from chumoku.app.services.library import Library
from chumoku.model import checkpoint
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.evaluate_classification import accuracy
from chumoku.model.sampling import SamplingSettings
from chumoku.model.trace import trace
from chumoku.model.translate import translate
from tests.app.conftest import three  # noqa: F401
from tests.app.families import SOURCE, TARGET, opened, save
from tests.shortcuts import generate_target
from tests.test_cli import Run, one_line, run  # noqa: F401


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """One thread: small products are slower with two."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def folder(three: Library, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    folder = tmp_path_factory.mktemp("models")
    for name in three.names:
        save(folder, opened(three, name))
    return folder


@pytest.fixture
def translator(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Checkpoint:
    monkeypatch.setenv("CHUMOKU_MODELS_DIR", str(folder))
    return checkpoint.load(folder / "translator")


@pytest.fixture
def classifier(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Checkpoint:
    monkeypatch.setenv("CHUMOKU_MODELS_DIR", str(folder))
    return checkpoint.load(folder / "classifier")


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with safetensors.safe_open(str(path), "numpy") as file:
        return safetensors.numpy.load_file(path), json.loads(file.metadata()["chumoku"])


@pytest.mark.parametrize("target", [TARGET, None])
def test_trace_with_a_target(run: Run, translator: Checkpoint, tmp_path: Path, target: str | None) -> None:  # noqa: F811
    out = tmp_path / "t.safetensors"
    result = run("trace", SOURCE, "-m", "translator", "-o", out, *(["--target", target] if target else []))
    assert result.exit_code == 0, result.output
    tensors, meta = read(out)
    ids = [token["id"] for token in meta["target_tokens"]]
    expected = trace(translator, translator.tokenizer.encode(SOURCE), target=ids)
    for name, tensor in expected.tensors.items():
        np.testing.assert_allclose(tensors[name], tensor.numpy(), atol=1e-5, err_msg=name)
    assert meta["target_from"] == ("request" if target else "greedy")
    assert target is None or meta["target_text"] == target
    assert [found["position"] for found in meta["predictions"]] == list(range(len(ids)))
    assert f"{len(SOURCE)} source and {len(ids)} target tokens" in result.stdout


def test_trace_of_a_classifier(run: Run, classifier: Checkpoint, tmp_path: Path) -> None:  # noqa: F811
    out = tmp_path / "c.safetensors"
    result = run("trace", "GOOD!", "-m", "classifier", "--pad-right", 2, "-o", out)
    assert result.exit_code == 0, result.output
    tensors, meta = read(out)
    assert tensors["logits"].shape == (3,)
    assert len(meta["classes"]) == 3
    assert (meta["read_text"], meta["masks"]["causal"]) == ("good !", False)


def test_generate_translates(run: Run, translator: Checkpoint) -> None:  # noqa: F811
    for beams in (1, 4):
        best = translate(translator, SOURCE, beams=beams)[0].text(translator.tokenizer)
        assert run("generate", SOURCE, "-m", "translator", "--beam", beams).stdout == written(best, keep="\n\t") + "\n"
    assert run("generate", SOURCE, "-m", "translator").stdout == written(best, keep="\n\t") + "\n"
    *_, last = generate_target(translator, list(SOURCE.encode()), SamplingSettings(0.0, 20, 0.95, 7), 3)
    said = run("generate", SOURCE, "-m", "translator", "--temperature", 0, "-n", 3).stdout
    assert said == translator.tokenizer.decode([i for i in last.ids if i < 256]) + "\n"


def test_evaluate_a_translator(run: Run, translator: Checkpoint, tmp_path: Path) -> None:  # noqa: F811
    from chumoku.model.evaluate_translation import chrf_and_bleu

    pairs = [("I like cats.", "猫が好き。"), ("Yes.", "はい。")]
    data = tmp_path / "pairs.tsv"
    data.write_text("\n".join("\t".join(pair) for pair in pairs) + "\n")
    result = run("evaluate", "translator", "--data", data, "--beam", 2, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == chrf_and_bleu(translator, pairs, beams=2)
    said = run("evaluate", "translator", "--data", data, "--beam", 1).stdout
    assert "2 pairs, 1 beam" in said
    assert "BLEU by character" in said


def test_evaluate_a_classifier(run: Run, classifier: Checkpoint, tmp_path: Path) -> None:  # noqa: F811
    rows = [("good", 1), ("bad", 0), ("so so", 2)]
    data = tmp_path / "dev.tsv"
    data.write_text("sentence\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows))
    result = run("evaluate", "classifier", "--data", data, "--json")
    assert json.loads(result.stdout) == {"accuracy": accuracy(classifier, rows)}
    assert "3 sentences" in run("evaluate", "classifier", "--data", data).stdout


def test_models_fit_into_80_columns() -> None:
    from rich.console import Console

    from chumoku.app.cli.commands import models_table
    from chumoku.app.services import discovery
    from chumoku.app.services.models import all_models
    from chumoku.app.settings import Settings

    described = all_models(discovery.discover(Settings(device="cpu", models_dir=[])))["models"]
    with (console := Console(width=80, color_system=None)).capture() as said:
        console.print(models_table(described, "stories-gpt"))
    assert "…" not in said.get()
    for about in described:
        (row,) = [line for line in said.get().splitlines() if line.startswith(about["name"])]
        assert f"{about['n_layer']} × {about['n_head']} × {about['d_model']}" in row
        assert about["family"] in row
        assert len(row) <= 80


def test_models_show_each_ones_figure() -> None:
    from chumoku.app.cli.commands import figure

    assert figure({"bits_per_byte": 0.85}) == "0.850 bits/byte"
    assert figure({"greedy": {"chrf": 30.1}, "beam_4": {"chrf": 31.24, "bleu": 20}}) == "chrF 31.2"
    assert figure({"accuracy": 0.8123}) == "accuracy 81.2 %"
    assert figure({}) == ""


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["generate", "a", "-m", "classifier"], "/api/trace"),
        (["generate", "a", "-m", "gpt", "--beam", "4"], "--beam is for a translator"),
        (["generate", "a", "-m", "translator", "--beam", "4", "--seed", "1"], "does not sample"),
        (["generate", "", "-m", "translator"], "no token"),
        (["trace", "a", "-m", "gpt", "--target", "b"], "cannot read a target"),
        (["trace", "a", "-m", "translator", "--target", "b" * 64], "65 target tokens"),
        (["evaluate", "classifier", "--data", "/nowhere.tsv"], "/nowhere.tsv"),
        (["evaluate", "classifier", "--data", "x.tsv", "--beam", "2"], "--beam is for a translator"),
    ],
)
def test_errors_are_one_line(run: Run, translator: Checkpoint, args: list[str], said: str) -> None:  # noqa: F811
    assert said in one_line(run(*args))

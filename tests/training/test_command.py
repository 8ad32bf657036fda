"""`chumoku train` from end to end: a model folder with a card that says what it was made of and how good it is."""

import json
from pathlib import Path

import pytest

from model import checkpoint
from model.evaluate import bits_per_byte
from model.training import command
from model.training.command import run_training
from model.training.curve import read_metrics
from model.training.data import is_held_out
from tests.training.helpers import HELD_OUT, documents, tiny_preset


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(command.PRESETS, "tiny", tiny_preset())


def test_a_run_ends_with_a_model_and_an_honest_card(data: Path, tmp_path: Path) -> None:
    folder = run_training(preset="tiny", data=data, device="cpu", steps=60, seed=5, out=tmp_path)
    loaded = checkpoint.load(folder)
    card = loaded.card
    held_out = [document for document in documents("animals") if is_held_out(document, HELD_OUT)]
    measured = bits_per_byte(loaded.model, loaded.tokenizer, held_out)
    assert card["evaluation"]["bits_per_byte"] == pytest.approx(measured, abs=1e-4)
    assert card["evaluation"]["bytes"] == sum(len(document.encode()) for document in held_out)
    assert (card["steps"], card["tokens_seen"], card["seed"]) == (60, 60 * 4 * 32, 5)
    assert [source["licence"] for source in card["data"]] == ["CC0", "CC0"]
    assert card["n_parameters"] == sum(p.numel() for p in loaded.model.parameters())
    assert [s["text"].startswith(s["prompt"]) for s in card["samples"]] == [True] * 3
    assert f"chumoku train tiny --data {data} --steps 60 --seed 5" in card["command"]
    assert "plotly" in (tmp_path / "curve.html").read_text()


def test_the_same_command_goes_on(data: Path, tmp_path: Path) -> None:
    for steps in (10, 20):
        folder = run_training(preset="tiny", data=data, device="cpu", steps=steps, out=tmp_path)
    assert json.loads((folder / "card.json").read_text())["steps"] == 20


def test_an_unknown_preset_lists_the_known_ones(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown preset 'storis-gpt'; known are .*stories-gpt"):
        run_training(preset="storis-gpt", data=data, out=tmp_path)


def test_missing_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"lacks animals\.txt, weather\.txt"):
        run_training(preset="tiny", data=tmp_path, out=tmp_path)


def test_a_resumed_run_s_repeated_steps_count_once(tmp_path: Path) -> None:
    lines = [{"step": step, "loss": loss} for step, loss in ((50, 3.0), (100, 2.0), (50, 2.9), (100, 1.9))]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_metrics(tmp_path) == lines[2:]
    assert read_metrics(tmp_path / "nowhere") == []

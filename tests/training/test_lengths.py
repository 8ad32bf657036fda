"""The loss over lengths on a card: from which texts, and how it gets there."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch

from chumoku.model import evaluate
from chumoku.model.special_tokens import END
from chumoku.model.training import card, command
from chumoku.model.training.card import held_out_passages
from chumoku.model.training.command import add_lengths, run_training
from chumoku.model.training.data import is_held_out, read_documents
from tests.model.helpers import byte_tokenizer
from tests.training.helpers import tiny_preset

WORDS = random.Random(0)
TEXTS = [" ".join("".join(WORDS.choices("abcdefghij", k=3)) for _ in range(120)) for _ in range(60)]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Documents of 400 bytes and more, and lengths that some of them have."""
    for module in (evaluate, card, command):
        monkeypatch.setattr(module, "LENGTHS", (16, 32, 64))
    monkeypatch.setitem(command.PRESETS, "tiny", tiny_preset())
    folder = tmp_path / "data"
    folder.mkdir()
    for file, texts in (("animals.txt", TEXTS), ("weather.txt", ["rain " * 4, *TEXTS[:2]])):
        (folder / file).write_text(f"\n{END}\n".join(texts), "utf-8")
    return folder


def test_passages_are_whole_and_from_documents_that_were_not_trained_on(data: Path) -> None:
    documents, passages = held_out_passages(tiny_preset(), data, byte_tokenizer())
    held_out = [d for d in read_documents(data / "animals.txt") if is_held_out(d, 0.1)]
    n = len(set(documents))
    assert 1 < n <= len(held_out)
    assert documents == sorted(documents)
    assert documents[-1] == n - 1
    assert {len(ids) for ids in passages} == {65}
    texts = [bytes(ids).decode() for ids in passages]
    assert all(any(text in document for document in held_out) for text in texts)
    of = [next(i for i, document in enumerate(held_out) if text in document) for text in texts]
    assert len(set(zip(of, documents, strict=True))) == n, "a number is a document"
    assert max(sum(text in document for text in texts) for document in held_out) <= card.OF_ONE


def test_they_are_on_a_trained_models_card_and_can_be_added_where_texts_are_long(data: Path, tmp_path: Path) -> None:
    folder = run_training(preset="tiny", data=data, device="cpu", steps=1, out=tmp_path / "run")
    file = folder / "card.json"
    on_card = json.loads(file.read_text())
    found = on_card["lengths"]
    assert found["length"] == [16, 32], "the learned positions of the tiny model end at 32"
    assert found["ends"]
    assert f"{found['n_passages']} passages of {found['n_documents']} documents" in found["on"]
    assert found["apart"][1] == 0
    assert found["loss"][0] == pytest.approx(found["loss"][1] + found["apart"][0], abs=2e-4)
    file.write_text(json.dumps({name: part for name, part in on_card.items() if name != "lengths"}))
    assert add_lengths(folder, data, torch.device("cpu")) == found
    assert json.loads(file.read_text()) == on_card

    for name in ("animals.txt", "weather.txt"):
        (data / name).write_text(f"\n{END}\n".join(text[:60] for text in TEXTS), "utf-8")
    with pytest.raises(ValueError, match="no two documents of 65 tokens that tiny could continue"):
        add_lengths(folder, data, torch.device("cpu"))


def test_a_training_ends_with_a_card_though_its_window_is_below_every_length(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (evaluate, card, command):
        monkeypatch.setattr(module, "LENGTHS", (48, 64))
    folder = run_training(preset="tiny", data=data, device="cpu", steps=1, out=tmp_path / "run")
    assert "lengths" not in json.loads((folder / "card.json").read_text())
    with pytest.raises(ValueError, match="tiny reads 32 tokens, and the shortest length measured is 48"):
        add_lengths(folder, data, torch.device("cpu"))

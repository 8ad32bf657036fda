"""The task of a masked language model: passages of every file, gaps, and a classifier that starts from it."""

import json
import math
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from chumoku.model import checkpoint, masks
from chumoku.model.config import ModelConfig
from chumoku.model.tokenizer import treebank
from chumoku.model.training import command
from chumoku.model.training.classification import phrases, read_rows, split_sentences
from chumoku.model.training.command import run_training
from chumoku.model.training.masked_lm import MaskedLM, best_fills
from chumoku.model.training.passages import Passages, split_texts, weighted, whole
from chumoku.model.training.prepare import prepare
from chumoku.model.training.presets import MASKED_LM, SENTIMENT_ENCODER
from chumoku.model.training.task import Batch
from chumoku.model.training.train import Trainer
from chumoku.model.training.translation import read_pairs
from chumoku.model.training.warm_start import keep_vocabulary
from chumoku.model.transformer import EncoderOnly, build
from tests.model.helpers import byte_tokenizer
from tests.training.helpers import (
    assert_same_weights,
    classification_preset,
    fill_mask_preset,
    tiny_run,
    train,
    weights_of,
    write_all,
)
from tests.training.test_train import stop_at


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_all(tmp_path_factory.mktemp("english"))


@pytest.fixture
def task(folder: Path, tmp_path: Path) -> MaskedLM:
    made = prepare(fill_mask_preset(), tmp_path, folder)
    assert isinstance(made, MaskedLM)
    return made


def trainer_of(folder: Path, out: Path, **changes: Any) -> Trainer:
    run = tiny_run(out, folder)
    return Trainer(fill_mask_preset(**changes), run, prepare(fill_mask_preset(**changes), out, folder))


def test_the_loss_is_the_cross_entropy_at_the_gaps_alone(folder: Path, tmp_path: Path) -> None:
    trainer = trainer_of(folder, tmp_path)
    batch = trainer.task.batch(np.random.default_rng(3))
    (seen, chosen), answers = batch.inputs, iter(batch.targets.tolist())
    model = trainer.model.eval()
    assert isinstance(model, EncoderOnly)
    nats = []
    for row, gaps in zip(seen, chosen, strict=True):  # one text at a time, without its PADs
        ids = row[row != trainer.task.tokenizer.pad_id][None]
        logits = model(ids, masks.nothing(ids.shape[1], ids.shape[1])[None, None])[0].double()
        for t in torch.nonzero(gaps)[:, 0].tolist():
            nats.append((logits[t].exp().sum().log() - logits[t, next(answers)]).item())
    assert trainer.loss(batch).item() == pytest.approx(sum(nats) / len(nats), rel=1e-5)
    assert batch.n_targets == len(nats)


def test_what_is_no_gap_has_no_loss(folder: Path, tmp_path: Path) -> None:
    """One gap gives one row of logits, whose −ln p is the loss."""
    trainer = trainer_of(folder, tmp_path)
    batch = trainer.task.batch(np.random.default_rng(3))
    seen, chosen = batch.inputs
    one = torch.zeros_like(chosen)
    one[tuple(torch.nonzero(chosen)[0])] = True
    single = Batch((seen, one), batch.targets[:1])
    logits = trainer.task.forward(trainer.model.eval(), single)
    assert logits.shape == (1, trainer.preset.config.vocab_size)
    assert trainer.loss(single).item() == pytest.approx(-logits[0].log_softmax(-1)[batch.targets[0]].item(), rel=1e-5)


def test_a_gap_is_filled_from_both_sides(task: MaskedLM) -> None:
    model = build(task.preset.config).eval()
    ids = torch.tensor([[task.tokenizer.first_id, 10, task.tokenizer.mask_id, 11, 12]])
    nothing = masks.nothing(5, 5)[None, None]
    for changed in (1, 4):
        other = ids.clone()
        other[0, changed] = 99
        assert not torch.allclose(model(ids, nothing)[0, 2], model(other, nothing)[0, 2])


def test_a_batch_begins_with_cls_and_hides_15_percent(task: MaskedLM) -> None:
    tokenizer = task.tokenizer
    passages = {tuple(task.train.row(i).tolist()) for i in range(len(task.train))}
    for seed in range(3):
        batch = task.batch(np.random.default_rng(seed))
        seen, chosen = batch.inputs
        assert (seen[:, 0] == tokenizer.first_id).all()
        n = int(((seen != tokenizer.pad_id) & (seen != tokenizer.first_id)).sum())
        assert batch.n_targets == round(0.15 * n)
        restored = seen.masked_scatter(chosen, batch.targets)
        assert {tuple(i for i in row if i != tokenizer.pad_id) for row in restored.tolist()} <= passages


def test_no_phrase_of_a_held_out_sentence_is_read(folder: Path) -> None:
    preset = fill_mask_preset()
    texts = split_texts(preset, folder)
    held_out = split_sentences(read_rows(classification_preset(), folder), 0.3)[1]
    assert texts.held_out == [text for text, _ in held_out]
    parts = {part for text in texts.held_out for part in phrases(text)}
    assert parts.isdisjoint(texts.train["sentences.tsv"])
    assert set(MaskedLM.texts(preset, folder)).isdisjoint({treebank(text) for text in texts.held_out})


def test_what_the_classifier_is_judged_on_is_held_out_here_too() -> None:
    fractions = {source.file.removeprefix("sst2/"): source.held_out for source in MASKED_LM.sources}
    for source in SENTIMENT_ENCODER.sources:
        assert fractions[source.file] >= source.held_out
    rows = [(f"{i} b c d e f g h i j k l", 0) for i in range(300)]
    few, many = (dict(split_sentences(rows, fraction)[1]) for fraction in (0.12, 0.24))
    assert few.keys() < many.keys()


def test_every_form_of_file_gives_its_english(folder: Path) -> None:
    texts = split_texts(fill_mask_preset(), folder)
    sources = {source for source, _ in read_pairs(folder / "pairs.tsv")}
    assert set(texts.train["pairs.tsv"]) <= sources
    assert len(texts.train["pairs.tsv"]) > 0.5 * len(sources)
    assert len(set(texts.train["pairs.tsv"])) == len(texts.train["pairs.tsv"])
    assert all(text.startswith("animals") for text in texts.train["animals.txt"])


def test_parts_of_other_texts_are_left_out() -> None:
    assert whole(["a b c", "b c", "c d", "a b c d e", "x"]) == ["a b c d e", "x"]


def test_a_passage_is_half_a_window_and_every_fourth_a_whole_one() -> None:
    tokenizer = byte_tokenizer("encoder-only", mask_token=True)
    text = "abcdefghij" * 10
    made = Passages.of([text], tokenizer, window=16)
    assert made.lengths.tolist()[:8] == [8, 8, 8, 16, 8, 8, 8, 16]
    rows = [made.row(i).tolist() for i in range(len(made))]
    assert all(row[0] == tokenizer.first_id for row in rows)
    assert tokenizer.decode([i for row in rows for i in row[1:]]) == text


def test_a_source_is_drawn_by_its_weight_and_every_row_at_least_once() -> None:
    drawn = weighted([10, 30], [0.5, 0.5])
    assert np.bincount(drawn).tolist() == [3] * 10 + [1] * 30
    assert np.bincount(weighted([5, 2], [0.5, 1.0])).tolist() == [1] * 5 + [5] * 2


def test_it_learns(folder: Path, tmp_path: Path) -> None:
    trained = train(fill_mask_preset(), tiny_run(tmp_path, folder, steps=150))
    task = prepare(fill_mask_preset(), tmp_path, folder)
    untrained = build(trained.config).eval()
    assert task.validate(untrained) == pytest.approx(math.log(271), abs=0.2), "it knows nothing"
    assert task.validate(trained) < 0.6 * task.validate(untrained)
    assert task.validate(trained) == task.validate(trained), "the same gaps every time"


def test_a_stopped_run_resumes_bit_for_bit(folder: Path, tmp_path: Path) -> None:
    preset = fill_mask_preset(dropout=0.2)
    whole_run = train(preset, tiny_run(tmp_path / "whole", folder, steps=12))
    train(preset, tiny_run(tmp_path / "parts", folder, steps=12), stop_at(5, signal.SIGTERM))
    assert_same_weights(train(preset, tiny_run(tmp_path / "parts", folder, steps=12)), whole_run)


@pytest.fixture
def presets(monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = classification_preset()
    config = ModelConfig.from_json(classifier.config.to_json() | {"vocab_size": 271})
    for preset in (fill_mask_preset(), classification_preset(config=config)):
        monkeypatch.setitem(command.PRESETS, preset.name, preset)


@pytest.mark.usefixtures("presets")
def test_a_run_ends_with_a_model_its_card_and_filled_gaps(folder: Path, tmp_path: Path) -> None:
    loaded = checkpoint.load(run_training(preset="tiny-gaps", data=folder, device="cpu", steps=30, out=tmp_path))
    task = prepare(fill_mask_preset(), tmp_path, folder)
    found = loaded.card["evaluation"]
    assert found["nats_per_gap"] == pytest.approx(task.validate(loaded.model), abs=1e-4)
    assert 0 <= found["first_choice_right"] <= 1
    assert loaded.card["curve"][-1]["nats_per_gap"] == pytest.approx(found["nats_per_gap"], abs=0.01)
    assert loaded.card["units"]["n_texts"] > 0
    sample = loaded.card["samples"][0]
    assert sample["fills"] == best_fills(loaded, sample["text"])
    p = [fill["p"] for fill in sample["fills"]]
    assert p == sorted(p, reverse=True)
    assert loaded.tokenizer.mask_id == 270


@pytest.mark.usefixtures("presets")
def test_a_classifier_starts_from_it_with_a_new_head(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    masked = run_training(preset="tiny-gaps", data=folder, device="cpu", steps=10, out=tmp_path / "gaps")
    preset = keep_vocabulary(command.PRESETS["tiny-classifier"], masked)
    run = tiny_run(tmp_path / "classes", folder, warm_start=masked)
    trainer = Trainer(preset, run, prepare(preset, run.folder, folder, masked))
    assert trainer.fresh == ["classifier.weight", "classifier.bias"]
    theirs, ours = weights_of(checkpoint.load(masked).model), weights_of(trainer.model)
    assert ours.keys() - theirs.keys() == set(trainer.fresh)
    assert theirs.keys() <= ours.keys()
    assert all(torch.equal(ours[name], x) for name, x in theirs.items())
    assert ours["classifier.weight"].std() > 0
    assert (run.folder / "tokenizer.tiktoken").read_bytes() == (masked / "tokenizer.tiktoken").read_bytes()
    capsys.readouterr()
    tried = [{"what": {"en": "twice the rate"}, "held_out": {"nats_per_gap": 9.5}}]
    (masked / "card.json").write_text(json.dumps(checkpoint.load(masked).card | {"tried": tried}))
    made = run_training(preset=preset.name, data=folder, device="cpu", steps=2, out=run.folder, warm_start=masked)
    said = "".join(capsys.readouterr().err.split())
    assert "anewhead:classifier.weight,classifier.bias" in said
    assert checkpoint.load(made).tokenizer.mask_id == 270
    assert "tried" not in checkpoint.load(made).card, "its figures are of another task"
    stages = checkpoint.load(made).card["stages"]
    assert [(one["model"], list(one["held_out"])) for one in stages] == [
        ("tiny-gaps", ["nats_per_gap", "first_choice_right"]), ("tiny-classifier", ["accuracy"]),
    ]  # fmt: skip
    assert "--steps 10" in stages[0]["command"]
    assert f"--warm-start {masked}" in stages[1]["command"]
    assert all(one["tokens"] > 0 for one in stages)
    (made / "card.json").write_text(json.dumps(checkpoint.load(made).card | {"tried": tried}))
    how: dict[str, Any] = {"preset": preset.name, "data": folder, "device": "cpu", "steps": 2}
    assert checkpoint.load(run_training(**how, out=tmp_path / "on", warm_start=made)).card["tried"] == tried


@pytest.mark.usefixtures("presets")
def test_it_goes_on_from_the_classifier_that_started_from_it(folder: Path, tmp_path: Path) -> None:
    masked = run_training(preset="tiny-gaps", data=folder, device="cpu", steps=2, out=tmp_path / "gaps")
    how: dict[str, Any] = {"data": folder, "device": "cpu", "steps": 2}
    classifier = run_training(preset="tiny-classifier", out=tmp_path / "classes", warm_start=masked, **how)
    preset = keep_vocabulary(command.PRESETS["tiny-gaps"], classifier)
    run = tiny_run(tmp_path / "on", folder, warm_start=classifier)
    trainer = Trainer(preset, run, prepare(preset, run.folder, folder, classifier))
    assert trainer.fresh == [], "the embedding is the unembedding too"
    theirs, ours = weights_of(checkpoint.load(classifier).model), weights_of(trainer.model)
    assert theirs.keys() - ours.keys() == {"classifier.weight", "classifier.bias"}
    assert all(torch.equal(theirs[name], x) for name, x in ours.items())
    untied = replace(preset, config=replace(preset.config, tie_embeddings=False))
    assert Trainer(untied, run, trainer.task).fresh == ["unembedding.weight"]
    gaps = run_training(preset="tiny-gaps", out=run.folder, warm_start=classifier, **how)
    stages = checkpoint.load(gaps).card["stages"]
    assert [one["model"] for one in stages] == ["tiny-gaps", "tiny-classifier", "tiny-gaps"]


@pytest.mark.usefixtures("presets")
def test_a_classifier_without_mask_is_refused(folder: Path, tmp_path: Path) -> None:
    how: dict[str, Any] = {"data": folder, "device": "cpu", "steps": 2}
    classifier = run_training(preset="tiny-classifier", out=tmp_path / "classes", **how)
    with pytest.raises(ValueError, match=r"tiny-gaps hides tokens with \[MASK\], which the vocabulary of .* lacks"):
        run_training(preset="tiny-gaps", out=tmp_path / "gaps", warm_start=classifier, **how)


def test_what_does_not_fit_is_refused(folder: Path, tmp_path: Path) -> None:
    made = train(classification_preset(), tiny_run(tmp_path / "first", folder, steps=2))
    checkpoint.save(tmp_path / "shipped", made, tmp_path / "first" / "tokenizer.tiktoken")
    run = tiny_run(tmp_path / "second", folder, warm_start=tmp_path / "shipped")
    preset = fill_mask_preset()
    wider = replace(preset, config=replace(preset.config, d_ff=2 * preset.config.d_ff))
    with pytest.raises(ValueError, match=r"w_1"):
        Trainer(wider, run, prepare(wider, run.folder, folder))

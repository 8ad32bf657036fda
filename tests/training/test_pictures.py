"""The task of a model that reads pictures: scikit-learn's digits, a fifth of them held out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from chumoku.model import checkpoint
from chumoku.model.checkpoint import ZOO
from chumoku.model.pictures.examples import read_examples
from chumoku.model.training.pictures import Pictures, move, split
from chumoku.model.training.prepare import prepare
from chumoku.model.training.presets import DIGITS_VIT, DIGITS_VIT_LAST
from chumoku.model.training.train import Trainer
from tests.training.helpers import tiny_run

SMALL = replace(DIGITS_VIT, config=replace(DIGITS_VIT.config, n_layer=1, d_model=32, d_ff=32), batch_size=32)


@pytest.fixture
def task(tmp_path: Path) -> Pictures:
    made = prepare(SMALL, tmp_path, tmp_path)
    assert isinstance(made, Pictures)
    return made


def test_no_picture_is_trained_on_and_held_out() -> None:
    for preset in (DIGITS_VIT, DIGITS_VIT_LAST):
        train, held_out = split(1797, preset.sources[0])
        assert len(held_out) == 360
        assert sorted([*train, *held_out]) == list(range(1797))
    assert held_out.tolist() == list(range(1437, 1797))


def test_the_shipped_pictures_are_the_held_out_ones_of_scikit_learn() -> None:
    assert DIGITS_VIT.config.picture is not None
    theirs = load_digits()
    shipped = read_examples(ZOO / "digits-vit", DIGITS_VIT.config.picture, 10)
    assert [one.index for one in shipped] == split(1797, DIGITS_VIT.sources[0])[1].tolist()
    assert all(one.pixels == theirs.images[one.index].tolist() for one in shipped)
    assert all(one.label == theirs.target[one.index] for one in shipped)


def test_a_batch_has_training_pictures_moved_by_a_pixel_at_most(task: Pictures) -> None:
    batch = task.batch(np.random.default_rng(0))
    ids, hidden = batch.inputs
    assert ids.shape == hidden.shape == (32, 17)
    assert (ids[:, 0] == task.tokenizer.first_id).all()
    assert not hidden[:, 0].any()
    known = {
        (tuple(task.picture.ids(move(task.pixels[i], down, right).tolist())), int(task.labels[i]))
        for i in task.train
        for down in (-1, 0, 1)
        for right in (-1, 0, 1)
    }
    assert all(
        (tuple(row[1:]), label) in known for row, label in zip(ids.tolist(), batch.targets.tolist(), strict=True)
    )


def test_what_a_moved_picture_loses_is_gone_and_what_comes_in_is_paper() -> None:
    picture = np.arange(1, 10).reshape(3, 3)
    assert move(picture, 0, 0).tolist() == picture.tolist()
    assert move(picture, 1, 0).tolist() == [[0, 0, 0], [1, 2, 3], [4, 5, 6]]
    assert move(picture, -1, 1).tolist() == [[0, 4, 5], [0, 7, 8], [0, 0, 0]]


def test_a_model_learns_them_and_ships_what_it_never_saw(task: Pictures, tmp_path: Path) -> None:
    trainer = Trainer(SMALL, tiny_run(tmp_path, tmp_path, steps=60), task)
    losses: list[float] = []
    trainer.fit(lambda metrics: losses.append(metrics["loss"]))
    folder = tmp_path / "digits-vit"
    checkpoint.save(folder, trainer.averaged_model(), tmp_path / "no file of ranks")
    task.ship(folder)
    loaded = checkpoint.load(folder)
    assert np.mean(losses[-10:]) < np.mean(losses[:10]) - 0.2
    assert len(read_examples(folder, task.picture, 10)) == 360
    assert loaded.tokenizer.vocab_size == loaded.config.vocab_size
    table = np.array(task.evaluation(loaded)["confusion"]["table"])
    assert table.sum(1).tolist() == np.bincount(task.truth, minlength=10).tolist()
    assert task.evaluation(loaded)["accuracy"] == pytest.approx(np.trace(table) / 360, abs=1e-4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pixels": "0" * 63}, "64 pixels"),
        ({"pixels": "z" * 64}, "from 0 to 16"),
        ({"label": 10}, "not a class"),
        ({"index": "1"}, "not an index"),
    ],
)
def test_a_damaged_file_of_pictures_is_refused(tmp_path: Path, change: dict[str, object], words: str) -> None:
    assert DIGITS_VIT.config.picture is not None
    one = {"pixels": "0" * 64, "label": 1, "index": 2} | change
    (tmp_path / "pictures.json").write_text(json.dumps({"source": "", "pictures": [one]}))
    with pytest.raises(ValueError, match=words):
        read_examples(tmp_path, DIGITS_VIT.config.picture, 10)

"""A run multiplies matrices in whichever precision is faster on this machine, and keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from chumoku.model.training.machine import PRECISIONS, Precision, faster, products_in
from chumoku.model.training.prepare import prepare
from chumoku.model.training.presets import Preset
from chumoku.model.training.train import Trainer, TrainingRun, seed_everything
from tests.training.helpers import tiny_preset, tiny_run, weights_of

CPU = torch.device("cpu")


def trainer(preset: Preset, run: TrainingRun) -> Trainer:
    seed_everything(run)
    return Trainer(preset, run, prepare(preset, run.folder, run.data))


@pytest.mark.parametrize("slow", PRECISIONS)
def test_the_precision_that_takes_less_time_is_chosen(slow: Precision) -> None:
    x = torch.ones(200, 200, requires_grad=True)

    def loss(precision: Precision) -> torch.Tensor:
        y = x
        for _ in range(60 if precision == slow else 1):
            y = y @ x / 200
        return y.sum()

    chosen, seconds = faster(loss, CPU)
    assert chosen != slow
    assert seconds[chosen] < seconds[slow]


@pytest.mark.parametrize(("precision", "dtype"), [("float32", torch.float32), ("bfloat16", torch.bfloat16)])
def test_products_are_made_in_the_precision(precision: Precision, dtype: torch.dtype) -> None:
    with products_in(precision, CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is dtype


@pytest.mark.usefixtures("torch_as_it_was")
def test_timing_changes_nothing_of_the_run(data: Path, tmp_path: Path) -> None:
    """Dropout and batches draw the same random numbers whether the precision was timed or given."""
    preset = tiny_preset(dropout=0.3)
    timed = trainer(preset, tiny_run(tmp_path / "timed", data, steps=3, precision=None))
    given = trainer(preset, tiny_run(tmp_path / "given", data, steps=3, precision=timed.precision))
    for one in (timed, given):
        seed_everything(one.run)
        one.fit(lambda metrics: None)
    ours, theirs = weights_of(timed.model), weights_of(given.model)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.usefixtures("torch_as_it_was")
def test_a_resumed_run_keeps_its_precision(data: Path, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, data, steps=2, precision="bfloat16")
    trainer(tiny_preset(), run).fit(lambda metrics: None)
    again = trainer(tiny_preset(), tiny_run(tmp_path, data, steps=4, precision="float32"))
    assert again.progress.step == 2
    assert again.precision == "bfloat16"


def test_an_unknown_precision_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown precision 'float8'; known are float32, bfloat16"):
        tiny_run(tmp_path, tmp_path, precision="float8")


def test_rates_are_scaled_by_a_positive_number(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a number above 0"):
        tiny_run(tmp_path, tmp_path, rate_scale=0)

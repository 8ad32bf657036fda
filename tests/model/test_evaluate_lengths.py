"""The loss over lengths, against a loop that runs the model once for each token."""

from __future__ import annotations

import pytest
import torch

from chumoku.model import evaluate
from chumoku.model.evaluate import losses_by_length, readable, standard_error
from tests.model.helpers import causal_mask, close, tiny_model

SIZES = {"d_model": 18, "reach": 3, "rank": 4}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "LENGTHS", (4, 8, 12))
    monkeypatch.setattr(evaluate, "SCORED", 3)


def two() -> tuple[torch.Tensor, torch.Tensor]:
    """Two passages of two documents."""
    return torch.ones(2, 13, dtype=torch.long), torch.arange(2)


def test_the_same_tokens_are_predicted_from_more_and_more_before_them() -> None:
    model = tiny_model(mechanism="relative", position="none", max_seq_len=8, **SIZES)
    passages = torch.randint(0, 250, (4, 13), generator=torch.Generator().manual_seed(0))
    found = losses_by_length(model, passages, torch.arange(4))
    each = {}
    for n in (4, 8, 12):
        nats = torch.zeros(4, 3)
        for row, ids in enumerate(passages):
            for i, at in enumerate((10, 11, 12)):  # the last three tokens
                read = ids[13 - n - 1 : at]
                last = model(read[None], causal_mask(len(read)))[0, -1]
                nats[row, i] = -last.log_softmax(-1)[ids[at]]
        each[n] = nats.mean(1)
    close(torch.tensor([one.loss for one in found]), torch.stack([each[n].mean() for n in each]), 1e-5)
    apart = torch.stack([each[n] - each[8] for n in each])  # 8 is the longest in training
    close(torch.tensor([one.apart for one in found]), apart.mean(1), 1e-5)
    close(torch.tensor([one.error for one in found]), apart.std(1) / 2, 1e-5)
    assert found[0].error > 0


def test_passages_of_one_document_are_not_independent() -> None:
    apart = torch.tensor([0.1, 0.4, -0.2, 0.3])
    twice = standard_error(apart.repeat_interleave(2), torch.arange(4).repeat_interleave(2))
    assert twice == pytest.approx(standard_error(apart, torch.arange(4)), rel=1e-6), "a copy tells nothing new"
    close(torch.tensor(twice), apart.std() / 2, 1e-6)
    off = [0.5 - 2 * 0.15, 0.1 - 0.15, 0.0 - 0.15]  # each document's sum, less the mean of 0.15 for each passage
    of_three = (3 / 2 * sum(x * x for x in off)) ** 0.5 / 4
    assert standard_error(torch.tensor([0.3, 0.2, 0.1, 0.0]), torch.tensor([0, 0, 1, 2])) == pytest.approx(of_three)


@pytest.mark.parametrize(
    ("changes", "lengths"),
    [
        ({"position": "learned"}, (4, 8)),
        ({"position": "none", "mechanism": "aft-full"}, (4, 8)),
        ({"position": "sinusoidal"}, (4, 8, 12)),
        ({"position": "none", "mechanism": "relative"}, (4, 8, 12)),
        ({"position": "none", "mechanism": "wkv"}, (4, 8, 12)),
    ],
)
def test_a_model_is_measured_at_the_lengths_that_it_can_read(changes: dict[str, str], lengths: tuple[int, ...]) -> None:
    model = tiny_model(max_seq_len=8, **SIZES, **changes)
    assert readable(model.config) == lengths
    assert [one.length for one in losses_by_length(model, *two())] == list(lengths)
    if 12 not in lengths:
        with pytest.raises(IndexError):
            model(torch.ones(1, 12, dtype=torch.long), causal_mask(12))

"""A PAD is one because of where it was added, not because of its id: here every "t" of a text has the PAD's id."""

from copy import copy
from dataclasses import replace
from typing import Any

import pytest
import torch

from chumoku.model import masks
from chumoku.model.attribution.gradients import gradient_norms
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.config import Family
from chumoku.model.explain.swaps import swap_tokens
from chumoku.model.explain.units import count_units, units
from chumoku.model.trace import Padding, trace
from tests.model.helpers import FAMILIES, close, target_of, tiny_checkpoint
from tests.shortcuts import labels, logit_lens

TEXT, TARGET = list(b"attention"), list(b"tout")
N, PADS = len(TEXT), 3


@pytest.fixture(params=FAMILIES)
def shared(request: pytest.FixtureRequest) -> Checkpoint:
    """A model whose PAD has the id of a letter."""
    return with_pad(request.param, ord("t"))


def with_pad(family: Family, pad_id: int) -> Checkpoint:
    checkpoint = tiny_checkpoint(family)
    tokenizer = copy(checkpoint.tokenizer)  # all tests share the other
    tokenizer.pad_id = pad_id
    return replace(checkpoint, tokenizer=tokenizer)


def first_of(checkpoint: Checkpoint) -> int:
    """1 where a text begins with [CLS]."""
    return int(checkpoint.description.predicts == "classes")


def both(checkpoint: Checkpoint, side: str, explain: Any, *more: Any, **options: Any) -> list[Any]:
    """An explanation of the text alone, and beside PADs."""
    options |= target_of(checkpoint, TARGET)
    return [explain(checkpoint, TEXT, *more, pad=pad, **options) for pad in (Padding(), Padding(PADS, side))]


@pytest.mark.parametrize("side", ["left", "right"])
def test_only_the_added_ones_are_masked(shared: Checkpoint, side: str) -> None:
    attention = shared.description.attentions[0]
    mask = attention.tap("mask", 0)
    alone, padded = both(shared, side, trace, [mask])
    n = N + first_of(shared)
    added, read = [True] * PADS, [False] * n
    assert alone.is_pad == read
    assert padded.is_pad == (added + read if side == "left" else read + added)
    assert not (alone.tensors[mask] & masks.PADDING).any()
    assert (padded.tensors[mask] & masks.PADDING).bool()[0, 0].tolist() == padded.is_pad
    assert alone.position_ids == list(range(n))
    assert padded.pads("target") == [False] * len(padded.target_ids or [])


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_text_with_the_pads_id_is_explained_like_any_other(shared: Checkpoint, side: str) -> None:
    start, first = (PADS if side == "left" else 0), first_of(shared)
    source = range(start, start + N + first)
    for one in units(shared, TEXT, pad=Padding(PADS, side), **target_of(shared, TARGET)):
        assert one.positions == (list(range(len(TARGET) + 1)) if one.stack == "decoder" else list(source))

    alone, padded = both(shared, side, labels)
    for one, other in zip(alone, padded, strict=True):
        assert [score.rows for score in one.scores.values()] == [score.rows for score in other.scores.values()]
        assert [score.score for score in one.scores.values()] == pytest.approx(
            [score.score for score in other.scores.values()], abs=1e-5
        )

    written, letter = shared.description.writes == "target", source[first]
    lens = both(shared, side, logit_lens)[1]
    if first:
        assert (lens.rows, lens.next.ids.tolist()) == ([start], [-1])
    else:
        assert lens.rows == (list(range(len(TARGET) + 1)) if written else list(source))
        assert lens.next.ids.tolist() == [*(TARGET if written else TEXT[1:]), -1]

    for with_positions in both(shared, side, swap_tokens, first, first + 1):
        stream = with_positions[0].stacks[0].change
        moved = torch.nonzero(stream[0] > 0).flatten().tolist()
        assert moved in ([first, first + 1], [letter, letter + 1])  # the second is a "t"

    answer = 1 if first else ord("n")
    for one, other in zip(*both(shared, side, gradient_norms, answer), strict=True):
        assert other.log_p == pytest.approx(one.log_p, abs=1e-4)


def test_a_batch_pads_by_length(shared: Checkpoint) -> None:
    """Units over a corpus: the counts of two texts together are those of each alone."""
    target = TARGET if shared.description.writes == "target" else None
    texts = [(TEXT, target), (TEXT[:4], target and target[:2])]
    together, *alone = (count_units(shared, chosen) for chosen in (texts, texts[:1], texts[1:]))
    for one, first, second in zip(together, *alone, strict=True):
        assert one.n_tokens == first.n_tokens + second.n_tokens
        close(one.fires, first.fires + second.fires)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_pads_its_id_makes_no_difference(family: Family) -> None:
    options = target_of(tiny_checkpoint(family), TARGET)
    one, other = (trace(with_pad(family, pad), TEXT, **options) for pad in (ord("t"), 257))
    assert all(torch.equal(tensor, other.tensors[name]) for name, tensor in one.tensors.items())

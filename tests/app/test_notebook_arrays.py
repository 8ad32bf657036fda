"""Weights of attention from anywhere, drawn: `chumoku.show(attentions, tokens)`."""

from typing import Any

import numpy as np
import pytest
import torch

import chumoku
from chumoku.app.notebook.arrays import trace_of
from tests.toys import huggingface as toys

TOKENS = ["The", " cat", " 猫", "."]


def some(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(1)).softmax(-1)


@pytest.mark.parametrize(
    "form",
    [
        lambda x: x,
        lambda x: x.numpy(),
        list,
        lambda x: tuple(one[None] for one in x),
        lambda x: x.tolist(),
    ],
    ids=["tensor", "numpy", "layers", "transformers", "lists"],
)
def test_the_numbers_that_are_drawn_are_those_that_were_given(form: Any) -> None:
    weights = some(2, 3, 4, 4)
    trace = trace_of(form(weights), TOKENS)
    assert trace.tokens == TOKENS
    for layer in range(2):
        assert torch.equal(trace[f"layers.{layer}.attn.pattern"], weights[layer])
    for view in ("weights", "lines"):
        assert "DecompressionStream" in chumoku.show(form(weights), TOKENS, view).html


def test_what_transformers_returns_is_drawn() -> None:
    model = toys.gpt2().eval()
    model.set_attn_implementation("eager")
    found = model(torch.arange(4)[None], output_attentions=True).attentions
    assert chumoku.show(found, TOKENS, layer=1, head=2, query=3, key=0).title == "arrays: The cat 猫."


@pytest.mark.parametrize(
    ("attentions", "tokens", "said"),
    [
        (some(2, 3, 4, 4), TOKENS[:3], "weights of 4 queries and 4 keys, and 3 tokens"),
        (some(2, 3, 4, 5), TOKENS, "weights of 4 queries and 5 keys"),
        (some(3, 4, 4), TOKENS, r"attentions are \[layer head query key\] of one text, got layers of \[4, 4\]"),
        (some(2, 2, 3, 4, 4), TOKENS, r"got layers of \[2, 3, 4, 4\]"),
        ([], TOKENS, "got layers of none"),
        (some(1, 1, 4, 4) * 5, TOKENS, "weights from 0 to 1, after the softmax"),
        (np.full((1, 1, 4, 4), np.nan), TOKENS, "weights from 0 to 1"),
        (some(1, 1, 4, 4), None, "need their tokens"),
    ],
)
def test_what_cannot_be_drawn_is_said(attentions: Any, tokens: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        chumoku.show(attentions, tokens)


def test_a_view_that_needs_more_than_weights_is_refused() -> None:
    with pytest.raises(ValueError, match="arrays has no view 'river'; it has weights, lines"):
        chumoku.show(some(1, 1, 4, 4), TOKENS, "river")

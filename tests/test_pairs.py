"""What the page says of its ready pairs (`beside.pair_…`), held against the weights that ship, on texts of our own."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import Tensor

from chumoku.model import checkpoint
from chumoku.model.checkpoint import ZOO
from chumoku.model.trace import trace
from tests.shortcuts import logit_lens

PAIRS = (Path(__file__).parents[1] / "static/views/beside/pick.js").read_text("utf-8")
START = "One day a red ball fell. Mom found the"
TEXTS = (
    "Once upon a time there was a girl named Lily. She had a small dog, and every morning they went to the park. One "
    "day the dog ran after a bird and did not come back. Lily was sad. She looked behind the tree.",
    "Tom and Ben built a tower of blocks. It was very tall. Then the cat jumped on the table and the tower fell down. "
    "Tom was angry, but Ben laughed and said, let us build it again.",
    "The old man lived in a house by the sea. Every night he lit a lamp so that the boats could find their way home.",
)
load = cache(checkpoint.load)


def heads(other: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Layer and head that the pair opens on either side."""
    found = re.search(rf'"mini-softmax", "{other}"\], heads: \[(\d), (\d), (\d), (\d)\]', PAIRS)
    assert found is not None
    a, b, c, d = map(int, found.groups())
    return (a, b), (c, d)


@cache
def weights(model: str, text: str, role: str | None = None) -> list[Tensor]:
    """Of each layer: [head query key], or with features."""
    opened = load(ZOO / model)
    (one,) = opened.description.attentions
    names = [one.tap(role or str(one.overview), layer) for layer in range(one.n_layer)]
    run = trace(opened, opened.tokenizer.encode(text), names)
    return [run.tensors[name].double() for name in names]


def moved(model: str, role: str | None = None) -> Tensor:
    """How far the shares of earlier keys in the last row move when the last word is another: the total variation
    [layer head ..], the mean of four words."""
    first, *others = (
        [w[:, -1, :-1] / w[:, -1, :-1].sum(1, keepdim=True) for w in weights(model, START + last, role)]
        for last in (" red", " big", " dog", " and", " was")
    )
    each = [torch.stack([(a - b).abs().sum(1) / 2 for a, b in zip(first, other, strict=True)]) for other in others]
    return torch.stack(each).mean(0)


def effective(pattern: Tensor) -> float:
    """exp of the entropy of a row [.. key], the mean over rows."""
    return float(torch.special.entr(pattern).sum(-1).exp().mean())


@pytest.mark.parametrize("other", ["mini-aft-full", "mini-aft-simple"])
def test_another_query_moves_softmax_s_weights_and_none_of_aft(other: str) -> None:
    """Feature by feature none; the means that are drawn hardly."""
    (layer, head), (layer_there, head_there) = heads(other)
    assert moved("mini-softmax")[layer, head] > 0.3
    assert moved(other)[layer_there, head_there] < 0.05
    assert moved(other, "weights").max() < 1e-5


def test_aft_simple_weighs_a_key_the_same_for_every_query() -> None:
    for w in weights("mini-aft-simple", TEXTS[0], "weights"):  # head query key feature
        shares = w[:, 20:, :20] / w[:, 20:, :20].sum(2, keepdim=True)
        assert torch.allclose(shares, shares[:, :1].expand_as(shares), atol=1e-5)
    rows = weights("mini-softmax", TEXTS[0])[3][2, 20:, :20]
    shares = rows / rows.sum(1, keepdim=True)
    assert ((shares - shares[:1]).abs().sum(1) / 2).mean() > 0.2


def test_four_heads_look_at_clearly_more_keys_together_than_one_in_two_layers() -> None:
    for text in TEXTS:
        n = weights("mini-softmax", text)[0].shape[-1] // 2  # rows with something to choose from
        four, single = (
            torch.tensor([effective(w.mean(0)[n:]) for w in weights(name, text)])
            for name in ("mini-softmax", "mini-single-head")
        )
        ratio = four / single
        assert (ratio[[0, 2]] > 1.3).all()
        assert ((ratio[[1, 3]] > 0.8) & (ratio[[1, 3]] < 1.25)).all()


def test_the_opened_heads_look_at_the_token_before_and_more_with_relative_positions() -> None:
    looks = {}
    for name, place in zip(("mini-softmax", "mini-relative"), heads("mini-relative"), strict=True):
        each = torch.stack(
            [torch.stack([w.diagonal(-1, 1, 2).mean(-1) for w in weights(name, text)]) for text in (START, *TEXTS)]
        ).mean(0)  # layer head
        assert (each > each[place]).sum() <= 1
        looks[name] = each[place]
    assert looks["mini-relative"] > 1.5 * looks["mini-softmax"]


def test_without_a_mask_three_heads_copy_the_next_token_and_the_others_look_everywhere() -> None:
    assert heads("mini-no-mask")[1] == (0, 0)
    for text in TEXTS:
        found = weights("mini-no-mask", text)
        ahead = torch.stack([w.diagonal(1, 1, 2).mean(-1) for w in found])  # layer head
        copying = torch.zeros(4, 4, dtype=torch.bool)
        copying[0, [0, 2, 3]] = True
        assert (ahead[copying] > 0.9).all()
        even = torch.stack([torch.special.entr(w).sum(-1).exp().mean(-1) / w.shape[-1] for w in found])
        assert (even[~copying] > 0.8).all()
        assert (even[copying] < 0.2).all()


def test_pre_norm_s_answer_can_be_read_from_layer_0_on_and_post_norm_s_hardly_before_the_last() -> None:
    for text in TEXTS:
        pre, post = (
            logit_lens(model, model.tokenizer.encode(text)).final.probability.mean(-1)  # depth
            for model in map(load, (ZOO / "mini-softmax", ZOO / "mini-post-norm"))
        )
        assert (pre[1:] > 0.35 * pre[-1]).all()
        assert (post[:-1] < 0.06 * post[-1]).all()


def test_post_norm_s_first_heads_look_everywhere_alike() -> None:
    assert heads("mini-post-norm") == ((0, 0), (0, 0))
    for text in TEXTS:
        first, *later = (
            torch.special.entr(w).sum(-1)[:, 1:] / torch.arange(2, w.shape[-1] + 1).log()
            for w in weights("mini-post-norm", text)
        )  # head query: 1 where a row's weights are all the same
        assert (first.mean(-1) > 0.97).all()
        assert all((layer.mean(-1) < 0.9).all() for layer in later)


def test_pre_norm_s_gradients_at_step_0_are_more_alike_from_layer_to_layer() -> None:
    """What the slider shows at step 0: the last layer's gradient is nearer to the first one's."""
    ratios = {}
    for name in ("mini-softmax", "mini-post-norm"):
        first = load(ZOO / name).card["snapshots"][0]
        norms = torch.tensor(first["gradients"]["main"]).norm(dim=1)  # layer
        assert first["step"] == 0
        ratios[name] = float((norms[-1] / norms[0]).log().abs())
    assert ratios["mini-post-norm"] > 4 * ratios["mini-softmax"]


@pytest.mark.parametrize(("text", "words"), [("The dog saw the cat and the", "dog cat"), (START, "red Mom")])
def test_without_positions_layer_0_gives_a_later_token_the_same_whoever_stood_where(text: str, words: str) -> None:
    """From layer 1 on it changes, because of the causal mask; with positions in layer 0 already."""
    a, b = words.split()
    swapped = " ".join({a: b, b: a}.get(word, word) for word in text.split())

    def last(name: str, text: str) -> Tensor:
        model = load(ZOO / name)
        ids = model.tokenizer.encode(text)
        taps = [f"layers.{layer}.resid_post" for layer in range(model.config.n_layer)]
        return torch.stack([x[-1].double() for x in trace(model, ids, taps).tensors.values()])  # layer d_model

    for name, first in (("mini-no-position", 0.0), ("mini-softmax", 0.01)):
        before, after = last(name, text), last(name, swapped)
        change = (after - before).norm(dim=-1) / before.norm(dim=-1)
        assert change[0] == pytest.approx(0, abs=1e-5) if first == 0 else change[0] > first
        assert (change[1:] > 0.01).all()

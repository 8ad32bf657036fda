"""Every mechanism against a naive loop from its paper, values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.mechanisms import MECHANISMS, Mixer
from chumoku.model.mechanisms.attention_free import factored_mean, feature_weights
from chumoku.model.mechanisms.wkv import Wkv, recurrent
from tests.model.helpers import close, randn
from tests.model.mechanisms.naive import NAIVE
from tests.model.mechanisms.small import SEQ_LEN, small_mixer

MASKS = {"causal": masks.causal(SEQ_LEN, SEQ_LEN), "off": masks.nothing(SEQ_LEN, SEQ_LEN)}
BOTH = [(name, how) for name in NAIVE for how in MASKS if (name, how) != ("wkv", "off")]


def run(mixer: Mixer, x: Tensor, reasons: Tensor) -> Tensor:
    """x [position d_model] → attn_out [position d_model]"""
    positions = torch.arange(len(x))[None]
    return mixer(x[None], x[None], reasons[None, None], positions, positions)[0]  # type: ignore[no-any-return]


def test_every_mechanism_has_a_naive_form() -> None:
    assert NAIVE.keys() == MECHANISMS.keys() - {"gated-mean", "hidden-mean"}


@pytest.mark.parametrize(("name", "how"), BOTH)
def test_it_is_the_formula(name: str, how: str) -> None:
    mixer, x, reasons = small_mixer(name), randn(SEQ_LEN, 12), MASKS[how]
    close(run(mixer, x, reasons), NAIVE[name](mixer, x, masks.allowed(reasons)))


@pytest.mark.parametrize(("name", "how"), BOTH)
def test_training_s_form_is_the_formula(name: str, how: str) -> None:
    mixer, x, reasons = small_mixer(name), randn(SEQ_LEN, 12), MASKS[how]
    mixer.fuse()
    close(run(mixer, x, reasons), NAIVE[name](mixer, x, masks.allowed(reasons)), 1e-6)


@pytest.mark.parametrize("fused", [False, True], ids=["traced", "trained"])
@pytest.mark.parametrize("how", ["causal", "a row without a key"])
@pytest.mark.parametrize("name", NAIVE)
def test_gradients(name: str, how: str, fused: bool) -> None:
    """Of x and of every parameter, with distances within and beyond the reach."""
    mixer, reasons = small_mixer(name).requires_grad_(True), masks.causal(5, 5)
    if how != "causal":
        reasons[2] |= masks.PADDING
    if fused:
        mixer.fuse()
    names = [n for n, _ in mixer.named_parameters()]

    def forward(x: Tensor, *parameters: Tensor) -> Tensor:
        given = dict(zip(names, parameters, strict=True))
        positions = torch.arange(5)[None]
        return torch.func.functional_call(mixer, given, (x, x, reasons[None, None], positions, positions))

    x = randn(1, 5, 12).requires_grad_(True)
    assert torch.autograd.gradcheck(forward, (x, *mixer.parameters()), fast_mode=True)


@pytest.mark.parametrize("fused", [False, True], ids=["traced", "trained"])
@pytest.mark.parametrize("name", NAIVE)
def test_its_gradients_are_those_of_the_formula(name: str, fused: bool) -> None:
    """gradcheck holds a gradient to its own function; this holds it to the naive loop's."""
    mixer, reasons, toward = small_mixer(name).requires_grad_(True), MASKS["causal"], randn(SEQ_LEN, 12, seed=1)
    if fused:
        mixer.fuse()
    found, expected = (
        torch.autograd.grad((out * toward).sum(), [x, *mixer.parameters()])
        for x in [randn(SEQ_LEN, 12).requires_grad_(True)]
        for out in (run(mixer, x, reasons), NAIVE[name](mixer, x, masks.allowed(reasons)))
    )
    for one, other in zip(found, expected, strict=True):
        close(one, other, 1e-6)


def test_gradients_where_the_product_form_gives_way_to_the_exact_one() -> None:
    """A key far above the others, where e^−1000 is 0: each row's gradient is that of the exact weights, not 0/0."""
    k = torch.tensor([0.0, 1.0, 1000.0], dtype=torch.float64)[None, None, :, None].expand(1, 1, 3, 2).clone()
    k, v, w = (x.requires_grad_(True) for x in (k, randn(1, 1, 3, 2), randn(1, 1, 3, 3, seed=1)))
    allowed = masks.allowed(masks.causal(3, 3))[None, None]

    def mean(k: Tensor, v: Tensor, w: Tensor) -> Tensor:
        return factored_mean(k, v, w, allowed)

    assert torch.autograd.gradcheck(mean, (k, v, w))
    rows = torch.autograd.grad(mean(k, v, w)[0, 0, 1].sum(), v)[0][0, 0]  # row 1 sees keys 0 and 1
    assert (rows[:2] > 0).all()
    assert (rows[2] == 0).all()


def test_wkv_stays_causal_without_its_mask() -> None:
    mixer, x = small_mixer("wkv"), randn(SEQ_LEN, 12)
    close(run(mixer, x, MASKS["off"]), run(mixer, x, MASKS["causal"]), 0.0)


def test_the_recurrence_is_the_matrix_form() -> None:
    mixer = small_mixer("wkv")
    assert isinstance(mixer, Wkv)
    k, v = 3 * randn(2, 3, 9, 4), randn(2, 3, 9, 4, seed=1)
    places = torch.arange(9)[None]
    weights, _, _ = feature_weights(mixer.logits(k, places, places), masks.allowed(masks.causal(9, 9)))
    expected = (weights * v[:, :, None]).sum(-2)
    close(recurrent(k, v, mixer.by_head(mixer.decay.exp()), mixer.by_head(mixer.bonus)), expected)


@pytest.mark.parametrize("largest", [1.0, 50.0, 120.0, 1e4])
def test_a_later_key_that_is_much_larger_hides_no_earlier_row(largest: float) -> None:
    """Under the causal mask, row 0 sees only key 0, whatever comes later. Factored without care it is 0/0."""
    k = torch.tensor([0.0, 1.0, largest])[None, None, :, None].expand(1, 1, 3, 2)
    v = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])[None, None]
    allowed = masks.allowed(masks.causal(3, 3))[None, None]
    mean = factored_mean(k, v, None, allowed)
    close(mean[0, 0, 0], v[0, 0, 0], 1e-6)
    weights, _, _ = feature_weights(k[:, :, None], allowed)
    close(mean, (weights * v[:, :, None]).sum(-2), 1e-5)


@pytest.mark.parametrize("name", ["aft-full", "aft-local", "aft-simple", "aft-conv"])
def test_a_query_without_a_key_takes_nothing(name: str) -> None:
    mixer, x = small_mixer(name), randn(3, 12)
    reasons = masks.causal(3, 3)
    reasons[1] = masks.PADDING
    found = run(mixer, x, reasons)
    close(found[1], mixer.w_o.bias)
    assert found.isfinite().all()

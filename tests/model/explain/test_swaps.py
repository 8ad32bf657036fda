"""Swapping two tokens: without positions an encoder only permutes its output; a causal decoder does more."""

from typing import Any

import pytest
import torch

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.swaps import swap_tokens
from chumoku.model.trace import Masks, Padding, trace
from tests.model.explain.helpers import SOURCE, a_model, favoured, options, sampled

SWAPPED = list(b"attinteon")  # 3 and 6


@pytest.mark.parametrize("order", ["pre", "post", "res-post"])
@pytest.mark.parametrize("pad", [Padding(), Padding(2, "left"), Padding(2, "right")], ids=["", "left", "right"])
def test_an_encoder_without_positions_only_permutes(order: str, pad: Padding) -> None:
    for checkpoint in (a_model("encoder-only", order), a_model("encoder-decoder", order)):
        on, off = swap_tokens(checkpoint, SOURCE, 4, 7, pad=pad, **options(checkpoint))
        assert (on.positions, off.positions) == (True, False)
        assert off.order_only
        assert off.largest < 1e-5
        assert float(off.prediction.max()) < 1e-5
        assert not on.order_only
        assert float(on.prediction.max()) > 0


def test_a_decoder_without_positions_still_tells_order_by_its_mask() -> None:
    checkpoint = a_model("decoder-only", "pre")
    on, off = swap_tokens(checkpoint, SOURCE, 3, 6)
    assert not on.order_only
    assert not off.order_only
    (stack,) = off.stacks
    assert (stack.change[0] == 0).all()  # embeddings are only permuted
    assert (on.stacks[0].change[0] > 0).tolist() == [t in (3, 6) for t in range(9)]
    assert (stack.change[1:, :3] == 0).all()  # they see neither token
    assert (stack.change[1, 3:7] > 1e-3).all()
    assert (stack.change[2, 7:] > 1e-3).all()
    _, free = swap_tokens(checkpoint, SOURCE, 3, 6, use=Masks(causal=False))
    assert free.order_only  # without its mask it behaves as an encoder


def test_changes_are_those_of_two_traces_side_by_side(family: Checkpoint) -> None:
    """With positions: each token is followed by hand."""
    first = int(family.config.family == "encoder-only")
    on, _ = swap_tokens(family, SOURCE, 3 + first, 6 + first, **options(family))
    one, other = (trace(family, ids, **options(family)) for ids in (SOURCE, SWAPPED))
    for stack in on.stacks:
        for depth, tap in enumerate(stack.taps):
            x, y = one.tensors[tap].double(), other.tensors[tap].double()
            for t in range(len(x)):
                moves = stack.stack != "decoder" and t - first in (3, 6)
                there = y[9 + 2 * first - t if moves else t]
                change = float((there - x[t]).norm() / x[t].norm())
                assert float(stack.change[depth, t]) == pytest.approx(change, abs=1e-9)
    p, q = (sampled(family, run.tensors["logits"]).double().softmax(-1) for run in (one, other))
    if family.config.family == "decoder-only":
        assert float(on.prediction[6]) == pytest.approx(float((q[3] - p[6]).abs().sum() / 2))
    assert torch.allclose(on.prediction[-1], (q - p).reshape(-1, p.shape[-1])[-1].abs().sum() / 2)
    assert on.largest == max(float(stack.change.max()) for stack in on.stacks)


@pytest.mark.parametrize("family", ["decoder-only", "encoder-decoder"])
def test_predictions_move_among_what_can_be_sampled(family: str) -> None:
    checkpoint = favoured(a_model(family, "pre", tie_embeddings=False))
    on, _ = swap_tokens(checkpoint, SOURCE, 3, 6, **options(checkpoint))
    one, other = (trace(checkpoint, ids, ["logits"], **options(checkpoint)) for ids in (SOURCE, SWAPPED))
    p, q = (sampled(checkpoint, run.tensors["logits"][-1]).double().softmax(-1) for run in (one, other))
    assert float(on.prediction[-1]) == pytest.approx(float((q - p).abs().sum() / 2), abs=1e-9)


@pytest.mark.parametrize(("i", "j"), [(0, 9), (-1, 3)])
def test_a_place_that_is_not_there_is_refused(i: int, j: int) -> None:
    with pytest.raises(ValueError, match="there are tokens 0 to 8"):
        swap_tokens(a_model("decoder-only", "pre"), SOURCE, i, j)
    with pytest.raises(ValueError, match="there are tokens 1 to 9"):
        swap_tokens(a_model("encoder-only", "pre"), SOURCE, 0, 3)


def test_a_token_is_not_swapped_with_its_like() -> None:
    with pytest.raises(ValueError, match="1 and 5 are the same"):
        swap_tokens(a_model("decoder-only", "pre"), SOURCE, 1, 5)


def test_edits_stay_in_force() -> None:
    checkpoint = a_model("decoder-only", "pre")
    cut: dict[str, Any] = {f"layers.{n}.attn.z": lambda z, _: z * 0 for n in (0, 1)}
    _, off = swap_tokens(checkpoint, SOURCE, 3, 6, edit=cut)
    assert off.order_only  # without attention, tokens are independent

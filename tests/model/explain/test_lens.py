"""The lens equals the model's output after the last layer, bit for bit, and the formula before it."""

from typing import Any

import pytest
import torch
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.anatomy import read
from chumoku.model.trace import Padding, trace
from tests.model.explain.helpers import EVERY_KIND, SOURCE, TARGET, a_model, options
from tests.model.helpers import close
from tests.shortcuts import logit_lens


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_the_last_depth_is_the_models_own_output(family: str, order: str) -> None:
    checkpoint = a_model(family, order)
    lens = logit_lens(checkpoint, SOURCE, k=3, **options(checkpoint))
    run = trace(checkpoint, SOURCE, [lens.taps[-1], "logits"], **options(checkpoint)).tensors
    stream, logits = (x.clone() for x in run.values())
    if family == "encoder-only":
        stream, logits = stream[:1], logits[None]
    assert torch.equal(read(checkpoint, stream), logits)
    logits[:, [] if family == "encoder-only" else checkpoint.tokenizer.never_sampled] = -torch.inf
    p, top = logits.double().softmax(-1).topk(3)
    assert torch.equal(lens.top[-1], top)
    assert torch.equal(lens.probability[-1], p)
    assert torch.equal(lens.final.ids, top[:, 0])
    assert torch.equal(lens.final.probability[-1], p[:, 0])
    assert (lens.final.rank[-1] == 0).all()
    assert len(lens.taps) == checkpoint.config.n_layer + 1


def read_by_hand(checkpoint: Checkpoint, x: Tensor) -> Tensor:
    """softmax(LayerNorm(x) W_U): x [position d_model] → [position vocab], in float64."""
    model: Any = checkpoint.model
    stack = getattr(model, "decoder", model)
    x = x.double()
    if checkpoint.config.norm_order != "post":
        sigma = (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        x = (x - x.mean(-1, keepdim=True)) / sigma * stack.final_norm.weight.double() + stack.final_norm.bias.double()
    logits = x @ model.unembedding.weight.double().T
    logits[:, checkpoint.tokenizer.never_sampled] = -torch.inf
    return logits.softmax(-1)


@pytest.mark.parametrize("order", ["pre", "post", "res-post"])
@pytest.mark.parametrize("family", ["decoder-only", "encoder-decoder"])
def test_a_layer_in_between_is_read_by_the_last_norm_and_the_unembedding(family: str, order: str) -> None:
    checkpoint = a_model(family, order)
    lens = logit_lens(checkpoint, SOURCE, k=4, **options(checkpoint))
    streams = trace(checkpoint, SOURCE, lens.taps, **options(checkpoint)).tensors
    for depth, name in enumerate(lens.taps):
        p = read_by_hand(checkpoint, streams[name])
        close(lens.probability[depth], p.sort(descending=True).values[:, :4], 1e-6)
        for row, (final, nxt) in enumerate(zip(lens.final.ids.tolist(), lens.next.ids.tolist(), strict=True)):
            assert float(lens.final.probability[depth, row]) == pytest.approx(float(p[row, final]), abs=1e-6)
            assert lens.final.rank[depth, row] == (p[row] > p[row, final]).sum()
            assert nxt == -1 or lens.next.rank[depth, row] == (p[row] > p[row, nxt]).sum()


def test_next_is_the_token_that_comes_next_and_nothing_at_the_end() -> None:
    gpt, translator = a_model("decoder-only", "pre"), a_model("encoder-decoder", "post")
    assert logit_lens(gpt, SOURCE).next.ids.tolist() == [*SOURCE[1:], -1]
    lens = logit_lens(translator, SOURCE, target=TARGET)
    assert lens.next.ids.tolist() == [*TARGET, -1]
    assert lens.next.rank[:, -1].tolist() == [-1] * len(lens.taps)
    assert lens.next.probability[:, -1].isnan().all()
    assert lens.next.probability[:, :-1].isfinite().all()
    assert logit_lens(a_model("encoder-only", "post"), SOURCE).next.ids.tolist() == [-1]


@pytest.mark.parametrize("side", ["left", "right"])
def test_pads_have_no_row_and_move_no_token(side: Any) -> None:
    for checkpoint in (a_model("decoder-only", "pre"), a_model("encoder-only", "post")):
        plain, padded = logit_lens(checkpoint, SOURCE), logit_lens(checkpoint, SOURCE, pad=Padding(2, side))
        assert padded.rows == [row + 2 * (side == "left") for row in plain.rows]
        close(padded.probability, plain.probability, 1e-5)
        assert torch.equal(padded.next.ids, plain.next.ids)


def test_no_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="k=0"):
        logit_lens(a_model("decoder-only", "pre"), SOURCE, k=0)

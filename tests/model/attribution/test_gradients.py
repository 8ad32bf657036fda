"""Gradients against finite differences, with and without residual connections. The shared model is unchanged."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

from chumoku.model.attribution.gradients import gradient_norms, without_residuals
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.trace import Masks, Padding, trace
from tests.model.explain.helpers import EVERY_KIND, SOURCE, a_model, favoured, options, sampled
from tests.model.helpers import causal_mask

SHORT = SOURCE[:3]
STEP = 1e-5


def in_float64(family: str, order: str) -> Checkpoint:
    checkpoint = a_model(family, order, d_model=6)
    checkpoint.model.double()
    return checkpoint


def differences(log_p: Any, position: int, d_model: int) -> Tensor:
    """The gradient [d_model] at one position by central differences; log_p(δ) for δ [d_model] added to the stream."""
    steps = torch.eye(d_model, dtype=torch.float64) * STEP
    return torch.tensor([(log_p(position, d) - log_p(position, -d)) / (2 * STEP) for d in steps])


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_with_residuals_it_is_the_slope_of_the_log_probability(family: str, order: str) -> None:
    checkpoint = in_float64(family, order)
    row, answer = (0, 1) if family == "encoder-only" else (2, 101)
    more = {"target": SHORT} if family == "encoder-decoder" else {}
    got, _ = gradient_norms(checkpoint, SHORT, answer, row=row, **more)
    for stack in got.stacks:
        for depth in (0, 1):
            tap = stack.taps[depth].replace("layers.0.resid_post", "layers.1.resid_pre")

            def log_p(position: int, delta: Tensor, tap: str = tap) -> float:
                def nudge(x: Tensor, _: int) -> Tensor:
                    x[0, position] += delta
                    return x

                logits = trace(checkpoint, SHORT, ["logits"], edit={tap: nudge}, **more).tensors["logits"]
                logits = sampled(checkpoint, logits if logits.dim() == 1 else logits[row])
                return float(logits.log_softmax(-1)[answer])

            expected = differences(log_p, 1, 6)
            assert float(stack.norm[depth, 1]) == pytest.approx(float(expected.norm()), rel=1e-5, abs=1e-8)
            assert float(stack.total[depth]) == pytest.approx(float(stack.norm[depth].square().sum().sqrt()))
    assert got.log_p == pytest.approx(log_p(0, torch.zeros(6)))


@pytest.mark.parametrize("order", ["pre", "post", "res-post"])
def test_without_residuals_it_is_that_of_a_model_in_which_nothing_goes_past_a_layer(order: str) -> None:
    checkpoint = in_float64("decoder-only", order)
    model, mask = checkpoint.decoder_only, causal_mask(3)
    _, got = gradient_norms(checkpoint, SHORT, 101)

    def through(x: Tensor, layers: Any) -> Tensor:
        for block in layers:
            first, second = block.attn_residual.norm, block.ffn_residual.norm
            if order == "pre":
                x = first(x)
                x = block.ffn(second(block.attn(x, x, mask)))
            else:
                x = second(block.ffn(first(block.attn(x, x, mask))))
        return sampled(checkpoint, model.unembedding(model.final_norm(x))[0, -1]).log_softmax(-1)[101]

    x = model.embed(torch.tensor([SHORT]), torch.arange(3)[None]).detach()

    def log_p(position: int, delta: Tensor) -> float:
        moved = x.clone()
        moved[0, position] += delta
        return float(through(moved, model.layers))

    assert got.log_p == pytest.approx(log_p(0, torch.zeros(6)))
    assert not got.residuals
    for position in range(3):
        expected = float(differences(log_p, position, 6).norm())
        assert float(got.stacks[0].norm[0, position]) == pytest.approx(expected, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_no_later_position_and_no_pad_matters(family: str, order: str) -> None:
    checkpoint = a_model(family, order)
    for got in gradient_norms(checkpoint, SOURCE, 1, row=1 if family != "encoder-only" else None,
                              pad=Padding(2, "right"), **options(checkpoint)):  # fmt: skip
        first, last = got.stacks[0], got.stacks[-1]
        assert (first.norm[:-1, -2:] == 0).all()
        if family != "encoder-only":
            assert (last.norm[:, 2:] == 0).all()
        assert (last.norm[0, : got.row + 1] > 0).all()
        assert first.norm.isfinite().all()


def test_the_shared_model_stays_as_it_is_and_the_copy_has_its_parameters() -> None:
    checkpoint = a_model("encoder-decoder", "post")
    before = trace(checkpoint, SOURCE, ["logits"], **options(checkpoint)).tensors["logits"]
    twin = without_residuals(checkpoint.model)
    pairs = zip(checkpoint.model.named_parameters(), twin.named_parameters(), strict=True)
    assert all(a[0] == b[0] and a[1] is b[1] for a, b in pairs)
    with torch.inference_mode():  # which a caller may be in
        gradient_norms(checkpoint, SOURCE, 1, **options(checkpoint))
    assert not any(p.requires_grad or p.grad is not None for p in checkpoint.model.parameters())
    after = trace(checkpoint, SOURCE, ["logits"], **options(checkpoint)).tensors["logits"]
    assert torch.equal(before, after)


def test_threads_get_each_their_own() -> None:
    checkpoint = a_model("decoder-only", "pre")

    def job(n: int) -> list[list[float]]:
        return [g.stacks[0].total.tolist() for g in gradient_norms(checkpoint, SOURCE[: 2 + n % 6], n)]

    alone = [job(n) for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(job, range(8))) == alone


def test_masks_and_edits_are_those_of_the_trace() -> None:
    checkpoint = a_model("decoder-only", "pre")
    got, _ = gradient_norms(checkpoint, SOURCE, 7, row=1, use=Masks(causal=False))
    assert (got.stacks[0].norm[0] > 0).all()
    edit = {"layers.0.resid_pre": lambda x, _: x * 2, "layers.1.attn.z": lambda z, _: z * 0}
    got, _ = gradient_norms(checkpoint, SOURCE, 7, edit=edit)
    logits = trace(checkpoint, SOURCE, ["logits"], edit=edit).tensors["logits"]
    assert got.log_p == pytest.approx(float(sampled(checkpoint, logits[-1]).log_softmax(-1)[7]), abs=1e-5)


@pytest.mark.parametrize("family", ["decoder-only", "encoder-decoder"])
def test_what_is_never_sampled_has_no_share_and_no_gradient(family: str) -> None:
    checkpoint = favoured(a_model(family, "pre", tie_embeddings=False))
    logits = trace(checkpoint, SOURCE, ["logits"], **options(checkpoint)).tensors["logits"][-1]
    got, _ = gradient_norms(checkpoint, SOURCE, 101, **options(checkpoint))
    assert got.log_p == pytest.approx(float(sampled(checkpoint, logits).log_softmax(-1)[101]), abs=1e-5)
    for never in checkpoint.tokenizer.never_sampled:
        with pytest.raises(ValueError, match=f"token id {never} is never sampled"):
            gradient_norms(checkpoint, SOURCE, never, **options(checkpoint))

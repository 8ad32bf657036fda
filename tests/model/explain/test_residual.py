"""The stream's figures, against its own taps."""

import pytest
import torch

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.residual import streams
from chumoku.model.trace import trace
from tests.model.explain.helpers import EVERY_KIND, SOURCE, a_model, options
from tests.model.helpers import close


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_what_is_written_is_what_the_stream_gains(family: str, order: str) -> None:
    checkpoint = a_model(family, order)
    run = trace(checkpoint, SOURCE, **options(checkpoint))
    t = {name: x.double() for name, x in run.tensors.items()}
    found = streams(checkpoint, SOURCE, **options(checkpoint))
    assert [one.stack for one in found] == (["encoder", "decoder"] if family == "encoder-decoder" else ["main"])
    for one in found:
        assert one.ids == (run.target_ids if one.stack == "decoder" else run.ids)
        close(one.norm, torch.stack([t[name].square().sum(-1).sqrt() for name in one.taps]))
        for w in one.written:
            before, after = t[w.sublayer.reads.tap], t[w.sublayer.leaves.tap]
            gain = (t[f"{w.sublayer.module}_residual.norm.input"] if order == "post" else after) - before
            close(w.norm, gain.norm(dim=-1), 1e-5)
            close(w.relative, gain.norm(dim=-1) / before.norm(dim=-1), 1e-5)
            close(w.cosine, (gain * before).sum(-1) / gain.norm(dim=-1) / before.norm(dim=-1), 1e-5)
            assert after.shape == before.shape
        kinds = [w.sublayer.module.rpartition(".")[2] for w in one.written]
        assert kinds == (["attn", "cross_attn", "ffn"] if one.stack == "decoder" else ["attn", "ffn"]) * 2


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_a_norm_is_its_formula(family: str, order: str) -> None:
    checkpoint = a_model(family, order)
    t = trace(checkpoint, SOURCE, **options(checkpoint)).tensors
    for one in streams(checkpoint, SOURCE, **options(checkpoint)):
        assert len(one.norms) == len(one.written) + (order != "post")
        for n in one.norms:
            module = checkpoint.model.get_submodule(n.path)
            x, out = t[f"{n.path}.input"].double(), t[f"{n.path}.out"].double()
            hat = (x - n.mean[:, None]) / (n.variance[:, None] + 1e-5).sqrt()
            close(hat * module.weight.double() + module.bias.double(), out, 1e-5)
            close(n.mean, x.sum(-1) / 15)
            close(n.norm_hat, hat.norm(dim=-1))
            close(n.norm_in, x.norm(dim=-1))
            close(n.norm_out, out.norm(dim=-1))
            for cosine, (a, b) in {n.cos_in_out: (x, out), n.cos_in_hat: (x, hat), n.cos_hat_out: (hat, out)}.items():
                close(cosine, (a * b).sum(-1) / a.norm(dim=-1) / b.norm(dim=-1))
            assert n.gain == (float(module.weight.min()), float(module.weight.max()))
            assert n.bias_norm == pytest.approx(float(module.bias.norm()), rel=1e-5)


def test_the_shipped_models_have_finite_streams(zoo: Checkpoint) -> None:
    target = {"target": [1, 2]} if zoo.config.family == "encoder-decoder" else {}
    for one in streams(zoo, zoo.tokenizer.encode("The cat sat."), **target):
        assert one.norm.isfinite().all()
        assert (one.norm > 0).all()

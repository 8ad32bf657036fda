"""A head over the vocabulary, against a plain recomputation with whole matrices, and against a real model's heads."""

import copy
from typing import Any, cast

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model.attribution.vocabulary import head_vocabulary
from chumoku.model.checkpoint import Checkpoint
from tests.model.explain.helpers import a_model

WHERE: Any = {"attention": "self", "layer": 1, "head": 1}


def read(model: Any, bias: bool) -> Tensor:
    """Every embedding through the LayerNorm of layer 1, in float64 [vocab d_model]."""
    norm = model.layers[1].attn_residual.norm
    e = model.table.weight.double()
    beta = norm.bias.double() if bias else None
    return F.layer_norm(e, norm.normalized_shape, norm.weight.double(), beta, norm.eps)


def head_of(model: Any, name: str, x: Tensor, d: int) -> Tensor:
    """x through a projection, in head 1: [vocab d_head]"""
    made = getattr(model.layers[1].attn, name)
    return (x @ made.weight.double().T + made.bias.double())[:, d : 2 * d]


def unembedded(model: Any, wrote: Tensor) -> Tensor:
    """[.. vocab] of what a head wrote, through γ of the final norm, whose 1/σ is 1."""
    centred = wrote - wrote.mean(-1, keepdim=True)
    return centred * model.final_norm.weight.double() @ model.unembedding.weight.double().T


@torch.no_grad()
def test_what_a_token_matches_and_writes_is_a_product_of_the_weights(tiny: Checkpoint) -> None:
    """With whole matrices: embedding → LayerNorm → W_Q, W_K, W_V, W_O → γ of the final norm → W_U."""
    model: Any = tiny.model
    d, x = tiny.config.d_head, read(tiny.model, bias=True)
    q, k, v = (head_of(model, name, x, d) for name in ("w_q", "w_k", "w_v"))
    scores = (q @ k.T / d**0.5)[7, :-1]
    logits = unembedded(model, v[7] @ model.layers[1].attn.w_o.weight[:, d : 2 * d].double().T)
    raised = logits[:-1] - logits[:-1].mean()
    found = head_vocabulary(tiny, 7, **WHERE, k=4)
    best, most = scores.topk(4), raised.topk(4)
    assert (found.matches, found.writes) == (best.indices.tolist(), most.indices.tolist())
    torch.testing.assert_close(found.scores, best.values, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found.raised, most.values, rtol=1e-9, atol=1e-9)
    assert found.own == pytest.approx(float(raised[7]), abs=1e-9)
    assert found.mean_score == pytest.approx(float(scores.mean()), abs=1e-9)


@torch.no_grad()
def test_the_copying_score_is_that_of_the_whole_circuit(tiny: Checkpoint) -> None:
    """Its vocab × vocab matrix has the same eigenvalues except for zeros; with −W_V all change their sign."""
    model: Any = tiny.model
    d, attn = tiny.config.d_head, model.layers[1].attn
    ov = read(model, bias=False) @ attn.w_v.weight[d : 2 * d].double().T @ attn.w_o.weight[:, d : 2 * d].double().T
    values = torch.linalg.eigvals(unembedded(model, ov))
    whole = float(values.real.sum() / values.abs().sum())
    assert head_vocabulary(tiny, 7, **WHERE).copying == pytest.approx(whole, abs=1e-6)
    other = copy.deepcopy(tiny)
    cast(Any, other.model).layers[1].attn.w_v.weight.neg_()
    assert head_vocabulary(other, 7, **WHERE).copying == pytest.approx(-whole, abs=1e-6)


def test_what_reads_no_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="does not read the tokens"):
        head_vocabulary(a_model("encoder-only", "pre"), 1, **WHERE)
    with pytest.raises(ValueError, match="token id 999 is not in the vocabulary"):
        head_vocabulary(a_model("decoder-only", "pre"), 999, **WHERE)
    aft = a_model("decoder-only", "pre", mechanism="aft-full", position="learned", n_head=3, d_model=12)
    with pytest.raises(ValueError, match="no queries and keys"):
        head_vocabulary(aft, 1, **WHERE)

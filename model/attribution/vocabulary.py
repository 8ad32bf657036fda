"""A head over the vocabulary, without a sentence: what a token's query matches, what its value writes, and whether the
head copies (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits").

Both circuits are the direct path: embeddings go through this layer's LayerNorm alone, as if no layer and no position
were before it, and what is written is read by the unembedding alone. LayerNorm gains and biases are included; the scale
of the final LayerNorm, which depends on a sentence, is 1.

What heads do on random tokens that repeat is measured in `induction.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Attention, AttentionSublayer, Norm
from chumoku.model.explain.anatomy import answer_logits, parameter, unembedding


@dataclass(frozen=True)
class HeadVocabulary:
    """`matches` [k]: the tokens whose keys the query of a token matches best, with their `scores` (q·k · scale) and the
    mean score of all tokens. `writes` [k]: the tokens whose logits its value raises most, by `raised` above the mean;
    `own`: by how much it raises its own. `copying`: Σλ / Σ|λ| over the eigenvalues of the whole OV circuit, from −1 to
    1, the share by which tokens raise themselves."""

    matches: list[int]
    scores: Tensor
    mean_score: float
    writes: list[int]
    raised: Tensor
    own: float
    copying: float


@torch.inference_mode()
def head_vocabulary(
    checkpoint: Checkpoint, token_id: int, *, attention: str, layer: int, head: int, k: int = 8
) -> HeadVocabulary:
    """Raises `ValueError` for a head that reads no embeddings of tokens, or has no queries and keys, and for a token
    that is not in the vocabulary."""
    about = check(checkpoint, attention)
    table = checkpoint.description.readout.embedding.parameters["embedding"]
    assert table is not None  # `check` says so
    e = parameter(checkpoint.model, table)
    if not 0 <= token_id < len(e):
        raise ValueError(f"token id {token_id} is not in the vocabulary: ids run from 0 to {len(e) - 1}")
    linear, x = inputs(checkpoint, place(checkpoint, about, layer), e)
    w = weights_of(checkpoint, about, layer, head)
    q, keys = x[token_id] @ w["w_q"].T + w["b_q"], x @ w["w_k"].T + w["b_k"]
    matched = answer_logits(checkpoint, keys @ q * (about.scale or 1.0))  # vocab
    a = reads(checkpoint) @ w["w_o"]  # answer d_head
    given = answer_logits(checkpoint, a @ (x[token_id] @ w["w_v"].T + w["b_v"]))
    raised = given - given[given.isfinite()].mean()
    n = min(k, int(matched.isfinite().sum()))
    best, most = matched.topk(n), raised.topk(n)
    return HeadVocabulary(
        matches=best.indices.tolist(),
        scores=best.values,
        mean_score=float(matched[matched.isfinite()].mean()),
        writes=most.indices.tolist(),
        raised=most.values,
        own=float(raised[token_id]),
        # AB and BA have the same eigenvalues except for zeros: d_head × d_head instead of vocab × vocab.
        copying=positive_share(torch.linalg.eigvals(w["w_v"] @ (linear.T @ a))),
    )


def inputs(checkpoint: Checkpoint, part: AttentionSublayer, e: Tensor) -> tuple[Tensor, Tensor]:
    """What an attention reads of the embeddings e [vocab d_model] of all tokens, without the bias of its LayerNorm and
    with it, [vocab d_model]."""
    x = e.double().cpu() * checkpoint.description.readout.embedding.scale
    if part.norm is None or part.norm.place != "pre":
        return x, x
    linear = normalised(checkpoint, part.norm, x)
    return linear, linear + parameter(checkpoint.model, part.norm.parameters["bias"]).double().cpu()


def weights_of(checkpoint: Checkpoint, about: Attention, layer: int, head: int) -> dict[str, Tensor]:
    """The weights of one head: `w_q`, `w_k`, `w_v` [d_head d_model], their biases [d_head], and `w_o` [d_model
    d_head]."""
    at = slice(head * about.d_head, (head + 1) * about.d_head)
    every = {
        name: parameter(checkpoint.model, about.parameters[name][layer]).double().cpu()
        for name in ("w_q", "b_q", "w_k", "b_k", "w_v", "b_v", "w_o")
    }
    return {name: every[name][:, at] if name == "w_o" else every[name][at] for name in every}


def positive_share(values: Tensor) -> float:
    """Σλ / Σ|λ| of complex eigenvalues: 1 if all are positive, −1 if all are negative."""
    return float(values.real.sum() / values.abs().sum().clamp(min=1e-30))


def check(checkpoint: Checkpoint, attention: str) -> Attention:
    description = checkpoint.description
    about, stack = description.attention(attention), description.readout
    if about.stack != stack.id or about.queries != about.keys or description.predicts not in ("next", "same"):
        raise ValueError(f"{attention} does not read the tokens that the model predicts")
    if stack.embedding.parameters["embedding"] is None or not {"q", "k", "v", "pattern"} <= about.roles.keys():
        raise ValueError(f"{attention} has no queries and keys of tokens")
    return about


def place(checkpoint: Checkpoint, about: Attention, layer: int) -> AttentionSublayer:
    sublayers = (one for one in checkpoint.description.readout.sublayers if isinstance(one, AttentionSublayer))
    return next(one for one in sublayers if (one.attention, one.layer) == (about.id, layer))


def reads(checkpoint: Checkpoint) -> Tensor:
    """How logits read what a head writes, [answer d_model]: the unembedding through the final LayerNorm, whose scale
    is 1."""
    w_u, norm = unembedding(checkpoint)[0].double().cpu(), checkpoint.description.readout.final_norm
    if norm is None:
        return w_u
    through = w_u * parameter(checkpoint.model, norm.parameters["gain"]).double().cpu()
    return through - through.mean(-1, keepdim=True)


def normalised(checkpoint: Checkpoint, norm: Norm, x: Tensor) -> Tensor:
    """A LayerNorm of x [token d_model] without its bias, each token with its own scale."""
    gain = parameter(checkpoint.model, norm.parameters["gain"]).double().cpu()
    return F.layer_norm(x, gain.shape, gain, None, norm.eps)

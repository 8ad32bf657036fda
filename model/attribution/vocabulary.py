"""A head over the vocabulary, without a sentence: what a token's query matches, what its value writes, and whether the
head copies (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits").

Both circuits are the direct path: embeddings go through this layer's LayerNorm alone, as if no layer and no position
were before it, and what is written is read by the unembedding alone. LayerNorm gains and biases are included; the scale
of the final LayerNorm, which depends on a sentence, is 1.

Prefix matching (Olsson et al. 2022, "In-context Learning and Induction Heads") is measured: on random tokens that
repeat, the mean weight on the token after the earlier occurrence of the current one.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Attention, AttentionSublayer, Norm
from chumoku.model.explain.anatomy import answer_logits, parameter, unembedding
from chumoku.model.trace import trace

REPEATED, SEQUENCES = 24, 4
"""Random tokens before they repeat, and how many such sequences are averaged."""


@dataclass(frozen=True)
class HeadVocabulary:
    """`matches` [k]: the tokens whose keys the query of a token matches best, with their `scores` (q·k · scale) and the
    mean score of all tokens. `writes` [k]: the tokens whose logits its value raises most, by `raised` above the mean;
    `own`: by how much it raises its own. `copying`: Σλ / Σ|λ| over the eigenvalues of the whole OV circuit, from −1 to
    1, the share by which tokens raise themselves. `prefix_matching`: a mean weight, in [0, 1]; `prefix_chance`: of a
    head that attends evenly."""

    matches: list[int]
    scores: Tensor
    mean_score: float
    writes: list[int]
    raised: Tensor
    own: float
    copying: float
    prefix_matching: float | None
    prefix_chance: float


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
    part = place(checkpoint, about, layer)
    x = e.double().cpu() * checkpoint.description.readout.embedding.scale  # vocab d_model
    linear = x
    if part.norm and part.norm.place == "pre":
        linear = normalised(checkpoint, part.norm, x)
        x = linear + parameter(checkpoint.model, part.norm.parameters["bias"]).double().cpu()
    at = slice(head * about.d_head, (head + 1) * about.d_head)

    def weight(role: str) -> Tensor:
        return parameter(checkpoint.model, about.parameters[role][layer]).double().cpu()

    q, keys = x[token_id] @ weight("w_q")[at].T + weight("b_q")[at], x @ weight("w_k")[at].T + weight("b_k")[at]
    scores = keys @ q * (about.scale or 1.0)  # vocab
    u = reads(checkpoint)  # answer d_model
    a = u @ weight("w_o")[:, at]  # answer d_head
    value = x[token_id] @ weight("w_v")[at].T + weight("b_v")[at]
    logits = a @ value
    given = answer_logits(checkpoint, logits)
    raised = given - given[given.isfinite()].mean()
    matched = answer_logits(checkpoint, scores)
    n = min(k, int(matched.isfinite().sum()))
    best, most = matched.topk(n), raised.topk(n)
    # AB and BA have the same eigenvalues except for zeros: d_head × d_head instead of vocab × vocab.
    circuit = weight("w_v")[at] @ (linear.T @ a)  # d_head d_head
    values = torch.linalg.eigvals(circuit)
    copying = float(values.real.sum() / values.abs().sum().clamp(min=1e-30))
    mean = float(matched[matched.isfinite()].mean())
    found = prefix_matching(checkpoint, about, layer)
    return HeadVocabulary(
        best.indices.tolist(), best.values, mean, most.indices.tolist(), most.values, float(raised[token_id]), copying,
        None if found is None else float(found[head]), chance(checkpoint),
    )  # fmt: skip


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


def n_repeated(checkpoint: Checkpoint) -> int:
    return min(REPEATED, checkpoint.config.max_seq_len // 2)


def chance(checkpoint: Checkpoint) -> float:
    """The mean weight of one key, where every key of a repeated sequence's second half gets the same."""
    n = n_repeated(checkpoint)
    keys = range(n + 1, 2 * n + 1) if any(one.causal for one in checkpoint.description.attentions) else [2 * n]
    return sum(1 / n_keys for n_keys in keys) / len(keys)


def prefix_matching(checkpoint: Checkpoint, about: Attention, layer: int) -> Tensor | None:
    """The mean weight of each head [head] on the token after the earlier occurrence, on repeated random tokens. None:
    the model reads too few tokens."""
    n = n_repeated(checkpoint)
    if n < 2:
        return None
    never = set(checkpoint.tokenizer.special_ids.values())
    tokens = torch.tensor([id for id in range(checkpoint.config.vocab_size) if id not in never])
    generator = torch.Generator().manual_seed(0)
    tap, found = about.tap("pattern", layer), []
    for _ in range(SEQUENCES):
        ids = tokens[torch.randperm(len(tokens), generator=generator)[:n]].tolist()
        pattern = trace(checkpoint, ids * 2, [tap]).tensors[tap]  # head query key
        rows = torch.arange(n, 2 * n)
        if pattern.shape[-1] != 2 * n:
            return None  # [CLS] is before the tokens
        found.append(pattern[:, rows, rows - n + 1].double().mean(-1))
    return torch.stack(found).mean(0)

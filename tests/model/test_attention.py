"""Scaled dot-product attention and its heads, against loops over plain numbers, SDPA and nn.MultiheadAttention."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from chumoku.model import masks
from chumoku.model.mechanisms import fuse_attention
from chumoku.model.mechanisms.softmax import MultiHeadAttention, masked_softmax, sdpa_attend
from chumoku.model.taps import name_taps, record
from tests.model.helpers import causal_mask, close, randn, random_ids, randomise, tiny_model

sizes = st.integers(1, 5)


def attention_by_hand(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor) -> list[list[float]]:
    """Equation 1 of the paper for one head, number by number: softmax over the allowed keys, times V."""
    (query_len, d_head), key_len = q.shape, len(k)
    out = []
    for i in range(query_len):
        dots = [math.fsum(float(q[i, d] * k[j, d]) for d in range(d_head)) for j in range(key_len)]
        weights = [math.exp(dot / math.sqrt(d_head)) if allowed[i, j] else 0.0 for j, dot in enumerate(dots)]
        total = math.fsum(weights) or 1.0
        out.append([math.fsum(weights[j] / total * float(v[j, d]) for j in range(key_len)) for d in range(d_head)])
    return out


def random_reasons(*shape: int, seed: int = 0) -> Tensor:
    """About half of the cells forbidden, for any of the reasons or several."""
    generator = torch.Generator().manual_seed(seed)
    reasons = torch.randint(1, 16, shape, generator=generator, dtype=torch.uint8)
    return reasons * torch.randint(0, 2, shape, generator=generator, dtype=torch.uint8)


def attention(n_head: int = 3, d_head: int = 5, dropout: float = 0.0) -> MultiHeadAttention:
    module = randomise(MultiHeadAttention(n_head * d_head, n_head, dropout)).double().eval()
    name_taps(module)
    return module


@settings(max_examples=40)
@given(n_head=sizes, query_len=sizes, key_len=sizes, d_head=sizes, seed=st.integers(0, 99))
def test_attend_is_the_formula(n_head: int, query_len: int, key_len: int, d_head: int, seed: int) -> None:
    q, k, v = (randn(1, n_head, n, d_head, seed=seed + i) for i, n in enumerate((query_len, key_len, key_len)))
    mask = random_reasons(1, n_head, query_len, key_len, seed=seed)
    z = attention(n_head, d_head).attend(q, k, v, mask)
    for head in range(n_head):
        expected = attention_by_hand(q[0, head], k[0, head], v[0, head], mask[0, head] == 0)
        close(z[0, head], torch.tensor(expected, dtype=torch.float64))


@settings(max_examples=40)
@given(n_head=sizes, query_len=sizes, key_len=sizes, per_head=st.booleans(), seed=st.integers(0, 99))
def test_attend_equals_sdpa_where_true_means_may_attend(
    n_head: int, query_len: int, key_len: int, per_head: bool, seed: int
) -> None:
    q, k, v = (randn(2, n_head, n, 5, seed=seed + i) for i, n in enumerate((query_len, key_len, key_len)))
    mask = random_reasons(2, n_head if per_head else 1, query_len, key_len, seed=seed)
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask == 0)
    close(attention(n_head).attend(q, k, v, mask), expected)
    close(sdpa_attend(q, k, v, mask), expected)


@pytest.mark.parametrize("query_len", [4, 7])
def test_heads_equal_multihead_attention_where_true_means_forbidden(query_len: int) -> None:
    ours, theirs = attention(), nn.MultiheadAttention(15, 3, batch_first=True).double()
    copy_attention(ours, theirs)
    x_query, x_key_value = randn(2, query_len, 15), randn(2, 7, 15, seed=1)
    mask = random_reasons(2, 3, query_len, 7)
    mask[..., 0] = 0  # torch gives NaN for a row without a key
    with record(["pattern"]) as trace:
        out = ours(x_query, x_key_value, mask)
    expected, weights = theirs(
        x_query, x_key_value, x_key_value, attn_mask=~masks.allowed(mask).flatten(0, 1), average_attn_weights=False
    )
    close(out, expected)
    close(trace.tensors["pattern"], weights)


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.w_q.weight, ours.w_k.weight, ours.w_v.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.w_q.bias, ours.w_k.bias, ours.w_v.bias]))
        theirs.out_proj.load_state_dict(ours.w_o.state_dict())


@given(rows=sizes, keys=sizes, scale=st.sampled_from([1.0, 1e3, 1e30]), seed=st.integers(0, 99))
def test_softmax_rows_sum_to_1_forbidden_cells_are_0_and_empty_rows_are_zeros(
    rows: int, keys: int, scale: float, seed: int
) -> None:
    allowed = random_reasons(rows, keys, seed=seed) == 0
    weights = masked_softmax(scale * randn(rows, keys, seed=seed).float(), allowed)
    assert (weights[~allowed] == 0).all()
    close(weights.sum(-1), allowed.any(-1).float(), 1e-6)


def test_a_row_without_a_key_gives_zeros_and_finite_gradients() -> None:
    x = randn(1, 4, 15).requires_grad_()
    mask = causal_mask(4).clone()
    mask[..., 2, :] = masks.PADDING
    module = attention()
    with record(["pattern", "z", "scores"]) as trace:
        module(x, x, mask).sum().backward()
    assert (trace.tensors["pattern"][:, :, 2] == 0).all()
    assert (trace.tensors["z"][:, :, 2] == 0).all()
    assert trace.tensors["scores"].isfinite().all()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_taps_hold_the_formula_step_by_step() -> None:
    module, x = attention(), randn(1, 6, 15)
    mask = random_reasons(1, 1, 6, 6)
    names = ["q", "k", "v", "scores", "mask", "pattern", "z", "head_out", "attn_out"]
    with record(names) as trace:
        out = module(x, x, mask)
    t = {name: tensor[0] for name, tensor in trace.tensors.items()}
    close(t["q"][1], x[0] @ module.w_q.weight[5:10].T + module.w_q.bias[5:10])  # head 1 of three
    close(t["scores"], torch.einsum("hqd,hkd->hqk", t["q"], t["k"]) / math.sqrt(5))
    assert torch.equal(t["mask"], mask[0].expand(3, -1, -1))
    close(t["z"], torch.einsum("hqk,hkd->hqd", t["pattern"], t["v"]))
    close(t["head_out"].sum(0) + module.w_o.bias, t["attn_out"])
    assert torch.equal(t["attn_out"], out[0])


def test_the_pattern_is_tapped_before_dropout() -> None:
    module = attention(dropout=0.5).train()
    x = randn(1, 6, 15)
    with record(["pattern", "v", "z"]) as trace:
        module(x, x, causal_mask(6))
    pattern, v, z = (trace.tensors[name] for name in ("pattern", "v", "z"))
    close(pattern.sum(-1), torch.ones(1, 3, 6, dtype=torch.float64))
    assert not torch.allclose(pattern @ v, z)


def test_fused_attention_gives_the_same_logits() -> None:
    ours, fused = tiny_model(), tiny_model()
    fuse_attention(fused)
    ids = random_ids(2, 9)
    with record(["layers.0.attn.pattern"]) as trace:
        fused_logits = fused(ids, causal_mask(9))
    assert trace.tensors == {}, "the fused kernel does not return weights"
    close(fused_logits, ours(ids, causal_mask(9)), 1e-5)

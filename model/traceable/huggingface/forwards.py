"""The forward passes of attentions that do not look up a function, so that they compute with `attend` or `weigh`.

Each is written in the order of transformers' own, so that no bit differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from chumoku.model import masks, stopping
from chumoku.model.describe.attention_variants import CONTENT
from chumoku.model.taps import edited, visit, wanted
from chumoku.model.traceable.huggingface.capture import BIAS, TAPS, attend, given_positions, reasons, weigh

Forward = Callable[..., Any]


def replace_forwards(model: nn.Module) -> None:
    """Give every module of a class in `FORWARDS` its new forward pass."""
    for module in model.modules():
        make = FORWARDS.get(type(module).__name__)
        if make is not None:
            module.forward = make(module)


def like_berts(names: Sequence[str], writer: str | None = None) -> Callable[[Any], Forward]:
    """An attention like BERT's; `names` are those of the modules that make q, k and v; a `writer` multiplies by W_O.
    Such a model does look up our mask function."""

    def make(module: Any) -> Forward:
        def forward(
            hidden_states: Tensor, attention_mask: Tensor | None = None, position_bias: Tensor | None = None, **_: Any
        ) -> tuple[Tensor, Tensor]:
            width = module.attention_head_size
            shape = (*hidden_states.shape[:-1], -1, width)
            q, k, v = (getattr(module, x)(hidden_states).view(shape).transpose(1, 2) for x in names)
            z, pattern = attend(
                module, q, k, v, attention_mask, divisor=math.sqrt(width), position_bias=position_bias
            )  # batch position head d_head
            z = z.flatten(-2)
            return z if writer is None else getattr(module, writer)(z), pattern

        return forward

    return make


def windowed_forward(module: Any) -> Forward:
    """GPT-Neo's: no scaling, and in a local layer only a window of keys."""

    def forward(
        hidden_states: Tensor, attention_mask: Tensor | None = None, layer_past: Any = None, **_: Any
    ) -> tuple[Tensor, Tensor]:
        stopping.check()
        q, k, v = (
            x(hidden_states).unflatten(-1, (module.num_heads, -1)).transpose(1, 2)
            for x in (module.q_proj, module.k_proj, module.v_proj)
        )  # batch head position d_head
        if layer_past is not None:
            k, v = layer_past.update(k, v, module.layer_id)
        taps: Mapping[str, str] = getattr(module, TAPS)
        q, k, v = visit(taps["q"], q), visit(taps["k"], k), visit(taps["v"], v)
        if module.attention_type == "local" and attention_mask is not None:
            attention_mask = windowed(attention_mask, module.config.window_size)
        z, pattern = weigh(taps, torch.matmul(q, k.transpose(-1, -2)), attention_mask, v)
        return module.resid_dropout(module.out_proj(z.flatten(-2))), pattern

    return forward


def windowed(mask: Tensor, window: int) -> Tensor:
    """The mask [batch 1 query key], its queries the newest, with the reason for keys that are `window` or more back."""
    n_query, n_key = mask.shape[-2:]
    back = torch.arange(n_key - n_query, n_key, device=mask.device)[:, None] - torch.arange(n_key, device=mask.device)
    return mask | (back >= window) * torch.tensor(masks.WINDOW, dtype=torch.uint8, device=mask.device)


def alibi_forward(module: Any) -> Forward:
    """BLOOM's. One call of torch adds products and bias: two calls would round differently."""

    def forward(
        hidden_states: Tensor, residual: Tensor, alibi: Tensor, attention_mask: Tensor | None = None,
        layer_past: Any = None, **_: Any,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        stopping.check()
        q, k, v = module._reshape(module.query_key_value(hidden_states))  # batch head position d_head
        if layer_past is not None:
            k, v = layer_past.update(k, v, module.layer_idx)
        taps: Mapping[str, str] = getattr(module, TAPS)
        q, k, v = visit(taps["q"], q), visit(taps["k"], k), visit(taps["v"], v)
        scores = scores_of(taps, q, k, alibi, module.inv_norm_factor)
        z, pattern = weigh(taps, scores, attention_mask, v)
        return residual + module.dense(z.flatten(-2)), pattern

    return forward


def scores_of(taps: Mapping[str, str], q: Tensor, k: Tensor, alibi: Tensor, scale: float) -> Tensor:
    """q kᵀ · scale + alibi [batch head query key]; the parts are computed only on request."""
    shape = (*q.shape[:-1], k.shape[-2])
    if wanted(taps[CONTENT]) or wanted(taps[BIAS]):
        content = visit(taps[CONTENT], q @ k.mT * scale)
        bias = visit(taps[BIAS], alibi.view(*q.shape[:2], 1, -1).expand(shape))
        if edited(taps[CONTENT]) or edited(taps[BIAS]):
            return content + bias
    flat = [x.reshape(-1, *x.shape[-2:]) for x in (q, k)]
    return alibi.baddbmm(flat[0], flat[1].transpose(-1, -2), beta=1.0, alpha=scale).view(shape)


def falcon_forward(module: Any) -> Forward:
    """Falcon's. In its newer models several heads share a key, which is repeated before it is rotated; its taps have it
    once."""
    from transformers.models.falcon.modeling_falcon import apply_rotary_pos_emb

    n_head, d_head = module.num_heads, module.head_dim
    group = n_head // module.num_kv_heads if module.new_decoder_architecture else 1

    def shared(tap: str, x: Tensor) -> Tensor:
        found = visit(tap, x[:, ::group]) if wanted(tap) else x
        return found.repeat_interleave(group, 1) if edited(tap) else x

    def forward(
        hidden_states: Tensor, alibi: Tensor | None, attention_mask: Tensor | None, layer_past: Any = None,
        position_embeddings: Any = None, **_: Any,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        stopping.check()
        taps: Mapping[str, str] = getattr(module, TAPS)
        batch, n, _width = hidden_states.shape
        parts = module._split_heads(module.query_key_value(hidden_states))  # batch position head d_head
        q, k, v = (x.transpose(1, 2).reshape(batch, -1, n, d_head) for x in parts)
        q, k = visit(taps["q"], q), shared(taps["k"], k)
        q, k = apply_rotary_pos_emb(q, k, *position_embeddings)
        if layer_past is not None:
            k, v = layer_past.update(k, v, module.layer_idx)
        q, k, v = visit(taps["q_rotated"], q), shared(taps["k_rotated"], k), shared(taps["v"], v)
        z, pattern = weigh(taps, q @ k.transpose(-1, -2) / math.sqrt(d_head), attention_mask, v)
        return module.dense(z.flatten(-2)), pattern

    return forward


def falcon_ffn_forward(module: Any) -> Forward:
    """Falcon's FFN, whose output is added to in place: a tap must keep what it was."""

    def forward(x: Tensor) -> Tensor:
        return module.dense_4h_to_h(module.act(module.dense_h_to_4h(x))).clone()  # type: ignore[no-any-return]

    return forward


C2P, P2C, SUM = "content_to_position", "position_to_content", "position_scores"


def disentangled_forward(module: Any) -> Forward:
    """DeBERTa-v2's. It takes no mask function: the mask [batch 1 query key] that it gets hides PADs, also as
    queries."""
    from transformers.models.deberta_v2.modeling_deberta_v2 import scaled_size_sqrt

    n_head, adds = module.num_attention_heads, {"c2p", "p2c"} & {*module.pos_att_type}

    def forward(
        hidden_states: Tensor, attention_mask: Tensor, output_attentions: bool = False, query_states: Any = None,
        relative_pos: Tensor | None = None, rel_embeddings: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        stopping.check()
        taps: Mapping[str, str] = getattr(module, TAPS)
        projected = (x(hidden_states) for x in (module.query_proj, module.key_proj, module.value_proj))
        q, k, v = (module.transpose_for_scores(x, n_head).unflatten(0, (-1, n_head)) for x in projected)
        q, k, v = visit(taps["q"], q), visit(taps["k"], k), visit(taps["v"], v)
        scale = scaled_size_sqrt(q, 1 + len(adds))
        content = torch.bmm(q.flatten(0, 1), k.flatten(0, 1).transpose(-1, -2) / scale).unflatten(0, (-1, n_head))
        if not (module.relative_attention and adds):
            z, pattern = weigh(taps, content, of_pads(attention_mask), v)
            return z.flatten(-2), pattern
        content = visit(taps[CONTENT], content)
        terms = disentangled(module, taps, q.flatten(0, 1), k.flatten(0, 1), relative_pos, rel_embeddings, scale)
        added = visit(taps[SUM], terms[0] + terms[1]) if len(terms) > 1 else terms[0]
        z, pattern = weigh(taps, content + added, of_pads(attention_mask), v)
        return z.flatten(-2), pattern

    return forward


def disentangled(
    module: Any, taps: Mapping[str, str], q: Tensor, k: Tensor, distance: Any, table: Any, scale: Tensor
) -> list[Tensor]:
    """content → position and position → content [batch head query key]: q and k [batch · head, position, d_head] times
    the projected rows of the table of distances, of which each pair takes the one of its distance [1 query key]."""
    n_head, span, n = module.num_attention_heads, module.pos_ebd_size, q.shape[1]
    table = table[: 2 * span].unsqueeze(0)
    own = (module.key_proj, module.query_proj) if module.share_att_key else None

    def looked_up(x: Tensor, projection: nn.Module, row: Tensor) -> Tensor:
        rows = module.transpose_for_scores(projection(table), n_head).repeat(len(x) // n_head, 1, 1)
        index = row.long().clamp(0, 2 * span - 1).expand(len(x), n, n)
        return torch.gather(torch.bmm(x, rows.transpose(-1, -2)), -1, index)

    found = []
    if "c2p" in module.pos_att_type:
        term = looked_up(q, own[0] if own else module.pos_key_proj, distance + span) / scale
        found.append(visit(taps[C2P], term.unflatten(0, (-1, n_head))))
    if "p2c" in module.pos_att_type:
        term = looked_up(k, own[1] if own else module.pos_query_proj, span - distance).transpose(-1, -2) / scale
        found.append(visit(taps[P2C], term.unflatten(0, (-1, n_head))))
    return found


def of_pads(seen: Tensor) -> Tensor:
    """The reasons [batch 1 query key] of a mask that is 1 where neither token is a PAD."""
    real = seen[:, 0].diagonal(dim1=-2, dim2=-1)  # batch position
    n = real.shape[1]
    return reasons(len(real), n, n, attention_mask=real) | masks.padding(~real.bool()).mT[:, None]


def given_positions_forward(module: Any) -> Forward:
    """M2M-100's sines and cosines, which take the positions that are given."""
    theirs: Forward = module.forward

    def forward(*args: Any, **given: Any) -> Tensor:
        ids = given_positions()
        own: Tensor = theirs(*args, **given)
        return own if ids is None else module.weights[ids + module.padding_idx + 1]

    return forward


FORWARDS: Mapping[str, Callable[[Any], Forward]] = {
    "MegatronBertSelfAttention": like_berts(("query", "key", "value")),
    "MPNetSelfAttention": like_berts("qkv", "o"),
    "GPTNeoSelfAttention": windowed_forward,
    "BloomAttention": alibi_forward,
    "FalconAttention": falcon_forward,
    "FalconMLP": falcon_ffn_forward,
    "DisentangledSelfAttention": disentangled_forward,
    "M2M100SinusoidalPositionalEmbedding": given_positions_forward,
}
"""By the name of a module's class."""

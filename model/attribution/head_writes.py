"""What one head writes to the stream of a row, key by key, seen from the logits (direct logit attribution)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack, cast

import torch
from torch import Tensor

from chumoku.model.attribution.logit_attribution import WalkBack, favoured
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer
from chumoku.model.explain.anatomy import (
    Options,
    check_answer,
    parameter,
    pick_row,
    rows_of,
    unembedding,
)
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.mechanisms.mixer import SeparatesKeys
from chumoku.model.trace import trace


@dataclass(frozen=True)
class HeadWrites:
    """What each key of a head adds at a row.

    `logit` [key]: what each key adds to logit[answer]; their sum is the head's term in `contributions`. `favoured`
    [key k]: the answers whose logit the key raises most, whatever its weight; never all of them.
    """

    row: int
    answer: int
    logit: Tensor
    favoured: Tensor


@torch.inference_mode()
def head_writes(
    checkpoint: Checkpoint,
    ids: Sequence[int],
    answer: int,
    *,
    attention: str,
    layer: int,
    head: int,
    row: int | None = None,
    k: int = 3,
    **options: Unpack[Options],
) -> HeadWrites:
    """Raises what `trace` raises, and `ValueError` for an attention that writes to no logit, or whose weights differ by
    feature."""
    description = checkpoint.description
    about, stack = description.attention(attention), description.readout
    if about.stack != stack.id or "pattern" not in about.contribution_roles:
        raise ValueError(f"what a key of {attention} writes cannot be read as logits")
    check_answer(checkpoint, answer)
    norms = [part.norm for part in stack.sublayers if part.norm] + ([stack.final_norm] if stack.final_norm else [])
    inputs = [norm.roles["input"].tap for norm in norms]
    roles = {role: about.tap(role, layer) for role in about.contribution_roles if role in about.roles}
    run = trace(checkpoint, ids, [description.logits.tap, *inputs, *roles.values()], **options)
    row = pick_row(rows_of(description, run), row)
    of = {role: run.tensors[tap].double() for role, tap in roles.items()}
    for role in set(about.contribution_roles) - set(roles):
        of[role] = parameter(checkpoint.model, about.parameters[role][layer]).double().cpu()
    weights, values = cast(SeparatesKeys, MECHANISMS[about.kind]).key_contributions(of)
    written = values[head] if values.dim() == 3 else values[head, row]  # key d_model, before the weight
    at_row = {tap: run.tensors[tap][row].double() for tap in inputs}
    w_u = unembedding(checkpoint)[0].double().cpu()
    attentions = (part for part in stack.sublayers if isinstance(part, AttentionSublayer))
    place = next(part for part in attentions if (part.attention, part.layer) == (attention, layer))
    reads = WalkBack(checkpoint, at_row, w_u, answer).all_through(place)  # answer d_model
    logits = written @ reads.T  # key answer
    return HeadWrites(row, answer, weights[head, row] * logits[:, answer], favoured(checkpoint, logits, k))

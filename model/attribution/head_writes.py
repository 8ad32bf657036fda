"""What a head, or all heads of a layer, write to the stream of a row, key by key, and what that does to the logits
(direct logit attribution)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor

from chumoku.model.attribution.keys import KeyReader
from chumoku.model.attribution.logit_attribution import norm_taps
from chumoku.model.attribution.walk_back import WalkBack, favoured, subtracted, weights_of
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer, Stack
from chumoku.model.explain.anatomy import (
    check_answer,
    parameter,
    pick_row,
    rows_of,
    unembedding,
)
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.mechanisms.mixer import SeparatesKeys
from chumoku.model.run import Run
from chumoku.model.sampling import most_likely
from chumoku.model.traceable import TraceableModel


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
    traceable: TraceableModel,
    run: Run,
    answer: int | None,
    *,
    attention: str,
    layer: int,
    head: int,
    row: int | None = None,
    k: int = 3,
) -> HeadWrites:
    """`answer` None: the model's own first choice. Raises what `trace` raises, and `ValueError` for a model that is not
    made of our modules, and for an attention that writes to no logit, or whose weights differ by feature."""
    description, checkpoint = traceable.description, traceable.checkpoint
    if checkpoint is None:
        raise ValueError("the model is not made of our modules")
    about, stack = description.attention(attention), description.readout
    if about.stack != stack.id or "pattern" not in about.contribution_roles:
        raise ValueError(f"what a key of {attention} writes cannot be read as logits")
    if answer is not None:
        check_answer(checkpoint, answer)
    inputs = norm_taps(description, run.edit)
    roles = {role: about.tap(role, layer) for role in about.contribution_roles if role in about.roles}
    found = traceable.trace(run, list(dict.fromkeys([description.logits.tap, *inputs, *roles.values()])))
    row = pick_row(rows_of(description, found), row)
    of = {role: found.tensors[tap].double() for role, tap in roles.items()}
    for role in set(about.contribution_roles) - set(roles):
        of[role] = parameter(checkpoint.model, about.parameters[role][layer]).double().cpu()
    weights, values = cast(SeparatesKeys, MECHANISMS[about.kind]).key_contributions(of)
    written = values[head] if values.dim() == 3 else values[head, row]  # key d_model, before the weight
    at_row = {tap: found.tensors[tap][row].double() for tap in inputs}
    w_u, answers = unembedding(checkpoint)[0], weights_of(checkpoint)
    if answer is None:
        logits = found.tensors[description.logits.tap]
        answer = most_likely(logits if description.classes else logits[row], answers.never)
    w_answer = w_u[answer].double().cpu()
    read = WalkBack(answers, at_row, w_u, w_answer).as_read(written, sublayer(stack, attention, layer))  # key d_model
    # All answers in float32, which ranks them: W_U in float64 would take longer than the forward pass.
    logits = (read.to(w_u) @ w_u.T).cpu()  # key answer
    return HeadWrites(row, answer, weights[head, row] * (read @ w_answer), favoured(answers, logits, k))


def sublayer(stack: Stack, attention: str, layer: int) -> AttentionSublayer:
    attentions = (part for part in stack.sublayers if isinstance(part, AttentionSublayer))
    return next(part for part in attentions if (part.attention, part.layer) == (attention, layer))


@dataclass(frozen=True)
class KeyWrites:
    """What an attention brings from each key to one query, in one head or in all of its layer, each [key].

    `weight`: the attention weight, of all heads their mean; None where no single number says it. `length`: ‖Σ_h a_h v_h
    W_h^O‖, before any LayerNorm. `logit`: what it adds to logit[answer] − the mean logit, with every LayerNorm's scale
    fixed; None if the query is not the row that answers, or the model is not made of our modules.
    """

    weight: Tensor | None
    length: Tensor
    logit: Tensor | None


@torch.inference_mode()
def key_writes(
    traceable: TraceableModel,
    run: Run,
    answer: int,
    *,
    attention: str,
    layer: int,
    query: int,
    row: int,
    head: int | None = None,
) -> KeyWrites:
    """`answer` is the one that `row` gives. Raises what `trace` raises, and `KeyError` for an attention that does not
    exist. Its keys must be separable (`can["route"]`)."""
    description, checkpoint = traceable.description, traceable.checkpoint
    about, stack = description.attention(attention), description.readout
    reader = KeyReader(about, layer, lambda name: traceable.weights([name])[name])
    weighs = about.tap(about.overview, layer) if about.overview is not None else None
    is_direct = checkpoint is not None and (about.stack, query) == (stack.id, row)
    inputs = norm_taps(description, run.edit) if is_direct else []
    edit = reader.watched(run.edit)
    names = [*reader.taps, *inputs, *([] if weighs is None else [weighs])]
    found = traceable.trace(replace(run, edit=edit), list(dict.fromkeys(names)))
    heads = slice(None) if head is None else slice(head, head + 1)
    weight = None if weighs is None else found.tensors[weighs][heads, query].double().mean(0)
    written = reader.written(found.tensors, query, edit)[heads].sum(0)  # key d_model
    logit = None
    if checkpoint is not None and is_direct:
        at_row = {tap: found.tensors[tap][row].double() for tap in inputs}
        logit = written @ direction(checkpoint, at_row, sublayer(stack, about.id, layer), answer)
    return KeyWrites(weight, written.norm(dim=-1), logit)


def direction(checkpoint: Checkpoint, at_row: dict[str, Tensor], place: AttentionSublayer, answer: int) -> Tensor:
    """In which direction [d_model] logit[answer] − the mean logit reads what an attention writes."""
    w_u = unembedding(checkpoint)[0].double().cpu()
    g = w_u[answer] - subtracted(weights_of(checkpoint), w_u, "mean")
    return WalkBack(weights_of(checkpoint), at_row, g[None], g).all_through(place)[0]

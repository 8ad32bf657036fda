"""Capture in a model whose family has no file in `families/`: the inputs and outputs of its attentions are visited.

The model computes with its own attention function. It is refused if capture changes a single bit of its logits, or if
the recorded tensors do not agree with each other.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface

from chumoku.model import masks, stopping
from chumoku.model.describe import Attention, AttentionSublayer, Description
from chumoku.model.describe.attention_variants import UNCAPPED
from chumoku.model.identities import discrepancies
from chumoku.model.taps import edited, record, visit, wanted
from chumoku.model.traceable.huggingface.capture import LOWEST, TAPS, reasons, repeated, taps_of
from chumoku.model.traceable.huggingface.hooks import watch_input, watch_output

NAME = "chumoku_any"
THEIRS = "eager_attention_forward"
SHOWN = {
    "scaling", "dropout", "is_causal", "sliding_window", "position_ids", "cache_position", "use_cache",
    "output_attentions", "output_hidden_states", "return_dict", "position_embeddings", "cu_seq_lens_q",
}  # fmt: skip
"""Arguments that change nothing, or only something that is shown. Others are refused by name."""
PROBE = 5
"""How many tokens a model reads when it is loaded, once with each attention function."""
AGREES = 1e-4
"""Tolerance relative to a tensor's largest number: rounding stays below it; a part that is not shown does not."""
CLAIMS = {
    "softcap": "its scores are not bounded as its config says",
    "scaled_product": "its scores are not q·k times their scale",
    "masked_softmax": "its weights are not softmax(scores + mask)",
    "weighted_sum": "what its heads give is not weights · v",
}
"""What a discrepancy means, by the identity's operation."""
BLOCK = re.compile(r"(.*\.\d+)\..+")

Theirs = Callable[..., tuple[Tensor, Tensor]]
"""A family's eager attention: returns z [batch query head d_head] and the weights."""

Asked = tuple[nn.Module, float, float | None]
"""A module that attends, the scaling that it asks for, and the bound of its scores."""

_found: ContextVar[list[Asked] | None] = ContextVar("chumoku_found", default=None)


def attend_theirs(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **given: Any
) -> tuple[Tensor, Tensor]:
    """z [batch query head d_head] and the weights, computed by the model's own function under our mask of reasons.

    Raises `ValueError` for an argument that may change the weights and is not shown.
    """
    stopping.check()
    found = _found.get()
    theirs: Theirs = getattr(sys.modules[type(module).__module__], THEIRS)
    taps: Mapping[str, str] = getattr(module, TAPS, {})
    shown = SHOWN | ({"softcap"} if UNCAPPED in taps or found is not None else set())
    if unknown := [name for name, value in given.items() if name not in shown and is_given(value)]:
        raise ValueError(f"its attention has {unknown[0]}, which may change the weights and is not shown")
    if found is not None:
        found.append((module, float(given["scaling"]), given.get("softcap")))
        return theirs(module, query, key, value, added(attention_mask), **given)
    query, key, value = visit(taps["q"], query), visit(taps["k"], key), visit(taps["v"], value)
    mask = torch.zeros((), dtype=torch.uint8, device=query.device) if attention_mask is None else attention_mask
    mask = visit(taps["mask"], mask.expand(*query.shape[:3], key.shape[2]))
    group = query.shape[1] // key.shape[1]
    products = [tap for tap in (taps.get(UNCAPPED), taps["scores"]) if tap is not None]
    scores, changed = None, any(map(edited, products))
    if any(map(wanted, products)):
        scores = visit_scores(taps, query @ repeated(key, group).mT * given["scaling"], given.get("softcap"))
    z, pattern = theirs(module, query, key, value, added(mask), **given)
    if scores is not None and changed:
        pattern = (scores + torch.where(masks.allowed(mask), 0.0, LOWEST)).softmax(dim=-1)
    pattern = visit(taps["pattern"], pattern)
    if changed or edited(taps["pattern"]):
        z = (pattern @ repeated(value, group)).transpose(1, 2)
    return visit(taps["z"], z.transpose(1, 2)).transpose(1, 2).contiguous(), pattern


def visit_scores(taps: Mapping[str, str], products: Tensor, softcap: float | None) -> Tensor:
    """Visit the scaled products, and what a tanh makes of them if there is a `softcap`. Returns the scores."""
    if softcap is not None:
        products = (visit(taps[UNCAPPED], products) / softcap).tanh() * softcap
    return visit(taps["scores"], products)


def is_given(value: object) -> bool:
    return value is not None and value is not False


def added(mask: Tensor | None) -> Tensor | None:
    """The mask as eager attention adds it to the scores."""
    return None if mask is None else torch.where(masks.allowed(mask), 0.0, LOWEST)


AttentionInterface.register(NAME, attend_theirs)
AttentionMaskInterface.register(NAME, reasons)


@contextmanager
def finding() -> Iterator[list[Asked]]:
    """In this block nothing is captured. Yields a list to which each module that attends is added, in their order, with
    what it asks for."""
    found: list[Asked] = []
    token = _found.set(found)
    try:
        yield found
    finally:
        _found.reset(token)


@torch.inference_mode()
def attach_any(model: Any, description: Description, name: str) -> None:
    """Watch a model of any family. Raises `ValueError`, starting with its `name`, if that would not be exact."""
    ids = torch.arange(PROBE)[None] % description.vocab_size
    expected = theirs_of(model, ids, name)
    with finding() as asked:
        read(model, ids)
    attending = [module for module, _, _ in asked]
    check_found(model, attending, description, name)
    check_scale(description.attentions[0], asked, name)
    (stack,) = description.stacks
    paths = {module: path for path, module in model.named_modules()}
    for part, module in zip(stack.sublayers, attending, strict=True):
        assert isinstance(part, AttentionSublayer)
        taps = taps_of(description.attention(part.attention), part.layer)
        setattr(module, TAPS, taps)
        block = BLOCK.fullmatch(paths[module])
        if block is None:
            raise ValueError(f"{name}: its attentions are not in a list of blocks")
        first = stack.embedding.roles["embedding"].tap if part is stack.sublayers[0] else None
        watch_input(model.get_submodule(block[1]), *([] if first is None else [first]), part.reads.tap)
        watch_output(module, part.writes.tap)
    watch_input(model.get_output_embeddings(), stack.leaves.tap)
    check_recorded(model, description, name, ids, expected)


def check_recorded(model: Any, description: Description, name: str, ids: Tensor, expected: Tensor) -> None:
    """Check that everything is visited in the described shapes, and that no bit of the logits changes."""
    try:
        with record(description.taps) as recording:
            logits = visit(description.logits.tap, read(model, ids))
    except (IndexError, KeyError, RuntimeError, TypeError) as error:
        raise ValueError(f"{name}: its blocks cannot be watched: {' '.join(str(error).split())}") from None
    (attention,) = description.attentions
    sizes = {
        "head": attention.n_head,
        "kv_head": attention.n_kv_head,
        "d_head": attention.d_head,
        "d_model": description.d_model,
    }
    for tap, place in description.taps.items():
        if tap not in recording.tensors:
            raise ValueError(f"{name}: its forward pass does not visit {tap}")
        found = list(recording.tensors[tap].shape[1:])
        said = [sizes.get(dim, size) for dim, size in zip(place.dims.split(), found, strict=True)]
        if found != said:
            raise ValueError(f"{name}: {tap} is {found}, and its config says {said}")
    if not torch.equal(logits, expected):
        raise ValueError(f"{name}: with its attention recorded, its logits are not those of eager attention")
    check_agrees(attention, {tap: x[0] for tap, x in recording.tensors.items()}, name)


def check_agrees(attention: Attention, tensors: Mapping[str, Tensor], name: str) -> None:
    """Check the identities: the model's function may compute more than its arguments show."""
    for layer in range(attention.n_layer):
        for found in discrepancies(attention, layer, tensors, dict[str, Tensor]().__getitem__):
            if not found.relative <= AGREES:
                raise ValueError(
                    f"{name}: {CLAIMS[found.op]}: in layer {layer} they differ by {found.relative:.1e} of the largest "
                    f"number, where {AGREES:.0e} is allowed, so a part of its attention would not be shown"
                )


def read(model: Any, ids: Tensor) -> Tensor:
    logits: Tensor = model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits
    return logits


def theirs_of(model: Any, ids: Tensor, name: str) -> Tensor:
    """The logits under eager attention."""
    try:
        model.set_attn_implementation("eager")
        return read(model, ids)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} does not calculate: {' '.join(str(error).split())}") from None
    finally:
        model.set_attn_implementation(NAME)


def check_found(model: Any, attending: list[nn.Module], description: Description, name: str) -> None:
    (attention,) = description.attentions
    kind = type(model).__name__
    if len({*attending}) != attention.n_layer or len(attending) != attention.n_layer:
        raise ValueError(
            f"{name}: of {attention.n_layer} layers of a {kind}, {len(attending)} ask for an attention function"
        )


def check_scale(attention: Attention, asked: list[Asked], name: str) -> None:
    """Check what was passed: a module's own number may have been multiplied into q before."""
    assert attention.scale is not None
    for _, scaling, softcap in asked:
        if abs(scaling - attention.scale) > 1e-6 * attention.scale:
            raise ValueError(
                f"{name}: its scores are scaled by {scaling:.4g}, and its config says {attention.scale:.4g}"
            )
        if softcap != attention.softcap:
            raise ValueError(
                f"{name}: its attention has softcap={softcap}, and its config says {attention.softcap}: the weights "
                "would not be those that are shown"
            )


def check_asks(architecture: str, name: str) -> None:
    """Raise `ValueError` if the model's code has no eager attention function to replace."""
    kind = getattr(transformers, architecture, None)
    if kind is None or not hasattr(sys.modules[kind.__module__], THEIRS):
        raise ValueError(f"{name}: a {architecture} asks for no attention function, so nothing can be seen")

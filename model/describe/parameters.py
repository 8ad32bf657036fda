"""Every parameter of a model: by role, with the names of its dimensions, and by the part of a block that it belongs to
(`self q`, `ffn 1`, `ffn norm`), which adapters to other libraries use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from chumoku.model.config import ModelConfig
from chumoku.model.describe.build import describe
from chumoku.model.describe.description import Description
from chumoku.model.describe.parts import Attention, AttentionSublayer, FfnSublayer, Norm, Stack
from chumoku.model.mechanisms import MECHANISMS

DIMS = {
    "embedding": "vocab d_model",
    "positions": "position d_model",
    "token_types": "token_type d_model",
    "w_patch": "d_model pixel",
    "b_patch": "d_model",
    "special": "special d_model",
    "gain": "d_model",
    "bias": "d_model",
    "w_1": "d_ff d_model",
    "b_1": "d_ff",
    "w_up": "d_ff d_model",
    "w_2": "d_model d_ff",
    "w_r": "d_model d_model",
    "mix_k": "d_model",
    "mix_r": "d_model",
    "b_2": "d_model",
}
"""The dimensions of each role; a matrix has its outputs first."""


@dataclass(frozen=True)
class ParameterRef:
    """A parameter: `stack` is None outside the stacks, `layer` outside the layers, `attention` (an id) outside
    the attentions."""

    name: str
    role: str
    dims: str
    stack: str | None
    layer: int | None = None
    attention: str | None = None


def parameters(config: ModelConfig) -> dict[str, ParameterRef]:
    """All parameters of a model by name; a tied matrix under each of its names."""
    mixer = MECHANISMS[config.mechanism].describe(config)
    return references(describe(config), {role: parameter.dims for role, parameter in mixer.parameters.items()})


def own_parameters(description: Description, part: AttentionSublayer | FfnSublayer) -> list[str]:
    """The names of a sublayer's parameters, without its norm's."""
    if isinstance(part, AttentionSublayer):
        return [names[part.layer] for names in description.attention(part.attention).parameters.values()]
    return list(part.parameters.values())


def references(description: Description, attention_dims: Mapping[str, str]) -> dict[str, ParameterRef]:
    """All parameters of a description by name; `attention_dims` by role. What layers share is the first one's."""
    found = dict[str, ParameterRef]()
    of_stacks = (of_stack(description, stack, attention_dims) for stack in description.stacks)
    for reference in chain(*of_stacks, of_logits(description)):
        found.setdefault(reference.name, reference)
    return found


def of_stack(description: Description, stack: Stack, attention_dims: Mapping[str, str]) -> Iterator[ParameterRef]:
    for role, name in stack.embedding.parameters.items():
        if name is not None:
            yield ParameterRef(name, role, DIMS[role], stack.id)
    if stack.embedding.norm is not None:
        yield from of_norm(stack.embedding.norm, stack)
    for part in stack.sublayers:
        if isinstance(part, AttentionSublayer):
            for role, names in description.attention(part.attention).parameters.items():
                dims = attention_dims[role]
                yield ParameterRef(names[part.layer], role, dims, stack.id, part.layer, part.attention)
        else:
            for role, name in part.parameters.items():
                yield ParameterRef(name, role, DIMS[role], stack.id, part.layer)
        if part.norm is not None:
            yield from of_norm(part.norm, stack, part.layer)
    if stack.final_norm is not None:
        yield from of_norm(stack.final_norm, stack)


def of_norm(norm: Norm, stack: Stack, layer: int | None = None) -> Iterator[ParameterRef]:
    for role, name in norm.parameters.items():
        yield ParameterRef(name, role, DIMS[role], stack.id, layer)


def of_logits(description: Description) -> Iterator[ParameterRef]:
    answer = description.logits.dims.split()[-1]
    dims = {"unembedding": f"{answer} d_model", "b_unembedding": answer}
    for role, name in description.logits.parameters.items():
        if name is not None:
            yield ParameterRef(name, role, dims[role], None)


VECTORS = ("decay", "bonus", "mix_r", "mix_k", "mix_v")
"""Roles of parameters that do not belong to a matrix."""
Names = tuple[str, ...]
"""The names of a weight and its bias, if it has one; for a norm, of its gain and its bias."""


def around(description: Description) -> tuple[Stack, str, str, Names]:
    """A model's only stack, and the names of its embedding, learned positions and last norm."""
    (stack,) = description.stacks
    embedding, last = stack.embedding.parameters, stack.final_norm
    assert last is not None
    return stack, str(embedding["embedding"]), str(embedding["positions"]), names_of_norm(last)


def parts_of(description: Description, stack: Stack, n: int) -> dict[str, Names]:
    """`self q`, `self k`, `self v`, `self o`, `self norm`, the same of `cross`, and `ffn 1`, `ffn 2`, `ffn norm`. A
    gated FFN also has `ffn up`; normalised queries and keys have `self q norm`, `self k norm`. RWKV has `self r` for q,
    `ffn r`, and its vectors by role: `self decay`, `ffn mix_k`."""
    found: dict[str, Names] = {}
    for sublayer in stack.layers[n].sublayers:
        if isinstance(sublayer, AttentionSublayer):
            attention = description.attention(sublayer.attention)
            word = word_of(attention)
            found |= {f"{word} {x}": names for x in "rqkvo" if (names := of_attention(attention, x, n))}
            found |= {f"{word} {x}": (attention.parameters[x][n],) for x in VECTORS if x in attention.parameters}
            gains = [x for x in "qk" if f"gain_{x}" in attention.parameters]
            found |= {f"{word} {x} norm": (attention.parameters[f"gain_{x}"][n],) for x in gains}
        else:
            word = "ffn"
            found |= of_ffn(sublayer)
        if sublayer.norm is not None:
            found[f"{word} norm"] = names_of_norm(sublayer.norm)
    return found


def word_of(attention: Attention) -> str:
    return "self" if attention.keys == attention.queries else "cross"


def of_attention(attention: Attention, x: str, n: int) -> Names:
    of = attention.parameters
    return tuple(of[role][n] for role in (f"w_{x}", f"b_{x}") if role in of)


def of_ffn(sublayer: FfnSublayer) -> dict[str, Names]:
    of = sublayer.parameters
    pairs = {f"ffn {x}": tuple(of[role] for role in (f"w_{x}", f"b_{x}") if role in of) for x in ("1", "2", "up", "r")}
    pairs |= {f"ffn {x}": (of[x],) for x in VECTORS if x in of}
    return {part: names for part, names in pairs.items() if names}


def names_of_norm(norm: Norm) -> Names:
    return tuple(norm.parameters[role] for role in ("gain", "bias") if role in norm.parameters)

"""Every parameter of a model by role: where it belongs, and the names of its dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chumoku.model.config import ModelConfig
from chumoku.model.describe.build import describe
from chumoku.model.describe.description import Description
from chumoku.model.describe.parts import AttentionSublayer, FfnSublayer, Norm, Stack
from chumoku.model.mechanisms import MECHANISMS

DIMS = {
    "embedding": "vocab d_model",
    "positions": "position d_model",
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
"""The outputs of a matrix come first."""


@dataclass(frozen=True)
class ParameterRef:
    """A parameter: `stack` is None outside the stacks, `layer` outside the layers, `attention` (an id) outside
    of the attentions."""

    name: str
    role: str
    dims: str
    stack: str | None
    layer: int | None = None
    attention: str | None = None


def parameters(config: ModelConfig) -> dict[str, ParameterRef]:
    """All parameters of a model by name; a tied matrix under each of its names."""
    mixer = MECHANISMS[config.mechanism].describe(config)
    return references(describe(config), {role: one.dims for role, one in mixer.parameters.items()})


def own_parameters(description: Description, part: AttentionSublayer | FfnSublayer) -> list[str]:
    """The names of a sublayer's own parameters, without those of its norm."""
    if isinstance(part, AttentionSublayer):
        return [names[part.layer] for names in description.attention(part.attention).parameters.values()]
    return list(part.parameters.values())


def references(description: Description, attention_dims: Mapping[str, str]) -> dict[str, ParameterRef]:
    """The same from a description, and the dimensions of an attention's parameters by role."""
    found = [one for stack in description.stacks for one in of_stack(description, stack, attention_dims)]
    found += of_logits(description)
    return {one.name: one for one in found}


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

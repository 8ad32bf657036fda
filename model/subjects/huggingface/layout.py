"""Where a model of transformers keeps what its description names: its modules, and how their parameters become ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from torch import Tensor

from model.describe import Description, Stack
from model.describe.blocks import parts_of

Take = Callable[[Tensor], Tensor]
"""A part of their weight [out in] or bias [out], as ours."""


def whole(x: Tensor) -> Tensor:
    return x


def in_out(x: Tensor) -> Tensor:
    """A matrix that is stored as [in out]; a bias stays."""
    return x.T if x.dim() == 2 else x


@dataclass(frozen=True)
class Third:
    """Q, K or V out of one matrix [in, q k v]."""

    n: int

    def __call__(self, x: Tensor) -> Tensor:
        return in_out(x).chunk(3)[self.n]


@dataclass(frozen=True)
class Part:
    """A Linear or a norm by the path of its module in a block."""

    module: str
    take: Take = whole


@dataclass(frozen=True)
class StackLayout:
    """The modules of a stack. `block` is a path with {n}; `attentions`: by id, the module in a block that attends;
    `parts`: by the words of `describe/blocks.py`."""

    embedding: str
    positions: str | None
    block: str
    attentions: Mapping[str, str]
    parts: Mapping[str, Part]
    final_norm: str | None = None


SQUARE = {f"w_{x}": "d_model d_model" for x in "qkvo"} | {f"b_{x}": "d_model" for x in "qkvo"}


@dataclass(frozen=True)
class Adapter:
    """A model of one family as we see it.

    `head` is the module that makes the logits from the last state, None if there is more to it; `dims` are the
    dimensions of an attention's parameters by role; `unused`: the ends of names of stored tensors that the model does
    not read.
    """

    description: Description
    stacks: Mapping[str, StackLayout]
    head: str | None
    n_positions: int
    tied: bool = False
    dims: Mapping[str, str] = field(default_factory=lambda: SQUARE)
    unused: tuple[str, ...] = ()

    def size(self, dim: str) -> int:
        """How long a dimension of a parameter is."""
        described = self.description
        ffns = [ffn.d_ff for stack in described.stacks for ffn in stack.ffns]
        sizes = {"vocab": described.vocab_size, "position": self.n_positions, "d_ff": max(ffns, default=0)}
        one = described.attentions[0]
        sizes |= {"d_q": one.n_head * one.d_head, "d_kv": one.n_kv_head * one.d_head, "class": len(described.classes)}
        return sizes.get(dim, described.d_model)

    def stored(self) -> Iterator[tuple[str, str, Take]]:
        """Each parameter: our name, their name, and how theirs becomes ours."""
        for stack in self.description.stacks:
            yield from stored_in(self.description, stack, self.stacks[stack.id])
        parameters = self.description.logits.parameters
        for role, kind in (("unembedding", "weight"), ("b_unembedding", "bias")):
            if (ours := parameters[role]) is not None:
                yield ours, f"{self.head}.{kind}", whole


def stored_in(description: Description, stack: Stack, layout: StackLayout) -> Iterator[tuple[str, str, Take]]:
    tables = stack.embedding.parameters
    for role, module in (("embedding", layout.embedding), ("positions", layout.positions)):
        if (ours := tables[role]) is not None:
            yield ours, f"{module}.{NORM['gain']}", whole
    if stack.final_norm is not None:
        for role, kind in NORM.items():
            if role in stack.final_norm.parameters:
                yield stack.final_norm.parameters[role], f"{layout.final_norm}.{kind}", whole
    for n in range(len(stack.layers)):
        block = layout.block.format(n=n)
        for word, names in parts_of(description, stack, n).items():
            part = layout.parts[word]
            for ours, kind in zip(names, NORM.values(), strict=False):  # some have no bias
                yield ours, f"{block}.{part.module}.{kind}", part.take


NORM = {"gain": "weight", "bias": "bias"}

"""Which modules of a transformers model hold what its description names, and how their parameters become ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor, nn

from chumoku.model.describe import Description, Stack
from chumoku.model.describe.parameters import Names, names_of_norm, parts_of
from chumoku.model.describe.variants import with_token_types
from chumoku.model.traceable.huggingface.processing import Processing
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

Take = Callable[[Tensor], Tensor]
"""Takes our parameter from their weight [out in] or bias [out]."""


def whole(x: Tensor) -> Tensor:
    return x


def in_out(x: Tensor) -> Tensor:
    """Transpose a matrix that is stored as [in out]; leave a bias as it is."""
    return x.T if x.dim() == 2 else x


@dataclass(frozen=True)
class Third:
    """Q, K or V from one matrix [in, q k v]."""

    n: int

    def __call__(self, x: Tensor) -> Tensor:
        return in_out(x).chunk(3)[self.n]


@dataclass(frozen=True)
class Chunk:
    """One of the `of` equal pieces that a matrix [pieces · out, in] has on top of each other."""

    n: int
    of: int

    def __call__(self, x: Tensor) -> Tensor:
        return x.chunk(self.of)[self.n]


@dataclass(frozen=True)
class OfGroups:
    """Q, K or V from one matrix that has, for each head of keys, its heads of queries, then its key and its value."""

    role: str
    n_kv_head: int
    group: int

    def __call__(self, x: Tensor) -> Tensor:
        parts: Tensor = x.unflatten(0, (self.n_kv_head, self.group + 2, -1))
        rows = {"q": parts[:, :-2], "k": parts[:, -2], "v": parts[:, -1]}[self.role]
        return rows.reshape(-1, *x.shape[1:])


@dataclass(frozen=True)
class OfHeads:
    """Q, K or V from one matrix that has each head's three side by side: [head · q k v · d_head, in]."""

    n: int
    n_head: int

    def __call__(self, x: Tensor) -> Tensor:
        part: Tensor = x.unflatten(0, (self.n_head, 3, -1))[:, self.n].flatten(0, 1)
        return part


@dataclass(frozen=True)
class From:
    """A table without its first rows."""

    row: int

    def __call__(self, x: Tensor) -> Tensor:
        return x[self.row :]


def flat(x: Tensor) -> Tensor:
    return x.flatten()


@dataclass(frozen=True)
class Part:
    """A Linear or a norm, by the path of its module in a block; with `vector`, another parameter of that module. With
    `is_scaled`, what it writes is multiplied by the module's vector `SCALE`, which our parameters contain."""

    module: str
    take: Take = whole
    vector: str | None = None
    is_scaled: bool = False


@dataclass(frozen=True)
class StackLayout:
    """The modules of a stack. `block` is a path with {n}; `attentions` has the module in a block that attends, by
    attention id; `parts` has keys as in `describe/parameters.py`; `segments` is the table of token types; `is_scaled`
    says whether the embedding's module multiplies its rows by the description's scale itself."""

    embedding: str
    positions: str | None
    block: str
    attentions: Mapping[str, str]
    parts: Mapping[str, Part]
    final_norm: str | None = None
    embedding_norm: str | None = None
    segments: str | None = None
    is_scaled: bool = False
    visits_heads: bool = False
    """Whether the attention's own forward visits q and k before they are rotated (`forwards.py`)."""
    tables: Mapping[str, tuple[str, Take]] = field(default_factory=dict)
    """For a stack that reads pictures: the names of its embedding's parameters, by role. `embedding` is then the module
    that gets the picture and returns the stream."""


@dataclass(frozen=True)
class Stored:
    """Where one of our parameters is stored in their model; `times` is a vector that its rows are multiplied by."""

    ours: str
    theirs: str
    take: Take = whole
    times: str | None = None

    def of(self, model: nn.Module) -> Tensor:
        x = self.take(model.get_parameter(self.theirs))
        if self.times is not None:
            scale = model.get_parameter(self.times)
            x = x * (scale[:, None] if x.dim() == 2 else scale)
        return x.contiguous()


@dataclass(frozen=True)
class GivenByHead:
    """What is shown of a model's answer that is no prediction: a tap, its dimensions, where the answer has it, and what
    its numbers are called; None: what the config calls them."""

    tap: str
    dims: str
    of: Callable[[Any], Tensor]
    labels: tuple[str, ...] | None = ()


SQUARE = {f"w_{x}": "d_model d_model" for x in "qkvo"} | {f"b_{x}": "d_model" for x in "qkvo"}


@dataclass(frozen=True)
class Adapter:
    """A model of one family as we see it.

    `head` is the module that computes the logits from the last state, None if that takes more than one module; `dims`
    are the dimensions of an attention's parameters by role; `unused` are suffixes of stored tensors' names that the
    model does not read.
    """

    description: Description
    stacks: Mapping[str, StackLayout]
    head: str | None
    n_positions: int
    tied: bool = False
    dims: Mapping[str, str] = field(default_factory=lambda: SQUARE)
    unused: tuple[str, ...] = ()
    first_row: int = 0
    """The row of position 0 in the table of positions. Some models reserve the rows before it for PADs."""
    prepare: Callable[[nn.Module], None] | None = None
    """Changes the modules of a loaded model before they are watched."""
    builds_eager: bool = False
    """Whether its class can only be built for an attention function that it knows; ours is named afterwards."""
    processing: Processing | None = None
    """How a picture is prepared, if the model reads pictures."""
    answer: GivenByHead | None = None
    """What the model gives, if it predicts nothing; otherwise its logits."""
    n_token_types: int = 0
    """The rows of the table of token types."""
    skips_pads: bool = False
    """Whether the positions of a translator's source skip PADs by themselves."""
    is_recurrent: bool = False
    """Whether it has a state instead of keys and values, and reads PADs like any token."""
    is_known: bool = True
    """Whether its family has an adapter here. Otherwise the model computes with its own attention function, of which
    only the inputs and outputs are captured."""

    def answer_of(self, out: Any) -> Tensor:
        """The logits in what the model returned, or what else it gives."""
        found: Tensor = out.logits if self.answer is None else self.answer.of(out)
        return found

    @property
    def base(self) -> str:
        """The name of the model without its head, as a part of the model with its usual one."""
        return self.stacks[self.description.stacks[0].id].embedding.partition(".")[0]

    def size(self, dim: str) -> int:
        """The size of a parameter's dimension by its name; d_model for a name that it does not know."""
        described = self.description
        ffns = [ffn.d_ff for stack in described.stacks for ffn in stack.ffns]
        sizes = {"vocab": described.vocab_size, "position": self.n_positions, "d_ff": max(ffns, default=0)}
        sizes["token_type"] = self.n_token_types
        attention = described.attentions[0]
        sizes |= {
            "d_head": attention.d_head,
            "d_q": attention.n_head * attention.d_head,
            "d_kv": attention.n_kv_head * attention.d_head,
        }
        sizes["class"] = len(described.classes)
        if described.picture is not None:
            sizes |= {"pixel": described.picture.n_pixels, "special": len(getattr(described.picture, "before", "1"))}
        return sizes.get(dim, described.d_model)

    def stored(self) -> Iterator[Stored]:
        """Where every parameter that the description names is stored; none if the family is not known."""
        if not self.is_known:
            return
        for stack in self.description.stacks:
            yield from stored_in(self.description, stack, self.stacks[stack.id], self.first_row)
        parameters = self.description.logits.parameters
        for role, kind in (("unembedding", WEIGHT), ("b_unembedding", BIAS)):
            if (ours := parameters[role]) is not None:
                yield Stored(ours, f"{self.head}.{kind}")


SHARES = 20_000_000
"""Limit for the shares between positions of one text (`attribution/norm_contributions.py`) that are sent to a browser.
They grow with the square of the text's length; under a causal mask half of them are 0."""
STEP = 64


def drawable(adapter: Adapter) -> Adapter:
    """The adapter with a window whose shares fit into `SHARES`: 1,024 tokens for up to 38 causal layers."""
    if adapter.description.picture is not None:
        return adapter  # a picture is read whole
    layers = sum(attention.n_layer / (2 if attention.causal else 1) for attention in adapter.description.attentions)
    fits = max(STEP, math.isqrt(int(SHARES / layers)) // STEP * STEP)
    window = min(adapter.description.max_seq_len, fits)
    return replace(adapter, description=replace(adapter.description, max_seq_len=window))


def typed(adapter: Adapter, settings: TransformersConfig) -> Adapter:
    """The adapter with the token types that its model adds to its embeddings, if it has any."""
    if not any(layout.segments for layout in adapter.stacks.values()):
        return adapter
    n = settings.whole("type_vocab_size", 2)
    return replace(adapter, description=with_token_types(adapter.description), n_token_types=n)


def attributing(adapter: Adapter) -> Adapter:
    """The adapter with `can["direct"]` where its logits are a sum over what its heads, FFNs and embedding write, read
    through norms and one matrix that we know."""
    description = adapter.description
    stack, names = description.readout, description.logits.parameters
    attentions = [one for one in description.attentions if one.stack == stack.id]
    norms = (stack.embedding.norm, *(part.norm for part in stack.sublayers), stack.final_norm)
    sums = (
        adapter.is_known
        and description.predicts != "none"
        and names["unembedding"] is not None
        and all(one.has_heads_to_ablate and "w_o" in one.parameters for one in attentions)
        and all("gain" in norm.parameters for norm in norms if norm)
        and all(layer.scale is None for layer in stack.layers)
    )
    can = dict(description.can) | ({"direct": True} if sums else {})
    return replace(adapter, description=replace(description, can=can))


def stored_in(description: Description, stack: Stack, layout: StackLayout, first_row: int) -> Iterator[Stored]:
    tables, norm = stack.embedding.parameters, stack.embedding.norm
    if tables["embedding"] is not None:
        yield Stored(tables["embedding"], f"{layout.embedding}.{WEIGHT}")
    for role, (theirs, take) in layout.tables.items():
        yield Stored(str(tables[role]), theirs, take)
    if tables["positions"] is not None and layout.positions is not None:
        yield Stored(tables["positions"], f"{layout.positions}.{WEIGHT}", From(first_row))
    if layout.segments is not None:
        yield Stored(str(tables["token_types"]), f"{layout.segments}.{WEIGHT}")
    for each, module in ((norm, layout.embedding_norm), (stack.final_norm, layout.final_norm)):
        if each is not None:
            yield from pair(names_of_norm(each), Part(str(module)))
    for n in range(len(stack.layers)):
        for word, names in parts_of(description, stack, n).items():
            yield from pair(names, layout.parts[word], layout.block.format(n=n) + ".")


def pair(names: Names, part: Part, block: str = "") -> Iterator[Stored]:
    """Where a weight and its bias (if it has one) are stored, or a vector."""
    for ours, kind in zip(names, (WEIGHT, BIAS) if part.vector is None else (part.vector,), strict=False):
        times = f"{block}{part.module}.{SCALE}" if part.is_scaled else None
        yield Stored(ours, f"{block}{part.module}.{kind}", part.take, times=times)


SCALE = "layer_scale"
WEIGHT, BIAS = "weight", "bias"
"""torch's names, also in a norm."""

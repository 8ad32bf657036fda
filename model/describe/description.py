"""A model's description: everything that does not depend on its weights, and what a model can do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

from chumoku.model.config import Family, PositionKind
from chumoku.model.describe.parts import Attention, FfnSublayer, Logits, Side, Stack, TapRef
from chumoku.model.pictures.picture import Photo, Picture
from chumoku.model.special_tokens import CLS

Predicts = Literal["next", "same", "classes", "none"]
"""What row t of the logits predicts: token t + 1, token t, the classes of the whole text, or nothing."""
T = TypeVar("T", Stack, Attention)
RARE = ("base", "bases", "frequencies", "rotary_dims", "norm_eps", "bias_reach", "softcap")
"""Fields that few attentions have."""
WIRE = {"contribution_roles": "hands_over"}
"""Fields of an attention that have another name in the JSON, and so in saved files."""


@dataclass(frozen=True)
class TapPlace:
    """Where a tap belongs; `role` is its name in its attention, FFN or norm."""

    tap: str
    dims: str
    role: str
    stack: str | None = None
    layer: int | None = None
    attention: str | None = None


@dataclass(frozen=True)
class Description:
    """A model without its weights: where it attends, and the names of its tensors and parameters."""

    family: Family
    """For people; code uses `predicts`, `writes` and `can`."""
    predicts: Predicts
    writes: Side | None
    """The side that generation extends; None if no next token is predicted."""
    sides: tuple[Side, ...]
    classes: tuple[str, ...]
    d_model: int
    vocab_size: int
    max_seq_len: int
    can: Mapping[str, bool]
    stacks: tuple[Stack, ...]
    logits: Logits
    attentions: tuple[Attention, ...]
    picture: Picture | Photo | None = None
    """The kind of pictures that it reads instead of text."""

    def to_json(self) -> dict[str, Any]:
        """The description as in the API and in saved files."""
        return {"id": self.id, **self._plain}

    @cached_property
    def id(self) -> str:
        """16 hex digits of the SHA-256 of the canonical JSON: equal for all models of the same shape. It leaves out
        the `rows` of roles and the capability `ablations`, which are newer than the ids in saved files."""
        plain = self._plain | {
            "attentions": [without_rows(attention) for attention in self._plain["attentions"]],
            "can": {name: able for name, able in self._plain["can"].items() if name != "ablations"},
        }
        canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    @cached_property
    def _plain(self) -> dict[str, Any]:
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))  # tuples become lists
        rare = [(stack["embedding"], "norm") for stack in plain["stacks"]]
        plain["attentions"] = [
            {WIRE.get(name, name): x for name, x in attention.items()} for attention in plain["attentions"]
        ]
        sublayers = [
            sublayer for stack in plain["stacks"] for layer in stack["layers"] for sublayer in layer["sublayers"]
        ]
        rare += [(attention, name) for attention in plain["attentions"] for name in RARE]
        rare += [(sublayer, "beside") for sublayer in sublayers if sublayer["kind"] == "ffn"]
        rare += [(layer, "scale") for stack in plain["stacks"] for layer in stack["layers"]]
        rare += [(plain, "picture"), (plain["logits"], "labels")]
        rare += [(role, "rows") for attention in plain["attentions"] for role in attention["roles"].values()]
        if plain["picture"] and plain["picture"].get("before") == [CLS]:
            del plain["picture"]["before"]
        for part, name in rare:  # newer than the ids in saved files, so left out where they have no value
            if part[name] in (None, "query", []):
                del part[name]
        return plain

    @cached_property
    def taps(self) -> dict[str, TapPlace]:
        """All taps by name, in the order of the forward pass."""
        found = [place for stack in self.stacks for place in self._taps_of(stack)]
        found.append(TapPlace(self.logits.tap, self.logits.dims, "logits"))
        return {place.tap: place for place in found}

    def _taps_of(self, stack: Stack) -> Iterator[TapPlace]:
        yield from places(stack.embedding.roles, stack.id)
        if stack.embedding.norm is not None:
            yield from places(stack.embedding.norm.roles, stack.id)
        for part in stack.sublayers:
            if part is stack.layers[part.layer].sublayers[0]:
                yield TapPlace(part.reads.tap, part.reads.dims, "reads", stack.id, part.layer)
            if part.norm is not None:
                yield from places(part.norm.roles, stack.id, part.layer)
            if isinstance(part, FfnSublayer):
                yield from places(part.roles, stack.id, part.layer)
            else:
                for name, role in self.attention(part.attention).roles.items():
                    yield TapPlace(role.taps[part.layer], role.dims, name, stack.id, part.layer, part.attention)
            if part.leaves != part.writes:
                yield TapPlace(part.leaves.tap, part.leaves.dims, "leaves", stack.id, part.layer)
        if stack.final_norm is not None:
            yield from places(stack.final_norm.roles, stack.id)
        elif stack.leaves not in (stack.sublayers[-1].leaves, stack.sublayers[-1].writes):
            yield TapPlace(stack.leaves.tap, stack.leaves.dims, "leaves", stack.id)

    @cached_property
    def overviews(self) -> frozenset[str]:
        """The taps that show which query attends to which key; their values are in [0, 1]."""
        named = [
            attention.roles[attention.overview].taps for attention in self.attentions if attention.overview is not None
        ]
        return frozenset(tap for taps in named for tap in taps)

    @cached_property
    def masks(self) -> frozenset[str]:
        """The taps of masks (reasons, uint8)."""
        return frozenset(
            tap for attention in self.attentions if "mask" in attention.roles for tap in attention.roles["mask"].taps
        )

    @property
    def readout(self) -> Stack:
        """The stack whose last state gives the logits."""
        return self.stack(self.logits.stack)

    def stack(self, id: str) -> Stack:
        """Raises `KeyError` listing the known stacks."""
        return find(self.stacks, id, "stack")

    def attention(self, id: str) -> Attention:
        """Raises `KeyError` listing the known attentions."""
        return find(self.attentions, id, "attention")


def places(roles: Mapping[str, TapRef], stack: str, layer: int | None = None) -> Iterator[TapPlace]:
    for role, ref in roles.items():
        yield TapPlace(ref.tap, ref.dims, role, stack, layer)


def without_rows(attention: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of an attention without the `rows` of its roles."""
    roles = {name: {key: x for key, x in role.items() if key != "rows"} for name, role in attention["roles"].items()}
    return {**attention, "roles": roles}


def find(among: tuple[T, ...], id: str, what: str) -> T:
    for item in among:
        if item.id == id:
            return item
    raise KeyError(f"no {what} is named {id!r}; known are {', '.join(item.id for item in among)}")


def capabilities(
    predicts: Predicts, positions: PositionKind, stacks: Sequence[Stack], attentions: Sequence[Attention]
) -> dict[str, bool]:
    """`contributions` needs every attention of the predicting stack to write a sum over heads; `heads` needs one
    attention with an overview and a mask to score it; `route` needs every attention to say what each key adds, and
    `effects` also a mask in which to knock out edges; `ablations` needs every head to have an output before W_O."""
    read = [attention for attention in attentions if attention.stack == stacks[-1].id]
    answers = predicts != "none"
    reads_text = stacks[0].embedding.parameters["embedding"] is not None  # else patches, which have no table
    separates = all(attention.contribution_roles for attention in attentions)
    return {
        "generate": predicts == "next",
        "beams": predicts == "next" and stacks[-1].side == "target",
        "lens": answers,
        "gradients": answers,
        "contributions": answers and all(writes_by_head(attention) for attention in read),
        "units": any(stack.ffns for stack in stacks),
        "route": separates,
        "effects": answers and separates and all("mask" in attention.roles for attention in attentions),
        "ablations": answers and all(attention.has_heads_to_ablate for attention in attentions),
        "heads": any(has_overview(attention) for attention in attentions),
        "swap": True,
        "positions": positions != "none",
        "neighbours": reads_text,
        "parameters": True,
        "batch": reads_text,
    }


def writes_by_head(attention: Attention) -> bool:
    """Whether its output is a sum over heads plus a bias: `head_out` and `b_o`."""
    return any(identity.op == "sum_heads" and identity.gives == "attn_out" for identity in attention.identities)


def has_overview(attention: Attention) -> bool:
    """Whether it shows which query attends to which key, and which may."""
    return attention.overview is not None and "mask" in attention.roles

"""From a config to a description: the one place that knows the names of modules, and so of taps and parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from chumoku.model.config import Family, ModelConfig, NormOrder
from chumoku.model.describe.description import Description, Predicts, capabilities
from chumoku.model.describe.parts import (
    Attention,
    AttentionSublayer,
    Embedding,
    FfnSublayer,
    Layer,
    Logits,
    Norm,
    Role,
    Side,
    Stack,
    TapRef,
)
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.mechanisms.mixer import MixerDescription
from chumoku.model.positions import POSITIONS


@dataclass(frozen=True)
class Attends:
    """An attention of a block: its module, and the tap of the stream after it."""

    id: str
    module: str
    leaves: str
    keys: Side
    causal: bool


@dataclass(frozen=True)
class StackPlan:
    """A stack of a family: the prefix of its taps (its module's path and a dot), and the attentions of its layers."""

    id: str
    path: str
    side: Side
    attends: tuple[Attends, ...]


PLANS: dict[Family, tuple[StackPlan, ...]] = {
    "decoder-only": (
        StackPlan("main", "", "source", (Attends("self", "attn", "resid_mid", "source", causal=True),)),
    ),
    "encoder-only": (
        StackPlan("main", "", "source", (Attends("self", "attn", "resid_mid", "source", causal=False),)),
    ),
    "encoder-decoder": (
        StackPlan("encoder", "encoder.", "source", (Attends("encoder", "attn", "resid_mid", "source", causal=False),)),
        StackPlan(
            "decoder",
            "decoder.",
            "target",
            (
                Attends("decoder", "attn", "resid_mid", "target", causal=True),
                Attends("cross", "cross_attn", "resid_cross", "source", causal=False),
            ),
        ),
    ),
}  # fmt: skip


STREAM = "position d_model"


FFN_PARAMETERS = {"w_1": "w_1.weight", "b_1": "w_1.bias", "w_2": "w_2.weight", "b_2": "w_2.bias"}
PREDICTS: dict[Family, Predicts] = {"decoder-only": "next", "encoder-only": "classes", "encoder-decoder": "next"}


def predicts_of(config: ModelConfig) -> Predicts:
    """What a row of logits predicts. An encoder-only model without classes predicts the token at each position."""
    fill_mask = config.family == "encoder-only" and not config.classes
    return "same" if fill_mask else PREDICTS[config.family]


@lru_cache
def describe(config: ModelConfig) -> Description:
    """The description of a model with this config, without building it."""
    plans = PLANS[config.family]
    stacks = tuple(stack(config, plan) for plan in plans)
    attentions = tuple(attention(config, plan, planned) for plan in plans for planned in plan.attends)
    predicts, sides = predicts_of(config), tuple(plan.side for plan in plans)
    return Description(
        family=config.family,
        predicts=predicts,
        writes=sides[-1] if predicts == "next" else None,
        sides=sides,
        classes=config.classes,
        d_model=config.d_model,
        vocab_size=config.vocab_size,
        max_seq_len=config.max_seq_len,
        can=capabilities(predicts, config.position, stacks, attentions),
        picture=config.picture,
        stacks=stacks,
        logits=logits(config, stacks[-1]),
        attentions=attentions,
    )


def stack(config: ModelConfig, plan: StackPlan) -> Stack:
    layers = tuple(layer(config, plan, n) for n in range(config.n_layer))
    last = None if config.norm_order == "post" else norm(config, f"{plan.path}final_norm", "pre")
    leaves = layers[-1].sublayers[-1].leaves if last is None else last.roles["out"]
    return Stack(plan.id, plan.side, embedding(config, plan), layers, last, leaves)


def embedding(config: ModelConfig, plan: StackPlan) -> Embedding:
    at = f"{plan.path}token_embedding."
    table = POSITIONS[config.position].parameter
    found = Embedding(
        {role: TapRef(f"{plan.path}{role}", STREAM) for role in ("embedding", "positional")},
        math.sqrt(config.d_model) if config.scale_embeddings else 1.0,
        config.position,
        {"embedding": f"{at}weight", "positions": None if table is None else f"{plan.path}positions.{table}"},
    )
    return found if config.picture is None else of_patches(found, at)


def of_patches(found: Embedding, at: str) -> Embedding:
    """The embedding of a model that reads pictures: a matrix times a patch's pixels, not a row of a table."""
    names = {"w_patch": "projection.weight", "b_patch": "projection.bias", "special": "special.weight"}
    table = {"embedding": None, **{role: f"{at}{name}" for role, name in names.items()}}
    patches = {"patches": TapRef(f"{at}patches", "position pixel")}
    return replace(
        found, roles={**patches, **found.roles}, parameters=table | {"positions": found.parameters["positions"]}
    )


def layer(config: ModelConfig, plan: StackPlan, n: int) -> Layer:
    at = layer_path(plan, n)
    stream, sublayers = TapRef(f"{at}resid_pre", STREAM), []
    for planned in plan.attends:
        around = norm(config, f"{at}{planned.module}_residual.norm", config.norm_order)
        writes, leaves = TapRef(f"{at}{planned.module}.attn_out", STREAM), TapRef(f"{at}{planned.leaves}", STREAM)
        reads = (stream, writes, leaves, first_input(stream, around))
        sublayers.append(AttentionSublayer("attention", n, *reads, around, planned.id))
        stream = leaves
    return Layer((*sublayers, ffn(config, at, n, stream)))


def layer_path(plan: StackPlan, n: int) -> str:
    return f"{plan.path}layers.{n}."


def ffn(config: ModelConfig, at: str, n: int, stream: TapRef) -> FfnSublayer:
    around = norm(config, f"{at}ffn_residual.norm", config.norm_order)
    dims = {"pre": "position d_ff", "post": "position d_ff", "out": STREAM}
    roles = {role: TapRef(f"{at}ffn.{role}", dims[role]) for role in dims}
    return FfnSublayer(
        "ffn",
        n,
        reads=stream,
        writes=roles["out"],
        leaves=TapRef(f"{at}resid_post", STREAM),
        input=first_input(stream, around),
        norm=around,
        roles=roles,
        parameters={role: f"{at}ffn.{name}" for role, name in FFN_PARAMETERS.items()},
        activation="relu",
        gate=None,
        d_ff=config.d_ff,
    )


def norm(config: ModelConfig, path: str, place: NormOrder) -> Norm:
    return Norm(
        "layer_norm",
        config.layer_norm_eps,
        place,
        {role: TapRef(f"{path}.{role}", STREAM) for role in ("input", "out")},
        {"gain": f"{path}.weight", "bias": f"{path}.bias"},
    )


def first_input(stream: TapRef, around: Norm) -> TapRef:
    """The input of a sublayer's first matrices: the stream, normalised in a pre-norm model."""
    return around.roles["out"] if around.place == "pre" else stream


def attention(config: ModelConfig, plan: StackPlan, planned: Attends) -> Attention:
    paths = [f"{layer_path(plan, n)}{planned.module}." for n in range(config.n_layer)]
    mixer = MECHANISMS[config.mechanism].describe(config)
    return Attention(
        id=planned.id,
        kind=config.mechanism,
        stack=plan.id,
        queries=plan.side,
        keys=planned.keys,
        causal=planned.causal and config.causal_mask,
        n_layer=config.n_layer,
        n_head=mixer.n_head,
        n_kv_head=mixer.n_kv_head,
        d_head=mixer.d_head,
        scale=mixer.scale,
        overview=mixer.overview,
        roles=roles(mixer, paths),
        parameters={role: tuple(f"{path}{p.name}" for path in paths) for role, p in mixer.parameters.items()},
        parts=mixer.parts,
        identities=mixer.identities,
        contribution_roles=mixer.contribution_roles,
        bias_reach=mixer.bias_reach,
    )


def roles(mixer: MixerDescription, paths: Sequence[str]) -> dict[str, Role]:
    """Each role of an attention; `paths` are the prefixes of its mixers' taps, one per layer."""
    return {
        role: Role(dims, tuple(f"{path}{role}" for path in paths), "key" if role in mixer.by_key else "query")
        for role, dims in mixer.roles.items()
    }


def logits(config: ModelConfig, last: Stack) -> Logits:
    if config.classes:
        parameters = {"unembedding": "classifier.weight", "b_unembedding": "classifier.bias"}
        return Logits("logits", "class", last.id, parameters)
    return Logits("logits", "position vocab", last.id, {"unembedding": "unembedding.weight", "b_unembedding": None})

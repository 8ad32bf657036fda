"""Variants of our descriptions for models of other libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from chumoku.model.describe.build import STREAM, of_patches
from chumoku.model.describe.description import Description, has_overview
from chumoku.model.describe.parts import Attention, AttentionSublayer, FfnSublayer, Layer, Norm, Stack, TapRef
from chumoku.model.pictures.picture import Photo

AnySublayer = AttentionSublayer | FfnSublayer


def each_sublayer(description: Description, change: Callable[[AnySublayer], AnySublayer]) -> Description:
    def changed(stack: Stack) -> Stack:
        layers = tuple(replace(layer, sublayers=tuple(map(change, layer.sublayers))) for layer in stack.layers)
        return replace(stack, layers=layers)

    return replace(description, stacks=tuple(map(changed, description.stacks)))


def with_activation(description: Description, activation: str) -> Description:
    def change(sublayer: AnySublayer) -> AnySublayer:
        return replace(sublayer, activation=activation) if isinstance(sublayer, FfnSublayer) else sublayer

    return each_sublayer(description, change)


def with_embedding_norm(description: Description, eps: float) -> Description:
    """A LayerNorm of the sum of embedding and position, as in BERT."""

    def changed(stack: Stack) -> Stack:
        path = f"{stack.prefix}embedding_norm"
        roles = {role: TapRef(f"{path}.{role}", STREAM) for role in ("input", "out")}
        norm = Norm("layer_norm", eps, "post", roles, {"gain": f"{path}.weight", "bias": f"{path}.bias"})
        return replace(stack, embedding=replace(stack.embedding, norm=norm))

    return replace(description, stacks=tuple(map(changed, description.stacks)))


def with_token_types(description: Description) -> Description:
    """A learned row for each token's type is added to its embedding and its position, as in BERT: in a pair of texts 0
    for the first and 1 for the second."""

    def changed(stack: Stack) -> Stack:
        path, start = f"{stack.prefix}token_types", stack.embedding
        roles = {**start.roles, "token_types": TapRef(path, STREAM)}
        return replace(
            stack,
            embedding=replace(start, roles=roles, parameters={**start.parameters, "token_types": f"{path}.weight"}),
        )

    return replace(description, stacks=tuple(map(changed, description.stacks)))


def with_photos(description: Description, photo: Photo) -> Description:
    """The model reads photos, whose patches are projected: there is no table of embeddings."""

    def changed(stack: Stack) -> Stack:
        return replace(stack, embedding=of_patches(stack.embedding, f"{stack.prefix}token_embedding."))

    can = dict(description.can) | {"neighbours": False, "batch": False}
    return replace(description, stacks=tuple(map(changed, description.stacks)), picture=photo, can=can)


def with_layers(description: Description, stack: str, n: int) -> Description:
    """Only the first layers of a stack."""

    def first(attention: Attention) -> Attention:
        if attention.stack != stack:
            return attention
        roles = {role: replace(x, taps=x.taps[:n]) for role, x in attention.roles.items()}
        return replace(
            attention, n_layer=n, roles=roles, parameters={k: x[:n] for k, x in attention.parameters.items()}
        )

    def changed(part: Stack) -> Stack:
        if part.id != stack:
            return part
        layers = part.layers[:n]
        leaves = layers[-1].sublayers[-1].leaves if part.final_norm is None else part.leaves
        return replace(part, layers=layers, leaves=leaves)

    stacks, attentions = map(changed, description.stacks), map(first, description.attentions)
    return replace(description, stacks=tuple(stacks), attentions=tuple(attentions))


def without_unembedding(description: Description) -> Description:
    """The logits take more than a matrix times the last state (a pooler or another layer comes between), so there is no
    logit lens."""
    parameters = dict.fromkeys(description.logits.parameters)
    return unable(replace(description, logits=replace(description.logits, parameters=parameters)), "lens")


def with_parallel_residual(description: Description) -> Description:
    """Attention and FFN read the same stream and are added to it together, so there is no stream between them."""

    def changed(layer: Layer) -> Layer:
        attention, ffn = layer.sublayers
        assert isinstance(ffn, FfnSublayer)
        attends = replace(attention, leaves=attention.writes)
        return Layer((attends, replace(ffn, reads=attention.reads, beside=attention.writes)))

    stacks = (replace(stack, layers=tuple(map(changed, stack.layers))) for stack in description.stacks)
    return replace(description, stacks=tuple(stacks))


def with_one_norm(description: Description) -> Description:
    """Attention and FFN of a layer read the output of one norm, whose tensors are shown for both."""

    def changed(layer: Layer) -> Layer:
        attention, ffn = layer.sublayers
        assert attention.norm is not None
        assert ffn.norm is not None
        return replace(
            layer, sublayers=(attention, replace(ffn, norm=replace(ffn.norm, parameters=attention.norm.parameters)))
        )

    stacks = (replace(stack, layers=tuple(map(changed, stack.layers))) for stack in description.stacks)
    return replace(description, stacks=tuple(stacks))


def without_first_norm(description: Description) -> Description:
    """The first layer of a pre-norm model attends to the stream as it is."""

    def changed(stack: Stack) -> Stack:
        attends, *others = stack.layers[0].sublayers
        first = replace(stack.layers[0], sublayers=(replace(attends, norm=None, input=attends.reads), *others))
        return replace(stack, layers=(first, *stack.layers[1:]))

    return replace(description, stacks=tuple(map(changed, description.stacks)))


def without_norm_biases(description: Description) -> Description:
    """LayerNorms that add no bias."""

    def bare(norm: Norm | None) -> Norm | None:
        return norm and replace(norm, parameters={"gain": norm.parameters["gain"]})

    found = each_sublayer(description, lambda sublayer: replace(sublayer, norm=bare(sublayer.norm)))
    stacks = (
        replace(
            stack, final_norm=bare(stack.final_norm),
            embedding=replace(stack.embedding, norm=bare(stack.embedding.norm)),
        )
        for stack in found.stacks
    )  # fmt: skip
    return replace(found, stacks=tuple(stacks))


def with_rms_norms(description: Description, eps: float) -> Description:
    """Every norm of the layers and the final norm is an RMSNorm (Zhang and Sennrich 2019)."""

    def rms(norm: Norm | None) -> Norm | None:
        return norm and replace(norm, kind="rms_norm", eps=eps, parameters={"gain": norm.parameters["gain"]})

    found = each_sublayer(description, lambda sublayer: replace(sublayer, norm=rms(sublayer.norm)))
    return replace(found, stacks=tuple(replace(stack, final_norm=rms(stack.final_norm)) for stack in found.stacks))


def with_gate(description: Description) -> Description:
    """FFNs without biases whose activation is multiplied by a second projection, `up` (Shazeer 2020)."""

    def change(sublayer: AnySublayer) -> AnySublayer:
        if not isinstance(sublayer, FfnSublayer):
            return sublayer
        up = TapRef(f"{sublayer.module}.up", sublayer.roles["pre"].dims)
        roles = {"pre": sublayer.roles["pre"], "up": up, "post": sublayer.roles["post"], "out": sublayer.roles["out"]}
        weights = {
            "w_1": sublayer.parameters["w_1"],
            "w_up": f"{sublayer.module}.w_up.weight",
            "w_2": sublayer.parameters["w_2"],
        }
        return replace(sublayer, roles=roles, parameters=weights, gate="up")

    return each_sublayer(description, change)


def without_ffn_biases(description: Description) -> Description:
    def change(sublayer: AnySublayer) -> AnySublayer:
        if not isinstance(sublayer, FfnSublayer):
            return sublayer
        return replace(
            sublayer, parameters={role: name for role, name in sublayer.parameters.items() if role[0] != "b"}
        )

    return each_sublayer(description, change)


def with_channel_mixing(description: Description) -> Description:
    """RWKV's FFN (Peng et al. 2023): W_1 and W_r multiply mixes of each token's input with the previous token's, and
    the output of W_2 is multiplied by σ(receptance)."""

    def change(sublayer: AnySublayer) -> AnySublayer:
        if not isinstance(sublayer, FfnSublayer):
            return sublayer
        added = {
            name: TapRef(f"{sublayer.module}.{name}", STREAM)
            for name in ("shifted", "value", "shifted_r", "receptance")
        }
        roles = {name: added.get(name) or sublayer.roles[name] for name in CHANNEL_MIXING}
        parameters = {role: sublayer.parameters[role] for role in ("w_1", "w_2")}
        parameters |= {"w_r": f"{sublayer.module}.w_r.weight"}
        parameters |= {role: f"{sublayer.module}.{role}" for role in ("mix_k", "mix_r")}
        return replace(sublayer, roles=roles, parameters=parameters, input=added["shifted"], activation="relu_squared")

    return each_sublayer(description, change)


CHANNEL_MIXING = ("shifted", "pre", "post", "value", "shifted_r", "receptance", "out")


def with_scaled_layers(description: Description, scale: float, every: int) -> Description:
    """After every `every` layers, the stream is multiplied by `scale`; never if `every` is 0 or less."""

    def changed(stack: Stack) -> Stack:
        scaled = (
            replace(layer, scale=scale) if every > 0 and (n + 1) % every == 0 else layer
            for n, layer in enumerate(stack.layers)
        )
        return replace(stack, layers=tuple(scaled))

    return replace(description, stacks=tuple(map(changed, description.stacks)))


def with_final_eps(description: Description, eps: float) -> Description:
    """The final norm has a different ε."""
    stacks = (
        replace(stack, final_norm=stack.final_norm and replace(stack.final_norm, eps=eps))
        for stack in description.stacks
    )
    return replace(description, stacks=tuple(stacks))


def with_shared_layers(description: Description, first: Sequence[int]) -> Description:
    """Layer n has the parameters of layer `first[n]` (Lan et al. 2020)."""

    def of(mine: AnySublayer, its: AnySublayer) -> AnySublayer:
        norm = mine.norm and its.norm and replace(mine.norm, parameters=its.norm.parameters)
        if isinstance(mine, FfnSublayer) and isinstance(its, FfnSublayer):
            return replace(mine, norm=norm, parameters=its.parameters)
        return replace(mine, norm=norm)

    def changed(stack: Stack) -> Stack:
        layers = (
            replace(layer, sublayers=tuple(map(of, layer.sublayers, stack.layers[m].sublayers)))
            for layer, m in zip(stack.layers, first, strict=True)
        )
        return replace(stack, layers=tuple(layers))

    attentions = (
        replace(attention, parameters={role: tuple(x[m] for m in first) for role, x in attention.parameters.items()})
        for attention in description.attentions
    )
    return replace(description, stacks=tuple(map(changed, description.stacks)), attentions=tuple(attentions))


def with_projected_embedding(description: Description) -> Description:
    """The stream begins with a projection of embeddings of another width. What comes before it is not described: no
    table, no positions, no norm."""

    def changed(stack: Stack) -> Stack:
        tables = dict.fromkeys(stack.embedding.parameters)
        return replace(stack, embedding=replace(stack.embedding, parameters=tables, norm=None))

    return without_positions(replace(description, stacks=tuple(map(changed, description.stacks))))


def without_positions(description: Description) -> Description:
    """No positions are added to the embeddings."""

    def changed(stack: Stack) -> Stack:
        roles = {"embedding": stack.embedding.roles["embedding"]}
        return replace(stack, embedding=replace(stack.embedding, roles=roles))

    return replace(description, stacks=tuple(map(changed, description.stacks)))


def unable(description: Description, *names: str) -> Description:
    return replace(description, can=dict(description.can) | dict.fromkeys(names, False))


def counting_pads(description: Description) -> Description:
    """Position ids always count PADs, so PADs on the left shift a sentence."""
    return replace(description, can=dict(description.can) | {"skip_pads": False})


WITHOUT_OUR_MODULES = ("generate", "route", "effects", "ablations", "batch", "heads", "lens")
"""The capabilities that work without our modules; all others in `can` need them (`chumoku.model.explain`)."""


def without_our_modules(description: Description) -> Description:
    """Only the capabilities that need no more than its tensors and the modules after its last layer."""
    heads = any(map(has_overview, description.attentions))
    can = {name: able and name in WITHOUT_OUR_MODULES for name, able in description.can.items()}
    return replace(description, can=can | {"heads": heads})


SHOWN = ("q", "k", "v", "scores", "mask", "pattern", "z", "attn_out")
"""Roles. q and k are the factors of the scores: rotated or normalised, if the model does that."""
TRUE = ("scaled_product", "masked_softmax", "weighted_sum")
"""The identities that hold in every model with a softmax."""


def attention_only(description: Description) -> Description:
    """Only the attentions are known: no parameters, no norms, no FFNs, and not the stream that they write to."""
    found = without_unembedding(without_positions(description))
    stacks = tuple(map(without_blocks, found.stacks))
    return without_our_modules(replace(
        found, stacks=stacks, attentions=tuple(map(bare_attention, found.attentions)),
        can=dict(found.can) | {"route": False, "effects": False},
    ))  # fmt: skip


def without_blocks(stack: Stack) -> Stack:
    def attends(layer: Layer) -> Layer:
        (attends,) = (x for x in layer.sublayers if isinstance(x, AttentionSublayer))
        return Layer((replace(attends, norm=None, input=attends.reads, leaves=attends.writes),))

    tables = dict.fromkeys(stack.embedding.parameters)
    return replace(
        stack, embedding=replace(stack.embedding, parameters=tables), layers=tuple(map(attends, stack.layers)),
        final_norm=None,
    )  # fmt: skip


def bare_attention(attention: Attention) -> Attention:
    return replace(
        attention, roles={role: x for role, x in attention.roles.items() if role in SHOWN}, parameters={},
        contribution_roles=(), identities=tuple(x for x in attention.identities if x.op in TRUE),
    )  # fmt: skip

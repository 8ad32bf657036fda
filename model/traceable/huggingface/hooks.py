"""Hooks that visit the taps of a description, set once on a loaded model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from chumoku.model.describe import AttentionSublayer, Description, Norm, Stack
from chumoku.model.taps import edited, visit, wanted
from chumoku.model.traceable.huggingface.capture import TAPS, taps_of
from chumoku.model.traceable.huggingface.layout import SCALE, Adapter, Chunk, OfHeads, Part, StackLayout, Take


def visited(taps: Sequence[str], x: Tensor) -> Tensor:
    for tap in taps:
        x = visit(tap, x)
    return x


def watch_input(module: nn.Module, *taps: str) -> None:
    """Visit these taps with the module's first argument."""

    def hook(_: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        return (visited(taps, args[0]), *args[1:])

    module.register_forward_pre_hook(hook)


def watch_output(module: nn.Module, *taps: str) -> None:
    """Visit these taps with the module's output, or with the first of several outputs."""

    def hook(_: nn.Module, __: tuple[Any, ...], out: Any) -> Any:
        return (visited(taps, out[0]), *out[1:]) if isinstance(out, tuple) else visited(taps, out)

    module.register_forward_hook(hook)


def watch_heads(module: nn.Module, tap: str, d_head: int) -> None:
    """Visit a tap with the output split into heads: [batch head position d_head]."""

    def hook(_: nn.Module, __: tuple[Any, ...], out: Tensor) -> Tensor | None:
        if not wanted(tap):
            return None
        return visit(tap, out.unflatten(-1, (-1, d_head)).transpose(1, 2)).transpose(1, 2).flatten(-2)

    module.register_forward_hook(hook)


def watch_packed(module: nn.Module, tap: str, take: OfHeads) -> None:
    """Visit a tap with Q or K from an output that has each head's Q, K and V side by side."""

    def hook(_: nn.Module, __: tuple[Any, ...], out: Tensor) -> Tensor | None:
        if not wanted(tap):
            return None
        three: Tensor = out.unflatten(-1, (take.n_head, 3, -1))  # batch position head q|k|v d_head
        found = visit(tap, three[..., take.n, :].transpose(1, 2))
        if not edited(tap):
            return None
        three = three.clone()
        three[..., take.n, :] = found.transpose(1, 2)
        return three.flatten(-3)

    module.register_forward_hook(hook)


def watch_chunk(module: nn.Module, tap: str, take: Chunk, d_head: int | None = None) -> None:
    """Visit a tap with one piece of the output; with `d_head`, split into heads: [batch head position d_head]."""

    def hook(_: nn.Module, __: tuple[Any, ...], out: Tensor) -> Tensor | None:
        if not wanted(tap):
            return None
        pieces = list(out.chunk(take.of, dim=-1))
        piece = pieces[take.n]
        if d_head is None:
            found = visit(tap, piece)
        else:
            found = visit(tap, piece.unflatten(-1, (-1, d_head)).transpose(1, 2)).transpose(1, 2).flatten(-2)
        pieces[take.n] = found
        return torch.cat(pieces, dim=-1) if edited(tap) else None

    module.register_forward_hook(hook)


def watch_normed(module: nn.Module, tap: str) -> None:
    """Visit a tap with the output of a norm over each head [batch position head d_head], as [batch head position
    d_head]."""

    def hook(_: nn.Module, __: tuple[Any, ...], out: Tensor) -> Tensor | None:
        return visit(tap, out.transpose(1, 2)).transpose(1, 2) if wanted(tap) else None

    module.register_forward_hook(hook)


def watch_table(module: nn.Module, tap: str, scale: float = 1.0) -> None:
    """Visit a tap with a table's output times the `scale` by which the model multiplies it next."""

    def hook(_: nn.Module, __: tuple[Any, ...], out: Tensor) -> Tensor | None:
        if not wanted(tap):
            return None
        found = visit(tap, (out if out.dim() == 3 else out[None]) * scale)
        return (found / scale).reshape(out.shape) if edited(tap) else None

    module.register_forward_hook(hook)


def watch_writer(module: nn.Module, take: Take, n_head: int, head_out: str, attn_out: str) -> None:
    """Visit what each head writes, z_i W_O,i [batch head position d_model], computed only on request, and the sum."""

    def hook(owner: nn.Module, args: tuple[Any, ...], out: Tensor) -> Tensor:
        if wanted(head_out):
            w_o, bias = take(owner.get_parameter("weight")), getattr(owner, "bias", None)
            if (scale := getattr(owner, SCALE, None)) is not None:
                w_o, bias = w_o * scale[:, None], bias * scale
            z = args[0].unflatten(-1, (n_head, -1)).transpose(1, 2)  # batch head position d_head
            heads = visit(head_out, z @ w_o.unflatten(1, (n_head, -1)).permute(1, 2, 0))
            if edited(head_out):
                out = heads.sum(dim=1) if bias is None else heads.sum(dim=1) + bias
        return visit(attn_out, out)

    module.register_forward_hook(hook)


def attach(model: nn.Module, adapter: Adapter) -> None:
    """Watch everything that the description names, except what `attend` visits."""
    for stack in adapter.description.stacks:
        layout = adapter.stacks[stack.id]
        watch_start(model, stack, layout)
        for n in range(len(stack.layers)):
            watch_block(model.get_submodule(layout.block.format(n=n)), adapter.description, stack, layout, n)
        if stack.final_norm is not None and layout.final_norm is not None:
            watch_norm(model.get_submodule(layout.final_norm), stack.final_norm)


def watch_start(model: nn.Module, stack: Stack, layout: StackLayout) -> None:
    if layout.tables:
        watch_picture(model, stack, layout)
        return
    roles, scale = stack.embedding.roles, 1.0 if layout.is_scaled else stack.embedding.scale
    watch_table(model.get_submodule(layout.embedding), roles["embedding"].tap, scale)
    if layout.positions is not None:
        watch_table(model.get_submodule(layout.positions), roles["positional"].tap)
    if layout.segments is not None:
        watch_table(model.get_submodule(layout.segments), roles["token_types"].tap)
    if stack.embedding.norm is not None and layout.embedding_norm is not None:
        watch_norm(model.get_submodule(layout.embedding_norm), stack.embedding.norm)


def watch_picture(model: nn.Module, stack: Stack, layout: StackLayout) -> None:
    """Visit the patches, their embeddings after [CLS], and the positions. Of these only positions can be edited."""
    roles, start = stack.embedding.roles, model.get_submodule(layout.embedding)
    tables = {role: take(model.get_parameter(theirs)) for role, (theirs, take) in layout.tables.items()}
    patches, embedding, positional = (roles[role].tap for role in ("patches", "embedding", "positional"))

    def hook(_: nn.Module, args: tuple[Any, ...], out: Tensor) -> Tensor | None:
        if wanted(patches):
            found = patches_of(args[0], tables["w_patch"].shape[1])
            visit(patches, nn.functional.pad(found, (0, 0, len(tables["special"]), 0)))  # zeros for [CLS]
        if not wanted(positional):
            return None
        added = tables["positions"][None].expand_as(out)
        found = visit(positional, added)
        return out - added + found if edited(positional) else None

    def embedded(_: nn.Module, __: tuple[Any, ...], out: Tensor) -> None:
        if wanted(embedding):
            visit(embedding, torch.cat((tables["special"].expand(len(out), -1, -1), out), dim=1))

    start.register_forward_hook(hook)
    start.get_submodule("patch_embeddings").register_forward_hook(embedded)


def patches_of(pictures: Tensor, n_pixels: int) -> Tensor:
    """Pictures [batch channel row column] as square patches of `n_pixels` numbers [batch position pixel], each
    channel by channel, as a kernel's weights are."""
    side = math.isqrt(n_pixels // pictures.shape[1])
    return nn.functional.unfold(pictures, side, stride=side).transpose(1, 2)


def watch_norm(module: nn.Module, norm: Norm, before: Sequence[str] = (), after: Sequence[str] = ()) -> None:
    watch_input(module, *before, norm.roles["input"].tap)
    watch_output(module, norm.roles["out"].tap, *after)


def watch_block(block: nn.Module, description: Description, stack: Stack, layout: StackLayout, n: int) -> None:
    sublayers = stack.layers[n].sublayers
    watch_input(block, sublayers[0].reads.tap)
    for sublayer in sublayers:
        if isinstance(sublayer, AttentionSublayer):
            word = "self" if description.attention(sublayer.attention).keys == stack.side else "cross"
            watch_attention(block, description, layout, sublayer, word)
        else:
            word = "ffn"
            watch_part(block, layout.parts["ffn 1"], sublayer.roles["pre"].tap)
            if sublayer.gate is not None:
                watch_part(block, layout.parts["ffn up"], sublayer.roles[sublayer.gate].tap)
            writer = block.get_submodule(layout.parts["ffn 2"].module)
            watch_input(writer, sublayer.roles["post"].tap)
            watch_output(writer, sublayer.roles["out"].tap)
        if sublayer.norm is not None:
            post = sublayer.norm.place == "post"
            before = [] if post or sublayer.reads == sublayers[0].reads else [sublayer.reads.tap]
            after = [sublayer.leaves.tap] if post else []
            watch_norm(block.get_submodule(layout.parts[f"{word} norm"].module), sublayer.norm, before, after)
    last = sublayers[-1]
    if last.norm is None or last.norm.place != "post":
        watch_output(block, last.leaves.tap)


def watch_part(block: nn.Module, part: Part, tap: str) -> None:
    """Visit a tap with what a matrix gives, or its piece of that."""
    module = block.get_submodule(part.module)
    if isinstance(part.take, Chunk):
        watch_chunk(module, tap, part.take)
    else:
        watch_output(module, tap)


def watch_attention(
    block: nn.Module, description: Description, layout: StackLayout, sublayer: AttentionSublayer, word: str
) -> None:
    attention = description.attention(sublayer.attention)
    taps = taps_of(attention, sublayer.layer)
    setattr(block.get_submodule(layout.attentions[attention.id]), TAPS, taps)
    for x in "qk":
        part = layout.parts[f"{word} {x}"]
        projected = taps.get(f"{x}_projected", taps[x])
        if projected != taps[x]:
            watch_normed(block.get_submodule(layout.parts[f"{word} {x} norm"].module), taps[x])
        if taps[f"{x}_turned"] == projected or layout.visits_heads:
            continue
        if isinstance(part.take, OfHeads):  # the projection's output, before it is normalised or rotated
            watch_packed(block.get_submodule(part.module), projected, part.take)
        elif isinstance(part.take, Chunk):
            watch_chunk(block.get_submodule(part.module), projected, part.take, attention.d_head)
        else:
            watch_heads(block.get_submodule(part.module), projected, attention.d_head)
    writer = layout.parts[f"{word} o"]
    watch_writer(block.get_submodule(writer.module), writer.take, attention.n_head, taps["head_out"], taps["attn_out"])

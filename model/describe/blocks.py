"""The parameters of a block by what they are: `self q`, `ffn 1`, `ffn norm`. Adapters to other libraries, both ways,
say by these words where each is kept."""

from __future__ import annotations

from chumoku.model.describe.description import Description
from chumoku.model.describe.parts import Attention, AttentionSublayer, FfnSublayer, Norm, Stack

VECTORS = ("decay", "bonus", "mix_r", "mix_k", "mix_v")
"""Parameters that do not belong to a matrix."""
Part = tuple[str, ...]
"""The names of a weight and of its bias, if it has one; of a norm, of its gain and its bias."""


def around(description: Description) -> tuple[Stack, str, str, Part]:
    """Of a model with one stack: it, its embedding, its learned positions, and its last norm."""
    (stack,) = description.stacks
    embedding, last = stack.embedding.parameters, stack.final_norm
    assert last is not None
    return stack, str(embedding["embedding"]), str(embedding["positions"]), of_norm(last)


def parts_of(description: Description, stack: Stack, n: int) -> dict[str, Part]:
    """`self q`, `self k`, `self v`, `self o`, `self norm`, the same of `cross`, and `ffn 1`, `ffn 2`, `ffn norm`; of a
    gated FFN also `ffn up`, and of normalised queries and keys `self q norm`, `self k norm`. RWKV has `self r` for q,
    `ffn r`, and its vectors by role: `self decay`, `ffn mix_k`."""
    found: dict[str, Part] = {}
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
            found[f"{word} norm"] = of_norm(sublayer.norm)
    return found


def word_of(attention: Attention) -> str:
    return "self" if attention.keys == attention.queries else "cross"


def of_attention(attention: Attention, x: str, n: int) -> Part:
    of = attention.parameters
    return tuple(of[role][n] for role in (f"w_{x}", f"b_{x}") if role in of)


def of_ffn(sublayer: FfnSublayer) -> dict[str, Part]:
    of = sublayer.parameters
    pairs = {f"ffn {x}": tuple(of[role] for role in (f"w_{x}", f"b_{x}") if role in of) for x in ("1", "2", "up", "r")}
    pairs |= {f"ffn {x}": (of[x],) for x in VECTORS if x in of}
    return {part: names for part, names in pairs.items() if names}


def of_norm(norm: Norm) -> Part:
    return tuple(norm.parameters[role] for role in ("gain", "bias") if role in norm.parameters)

"""The parameters of a block by what they are, from its description."""

from __future__ import annotations

from model.describe import AttentionSublayer, Description, Stack

Part = tuple[str, str]
"""The names of a weight and of its bias; of a LayerNorm, of its gain and its bias."""


def around(description: Description) -> tuple[Stack, str, str, Part]:
    """Of a model with one stack: it, its embedding, its learned positions, and its last LayerNorm."""
    (stack,) = description.stacks
    embedding, last = stack.embedding.parameters, stack.final_norm
    assert last is not None
    norm = last.parameters["gain"], last.parameters["bias"]
    return stack, str(embedding["embedding"]), str(embedding["positions"]), norm


def parts_of(description: Description, stack: Stack, n: int) -> dict[str, Part]:
    """`self q`, `self k`, `self v`, `self o`, `self norm`, the same of `cross`, and `ffn 1`, `ffn 2`, `ffn norm`."""
    found: dict[str, Part] = {}
    for sublayer in stack.layers[n].sublayers:
        if isinstance(sublayer, AttentionSublayer):
            attention = description.attention(sublayer.attention)
            word = "self" if attention.keys == attention.queries else "cross"
            of = attention.parameters
            found |= {f"{word} {x}": (of[f"w_{x}"][n], of[f"b_{x}"][n]) for x in "qkvo"}
        else:
            word = "ffn"
            found |= {f"ffn {i}": (sublayer.parameters[f"w_{i}"], sublayer.parameters[f"b_{i}"]) for i in (1, 2)}
        assert sublayer.norm is not None
        found[f"{word} norm"] = (sublayer.norm.parameters["gain"], sublayer.norm.parameters["bias"])
    return found

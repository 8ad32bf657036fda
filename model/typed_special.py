"""Special tokens that a text spells ([MASK], <|im_start|>): found by name, and read as tokens if that is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from chumoku.model.tokenizer import check_encodable
from chumoku.model.traceable.protocols import TraceableTokenizer


def names_of(tokenizer: TraceableTokenizer) -> Mapping[str, int]:
    """The special tokens by name: those that its files call special, or else those that have a role."""
    named: Mapping[str, int] | None = getattr(tokenizer, "special_names", None)
    if named is not None:
        return named
    return {token.text: token.id for token in tokenizer.tokens(sorted(tokenizer.special.ids))}


def found(tokenizer: TraceableTokenizer, text: str) -> list[str]:
    """The names of special tokens in a text, each once, in their order."""
    return list(dict.fromkeys(name for name in pieces(names_of(tokenizer), text) if name in names_of(tokenizer)))


def pieces(names: Mapping[str, int], text: str) -> Iterator[str]:
    """A text cut at names of special tokens, the longest first; without empty pieces."""
    if not names:
        yield text
        return
    either = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    yield from filter(None, re.split(f"({either})", text))


def encode(tokenizer: TraceableTokenizer, text: str) -> list[int]:
    """The ids of a text whose names of special tokens are these tokens. Raises what `tokenizer.encode` raises."""
    check_encodable(text)
    own = getattr(tokenizer, "encode_special", None)
    if own is not None:  # with the rules of its library for the spaces around such a token
        ids: list[int] = own(text)
        return ids
    names = names_of(tokenizer)
    return [
        id for piece in pieces(names, text) for id in ([names[piece]] if piece in names else tokenizer.encode(piece))
    ]

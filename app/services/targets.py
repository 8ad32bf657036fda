"""An encoder-decoder's target: what a request gives, or what the model writes by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Literal
from weakref import WeakKeyDictionary

from torch import nn

from app.errors import AppError
from app.services import tokens
from app.services.families import WITHOUT_TARGET, check_family
from model.checkpoint import Checkpoint
from model.trace import with_first
from model.translate import beam_search

KEPT = 128
_greedy: WeakKeyDictionary[nn.Module, dict[tuple[int, ...], list[int]]] = WeakKeyDictionary()
_lock = Lock()


@dataclass(frozen=True)
class Target:
    """The decoder's tokens, START first, and who wrote them."""

    ids: list[int]
    origin: Literal["request", "greedy"]


def resolve(
    checkpoint: Checkpoint, text: str | None, token_ids: Sequence[int] | None, max_chars: int
) -> list[int] | None:
    """The target that a request gives, START first; None where it gives none. No text is START alone.

    Raises `wrong_family` for a model without targets, `too_long`, `bad_token` and what `tokens.encode` raises.
    """
    if text is None and token_ids is None:
        return None
    where = "target" if token_ids is None else "target_ids"
    check_family(checkpoint, "encoder-decoder", "has a target", WITHOUT_TARGET, where)
    tokenizer = checkpoint.tokenizer
    if token_ids is None:
        ids = [tokenizer.first_id, *tokens.encode(tokenizer, text or "", max_chars, where)]
    else:
        ids = check_ids(checkpoint, token_ids)
    tokens.check_length(len(ids), checkpoint.config.max_seq_len, where, what="target tokens, START included")
    return ids


def check_ids(checkpoint: Checkpoint, token_ids: Sequence[int]) -> list[int]:
    """`token_ids` behind START, which may be among them; raises `bad_token` for an END that is not the last."""
    tokenizer = checkpoint.tokenizer
    ids = tokens.check_ids(tokenizer, token_ids, "target_ids", first_allowed=True)
    if tokenizer.end_id in ids[:-1]:
        where = f"target_ids[{ids.index(tokenizer.end_id)}]"
        hint = "Cut the target behind its END, or leave END out."
        message = f"{tokenizer.end_id} is END, which ends a target: nothing follows it."
        raise AppError("bad_token", message, hint, where=where, got=tokenizer.end_id)
    return with_first(ids, tokenizer.first_id)


def greedy(checkpoint: Checkpoint, source_ids: Sequence[int]) -> list[int]:
    """START and what the model writes by itself, without END: that is predicted by the last row, and never read.

    The source alone decides it: neither PADs nor interventions change it, so that what they do can be compared. The
    last ones are kept: a page asks for many tensors of one sentence.
    """
    key = tuple(source_ids)
    with _lock:
        known = _greedy.setdefault(checkpoint.model, {})
        if key in known:
            return known[key]
    (best,) = beam_search(checkpoint, source_ids, beams=1)
    ids = [checkpoint.tokenizer.first_id, *(best.ids[:-1] if best.ended else best.ids)]
    with _lock:
        while len(known) >= KEPT:
            known.pop(next(iter(known)))
        known[key] = ids
    return ids


def target_of(
    checkpoint: Checkpoint, source_ids: Sequence[int], text: str | None, token_ids: Sequence[int] | None, max_chars: int
) -> Target | None:
    """A trace's target: the request's, else the greedy one; None for a model that has none."""
    given = resolve(checkpoint, text, token_ids, max_chars)
    if given is not None:
        return Target(given, "request")
    if checkpoint.config.family != "encoder-decoder":
        return None
    return Target(greedy(checkpoint, source_ids), "greedy")

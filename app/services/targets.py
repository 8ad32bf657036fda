"""An encoder-decoder's target: what a request gives, or what the model writes by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Literal
from weakref import WeakKeyDictionary

from app.errors import AppError
from app.services import tokens
from app.services.capabilities import check_target
from model.generate import greedy_ids
from model.run import Run
from model.subjects import Subject
from model.trace import with_first
from model.translate import LONGER

KEPT = 128
_greedy: WeakKeyDictionary[Subject, dict[tuple[int, ...], list[int]]] = WeakKeyDictionary()
_lock = Lock()


@dataclass(frozen=True)
class Target:
    """The decoder's tokens, START first, and who wrote them."""

    ids: list[int]
    origin: Literal["request", "greedy"]


def resolve(subject: Subject, text: str | None, token_ids: Sequence[int] | None, max_chars: int) -> list[int] | None:
    """The target that a request gives, START first; None where it gives none. No text is START alone.

    Raises `cannot` for a model without targets, `too_long`, `bad_token` and what `tokens.encode` raises.
    """
    if text is None and token_ids is None:
        return None
    where = "target" if token_ids is None else "target_ids"
    check_target(subject, where)
    tokenizer = subject.tokenizer
    if token_ids is None:
        ids = [*start_of(subject), *tokens.encode(tokenizer, text or "", max_chars, where)]
    else:
        ids = check_ids(subject, token_ids)
    tokens.check_length(len(ids), subject.description.max_seq_len, where, what="target tokens, START included")
    return ids


def start_of(subject: Subject) -> list[int]:
    """What every target begins with."""
    first = subject.tokenizer.special.first
    return [] if first is None else [first]


def check_ids(subject: Subject, token_ids: Sequence[int]) -> list[int]:
    """`token_ids` behind START, which may be among them; raises `bad_token` for an END that is not the last."""
    tokenizer = subject.tokenizer
    ids = tokens.check_ids(tokenizer, token_ids, "target_ids", first_allowed=True)
    if tokenizer.special.end in ids[:-1]:
        where = f"target_ids[{ids.index(tokenizer.special.end)}]"
        hint = "Cut the target behind its END, or leave END out."
        message = f"{tokenizer.special.end} is END, which ends a target: nothing follows it."
        raise AppError("bad_token", message, hint, where=where, got=tokenizer.special.end)
    return with_first(ids, start[0]) if (start := start_of(subject)) else ids


def greedy(subject: Subject, source_ids: Sequence[int]) -> list[int]:
    """START and what the model writes by itself, without END: that is predicted by the last row, and never read.

    The source alone decides it: neither PADs nor interventions change it, so that what they do can be compared. The
    last ones are kept: a page asks for many tensors of one sentence.
    """
    key = tuple(source_ids)
    with _lock:
        known = _greedy.setdefault(subject, {})
        if key in known:
            return known[key]
    description, special = subject.description, subject.tokenizer.special
    session = subject.start(Run(source_ids, start_of(subject)), [])
    longest = min(len(source_ids) + LONGER, description.max_seq_len - 1)
    ids = greedy_ids(session, subject.tokenizer.never_sampled, special.end, longest)
    with _lock:
        while len(known) >= KEPT:
            known.pop(next(iter(known)))
        known[key] = ids
    return ids


def target_of(
    subject: Subject, source_ids: Sequence[int], text: str | None, token_ids: Sequence[int] | None, max_chars: int
) -> Target | None:
    """A trace's target: the request's, else the greedy one; None for a model that has none."""
    given = resolve(subject, text, token_ids, max_chars)
    if given is not None:
        return Target(given, "request")
    if subject.description.writes != "target":
        return None
    return Target(greedy(subject, source_ids), "greedy")

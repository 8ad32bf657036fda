"""The target of an encoder-decoder: given in the request, or written by the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Literal
from weakref import WeakKeyDictionary

from chumoku.app.errors import AppError
from chumoku.app.services import tokens
from chumoku.app.services.capabilities import check_target
from chumoku.model.generate import greedy_ids
from chumoku.model.run import Run
from chumoku.model.trace import with_first
from chumoku.model.traceable import TraceableModel
from chumoku.model.translate import LONGER

KEPT = 128
_greedy: WeakKeyDictionary[TraceableModel, dict[tuple[int, ...], list[int]]] = WeakKeyDictionary()
_lock = Lock()


@dataclass(frozen=True)
class Target:
    """The decoder's tokens, START first, and their origin."""

    ids: list[int]
    origin: Literal["request", "greedy"]


def resolve(
    traceable: TraceableModel, text: str | None, token_ids: Sequence[int] | None, max_chars: int
) -> list[int] | None:
    """The target in a request, START first; None if there is none. An empty text is START alone.

    Raises `cannot` for a model without targets, `too_long`, `bad_token` and what `tokens.encode` raises.
    """
    if text is None and token_ids is None:
        return None
    where = "target" if token_ids is None else "target_ids"
    check_target(traceable, where)
    tokenizer = traceable.tokenizer
    if token_ids is None:
        ids = [*start_of(traceable), *tokens.encode(tokenizer, text or "", max_chars, where)]
    else:
        ids = check_ids(traceable, token_ids)
    tokens.check_length(len(ids), traceable.description.max_seq_len, where, what="target tokens, START included")
    return ids


def start_of(traceable: TraceableModel) -> list[int]:
    """What every target begins with."""
    first = traceable.tokenizer.special.first
    return [] if first is None else [first]


def check_ids(traceable: TraceableModel, token_ids: Sequence[int]) -> list[int]:
    """`token_ids` after START, which they may include. Raises `bad_token` for an END that is not last."""
    tokenizer, start = traceable.tokenizer, start_of(traceable)
    ids = tokens.check_ids(tokenizer, token_ids, "target_ids", first_allowed=True)
    begun = len(start) if ids[: len(start)] == start else 0
    if (end := tokenizer.special.end) in ids[begun:-1]:
        where = f"target_ids[{ids.index(end, begun)}]"
        hint = "Cut the target after its END, or leave END out."
        message = f"{end} is END, which ends a target: nothing can follow it."
        raise AppError("bad_token", message, hint, where=where, got=end)
    return with_first(ids, start[0]) if start else ids


def greedy(traceable: TraceableModel, source_ids: Sequence[int]) -> list[int]:
    """START and the model's own translation, without END: the last row predicts END, and it is never read.

    It depends on the source alone: PADs and interventions do not change it, so that their effect can be compared. The
    last ones are cached, because a page asks for many tensors of one sentence.
    """
    key = tuple(source_ids)
    with _lock:
        known = _greedy.setdefault(traceable, {})
        if key in known:
            return known[key]
    description, special = traceable.description, traceable.tokenizer.special
    session = traceable.start(Run(source_ids, start_of(traceable)), [])
    longest = min(len(source_ids) + LONGER, description.max_seq_len - 1)
    ids = greedy_ids(session, traceable.tokenizer.never_sampled, special.end, longest)
    with _lock:
        while len(known) >= KEPT:
            known.pop(next(iter(known)))
        known[key] = ids
    return ids


def target_of(
    traceable: TraceableModel,
    source_ids: Sequence[int],
    text: str | None,
    token_ids: Sequence[int] | None,
    max_chars: int,
) -> Target | None:
    """The target of a trace: the request's, otherwise the greedy one; None for a model without targets."""
    given = resolve(traceable, text, token_ids, max_chars)
    if given is not None:
        return Target(given, "request")
    if traceable.description.writes != "target":
        return None
    return Target(greedy(traceable, source_ids), "greedy")

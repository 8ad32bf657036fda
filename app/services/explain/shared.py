"""What all explanations share: refusals, the answer that is explained, and tensors as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from chumoku.app.api.explain.schema import AnswerRequest
from chumoku.app.errors import AppError, unknown_name
from chumoku.app.services import predictions, tokens
from chumoku.app.services.plan import RunPlan
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Stack
from chumoku.model.explain.anatomy import pick_row, rows_read
from chumoku.model.traceable import TraceableModel

Json = dict[str, Any]
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
AT_ONCE = 1000
"""Values that are encoded at once: that takes about a millisecond."""


@contextmanager
def refusing(code: str, hint: str, *, where: str, got: int | None = None, limit: int | None = None) -> Iterator[None]:
    """Errors of `chumoku.model.explain` about an invalid argument, as an `AppError`."""
    try:
        yield
    except ValueError as error:
        said = str(error)
        raise AppError(code, f"{said[:1].upper()}{said[1:]}.", hint, where=where, got=got, limit=limit) from None


def chosen(plan: RunPlan, request: AnswerRequest) -> tuple[int, int]:
    """The row and the answer to explain; by default the last row, and the model's own first choice.

    Raises `bad_position`, and `bad_token` or `bad_class`.
    """
    rows = rows_read(plan.traceable.description, plan.run.is_pad, plan.lengths["target"])
    hint = f"Use a row from {rows[0]} to {rows[-1]}, or leave it out."
    with refusing("bad_position", hint, where="row", got=request.row, limit=rows[-1]):
        row = pick_row(rows, request.row)
    if request.answer is not None:
        return row, checked(plan.traceable, request.answer, "answer")
    tap = plan.traceable.description.logits.tap
    logits = plan.traceable.trace(plan.run, [tap]).tensors[tap]
    return row, predictions.first(plan.traceable, logits if plan.traceable.description.classes else logits[row])


def checked(traceable: TraceableModel, answer: int, where: str) -> int:
    """An answer that the model has a logit for. Raises `bad_token`, or `bad_class` for a classifier."""
    classes, vocab_size = traceable.description.classes, traceable.description.vocab_size
    code, limit = ("bad_class", len(classes) - 1) if classes else ("bad_token", vocab_size - 1)
    if not 0 <= answer <= limit:
        what = "Class" if classes else "Token id"
        message, hint = f"{what} {answer} is not one of 0 to {limit}.", f"Take one from 0 to {limit}."
        raise AppError(code, message, hint, where=where, got=answer, limit=limit)
    return answer


def stack_of(checkpoint: Checkpoint, asked: str | None, where: str) -> Stack:
    """A stack by its id (None: the first). Raises `unknown_stack`."""
    known = {stack.id: stack for stack in checkpoint.description.stacks}
    if asked is None:
        return checkpoint.description.stacks[0]
    if asked not in known and len(known) == 1:
        message = f"{checkpoint.name!r} has one stack."
        raise AppError("unknown_stack", message, "Leave it out.", where=where, got=asked, known=list(known))
    if asked not in known:
        raise unknown_name("unknown_stack", "stack", asked, list(known), where=where)
    return known[asked]


def answers(traceable: TraceableModel, ids: Iterable[int | None]) -> Json:
    """How to show the answers: tokens by their ids, or the names of the classes."""
    classes = list(traceable.description.classes)
    return {"classes": classes, "tokens": {} if classes else looks(traceable, ids)}


def looks(model: Checkpoint | TraceableModel, ids: Iterable[int | None]) -> Json:
    """Each of these ids once, as a token outside a sentence."""
    named = sorted({i for i in ids if i is not None})
    return {str(look["id"]): look for look in tokens.looks(model.tokenizer, named)}


def plain(fields: Any) -> Json:
    """The fields of a dataclass, tensors as lists. Nested dataclasses stay."""
    return {name: value.tolist() if isinstance(value, Tensor) else value for name, value in vars(fields).items()}


def to_json(answer: Json) -> bytes:
    """Encodes as JSON. NaN and infinity become null."""
    try:
        return dump(answer)
    except ValueError:  # rare: checking each time costs more than encoding twice
        return dump(finite(answer))


def dump(answer: Any) -> bytes:
    """Encodes in parts: one call of the encoder holds Python's lock until it ends, and the event loop waits."""
    return "".join(parts_of(answer)).encode()


def parts_of(value: Any) -> Iterator[str]:
    """JSON without spaces, in parts of about `AT_ONCE` values at most."""
    if n_values(value) <= AT_ONCE:
        yield ENCODER.encode(value)
    elif isinstance(value, dict):
        yield "{"
        for n, (name, one) in enumerate(value.items()):
            yield f"{',' if n else ''}{ENCODER.encode(str(name))}:"
            yield from parts_of(one)
        yield "}"
    else:
        size = max(1, AT_ONCE * len(value) // n_values(value))
        yield "["
        for start in range(0, len(value), size):
            yield "," if start else ""
            yield from parts_of(value[start]) if size == 1 else [ENCODER.encode(value[start : start + size])[1:-1]]
        yield "]"


def n_values(value: Any) -> int:
    """About how many numbers and texts there are inside: the entries of a list are alike, or grow or shrink."""
    if isinstance(value, dict):
        return sum(map(n_values, value.values()))
    if isinstance(value, (list, tuple)) and value:
        return len(value) * max(n_values(value[0]), n_values(value[-1]))
    return 1


def finite(value: Any) -> Any:
    """The same with null for every float that JSON cannot represent."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""Helpers of all explanations: refusals, the answer to explain, and tensors as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from chumoku.app.api.explain.requests import AnswerRequest
from chumoku.app.errors import AppError, unknown_name
from chumoku.app.services import predictions, tokens
from chumoku.app.services.plan import RunPlan
from chumoku.app.services.wire import Json
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Stack
from chumoku.model.explain.anatomy import pick_row, rows_read
from chumoku.model.traceable import TraceableModel


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
    row, answer = asked(plan, request)
    if answer is not None:
        return row, answer
    tap = plan.traceable.description.logits.tap
    logits = plan.traceable.trace(plan.run, [tap]).tensors[tap]
    return row, predictions.first(plan.traceable, logits if plan.traceable.description.classes else logits[row])


def asked(plan: RunPlan, request: AnswerRequest) -> tuple[int, int | None]:
    """`chosen` without a forward pass: the answer is None if the request names none."""
    rows = rows_read(plan.traceable.description, plan.run.is_pad, plan.lengths["target"])
    hint = f"Use a row from {rows[0]} to {rows[-1]}, or leave it out."
    with refusing("bad_position", hint, where="row", got=request.row, limit=rows[-1]):
        row = pick_row(rows, request.row)
    return row, None if request.answer is None else checked(plan.traceable, request.answer, "answer")


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
    return {"classes": classes, "tokens": {} if classes else tokens_by_id(traceable, ids)}


def tokens_by_id(model: Checkpoint | TraceableModel, ids: Iterable[int | None]) -> Json:
    """Each of these ids once, as a token outside a sentence."""
    named = sorted({i for i in ids if i is not None})
    return {str(token["id"]): token for token in tokens.vocabulary_tokens(model.tokenizer, named)}


def plain(fields: Any) -> Json:
    """The fields of a dataclass, with tensors as lists and nested dataclasses unchanged."""
    return {name: value.tolist() if isinstance(value, Tensor) else value for name, value in vars(fields).items()}

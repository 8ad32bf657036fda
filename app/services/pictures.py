"""Pictures in place of text: read as the ids of their patches, and refused in words."""

from __future__ import annotations

from collections.abc import Sequence

from chumoku.app.api.run import Run
from chumoku.app.errors import AppError
from chumoku.model.subjects import Subject


def patches(subject: Subject, pixels: Sequence[Sequence[int]], where: str) -> list[int]:
    """The ids of a picture's patches. Raises `wrong_input` for a model that reads text, and `bad_picture`."""
    picture = subject.description.picture
    if picture is None:
        message = f"{subject.name!r} reads text, not pictures."
        raise AppError("wrong_input", message, "Send text, or use a model that has a `picture`.", where=where)
    try:
        return picture.ids(pixels)
    except ValueError as error:
        hint = "Send the rows of the picture, from top to bottom."
        raise AppError("bad_picture", f"{str(error).capitalize()}.", hint, where=where) from None


def check_reads_text(subject: Subject, where: str) -> None:
    """Raise `wrong_input` for a model that reads pictures."""
    if subject.description.picture is not None:
        message = f"{subject.name!r} reads pictures, not text."
        raise AppError("wrong_input", message, "Send pixels, or use a model that reads text.", where=where)


def check_whole(subject: Subject, ids: Sequence[int], where: str) -> None:
    """Raise `bad_picture` unless `ids` are [CLS] and every patch of a picture; any text is whole."""
    picture = subject.description.picture
    if picture is None:
        return
    if len(ids) != picture.n_patches + 1 or any(token_id >= picture.n_ids for token_id in ids[1:]):
        message = f"A picture has {picture.n_patches} patches, got {len(ids) - 1} tokens or special ones among them."
        raise AppError("bad_picture", message, "Send every patch, row by row, or send pixels.", where=where)


def check_hidden(subject: Subject, run: Run, ids: Sequence[int]) -> None:
    """Raise `bad_pad` for PADs beside a picture, and for hidden positions that are no patches of one."""
    hidden, last = run.pad.hidden, len(ids) - 1
    if subject.description.picture is None:
        if hidden:
            hint = "Leave pad.hidden out, or use a model that reads pictures."
            message = f"{subject.name!r} reads text: only patches of a picture can be hidden."
            raise AppError("bad_pad", message, hint, where="pad.hidden", got=len(hidden))
        return
    if run.pad.count:
        message = "A picture has no room for PADs beside it."
        raise AppError("bad_pad", message, "Hide patches with pad.hidden.", where="pad.count", got=run.pad.count)
    for index, at in enumerate(hidden):
        if not 1 <= at <= last:
            message = f"There is no patch at position {at}: [CLS] is at 0, the patches are from 1 to {last}."
            raise AppError("bad_pad", message, "Hide patches only.", where=f"pad.hidden[{index}]", got=at, limit=last)

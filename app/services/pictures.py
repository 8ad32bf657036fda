"""Pictures as input: parsed into patch ids, made from uploaded files, and validated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from chumoku.app.api.run import RunRequest
from chumoku.app.errors import AppError
from chumoku.app.services.memory_budget import Reserve, Size, unlimited
from chumoku.model.pictures.picture import Photo
from chumoku.model.pictures.uploads import WORKING, UnreadableError, announced, decoded
from chumoku.model.traceable import About, TraceableModel

FIXED = 1024
"""Bytes of an answer besides the picture."""
Pixels = Sequence[Sequence[int]] | str


def patches(traceable: TraceableModel, pixels: Pixels, where: str) -> list[int]:
    """The ids of a picture's patches. Raises `wrong_input` for a model that reads text, and `bad_picture`."""
    picture = traceable.description.picture
    if picture is None:
        message = f"{traceable.name!r} reads text, not pictures."
        raise AppError("wrong_input", message, "Send text, or use a model that has a `picture`.", where=where)
    try:
        if isinstance(picture, Photo):
            picture.bytes_of(pixels if isinstance(pixels, str) else "")
            return picture.places
        return picture.ids([] if isinstance(pixels, str) else pixels)
    except ValueError as error:
        made = "POST a PNG or JPEG to /api/models/{name}/pixels: it answers with them."
        hint = made if isinstance(picture, Photo) else "Send the rows of the picture, from top to bottom."
        raise AppError("bad_picture", f"{str(error).capitalize()}.", hint, where=where) from None


def bytes_of(traceable: TraceableModel, pixels: Pixels | None) -> bytes | None:
    """The pixels that a model needs in addition to the patch ids, which are already checked."""
    picture = traceable.description.picture
    return picture.bytes_of(pixels) if isinstance(picture, Photo) and isinstance(pixels, str) else None


def fitted(
    about: About, file: bytes, most_pixels: int, reserve: Reserve = unlimited, working: Reserve = unlimited
) -> dict[str, Any]:
    """An uploaded PNG or JPEG as the pixels that a model reads. `reserve` is called with the size of the answer,
    `working` with the memory that decoding takes, before it begins.

    Raises `wrong_input` for a model that reads no such pictures, and what is wrong with the file.
    """
    picture = about.description.picture
    if about.fit is None or not isinstance(picture, Photo):
        reads = "text" if picture is None else f"drawn pictures of {picture.size} × {picture.size} pixels"
        message = f"{about.name!r} reads {reads}, and no files."
        raise AppError("wrong_input", message, "Use a model whose `picture` has `channels`.", where="name")
    smaller = "Make the picture smaller."
    try:
        image = announced(file, most_pixels)
        reserve(Size(picture.n_spelt + FIXED, smaller))
        working(Size(WORKING * image.width * image.height, smaller))
        image = decoded(image)
        pixels = about.fit(image)
    except UnreadableError as error:
        raise AppError(error.code, error.message, error.hint, got=error.got, limit=error.limit) from None
    except ValueError as error:
        message = f"{str(error).capitalize()}."
        raise AppError("narrow_picture", message, "Send a picture that is less narrow.") from None
    except ModuleNotFoundError as error:
        raise AppError("cannot", f"The server has no {error.name}.", "Install the extra hf.", status=501) from None
    return {"model": about.name, "pixels": picture.spell(pixels), "width": image.width, "height": image.height}


def bytes_in_a_run(models: Iterable[About]) -> int:
    """Bytes of the pictures of one run, its input and one patched in, for the model with the largest."""
    shapes = (one.description.picture for one in models)
    return 2 * max((one.n_spelt for one in shapes if isinstance(one, Photo)), default=0)


def check_reads_text(traceable: TraceableModel, where: str) -> None:
    """Raise `wrong_input` for a model that reads pictures."""
    if traceable.description.picture is not None:
        message = f"{traceable.name!r} reads pictures, not text."
        raise AppError("wrong_input", message, "Send pixels, or use a model that reads text.", where=where)


def check_whole(traceable: TraceableModel, ids: Sequence[int], where: str) -> None:
    """Raise `bad_picture` unless `ids` are [CLS] and every patch of a picture; any text is whole."""
    picture = traceable.description.picture
    if picture is None:
        return
    if isinstance(picture, Photo):
        message = "Ids of patches say only where they are, not what they show."
        raise AppError("bad_picture", message, "Send pixels.", where=where)
    if len(ids) != picture.n_patches + 1 or any(token_id >= picture.n_ids for token_id in ids[1:]):
        message = f"A picture has {picture.n_patches} patches, got {len(ids) - 1} tokens or special ones among them."
        raise AppError("bad_picture", message, "Send every patch, row by row, or send pixels.", where=where)


def check_hidden(traceable: TraceableModel, run: RunRequest, ids: Sequence[int]) -> None:
    """Raise `bad_pad` for PADs beside a picture, and for hidden positions that are not patches."""
    hidden, last = run.pad.hidden, len(ids) - 1
    if traceable.description.picture is None:
        if hidden:
            hint = "Leave pad.hidden out, or use a model that reads pictures."
            message = f"{traceable.name!r} reads text: only patches of a picture can be hidden."
            raise AppError("bad_pad", message, hint, where="pad.hidden", got=len(hidden))
        return
    if run.pad.count:
        message = "PADs cannot be added to a picture."
        raise AppError("bad_pad", message, "Hide patches with pad.hidden.", where="pad.count", got=run.pad.count)
    begin = len(getattr(traceable.description.picture, "before", "1"))
    for index, at in enumerate(hidden):
        if not begin <= at <= last:
            message = f"There is no patch at position {at}: [CLS] is at 0, the patches are from {begin} to {last}."
            raise AppError("bad_pad", message, "Hide patches only.", where=f"pad.hidden[{index}]", got=at, limit=last)

"""What a model of one family can be asked for, and a model of another cannot."""

from __future__ import annotations

from app.errors import AppError
from model.checkpoint import Checkpoint
from model.config import Family

WITHOUT_TARGET = "Leave target and target_ids out, or take an encoder-decoder."
WITHOUT_NEXT_TOKEN = "Leave predict out: a trace's metadata has the classes."
CLASSIFIES = "POST /api/trace has its classes, in the metadata's `classes`."
TRANSLATES_NOT = "Take an encoder-decoder: GET /api/models says each model's family."


def check_family(checkpoint: Checkpoint, family: Family, what: str, hint: str, where: str) -> None:
    """Raise `wrong_family` unless the model is of this family; `what` is what only such a model can do."""
    if checkpoint.config.family != family:
        raise wrong_family(checkpoint, f"only an {family} {what}", hint, where)


def check_predicts(checkpoint: Checkpoint, where: str, hint: str) -> None:
    """Raise `wrong_family` for a model that says a class, and no next token."""
    if checkpoint.config.family == "encoder-only":
        raise wrong_family(checkpoint, "it says a class, and no next token", hint, where)


def wrong_family(checkpoint: Checkpoint, why: str, hint: str, where: str) -> AppError:
    family = checkpoint.config.family
    return AppError("wrong_family", f"{checkpoint.name!r} is {family}: {why}.", hint, where=where, got=family)

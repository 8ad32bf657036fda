"""Checks what a model can do, by its description. A refusal lists its capabilities."""

from __future__ import annotations

from chumoku.app.errors import AppError, check_index, unknown_name
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Attention, Description, Predicts
from chumoku.model.traceable import TraceableModel

WITHOUT_TARGET = "Leave target and target_ids out, or use a model that writes a target."
WITHOUT_NEXT_TOKEN = "Leave predict out: a trace's metadata has the classes, if there are any."
CLASSIFIES = "POST /api/trace has its classes, in the metadata's `classes`."
OTHER_MODEL = "Use another model: `description.can` in GET /api/models/{name} says what each can do."

PREDICTS: dict[Predicts, str] = {
    "next": "it predicts the next token",
    "same": "it predicts the token at each position",
    "classes": "it predicts a class, not a next token",
    "none": "it predicts nothing",
}
CAN = {
    "generate": "continue a text",
    "beams": "translate with beam search",
    "lens": "predict from each layer",
    "gradients": "show its gradients",
    "contributions": "split a logit into its parts",
    "route": "show how much of each token is mixed into another",
    "effects": "show what cutting single attention weights does",
    "ablations": "switch its heads off one by one",
    "units": "show the units of its FFNs",
    "heads": "label its heads",
    "swap": "compare two orders of its tokens",
    "positions": "show a table of positions",
    "neighbours": "compare its embeddings",
    "parameters": "count its parameters",
}


def check_can(traceable: TraceableModel, what: str, hint: str = OTHER_MODEL, where: str = "model") -> None:
    """Raise `cannot` unless the description says that the model can."""
    if not traceable.description.can.get(what, False):
        raise cannot(traceable, CAN[what], hint, where)


def check_target(traceable: TraceableModel, where: str) -> None:
    """Raise `cannot` for a model that reads no target."""
    if "target" not in traceable.description.sides:
        raise cannot(traceable, "read a target", WITHOUT_TARGET, where)


def check_tokens(traceable: TraceableModel, where: str) -> None:
    """Raise `cannot` for a model that predicts no tokens."""
    if traceable.description.predicts not in ("next", "same"):
        raise cannot(traceable, "predict tokens", WITHOUT_NEXT_TOKEN, where)


def check_next(traceable: TraceableModel) -> None:
    """Raise `cannot` for a model that does not predict a next token."""
    if traceable.description.predicts != "next":
        raise cannot(traceable, "be forced to read its labels", OTHER_MODEL, "model")


def explained(traceable: TraceableModel) -> Checkpoint:
    """The modules that explanations need. Raises `cannot` for a model without our modules."""
    if traceable.checkpoint is None:
        raise cannot(traceable, "be explained", OTHER_MODEL, "model")
    return traceable.checkpoint


def cannot(traceable: TraceableModel, what: str, hint: str, where: str) -> AppError:
    """`known` is what the model can do."""
    description = traceable.description
    message = f"{traceable.name!r} cannot {what}: {PREDICTS[description.predicts]}."
    able = [name for name, can in description.can.items() if can]
    return AppError("cannot", message, hint, where=where, got=description.family, known=able)


def attention_of(description: Description, name: str | None, layer: int, where: str, layer_at: str) -> Attention:
    """The attention of this name, by default the first. Raises `unknown_attention`, listing the known ones, and
    `bad_layer`; both say where in the request it was."""
    known = {one.id: one for one in description.attentions}
    found = next(iter(known)) if name is None else name
    if found not in known:
        raise unknown_name("unknown_attention", "attention", found, list(known), where=where)
    check_index("layer", layer, known[found].n_layer, layer_at)
    return known[found]

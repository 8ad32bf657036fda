"""What a picture in a file of its own carries of a trace: the tensors that it shows, and explanations of the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chumoku.app.api.explain.schema import HeadsRequest, LensRequest, RouteRequest
from chumoku.app.api.run import Run
from chumoku.app.notebook.model import Model, Trace
from chumoku.app.services import wire
from chumoku.app.services.explain import answers, layers, river
from chumoku.app.services.models import detailed
from chumoku.app.services.plan import plan_run
from chumoku.model.describe import Attention

N_LENS = 5
"""Answers that the lens lists, as on the page."""


@dataclass(frozen=True)
class Saved:
    """One run: a safetensors body, and the explanations by the names of `/api/explain`."""

    tensors: bytes
    answers: dict[str, Any]


def saved(trace: Trace, layer: int | None) -> Saved:
    """What pictures show of a run; with `layer`, the heads of that layer alone can be opened.

    What is only a small picture is sent as bytes, as the page gets it.
    """
    attentions = trace.model.subject.description.attentions
    names = {name: dtype for one in attentions for name, dtype in shown(one, layer).items()}
    arrays = {name: wire.convert(name, trace[name], dtype) for name, dtype in names.items()}
    about = {name: value for name, value in trace.metadata.items() if name != "description"}
    about["dims"] = {name: trace.dims[name] for name in names}
    return Saved(bytes(wire.encode(arrays, about)), explanations(trace))


def shown(attention: Attention, layer: int | None) -> dict[str, wire.Dtype]:
    """The taps of an attention that pictures show: the overviews of all layers, and everything of the open ones."""
    pictured = {attention.overview, "mask"}
    return {
        tap: "float32" if layer in (None, index) else "uint8"
        for role, place in attention.roles.items()
        for index, tap in enumerate(place.taps)
        if role in pictured or layer in (None, index)
    }


def explanations(trace: Trace) -> dict[str, Any]:
    """What the river and the heads say about the run, as the API says it."""
    subject, limit = trace.model.subject, trace.model.settings.max_text_chars
    can = subject.description.can
    asked = trace.run | {"target": None} if trace.run["target_ids"] else trace.run
    found: dict[str, Any] = {}
    plan = plan_run(subject, Run.model_validate(asked), limit)
    if can.get("route"):
        found["route"] = river.route(plan, RouteRequest.model_validate(asked))
    if can.get("lens"):
        found["lens"] = answers.lens(plan, LensRequest.model_validate(asked | {"k": N_LENS}))
    if subject.checkpoint is not None:
        found["heads"] = layers.heads(plan, HeadsRequest.model_validate(asked))
    return found


def entry(model: Model) -> dict[str, Any]:
    """What `/api/models/{name}` says about the model, of what a picture without a server can do."""
    about = detailed(model.entry, model.subject.device.type)
    can = {name: able and name in ("route", "lens") for name, able in about["description"]["can"].items()}
    left_out = {"units", "snapshots", "log", "taps", "weights"}
    kept = {name: value for name, value in about.items() if name not in left_out}
    return kept | {"description": about["description"] | {"can": can}, "taps": [], "weights": {}, "snapshots": []}

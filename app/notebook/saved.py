"""What a picture in a file of its own carries of a trace: the tensors that it shows, and explanations of the run."""

from __future__ import annotations

from collections.abc import Container
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

Json = dict[str, Any]
N_LENS = 5
"""Answers that the lens lists, as on the page."""


@dataclass(frozen=True)
class Saved:
    """One run: a safetensors body, and the explanations by the names of `/api/explain`."""

    tensors: bytes
    answers: Json


def saved(trace: Trace, layers: Container[int], effects: Json | None = None) -> Saved:
    """What pictures show of a run: the heads of `layers` can be opened, others are small pictures, as bytes."""
    attentions = trace.model.subject.description.attentions
    names = {name: dtype for one in attentions for name, dtype in shown(one, layers).items()}
    arrays = {name: wire.convert(name, trace[name], dtype) for name, dtype in names.items()}
    about = {name: value for name, value in trace.metadata.items() if name != "description"}
    about["dims"] = {name: trace.dims[name] for name in names}
    return Saved(bytes(wire.encode(arrays, about)), explanations(trace) | ({"effects": effects} if effects else {}))


def shown(attention: Attention, layers: Container[int]) -> dict[str, wire.Dtype]:
    """The taps of an attention that pictures show: the overviews of all layers, and everything of the open ones."""
    pictured = {attention.overview, "mask"}
    return {
        tap: "float32" if index in layers else "uint8"
        for role, place in attention.roles.items()
        for index, tap in enumerate(place.taps)
        if role in pictured or index in layers
    }


def explanations(trace: Trace) -> Json:
    """What the river and the heads say about the run, as the API says it."""
    subject, limit = trace.model.subject, trace.model.settings.max_text_chars
    can = subject.description.can
    asked = trace.asked
    found: Json = {}
    plan = plan_run(subject, Run.model_validate(asked), limit)
    if can.get("route"):
        found["route"] = river.route(plan, RouteRequest.model_validate(asked))
    if can.get("lens"):
        found["lens"] = answers.lens(plan, LensRequest.model_validate(asked | {"k": N_LENS}))
    if subject.checkpoint is not None:
        found["heads"] = layers.heads(plan, HeadsRequest.model_validate(asked))
    return found


def entry(model: Model) -> Json:
    """What `/api/models/{name}` says about the model, of what a picture without a server can do."""
    about = detailed(model.entry, model.subject.device.type)
    can = {name: able and name in ("route", "lens") for name, able in about["description"]["can"].items()}
    left_out = {"units", "snapshots", "log", "taps", "weights"}
    kept = {name: value for name, value in about.items() if name not in left_out}
    return kept | {"description": about["description"] | {"can": can}, "taps": [], "weights": {}, "snapshots": []}

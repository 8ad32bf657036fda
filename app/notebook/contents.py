"""The contents of a document: the tensors that it shows, and explanations of the run."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from chumoku.app.api.explain.requests import MAX_K, HeadsRequest, LensRequest, RouteRequest
from chumoku.app.api.run import RunRequest
from chumoku.app.notebook.model import Model, Trace
from chumoku.app.services import wire
from chumoku.app.services.explain import answers, layers, river_answer
from chumoku.app.services.models import detailed
from chumoku.app.services.plan import plan_run
from chumoku.app.services.wire import Json
from chumoku.model.describe import Attention

N_LENS = 5
"""Tokens that the lens lists, as on the page; for classes as many as possible."""


@dataclass(frozen=True)
class Shown:
    """A run as a document has it. `name`: of its model's entry, another one for each run that the page must tell apart;
    `answers`: explanations by the names of `/api/explain`; `opens`: whether its heads can be opened."""

    trace: Trace
    name: str
    answers: Json
    opens: bool = True

    def tensors(self, open_layers: Container[int]) -> bytes:
        """A safetensors body: all of the heads that can be opened, and small pictures of the others, as bytes."""
        trace, open_layers = self.trace, open_layers if self.opens else ()
        attentions = trace.model.traceable.description.attentions
        names = {name: dtype for one in attentions for name, dtype in taps_of(one, open_layers).items()}
        arrays = {name: wire.convert(name, trace[name], dtype) for name, dtype in names.items()}
        about = {name: value for name, value in trace.metadata.items() if name != "description"}
        about |= {"model": self.name, "run": trace.run | {"model": self.name}}
        about["dims"] = {name: trace.dims[name] for name in names}
        return bytes(wire.encode(arrays, about))

    @property
    def entry(self) -> Json:
        """What `/api/models/{name}` says about the model, of what can be done without a server."""
        return entry_of(self.trace.model) | {"name": self.name}


def taps_of(attention: Attention, open_layers: Container[int]) -> dict[str, wire.Dtype]:
    """The taps of an attention that are shown: the overviews of all layers, and all of the open ones."""
    small = {attention.overview, "mask"}
    return {
        tap: "float32" if index in open_layers else "uint8"
        for role, place in attention.roles.items()
        for index, tap in enumerate(place.taps)
        if role in small or index in open_layers
    }


def explanations(trace: Trace) -> Json:
    """Explanations for the river and the heads, in the API's format."""
    traceable, limit = trace.model.traceable, trace.model.settings.max_text_chars
    can, asked = traceable.description.can, trace.asked
    found: Json = {}
    plan = plan_run(traceable, RunRequest.model_validate(asked), limit)
    if can.get("route"):
        found["route"] = river_answer.route(plan, RouteRequest.model_validate(asked))
    if can.get("lens"):
        k = min(len(traceable.description.classes), MAX_K) or N_LENS
        found["lens"] = answers.lens(plan, LensRequest.model_validate(asked | {"k": k}))
    if can.get("heads"):
        found["heads"] = layers.heads(plan, HeadsRequest.model_validate(asked))
    return found


def entry_of(model: Model) -> Json:
    about = detailed(model.entry, model.traceable.device.type, model.settings)
    can = {name: able and name in ("route", "lens") for name, able in about["description"]["can"].items()}
    left_out = {"units", "snapshots", "log", "taps", "weights"}
    kept = {name: value for name, value in about.items() if name not in left_out}
    return kept | {"description": about["description"] | {"can": can}, "taps": [], "weights": {}, "snapshots": []}

"""What attention costs: counted from shapes by each mechanism, and measured on this machine as events."""

from __future__ import annotations

from dataclasses import asdict

import torch

from chumoku.app.api.schema import ModelRequest
from chumoku.app.services.events import Event
from chumoku.app.services.explain.shared import Json
from chumoku.app.services.memory_budget import Reserve, Size
from chumoku.model.explain.timings import LENGTHS, Timings
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.mechanisms.mixer import sizes
from chumoku.model.traceable import About, TraceableModel

COUNTS = 64_000
"""Bytes of JSON that the formulas of all mechanisms take at most."""


def cost(traceable: TraceableModel, request: ModelRequest, reserve: Reserve) -> Json:
    reserve(Size(COUNTS, "There are too many mechanisms."))
    costs = {name: mixer.cost() for name, mixer in MECHANISMS.items()}
    own = traceable.description.attentions[0].kind
    return {
        "own": own if costs.get(own) else None,
        "sizes": sizes_of(traceable.about),
        "forms": [{"name": name, **asdict(found)} for name, found in costs.items() if found is not None],
    }


def sizes_of(about: About) -> dict[str, int]:
    """Those of the model; a model that has no window or no rank takes the usual ones."""
    given = {name: about.config[name] for name in ("reach", "rank") if isinstance(about.config.get(name), int)}
    return sizes(about.description.d_model, about.description.attentions[0].n_head, **given)


class TimingsSession:
    """Measurements one by one, on request, from one thread at a time."""

    def __init__(self, about: About, device: torch.device) -> None:
        self.timings = Timings(sizes_of(about), device)

    def start(self) -> Event:
        about = {"device": self.timings.device.type, "threads": torch.get_num_threads(), "sizes": self.timings.sizes}
        return Event("start", {"forms": self.timings.forms, "lengths": list(LENGTHS), **about})

    def step(self) -> Event | None:
        """The next measurement; None when all are made."""
        timing = self.timings.step()
        return None if timing is None else Event("point", asdict(timing))

"""Several ways on from one text: generations that differ only in their seeds, and step together where they can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from chumoku.app.api.requests import WaysRequest
from chumoku.app.services.generation import GenerationSession, steps
from chumoku.app.services.prefixes import Prefixes
from chumoku.app.services.wire import Event
from chumoku.model.traceable import TraceableModel


@dataclass(eq=False)
class Way:
    """One of them. `index` counts from 0; its seed is the request's and index + 1 more."""

    index: int
    seed: int
    session: GenerationSession

    def tell(self, event: Event) -> Event:
        return Event(event.name, {"way": self.index, "seed": self.seed} | event.data)


class Ways:
    """The prompt is read once. Raises `AppError` for an invalid request."""

    def __init__(
        self, traceable: TraceableModel, request: WaysRequest, max_chars: int, max_new: int, prefixes: Prefixes
    ) -> None:
        def way(index: int) -> Way:
            seed = request.seed + index + 1
            own = request.model_copy(update={"seed": seed})
            return Way(index, seed, GenerationSession(traceable, own, max_chars, max_new, prefixes))

        self.all = [way(index) for index in range(request.ways)]

    @property
    def first(self) -> GenerationSession:
        return self.all[0].session

    @property
    def n_new(self) -> int:
        return sum(way.session.n_new for way in self.all)

    def start(self) -> Event:
        """Reads the prompt; returns its tokens and the prediction after them, which all ways share."""
        self.first.resume()
        event = self.first.start()
        for other in self.all[1:]:
            other.session.follow(self.first)
        return event

    @property
    def live(self) -> list[Way]:
        return [way for way in self.all if way.session.ended is None]

    def round(self) -> list[tuple[Callable[[], list[Event]], int]]:
        """The jobs that take one step of each way that has not ended, and how many steps each job takes: one forward
        pass for all that can step together, and one for each of the others."""
        joined = [way for way in self.live if way.session.group is not None]
        groups = [joined] if joined else []
        groups += [[way] for way in self.live if way.session.group is None]
        return [(partial(stepped, ways), len(ways)) for ways in groups]


def stepped(ways: list[Way]) -> list[Event]:
    """One step of each, with the `end` of those that end. Raises the first error of a step."""
    sessions = [way.session for way in ways]
    taken = steps(sessions) if sessions[0].group is not None else [one.step() for one in sessions]
    events = []
    for way, event in zip(ways, taken, strict=True):
        if isinstance(event, Exception):
            raise event
        events.append(way.tell(event))
        if way.session.ended is not None:
            events.append(way.tell(way.session.end()))
    return events

"""Runs a route's work as one job in a worker thread, and returns its answer as bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Response

from app.api.run import Run
from app.api.schema import ModelRequest
from app.http.deps import ClaimDep, SeenDep, State, Wanted, WantedDep, get_state
from app.http.observe import Seen
from app.http.paced import Paced
from app.services import sizes
from app.services.capabilities import check_can
from app.services.explain.shared import Json, to_json
from app.services.library import Entry
from app.services.metrics import Kind
from app.services.plan import RunPlan, plan_run
from app.services.room import Claim, Reserve
from app.services.work import Done
from model.subjects import Subject

Asked = TypeVar("Asked", bound=Run)
Model = TypeVar("Model", bound=ModelRequest)


class Desk:
    """For routes of explanations: each only names its service."""

    def __init__(self, state: State, claim: Claim, seen: Seen, wanted: Wanted) -> None:
        self.state, self.claim, self.seen, self.wanted = state, claim, seen, wanted

    async def explain_run(
        self,
        request: Asked,
        service: Callable[[RunPlan, Asked], Json],
        can: str | None = None,
        kind: Kind = "explain",
    ) -> Response:
        """Plan the request's run and answer with the result of `service`. Checks that the model `can`."""
        entry = self._find(request.model)
        self.seen.text = request.sentence.text

        def job() -> bytes:
            with self.state.library.use(entry) as subject:
                if can is not None:
                    check_can(subject, can)
                plan = plan_run(subject, request, self.state.settings.max_text_chars)
                self.seen.n_tokens = len(plan.padded)
                self.claim.take(sizes.of_explanation(plan, request))
                return to_json(service(plan, request))

        return await self._run(job, "application/json", kind)

    async def explain_model(
        self, request: Model, service: Callable[[Subject, Model, Reserve], Json], can: str | None = None
    ) -> Response:
        """Answer with the result of `service` for the model, whose size the service reserves. Checks that it `can`."""

        def json(subject: Subject) -> bytes:
            return to_json(service(subject, request, self.claim.take))

        return await self._about(request, json, can, "application/json")

    async def tensors(
        self, request: Model, service: Callable[[Subject, Model, Reserve], bytes], can: str | None = None
    ) -> Response:
        """Answer with a safetensors body about the model, whose size the service reserves."""

        def tensors(subject: Subject) -> bytes:
            return service(subject, request, self.claim.take)

        return await self._about(request, tensors, can, "application/octet-stream")

    async def _about(
        self, request: ModelRequest, service: Callable[[Subject], bytes], can: str | None, media_type: str
    ) -> Response:
        entry = self._find(request.model)

        def job() -> bytes:
            with self.state.library.use(entry) as subject:
                if can is not None:
                    check_can(subject, can)
                return service(subject)

        return await self._run(job, media_type)

    def _find(self, name: str | None) -> Entry:
        entry = self.state.library.find(name)
        self.seen.model = entry.name
        return entry

    async def _run(self, job: Callable[[], bytes], media_type: str, kind: Kind = "explain") -> Response:
        done = await self.state.work.run(job, kind=kind, wanted=self.wanted)
        self.claim.settle(len(done.value))
        return Paced(done.value, media_type=media_type, headers={"Server-Timing": timing(done)})


def timing(done: Done[bytes]) -> str:
    """`Server-Timing`, in milliseconds: waiting for a thread (behind so many others), the work."""
    return f'queue;dur={1000 * done.waited:.2f};desc="{done.ahead} ahead", model;dur={1000 * done.ran:.2f}'


async def get_desk(
    state: Annotated[State, Depends(get_state)], claim: ClaimDep, seen: SeenDep, wanted: WantedDep
) -> Desk:
    return Desk(state, claim, seen, wanted)


DeskDep = Annotated[Desk, Depends(get_desk)]

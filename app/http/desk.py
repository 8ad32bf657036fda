"""Where a route hands its request in: one job in a worker thread, and its answer as bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeVar

from fastapi import Depends, Request, Response

from app.api.run import Run
from app.api.schema import ModelRequest
from app.http.deps import State, get_seen, get_state
from app.http.observe import Seen
from app.services.explain.shared import Json, to_json
from app.services.plan import RunPlan, plan_run
from app.services.work import Done
from model.checkpoint import Checkpoint

Asked = TypeVar("Asked", bound=Run)
Model = TypeVar("Model", bound=ModelRequest)


class Desk:
    """For routes that explain: each has a service, and no more to do than to name it."""

    def __init__(self, http: Request, state: State, seen: Seen) -> None:
        self.http, self.state, self.seen = http, state, seen

    async def explain_run(self, request: Asked, service: Callable[[RunPlan, Asked], Json]) -> Response:
        """Plan what the request runs, and answer with what `service` says of it."""
        checkpoint = self._checkpoint(request.model)
        self.seen.text = request.sentence.text

        def job() -> bytes:
            plan = plan_run(checkpoint, request, self.state.settings.max_text_chars)
            self.seen.n_tokens = len(plan.padded)
            return to_json(service(plan, request))

        return await self._run(job, "application/json")

    async def explain_model(self, request: Model, service: Callable[[Checkpoint, Model], Json]) -> Response:
        """Answer with what `service` says of the model."""
        checkpoint = self._checkpoint(request.model)
        return await self._run(lambda: to_json(service(checkpoint, request)), "application/json")

    async def tensors(self, request: Model, service: Callable[[Checkpoint, Model], bytes]) -> Response:
        """Answer with a safetensors body of the model."""
        return await self._run(partial(service, self._checkpoint(request.model), request), "application/octet-stream")

    def _checkpoint(self, name: str | None) -> Checkpoint:
        checkpoint = self.state.library.get(name)
        self.seen.model = checkpoint.name
        return checkpoint

    async def _run(self, job: Callable[[], bytes], media_type: str) -> Response:
        done = await self.state.work.run(job, kind="explain", wanted=self._wanted)
        return Response(done.value, media_type=media_type, headers={"Server-Timing": timing(done)})

    async def _wanted(self) -> bool:
        return not await self.http.is_disconnected()


def timing(done: Done[bytes]) -> str:
    """`Server-Timing`, in milliseconds: waiting for a thread, the work."""
    return f"queue;dur={1000 * done.waited:.2f}, model;dur={1000 * done.ran:.2f}"


def get_desk(
    http: Request, state: Annotated[State, Depends(get_state)], seen: Annotated[Seen, Depends(get_seen)]
) -> Desk:
    return Desk(http, state, seen)


DeskDep = Annotated[Desk, Depends(get_desk)]

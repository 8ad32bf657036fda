"""Answers that depend on their request alone: computed in one job, shared with identical requests, or cached."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from hashlib import sha256
from time import perf_counter
from typing import Annotated, TypeVar

from fastapi import Depends, Request, Response

from chumoku.app import VERSION
from chumoku.app.api.run import RunRequest
from chumoku.app.api.schema import ModelRequest
from chumoku.app.http.backpressure import SlicedResponse
from chumoku.app.http.deps import State, state_of, wanted_by
from chumoku.app.http.observe import seen
from chumoku.app.http.packing import takes_gzip
from chumoku.app.services import sizes
from chumoku.app.services.capabilities import check_can
from chumoku.app.services.job_queue import Done
from chumoku.app.services.memory_budget import Reserve
from chumoku.app.services.metrics import Kind
from chumoku.app.services.plan import RunPlan, plan_run
from chumoku.app.services.request_coalescing import Answer, Make, Question
from chumoku.app.services.wire import Json, to_json
from chumoku.model.traceable import TraceableModel

Asked = TypeVar("Asked", bound=RunRequest)
Model = TypeVar("Model", bound=ModelRequest)
JSON, BYTES = "application/json", "application/octet-stream"
NONE: Mapping[str, str] = {}


class Responder:
    """Answers one request. A route only names its service."""

    def __init__(self, request: Request, until_sent: AsyncExitStack) -> None:
        self.state: State = state_of(request)
        self.path, self.seen, self.wanted = request.scope["path"], seen(request.scope), wanted_by(request)
        self.until_sent = until_sent
        self.unpacks = takes_gzip(request.headers)

    async def explain_run(
        self,
        request: Asked,
        service: Callable[[RunPlan, Asked], Json],
        can: str | None = None,
        kind: Kind = "explain",
    ) -> Response:
        """Plan the request's run and answer with the result of `service`. Checks that the model `can`."""

        def make(traceable: TraceableModel, reserve: Reserve) -> Answer:
            if can is not None:
                check_can(traceable, can)
            plan = plan_run(traceable, request, self.state.settings.max_text_chars)
            self.seen.n_tokens = len(plan.padded)
            reserve(sizes.of_explanation(plan, request))
            return packed(timed(lambda: to_json(service(plan, request)), len(plan.padded)))

        return await self.respond(self.question(request, make, kind), JSON)

    async def explain_model(
        self,
        request: Model,
        service: Callable[[TraceableModel, Model, Reserve], Json],
        can: str | None = None,
        *,
        kind: Kind = "explain",
    ) -> Response:
        """Answer with the result of `service` for the model, whose size the service reserves. Checks that it `can`."""

        def json(traceable: TraceableModel, reserve: Reserve) -> bytes | bytearray:
            return to_json(service(traceable, request, reserve))

        return await self._about(request, json, can, JSON, kind)

    async def tensors(
        self, request: Model, service: Callable[[TraceableModel, Model, Reserve], bytearray], can: str | None = None
    ) -> Response:
        """Answer with a safetensors body about the model, whose size the service reserves."""

        def tensors(traceable: TraceableModel, reserve: Reserve) -> bytes | bytearray:
            return service(traceable, request, reserve)

        return await self._about(request, tensors, can, BYTES)

    async def _about(
        self,
        request: ModelRequest,
        service: Callable[[TraceableModel, Reserve], bytes | bytearray],
        can: str | None,
        media: str,
        kind: Kind = "explain",
    ) -> Response:
        def make(traceable: TraceableModel, reserve: Reserve) -> Answer:
            if can is not None:
                check_can(traceable, can)
            answer = timed(lambda: service(traceable, reserve))
            return packed(answer) if media == JSON else answer

        return await self.respond(self.question(request, make, kind), media)

    def question(self, request: RunRequest | ModelRequest, make: Make, kind: Kind = "explain") -> Question:
        """The request as a cacheable question. Its key includes the available models, which notes in an answer may
        name."""
        entry = self.state.library.find(request.model)
        self.seen.model = entry.name
        if isinstance(request, RunRequest):
            self.seen.text = request.sentence.text
        asked = request.model_dump(by_alias=True) | {"model": entry.name}
        key = json.dumps([VERSION, self.path, self.state.library.names, asked])  # escapes halves of characters too
        return Question(entry, sha256(key.encode()).hexdigest(), make, kind)

    async def respond(self, question: Question, media_type: str, headers: Mapping[str, str] = NONE) -> Response:
        """The answer as a response. Its bytes count towards the memory budget until it is sent or dropped."""
        shared = await self.until_sent.enter_async_context(self.state.coalescing.answer(question, self.wanted))
        done = shared.done
        self.seen.n_tokens = done.value.n_tokens
        tag = {} if done.value.etag is None else {"ETag": done.value.etag}
        told = {"Server-Timing": timing(done, shared.found == "kept"), **tag, **headers}
        body = done.value.body
        if done.value.packed and self.unpacks:
            told["Content-Encoding"] = "gzip"
        elif done.value.packed:
            body = gzip.decompress(body)
        return SlicedResponse(memoryview(body), media_type=media_type, headers=told)


def timed(encoded: Callable[[], bytes | bytearray], n_tokens: int | None = None) -> Answer:
    start = perf_counter()
    body = encoded()
    return Answer(body, n_tokens, perf_counter() - start)


PACKED = range(2048, 256 * 1024)
"""Bytes of JSON that are sent gzipped. A longer text would take too long to unpack on the event loop."""


def packed(answer: Answer) -> Answer:
    """JSON with its numbers and names is a fifth as long for a class that shares one Wi-Fi, and 26 kB take 0.1 ms.
    So all who take gzip get it, packed once for an answer that is kept. Tensors travel as they are: with long texts,
    packing costs more than it saves on one machine."""
    if len(answer.body) not in PACKED:
        return answer
    return replace(answer, body=gzip.compress(answer.body, compresslevel=1, mtime=0), packed=True)


def timing(done: Done[Answer], kept: bool) -> str:
    """`Server-Timing`, in milliseconds: waiting for a thread (with how many were ahead), the model, the encoding."""
    if kept:
        return 'cache;desc="kept"'
    queue = f'queue;dur={1000 * done.waited:.2f};desc="{done.ahead} ahead"'
    model, encode = 1000 * done.value.model_seconds, 1000 * done.value.encode_seconds
    return f"{queue}, model;dur={model:.2f}, encode;dur={encode:.2f}"


async def get_responder(request: Request) -> AsyncIterator[Responder]:
    async with AsyncExitStack() as until_sent:
        yield Responder(request, until_sent)


ResponderDep = Annotated[Responder, Depends(get_responder)]

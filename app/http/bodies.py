"""Bodies of JSON. A long one is read and validated in a thread, so that small requests do not wait behind it."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from chumoku.app.http.deps import state_of

LONG = 16 * 1024
"""Bytes. The page's requests about a sentence are shorter; one with a picture may be longer."""


class InvalidBody(HTTPException):
    """A body that does not fit, with pydantic's complaints. (FastAPI turns what is raised while it reads a body into a
    400, unless it is an `HTTPException`.)"""

    def __init__(self, complaints: Sequence[Any]) -> None:
        super().__init__(422)
        self.complaints = complaints


class JsonRoute(APIRoute):
    """A route whose only body is one model, as JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle, model = super().get_route_handler(), model_of(self)

        async def handler(request: Request) -> Response:
            return await handle(request if model is None else JsonRequest(request, model))

        return handler


def model_of(route: APIRoute) -> type[BaseModel] | None:
    """What the route's body is; None: it has none, or another kind."""
    found = None if route.body_field is None else route.body_field.field_info.annotation
    return found if isinstance(found, type) and issubclass(found, BaseModel) else None


class JsonRequest(Request):
    """A request whose JSON may be the model already: FastAPI takes an instance as it is."""

    def __init__(self, request: Request, model: type[BaseModel]) -> None:
        super().__init__(request.scope, request.receive)
        self.model = model

    async def json(self) -> Any:
        body = await self.body()
        if len(body) <= LONG:
            return await super().json()
        found = await state_of(self).work.alone(lambda: read(body, self.model))
        if isinstance(found, InvalidBody):
            raise found
        return found


def read(body: bytes, model: type[BaseModel]) -> BaseModel | InvalidBody:
    """Raises what `json.loads` raises for text that is not UTF-8. An error refers to nothing of the body,
    which would then stay until the next collection."""
    try:
        return model.model_validate(json.loads(body), from_attributes=True)  # as FastAPI does
    except json.JSONDecodeError as error:
        return InvalidBody([{"type": "json_invalid", "loc": ("body", error.pos), "ctx": {"error": error.msg}}])
    except ValidationError as error:
        complaints = error.errors(include_url=False, include_input=False, include_context=False)
        return InvalidBody([{**one, "loc": ("body", *one["loc"])} for one in complaints])

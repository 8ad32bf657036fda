"""Request bodies: a size limit enforced while they arrive, and JSON, parsed in a thread if long."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chumoku.app.errors import AppError
from chumoku.app.http.deps import state_of
from chumoku.app.http.handlers import InvalidBody, respond

UPLOAD = re.compile(r"/api/models/[^/]+/pixels")


@dataclass
class BodyLimits:
    """Size limits of a body, and of an uploaded picture. `pictures`: extra bytes for the pictures in a run, known once
    the models are."""

    body: int
    upload: int
    pictures: int = 0

    def of(self, scope: Scope) -> int:
        return self.upload if UPLOAD.fullmatch(scope["path"]) else self.body + self.pictures

    def refusal(self, scope: Scope, got: int | None = None) -> AppError:
        """A body over its limit."""
        limit = self.of(scope)
        if UPLOAD.fullmatch(scope["path"]):
            mega = f"{limit / 2**20:,.1f} MiB"
            message = f"The picture's file is larger than the limit of {mega}."
            hint = "Make the picture smaller, or save it as JPEG."
            return AppError("upload_too_large", message, hint, status=413, limit=limit, got=got)
        message = f"The request's body is larger than the limit of {limit} bytes."
        return AppError("body_too_large", message, "Send less.", status=413, limit=limit, got=got)


class BodyLimit:
    """Refuses a body over the limit (413): by its declared length before reading, otherwise once too much has arrived.

    FastAPI's own `max_body_size` answers the first case in plain text; ours has the one error shape.
    """

    def __init__(self, app: ASGIApp, limits: BodyLimits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        declared = int(length[:20]) if length.isdecimal() else 0
        limit = self.limits.of(scope)
        too_large = declared > limit
        body = Body(receive, send, limit, endless=too_large or "transfer-encoding" in headers)
        answer = respond(scope, self.limits.refusal(scope, declared)) if too_large else self.app
        await answer(scope, body.receive, body.send)


class Body:
    """The body of a request as it arrives.

    If the request is answered before the whole body has arrived, and the rest may be large or endless, the rest is not
    read: the connection closes after the answer. The connection still reads for a moment, so that the client gets the
    answer.
    """

    def __init__(self, receive: Receive, send: Send, limit: int, endless: bool) -> None:
        self._receive, self._send, self.limit, self.endless = receive, send, limit, endless
        self.got, self.whole, self.answered = 0, False, False

    async def receive(self) -> Message:
        message = await self._receive()
        self.got += len(message.get("body", b""))
        self.whole = self.whole or not message.get("more_body", False)
        if self.got > self.limit and not self.answered:
            raise HTTPException(413)  # not caught by FastAPI's body parsing: it reaches our handler
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.answered = True
            if self.endless and not self.whole:
                MutableHeaders(scope=message)["Connection"] = "close"
        await self._send(message)


LONG = 16 * 1024
"""Bytes. The page's requests about a sentence are shorter; one with a picture may be longer."""


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class JsonRoute(APIRoute):
    """A route with one model as its JSON body."""

    def get_route_handler(self) -> Handler:
        handle, model = super().get_route_handler(), model_of(self)

        async def handler(request: Request) -> Response:
            return await handle(request if model is None else JsonRequest(request, model))

        return handler


class DirectRoute(JsonRoute):
    """A route whose function takes its body's model and the request, and nothing else. It is called without FastAPI's
    dependencies, which take longer than the rest of a step's HTTP. What is no valid request is left to FastAPI."""

    def get_route_handler(self) -> Handler:
        handle, model = APIRoute.get_route_handler(self), model_of(self)
        assert model is not None

        async def handler(request: Request) -> Response:
            asked = JsonRequest(request, model)
            given = await asked.valid()
            response: Response = await (handle(asked) if given is None else self.endpoint(given, asked))
            return response

        return handler


def model_of(route: APIRoute) -> type[BaseModel] | None:
    """The model of the route's body; None if it has no such body."""
    found = None if route.body_field is None else route.body_field.field_info.annotation
    return found if isinstance(found, type) and issubclass(found, BaseModel) else None


class JsonRequest(Request):
    """A request whose JSON may already be validated: FastAPI accepts an instance of the model."""

    def __init__(self, request: Request, model: type[BaseModel]) -> None:
        super().__init__(request.scope, request.receive)
        self.model = model

    async def valid(self) -> BaseModel | None:
        """What was sent, if it is short and valid."""
        if self.headers.get("content-type") != "application/json":
            return None
        with suppress(ClientDisconnect, ValueError, RecursionError):
            body = await self.body()
            return self.model.model_validate(json.loads(body), from_attributes=True) if len(body) <= LONG else None
        return None

    async def json(self) -> Any:
        body = await self.body()
        if len(body) <= LONG:
            return await super().json()
        found = await state_of(self).work.alone(lambda: read(body, self.model))
        if isinstance(found, InvalidBody):
            raise found
        return found


def read(body: bytes, model: type[BaseModel]) -> BaseModel | InvalidBody:
    """Raises what `json.loads` raises for text that is not UTF-8. The error holds no reference to the body, which would
    keep it until the next garbage collection."""
    try:
        return model.model_validate(json.loads(body), from_attributes=True)  # as FastAPI does
    except json.JSONDecodeError as error:
        return InvalidBody([{"type": "json_invalid", "loc": ("body", error.pos), "ctx": {"error": error.msg}}])
    except ValidationError as error:
        complaints = error.errors(include_url=False, include_input=False, include_context=False)
        return InvalidBody([{**one, "loc": ("body", *one["loc"])} for one in complaints])

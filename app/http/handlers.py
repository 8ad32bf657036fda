"""Handlers that give every failure the shape of `app.errors`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.types import Scope

from chumoku.app.errors import AppError
from chumoku.app.http.observe import seen, template
from chumoku.app.services.job_queue import Gone
from chumoku.app.services.tokens import invalid_text

CLIENT_CLOSED = 499
"""nginx's status for a client that disconnected; only the log shows it."""

HINTS = {
    400: ("invalid_request", "Send a body that is JSON in UTF-8."),
    404: ("not_found", "/docs lists all routes."),
    405: ("method_not_allowed", "/docs lists all routes."),
}


class InvalidBody(HTTPException):
    """An invalid body, with pydantic's errors. (FastAPI turns what is raised while it reads a body into a
    400, unless it is an `HTTPException`.)"""

    def __init__(self, complaints: Sequence[Any]) -> None:
        super().__init__(422)
        self.complaints = complaints


def install(app: FastAPI) -> None:
    """Make `app` answer every failure in our shape."""
    app.exception_handler(AppError)(on_app_error)
    app.exception_handler(RequestValidationError)(on_invalid)
    app.exception_handler(InvalidBody)(on_invalid_body)
    app.exception_handler(HTTPException)(on_http)
    app.exception_handler(Gone)(on_gone)


def respond(scope: Scope, error: AppError, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The error as a response; logs its code."""
    seen(scope).code = error.code
    headers = dict(headers or {})
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    return JSONResponse(error.body(), error.status, headers)


async def on_app_error(request: Request, error: AppError) -> Response:
    return respond(request.scope, error)


async def on_gone(request: Request, error: Gone) -> Response:
    return Response(status_code=CLIENT_CLOSED)


async def on_http(request: Request, error: HTTPException) -> Response:
    """Errors of the framework itself: unknown path, wrong method, unreadable or too large body."""
    if error.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return respond(request.scope, request.app.state.body_limits.refusal(request.scope), error.headers)
    code, hint = HINTS.get(error.status_code, ("http_error", "/docs lists all routes."))
    message = f"{error.detail}: {request.method} {request.scope['path']}"
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers |= methods_of(request)
    return respond(request.scope, AppError(code, message, hint, status=error.status_code), headers)


def methods_of(request: Request) -> dict[str, str]:
    """`Allow` for a path of the API, with the methods of all its routes: starlette names those of the first."""
    methods = request.app.openapi()["paths"].get(template(request.scope), {})
    return {"Allow": ", ".join(sorted(map(str.upper, methods)))} if methods else {}


async def on_invalid(request: Request, error: RequestValidationError) -> Response:
    """Answers a request that does not match its schema with the first error."""
    return respond(request.scope, first_complaint(error.errors()))


async def on_invalid_body(request: Request, error: InvalidBody) -> Response:
    return respond(request.scope, first_complaint(error.complaints))


def first_complaint(complaints: Sequence[Any]) -> AppError:
    """The first of pydantic's errors as an `AppError`."""
    complaint = complaints[0]
    where, kind = path_of(complaint["loc"]), complaint["type"]
    if kind == "string_unicode":
        return invalid_text("it holds a lone surrogate, half of a character", where)
    if kind == "json_invalid":
        return AppError("invalid_request", f"The body is not JSON: {complaint['ctx']['error']}.", HINTS[400][1])
    said = complaint["msg"].removeprefix("Value error, ")
    if not where:
        hint = "Send a JSON object with the header Content-Type: application/json; /docs lists its fields."
        return AppError("invalid_request", f"The body is not a valid request: {said}.", hint)
    if kind == "extra_forbidden":
        message = f"There is no field {where!r}."
        return AppError("invalid_request", message, "Leave it out; /docs lists the fields.", where=where)
    more = f" ({len(complaints) - 1} more)" if len(complaints) > 1 else ""
    message = f"{where}: {said}{more}."
    return AppError("invalid_request", message, "/docs says what each field takes.", where=where)


def path_of(location: Sequence[str | int]) -> str:
    """`("body", "predict", "positions", 0)` → `predict.positions[0]`. What begins with # is not a field."""
    path = ""
    for part in location[1:]:
        if isinstance(part, str) and part.startswith("#"):
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.removeprefix(".")

"""A route that is found by its path is the one that FastAPI finds by trying all."""

import pytest
from fastapi.routing import APIRoute
from httpx import AsyncClient
from starlette.routing import Match

from chumoku.app.http.routing import FixedPaths
from chumoku.app.main import ROUTERS
from tests.app.helpers import error_of

ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
FIXED = [route for route in ROUTES if "{" not in route.path]


def scope(method: str, path: str, root: str = "") -> dict[str, object]:
    return {"type": "http", "method": method, "path": path, "root_path": root, "headers": []}


@pytest.mark.parametrize("route", FIXED, ids=lambda route: f"{min(route.methods)} {route.path}")
def test_each_path_leads_to_its_route(route: APIRoute) -> None:
    asked = scope(min(route.methods), route.path)
    first = next(one for one in ROUTES if one.matches(dict(asked))[0] == Match.FULL)
    match, found = FixedPaths(ROUTES).matches(asked)
    assert match == Match.FULL
    assert found["route"] is first is route
    assert found == first.matches(dict(asked))[1]


@pytest.mark.parametrize(
    "asked",
    [
        scope("PUT", "/api/generate"),
        scope("POST", "/api/generate/"),
        scope("GET", "/api/models/stories-gpt"),
        scope("GET", "/api/models", root="/chumoku"),
        {"type": "websocket", "path": "/api/generate"},
    ],
)
def test_what_is_none_of_them_goes_on(asked: dict[str, object]) -> None:
    assert FixedPaths(ROUTES).matches(asked)[0] == Match.NONE


async def test_another_method_is_refused_with_those_that_are_there(families: AsyncClient) -> None:
    refused = await families.put("/api/generate", json={})
    error_of(refused, 405, "method_not_allowed")
    assert refused.headers["allow"] == "POST"

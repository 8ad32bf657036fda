"""Requests that schemathesis generates from our OpenAPI schema: never a 500, never an answer outside the schema."""

from collections.abc import Iterator
from copy import deepcopy
from http import HTTPStatus
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import positive_data_acceptance

from chumoku.app.main import create_app
from chumoku.app.services.library import Library
from chumoku.app.settings import Settings
from tests.conftest import served

pytest_plugins = ["schemathesis.pytest.plugin"]

OPENAPI: dict[str, Any] = create_app().openapi()


def without_a_run_to_generate() -> dict[str, Any]:
    """The schema in which `/api/generate` has a text and its own fields: the edge cases of a run, eight hundred, are
    tried on `/api/trace`."""
    changed = deepcopy(OPENAPI)
    schemas = changed["components"]["schemas"]
    for name in schemas["TraceRequest"]["properties"].keys() - {"text"}:
        for generates in ("GenerateRequest", "WaysRequest"):
            schemas[generates]["properties"].pop(name, None)
    return changed


schema = schemathesis.openapi.from_dict(without_a_run_to_generate())
OPERATIONS = [(method.upper(), path) for path, item in OPENAPI["paths"].items() for method in item]
answered: set[tuple[str, str, int]] = set()


# These share the run of a trace, whose edge cases are tried there. A generation has many fields of its own.
QUESTIONS, GENERATE = "^/api/(explain/|translate$)", "^/api/generate(/ways)?$"
few = schemathesis.openapi.from_dict(
    OPENAPI, config=SchemathesisConfig.from_dict({"phases": {"coverage": {"enabled": False}}})
)


@pytest.fixture(scope="module")
def url(three: Library) -> Iterator[str]:
    """Random models answer as trained ones do, and sooner."""
    with served(create_app(Settings(device="cpu", open_models=False), three)) as url:
        yield url


@schema.exclude(path_regex=f"{QUESTIONS}|/ways$").parametrize()
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_made_up_requests(case: Case, url: str) -> None:
    ask(case, url)


@few.include(path_regex=f"{QUESTIONS}|{GENERATE}").parametrize()
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
def test_made_up_questions(case: Case, url: str) -> None:
    ask(case, url)


def ask(case: Case, url: str) -> None:
    # A schema cannot express everything (an id outside the vocabulary, both text and ids): a 4xx is right there.
    # And how fast it answers is not asked here: the tests of other processes may have both cores.
    response = case.call_and_validate(base_url=url, excluded_checks=[positive_data_acceptance], timeout=300)
    assert response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
    answered.add((case.method, case.path, response.status_code))


def test_every_operation_was_asked() -> None:
    if not answered:
        pytest.skip("nothing was asked: the tests above were left out")
    assert {(method, path) for method, path, _ in answered} >= set(OPERATIONS)  # and other methods
    for path in ("/api/tokenize", "/api/trace", "/api/generate"):
        statuses = {status for _, asked, status in answered if asked == path}
        assert HTTPStatus.OK in statuses  # not only refusals
        assert HTTPStatus.UNPROCESSABLE_ENTITY in statuses


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_every_answer_has_its_type_and_schema(method: str, path: str) -> None:
    for status, answer in OPENAPI["paths"][path][method.lower()]["responses"].items():
        assert answer["description"]
        if status == "304":  # has no body
            continue
        ((media, content),) = answer["content"].items()
        assert content.get("schema") or content.get("itemSchema"), (status, media)
        if status != "200":
            assert (media, content["schema"]) == ("application/json", {"$ref": "#/components/schemas/ErrorResponse"})

"""Requests that schemathesis generates from our OpenAPI schema: never a 500, never an answer outside the schema."""

from http import HTTPStatus
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import positive_data_acceptance

from app.main import create_app

pytest_plugins = ["schemathesis.pytest.plugin"]

OPENAPI: dict[str, Any] = create_app().openapi()
schema = schemathesis.openapi.from_dict(OPENAPI)
OPERATIONS = [(method.upper(), path) for path, item in OPENAPI["paths"].items() for method in item]
answered: set[tuple[str, str, int]] = set()


# These share the run of a trace. Its two hundred edge cases are tried on /api/trace and /api/generate.
SHARE_A_RUN = "^/api/(explain/|translate$)"
few = schemathesis.openapi.from_dict(
    OPENAPI, config=SchemathesisConfig.from_dict({"phases": {"coverage": {"enabled": False}}})
)


@schema.exclude(path_regex=SHARE_A_RUN).parametrize()
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_made_up_requests(case: Case, server_url: str) -> None:
    ask(case, server_url)


@few.include(path_regex=SHARE_A_RUN).parametrize()
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
def test_made_up_questions(case: Case, server_url: str) -> None:
    ask(case, server_url)


def ask(case: Case, server_url: str) -> None:
    # A schema cannot express everything (an id outside the vocabulary, both text and ids): a 4xx is right there.
    response = case.call_and_validate(base_url=server_url, excluded_checks=[positive_data_acceptance])
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

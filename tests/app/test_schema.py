"""Requests that schemathesis makes up from our own description of the API: never a 500, never an undescribed answer."""

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.specs.openapi.checks import positive_data_acceptance

from app.main import create_app

schema = schemathesis.openapi.from_dict(create_app().openapi())


@schema.parametrize()
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_made_up_requests(case: Case, server_url: str) -> None:
    # What a schema cannot say (an id beyond the vocabulary, both text and ids) is refused, rightly.
    case.call_and_validate(base_url=server_url, excluded_checks=[positive_data_acceptance])

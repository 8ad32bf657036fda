"""What `benchmarks/load.py` sends is what the page sends, so that its figures are those of people."""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import load

if TYPE_CHECKING:
    from playwright.sync_api import Page, Request

Sent = tuple[str, str, str]
"""Method, path, and body."""


@pytest.fixture
def sent(page: "Page") -> list[Sent]:
    """The requests of the page, as it sends them."""
    found: list[Sent] = []

    def listen(request: "Request") -> None:
        path = re.sub(r"^https?://[^/]+", "", request.url)
        if path.startswith("/api/"):
            found.append(spelt(request.method, path, request.post_data_json))

    page.on("request", listen)
    return found


def spelt(method: str, path: str, body: Any) -> Sent:
    """A request, whichever head of whichever layer is open."""
    if "heads" in body:
        body = body | {"want": [re.sub(r"^layers\.\d+", "layers.N", name) for name in body["want"]], "heads": "one"}
    return method, path, json.dumps(body, sort_keys=True)


def benched(what: dict[str, Any], *requests: tuple[str, dict[str, Any]]) -> list[Sent]:
    """What the clients of the load bench send for a sentence, or for ids."""
    return [spelt("POST", path, body | what) for path, body in requests]


FOLLOW = [(one["path"], one["body"]) for one in (load.DETAIL, load.HEADS)]


def test_typing_and_a_step_send_what_the_load_bench_sends(page: "Page", sent: list[Sent]) -> None:
    arrived(page, lambda: page.goto("/?level=understand&text=Once upon a time"))
    sent.clear()
    arrived(page, lambda: page.get_by_test_id("sentence").fill("Once upon a hill"))
    assert sent == benched({"text": "Once upon a hill"}, ("/api/trace", load.OVERVIEW), *FOLLOW)

    ids = page.get_by_test_id("gen-token").evaluate_all("all => all.map((one) => Number(one.dataset.id))")
    sent.clear()
    arrived(page, lambda: page.get_by_test_id("gen-step").click())
    after = page.get_by_test_id("gen-token").evaluate_all("all => all.map((one) => Number(one.dataset.id))")
    assert after[:-1] == ids
    step = benched({"token_ids": ids}, ("/api/generate", load.STEP))
    assert sent == [*step, *benched({"token_ids": after}, *FOLLOW)]


def arrived(page: "Page", act: Callable[[], object]) -> None:
    """Do something, until the last request that it leads to is answered."""
    with page.expect_response("**/api/explain/heads"):
        act()
    page.wait_for_selector('body[data-state="ready"]')

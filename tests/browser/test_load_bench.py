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
        if path.startswith("/api/") and path != "/api/explain/ablations":  # this comes once a reader pauses
            found.append(spelt(request.method, path, request.post_data_json or {}))

    page.on("request", listen)
    return found


def spelt(method: str, path: str, body: Any) -> Sent:
    """A request, whichever head of whichever layer is open."""
    body = body | {"detail": of_any_head(body["detail"])} if "detail" in body else of_any_head(body)
    return method, path, json.dumps(body, sort_keys=True)


def of_any_head(part: dict[str, Any]) -> dict[str, Any]:
    """What is wanted of one head, whichever that is; what it writes is asked of the last row, which is the default."""
    if "attention" in part:
        return {name: value for name, value in part.items() if name != "row"} | {"layer": "N", "head": "one"}
    if "heads" not in part:
        return part
    return part | {"want": [re.sub(r"^layers\.\d+", "layers.N", name) for name in part["want"]], "heads": "one"}


def benched(what: dict[str, Any], *requests: tuple[str, dict[str, Any]]) -> list[Sent]:
    """What the clients of the load bench send for a sentence, or for ids."""
    return [spelt("POST", path, body | what) for path, body in requests]


DETAIL, WRITES, HEADS = ((one["path"], one["body"]) for one in (load.DETAIL, load.WRITES, load.HEADS))
CHANGE = "/api/trace", load.OVERVIEW | {"detail": {part: load.DETAIL["body"][part] for part in ("want", "heads")}}
OPENED = "/?drawer=labels&text=Once upon a time"
"""An open head, with the roles of all heads in their drawer."""
TYPED = "The girl was not afraid."
PAUSES = 8
"""A third of the texts: on a busy machine a key may come so late that it looks like a pause."""
MOST = len(TYPED) + 3 * PAUSES
"""Pictures of each text; after a pause the open head, what it writes, and its label."""


def test_typing_and_a_step_send_what_the_load_bench_sends(page: "Page", sent: list[Sent]) -> None:
    arrived(page, lambda: page.goto(OPENED))
    page.wait_for_timeout(500)  # a text that comes sooner looks like typing: the open head is asked for after a pause
    sent.clear()
    arrived(page, lambda: page.get_by_test_id("sentence").fill("Once upon a hill"))
    assert sent == benched({"text": "Once upon a hill"}, CHANGE, WRITES, HEADS)

    ids = shown_ids(page)
    sent.clear()
    arrived(page, lambda: page.get_by_test_id("gen-step").click())
    after = shown_ids(page)
    assert after[:-1] == ids
    step = benched({"token_ids": ids}, ("/api/generate", load.STEP))
    assert sent == [*step, *benched({"token_ids": after}, DETAIL, WRITES, HEADS)]


def shown_ids(page: "Page") -> list[int]:
    """The ids of the tokens in the text line."""
    labels = [one.get_attribute("aria-label") or "" for one in page.get_by_test_id("token").all()]
    return [int(label.rsplit("id ", 1)[1].split(",")[0]) for label in labels]


def test_while_someone_types_only_pictures_are_asked_for(page: "Page", sent: list[Sent]) -> None:
    """At a person's pace. A key that comes late looks like a pause, after which more is asked for."""
    arrived(page, lambda: page.goto(OPENED))
    box = page.get_by_test_id("sentence")
    box.fill("")
    sent.clear()
    with page.expect_response(lambda one: one.url.endswith("/heads") and one.request.post_data_json["text"] == TYPED):
        box.press_sequentially(TYPED, delay=120)
    assert len(sent) <= MOST
    assert [path for _, path, _ in sent[-3:]] == ["/api/trace", "/api/explain/writes", "/api/explain/heads"]
    pictures = [json.loads(body) for _, _, body in sent if '"uint8"' in body]
    assert pictures[-1]["text"] == TYPED
    assert sum("detail" in one for one in pictures) <= PAUSES


def arrived(page: "Page", act: Callable[[], object]) -> None:
    """Do something, until the last request that it leads to is answered."""
    with page.expect_response("**/api/explain/heads"):
        act()
    page.wait_for_selector('body[data-state="ready"]')

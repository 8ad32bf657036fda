"""The station of costs: counted for the open model, and measured on request."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.warm


def test_costs_are_counted_for_the_sentence_and_measured_until_stopped(page: "Page") -> None:
    page.goto("/?view=cost&text=One day a dog ran.")
    station = page.locator("[data-station=cost]")
    n = len(page.request.post("/api/tokenize", data={"text": "One day a dog ran."}).json()["tokens"])
    own = station.locator("tr.open")
    expect(own).to_have_attribute("data-form", "softmax")
    expect(own).to_have_attribute("data-time", str(2 * n * n * 256 + 2 * n * n * 8))
    station.get_by_test_id("cost-at-long").click()
    expect(own).to_have_attribute("data-space", str(4 * (8 * 10_000**2 + 4 * 10_000 * 256)))
    page.wait_for_url("**cost.at=long**")

    station.get_by_test_id("cost-measured").click()
    button = station.get_by_test_id("cost-measure")
    button.click()
    expect(station.locator(".curve circle").first).to_be_visible()
    button.click()
    expect(button).to_have_text("Measure again")
    for _ in range(50):  # the server notices between two measurements that its client has gone
        streams = page.request.get("/readyz").json()["streams"]
        if streams == 0:
            break
        page.wait_for_timeout(100)
    assert streams == 0

"""The slider over snapshots: the sentence and what is chosen stay, the pictures change. And the training station."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import flaws, settled
from tests.toys.snapshots import STEPS

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.warm


@pytest.fixture(scope="module")
def app_url(toys_url: str) -> str:
    return toys_url


def test_the_slider_shows_the_same_sentence_at_every_step(page: "Page") -> None:
    page.goto("/?text=abcab&model=watched@40&layer=1&head=2&query=3&view=residual&drawer=watched")
    settled(page)
    slider, where = page.get_by_test_id("watched-slider"), page.get_by_test_id("watched-where")
    expect(where).to_have_text("Step 40, after 320 tokens. Held-out bits per byte: 2.756.")
    expect(page.locator(".model-button .name")).to_have_text("watched@40")
    assert flaws(page) == []
    first = page.locator("[data-part=prediction] .bar-row").first
    guesses = set()
    slider.focus()
    for key, model in (("Home", "watched@0"), ("ArrowRight", "watched@40"), ("End", "watched")):
        slider.press(key)
        expect(page.locator(".model-button .name")).to_have_text(model)
        settled(page)
        guesses.add(first.inner_text())
        expect(slider).to_be_focused()
        assert f"model={model}&" in page.url.replace("%40", "@")
        assert all(part in page.url for part in ("layer=1", "head=2", "query=3", "text=abcab"))
    assert len(guesses) == 3
    expect(where).to_have_text("The finished model: an average of its last steps.")
    page.go_back()
    expect(page.locator(".model-button .name")).not_to_have_text("watched")
    page.locator("[data-part=loss] svg").click(position={"x": 60, "y": 100})  # the first dot
    expect(where).to_contain_text("Step 0: untrained")
    page.get_by_test_id("watched-play").click()
    expect(where).to_contain_text("The finished model")
    expect(page.get_by_test_id("watched-play")).to_have_attribute("aria-pressed", "false")


def test_the_training_station_agrees_with_the_server(page: "Page") -> None:
    page.goto("/?text=abcab&model=watched@0&view=training&drawer=watched&training.row=1")
    settled(page)
    station = page.locator("[data-station=training]")
    told = page.request.post("/api/explain/forcing", data={"model": "watched@0", "text": "abcab"}).json()
    costs = station.get_by_test_id("cost")
    assert [float(one.get_attribute("data-nats") or "nan") for one in costs.all()] == pytest.approx(told["nats"])
    expect(station.get_by_test_id("prefix-said")).to_have_attribute("data-same", "true")
    station.get_by_test_id("prefix-row").press("ArrowRight")
    expect(station.get_by_test_id("prefix-said")).to_contain_text("Row 2 ")
    assert flaws(page) == []
    costs.nth(1).locator("button").click()
    expect(costs.nth(1).locator("button")).to_have_attribute("aria-pressed", "true")
    station.get_by_test_id("training-recipe").click()
    expect(station.locator("[data-part=smoothing]")).to_contain_text("ε = 0.1")
    expect(station.locator("[data-part=schedule]")).to_contain_text("highest at step 45")
    averaged = station.locator("[data-part=average]")
    expect(averaged).to_contain_text("the mean of the last 2 checkpoints, taken every 50 steps")
    expect(averaged).to_contain_text("the average is better than the last step alone: 1.0000 against 1.2500")
    expect(averaged).to_contain_text("The 2 checkpoints alone, the oldest first: 1.5000, 1.2500.")
    cells = station.locator("[data-part=stages] tbody tr").all_inner_texts()
    assert [cell.split("\t") for cell in cells] == [
        ["watched: from random weights", "2.5000", "320", "–"],
        ["watched: the mean of two", "2.2500", "–", "–"],
        ["watched: from the weights of watched", "1.0000", "720", "–"],
    ]
    (tried,) = station.locator("[data-part=tried] tbody tr").all_inner_texts()
    assert tried.split("\t") == ["twice the rate", "3.5000", "43.5", "640", "–"]
    assert flaws(page) == []


@pytest.mark.parametrize("way", ["back", pytest.param("start", marks=pytest.mark.fresh)])
def test_a_step_that_there_is_not_says_which_there_are(page: "Page", page_errors: list[str], way: str) -> None:
    page.goto("/?text=abcab&model=watched@7")
    settled(page)
    expect(page.locator(".model-button .name")).to_have_text("watched")
    expect(page.locator(".banner")).to_contain_text("no snapshot of step 7")
    expect(page.locator(".banner")).to_contain_text(f"watched@{STEPS[-1]}")
    page_errors.clear()  # the 404 that it is about

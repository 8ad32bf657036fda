"""The same sentence in two models, side by side."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import open_tools

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page, Request

pytestmark = pytest.mark.warm


def test_two_models_show_the_same_token_and_each_its_own_head(page: "Page", tmp_path: "Path") -> None:
    """The other model reads other tokens: they correspond by their characters."""
    page.goto("/?model=stories-gpt&view=attention&layer=5&head=7&text=The cat sat on the mat.")
    page.wait_for_selector('body[data-state="ready"]')
    open_tools(page)
    page.get_by_test_id("beside").select_option("model sentiment-encoder")
    page.wait_for_selector('.second[data-state="ready"]')
    expect(page.get_by_test_id("beside")).to_be_hidden()  # the menu is out of the way
    first, second = page.locator("body > main"), page.locator(".second")
    assert second.get_by_test_id("head").count() == 4 * 4
    expect(second.locator(".opened h1")).to_contain_text("Head 3·3")

    for half, captioned in ((first, True), (second, False)):  # the caption names the first page's model
        with page.expect_download() as download:
            half.locator("[data-matrix=weights]").get_by_test_id("save-svg").click()
        download.value.save_as(tmp_path / "figure.svg")
        assert ("stories-gpt" in (tmp_path / "figure.svg").read_text("utf-8")) == captioned

    second.get_by_test_id("all-heads").click()
    second.get_by_test_id("head").first.click()
    expect(second.locator(".opened h1")).to_contain_text("Head 0·0")
    expect(first.locator(".opened h1")).to_contain_text("Head 5·7")
    page.locator("body > .sentence .tok").nth(1).click()  # " cat": 2 after [CLS]
    expect(second.locator(".opened [data-testid=readout]")).to_contain_text("query cat,")
    assert second.get_by_test_id("effective").count() == 4 + 1
    page.wait_for_url("**beside.layer=0**")
    page.set_viewport_size({"width": 390, "height": 844})
    header, masks = page.locator("body > header").bounding_box(), first.get_by_test_id("switch-causal").bounding_box()
    assert header is not None
    assert masks is not None
    assert header["y"] < masks["y"]
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.set_viewport_size({"width": 1440, "height": 1000})

    page.reload()
    page.wait_for_selector('.second[data-state="ready"]')
    expect(page.locator(".second .opened h1")).to_contain_text("Head 0·0")
    open_tools(page)
    page.get_by_test_id("beside").select_option("")
    expect(page.locator(".second main, .second .main")).to_be_hidden()


def test_a_run_without_its_mask_stands_beside_the_model_as_it_is(page: "Page") -> None:
    page.goto("/?model=mini-softmax&view=attention&layer=2&head=1&text=One day a dog ran.&level=everything")
    page.wait_for_selector('body[data-state="ready"]')
    choices = page.get_by_test_id("beside").locator("option[value=unedited]")
    expect(choices).to_have_count(0)
    page.locator("body > main").get_by_test_id("switch-causal").click()
    expect(choices).to_have_count(1)
    with page.expect_request(is_trace_as_trained):
        open_tools(page)
        page.get_by_test_id("beside").select_option("unedited")
    page.wait_for_selector('.second[data-state="ready"]')
    expect(page.locator(".beside-about")).to_contain_text("The same sentence twice in mini-softmax")
    expect(page.locator(".beside-about")).to_contain_text("One sentence in one model, side by side")
    changed, plain = (
        half.locator(".opened [data-testid=readout]") for half in (page.locator("body > main"), page.locator(".second"))
    )
    page.locator("body > .sentence .tok").nth(1).click()
    expect(changed).to_contain_text("query")
    expect(plain).to_contain_text("query")
    assert changed.inner_text() != plain.inner_text(), "a row of the first one has weights on later tokens"
    page.wait_for_url("**beside=**")
    page.reload()
    page.wait_for_selector('.second[data-state="ready"]')
    expect(page.get_by_test_id("beside")).to_have_value("unedited")


def is_trace_as_trained(request: "Request") -> bool:
    """Whether a trace is asked for under the mask that the model was trained with."""
    if not request.url.endswith("/api/trace"):
        return False
    return (request.post_data_json.get("masks") or {}).get("causal") is None

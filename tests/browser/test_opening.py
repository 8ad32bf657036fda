"""Opening a model from the page: the menu's last line, a refusal, the progress of a download, the opened model."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.conftest import served
from tests.hub import Hub, serving

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    from tests.toys import huggingface as toys

    folder = tmp_path_factory.mktemp("hub")
    toys.save(folder / "small", toys.gpt2().eval(), toys.byte_level())
    with (
        serving(Hub({"ann/small": folder / "small"}, gated={"ann/gated"})) as hub,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("HF_ENDPOINT", hub.url)
        patch.setenv("HF_HOME", str(folder / "cache"))
        patch.delenv("HF_HUB_OFFLINE", raising=False)
        yield hub


@pytest.fixture(scope="module")
def app_url(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from chumoku.app.main import create_app
    from chumoku.app.settings import Settings

    with served(create_app(Settings(device="cpu", default_model="mini-softmax"))) as url:
        yield url


@pytest.mark.cold
def test_a_model_is_opened_from_the_page(page: "Page", hub: Hub, page_errors: list[str]) -> None:
    page.goto("/?model=mini-softmax#text=The cat")
    page.wait_for_selector('body[data-state="ready"]')
    page.locator(".model-button").click()
    page.get_by_test_id("open-model").click()
    name, start = page.get_by_test_id("open-name"), page.get_by_test_id("open-start")
    expect(start).to_be_disabled()
    name.fill("ann/gated")
    start.click()
    expect(page.get_by_test_id("open-problem")).to_contain_text("This model is gated")
    page_errors.clear()  # the browser's own line about the refusal

    hub.slow = 20.0  # a download that is under way until it is cancelled
    name.fill("ann/small")
    name.press("Enter")
    expect(page.get_by_test_id("open-progress")).to_contain_text(" MB of ")
    page.get_by_test_id("open-cancel").click()
    expect(start).to_be_enabled()
    expect(page.get_by_test_id("open-problem")).to_be_hidden()

    hub.slow = 0
    start.click()
    page.wait_for_url("**/?model=small*")
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.locator(".model-button .name")).to_have_text("small")
    expect(page.get_by_test_id("sentence")).to_have_value("The cat")


def test_a_server_of_replicas_says_why_it_opens_none(page: "Page") -> None:
    from chumoku.app.main import create_app
    from chumoku.app.settings import Settings

    with served(create_app(Settings(device="cpu", default_model="mini-softmax", ray=True))) as url:
        page.goto(f"{url}/?model=mini-softmax")
        page.wait_for_selector('body[data-state="empty"]')
        page.locator(".model-button").click()
        line = page.get_by_test_id("open-model")
        expect(line).to_contain_text("Start it with --model FOLDER")
        expect(line).to_have_attribute("aria-disabled", "true")
        line.click(force=True)  # a greyed line
        expect(page.get_by_test_id("open-dialog")).to_have_count(0)

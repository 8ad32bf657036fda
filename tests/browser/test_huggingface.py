"""A Llama of transformers on the page: RMSNorm, a gated FFN, rotary positions and grouped keys, each explained by its
own formula, with the model's numbers."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import flaws, settled
from tests.conftest import served

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.warm


@pytest.fixture(scope="module")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from chumoku.app.main import create_app
    from chumoku.app.settings import Settings
    from tests.toys import huggingface

    model = huggingface.random_numbers(huggingface.llama())
    folder = huggingface.save(tmp_path_factory.mktemp("hf") / "llama", model, huggingface.sentence_piece())
    with served(create_app(Settings(models=(folder,), device="cpu"))) as url:
        yield url


def whole(page: "Page") -> None:
    settled(page)
    assert flaws(page) == []


def test_every_step_agrees_with_the_models_own_numbers(page: "Page") -> None:
    page.goto("/?text=a+cat&model=llama&view=computation&head=4&step=attn.norm")
    whole(page)
    expect(page.locator(".step-name")).to_have_text("RMSNorm")
    steps = [one.get_attribute("data-step") for one in page.get_by_test_id("walk-step").all()]
    assert {"attn.role-q_rotated", "ffn.up", "ffn.silu", "out.logits"} <= {*steps}
    for step in steps:
        page.locator(f'[data-testid="walk-step"][data-step="{step}"]').click()
        page.wait_for_selector(f'[data-step="{step}"][aria-current="step"]')
        whole(page)
    for view in ("rotation", "ffn"):
        page.locator(f'[data-testid="station"][data-view="{view}"]').click()
        whole(page)
    expect(page.locator('[data-why="unit"] [data-step="gate"] .check')).to_be_visible()

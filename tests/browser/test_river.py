"""The river: the whole model as one picture, with the server's numbers."""

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import loaded, serious

if TYPE_CHECKING:
    from playwright.sync_api import Page

TEXT = "Tom lost his red ball. Tom was sad. Mom found the red"
SENTENCES = {
    "decoder-only": TEXT,
    "encoder-only": "the actors are wonderful",
    "encoder-decoder": "I ate a banana in the morning.",
}


def show(page: "Page", query: str = f"text={TEXT}") -> None:
    page.goto("/?" + query)
    page.wait_for_selector('body[data-state="ready"]')
    page.wait_for_selector('[data-panel="river"][aria-busy="false"] [data-testid="river"]')


def says(page: "Page") -> str:
    return page.get_by_test_id("river-says").inner_text()


def painted(page: "Page") -> int:
    """How many pixels of the picture are not empty."""
    count: int = page.get_by_test_id("river").evaluate("""(canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((_, i) => i % 4 === 3).filter(Boolean).length;
    }""")
    return count


@pytest.mark.warm
@pytest.mark.parametrize("family", SENTENCES)
def test_each_family_has_its_river(page: "Page", family: str) -> None:
    model = loaded(family).name
    show(page, f"model={model}&text={SENTENCES[family]}")
    assert painted(page) > 20_000
    answer = page.get_by_test_id("river-says").locator(".said").inner_text()
    assert answer
    assert "%" in says(page)


def answered(page: "Page", row: int) -> dict[str, Any]:
    """What the API says after a row."""
    predict = {"positions": [row], "n": 1, "temperature": 1, "top_k": 0, "top_p": 1}
    body = {"text": TEXT, "want": [], "predict": predict}
    found: dict[str, Any] = page.evaluate(
        """async (body) => {
          const { meta } = await (await import('/static/data/api.js')).trace(body);
          return meta.predictions[0].candidates[0];
        }""",
        body,
    )
    return found


def test_any_token_shows_its_own_answer(page: "Page") -> None:
    show(page)
    picture = page.get_by_test_id("river")
    picture.focus()
    picture.press("ArrowUp")  # the ring appears on the last token
    for _ in range(3):
        picture.press("ArrowUp")
    picture.press("Enter")
    expect(page.get_by_test_id("river-says").locator(".q")).to_have_text("Mom")
    expected = answered(page, 10)
    expect(page.get_by_test_id("river-says").locator(".said")).to_have_text(expected["text"].strip())
    assert f"{100 * expected['before']:.0f}" in says(page)


def test_the_keyboard_reads_out_a_token_in_a_layer(page: "Page") -> None:
    show(page)
    picture = page.get_by_test_id("river")
    picture.focus()
    picture.press("ArrowLeft")
    picture.press("ArrowLeft")
    expect(page.get_by_test_id("river-readout")).to_contain_text("red₂, layer 4")


def test_the_table_says_the_same(page: "Page") -> None:
    show(page)
    details = page.locator('[data-panel="river"] details')
    assert details.locator("tbody tr").count() == 0, "nothing is built before it is opened"
    details.locator("summary").click()
    rows = details.locator("tbody tr").all_inner_texts()
    assert 20 < len(rows) <= 64
    shares = [float(row.split("\t")[3].split()[0].strip("<%\u202f ").rstrip("%")) for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert any(row.startswith("layer 5\tred₂\tball") for row in rows)


def test_a_token_alone_is_drawn_and_said(page: "Page") -> None:
    show(page, "text=Once")
    assert painted(page) > 5_000
    expect(page.get_by_test_id("river-legend")).to_contain_text("single token")


@pytest.mark.parametrize("query", [f"text={TEXT}", f"lang=ja&theme=dark&text={TEXT}"])
def test_axe_finds_nothing(page: "Page", query: str) -> None:
    show(page, query)
    page.locator('[data-panel="river"] summary').click()
    assert serious(page, '[data-panel="river"]') == []

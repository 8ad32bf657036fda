"""Large inputs: many layers, many heads, long texts. What is costly is asked for; labels and answers stay in sight."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import settled
from tests.conftest import served

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.warm

LAYERS, HEADS = 14, 16
TEXT = "The little cat sat on the mat and the dog ran. " * 22

SCENE = """async (canvas) => {
  const { bands: [{ rows, columns, labelled, end }], squares, width, lines } =
    (await import('/static/river/board.js')).sceneOf(canvas);
  const labels = [...labelled].map(({ y }) => y).sort((a, b) => a - b);
  return {
    rows: rows.length,
    layer: Math.min(...columns.map(({ x0, x1 }) => x1 - x0)),
    labels: labels.length,
    apart: Math.min(...labels.slice(1).map((y, i) => y - labels[i])),
    squares: Math.min(...squares.map(({ width }) => width)),
    top: Math.min(...squares.map(({ y }) => y)),
    lines: lines.length,
    width,
    end,
  };
}"""


@pytest.fixture(scope="module")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from chumoku.app.main import create_app
    from chumoku.app.settings import Settings
    from tests.toys import huggingface as toys

    model = toys.gpt2(n_layer=LAYERS, n_head=HEADS, n_embd=32, n_inner=32, n_positions=1100)
    folder = toys.save(tmp_path_factory.mktemp("large") / "deep", toys.random_numbers(model), toys.byte_level())
    with served(create_app(Settings(models=(folder,), device="cpu"))) as url:
        yield url


def show(page: "Page", tokens: int, query: str = "view=model") -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"/?model=deep&river.shown=on&{query}#text={TEXT[:tokens]}")
    page.wait_for_selector('body[data-state="ready"]')
    page.wait_for_selector('[data-panel="river"][aria-busy="false"] [data-testid="river"]')


def test_labels_thin_out_and_layers_scroll_between_them_and_the_answers(page: "Page") -> None:
    show(page, 40)
    river = page.get_by_test_id("river")
    scene = river.evaluate(SCENE)
    assert scene["rows"] == 40
    assert scene["labels"] < 40
    assert scene["apart"] >= 14.9
    assert scene["layer"] >= 90
    assert scene["squares"] >= 36
    board = page.locator(".river .board")
    box = board.bounding_box()
    assert box
    assert scene["width"] > box["width"]
    assert page.evaluate("document.documentElement.scrollWidth") == 1440, "the page does not scroll sideways"
    left = "(board) => board.scrollLeft"
    assert board.evaluate(left) == pytest.approx(scene["width"] - box["width"], abs=1), "it begins at the answer"
    labels, answers = page.locator(".river .edge").all()
    for at in (0, 10_000):
        board.evaluate("(board, at) => board.scrollTo(at, 0)", at)
        a, b = labels.bounding_box(), answers.bounding_box()
        assert a
        assert b
        assert a["x"] == pytest.approx(box["x"], abs=1)
        assert b["x"] + b["width"] == pytest.approx(box["x"] + box["width"], abs=1)
    # A label is chosen at the edge, wherever the layers are.
    y = river.evaluate("""async (canvas) => {
      const { bands: [{ labelled }] } = (await import('/static/river/board.js')).sceneOf(canvas);
      return canvas.getBoundingClientRect().top + [...labelled].find(({ from }) => from > 3 && from < 12).y;
    }""")
    page.mouse.click(box["x"] + 80, y)
    page.wait_for_function("() => /query=\\d+/.test(location.search)")
    # The keyboard's layer comes into sight.
    river.focus()
    for _ in range(LAYERS):
        page.keyboard.press("ArrowLeft")
    assert board.evaluate(left) < 100


def test_heads_come_before_the_lines_and_stay_where_they_are(page: "Page") -> None:
    held: list[Route] = []

    def hold(route: "Route") -> None:
        held.append(route)

    page.route("**/api/explain/route", hold)
    page.set_viewport_size({"width": 1440, "height": 900})
    with page.expect_request("**/api/explain/route"):
        page.goto(f"/?model=deep&view=model#text={TEXT[:100]}")
    waits, river = page.get_by_test_id("river-waits"), page.get_by_test_id("river")
    expect(waits).to_be_visible()
    scene = river.evaluate(SCENE)
    assert scene["squares"] >= 36
    assert scene["lines"] == 0
    held.pop().continue_()
    page.wait_for_selector('body[data-state="ready"]')
    expect(waits).to_be_hidden()
    after = river.evaluate(SCENE)
    assert after["lines"] > 0
    assert after["top"] == pytest.approx(scene["top"], abs=24)
    # Another text cancels what is under way for the one before.
    page.get_by_test_id("edit").click()
    with page.expect_request("**/api/explain/route"):
        page.get_by_test_id("sentence").fill(TEXT[:101])
    with page.expect_event("requestfailed", lambda one: "explain/route" in one.url):
        page.get_by_test_id("sentence").fill(TEXT[:102])
    page.unroute_all(behavior="ignoreErrors")


def test_effects_are_measured_on_request(page: "Page") -> None:
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if "explain/effects" in one.url else None)
    show(page, 40)
    page.wait_for_timeout(600)
    assert asked == []
    page.get_by_test_id("river-measure").click()
    expect(page.get_by_test_id("river-legend")).to_contain_text("Click a line to choose it")
    expect(page.get_by_test_id("river-measure")).to_be_hidden()
    assert asked


def test_a_long_text_in_every_head_stays_usable(page: "Page") -> None:
    """Small pictures are pooled, an opened head is exact, and it opens from its square."""
    show(page, 260)
    settled(page)
    river = page.get_by_test_id("river")
    scene = river.evaluate(SCENE)
    assert scene["rows"] <= 64
    assert scene["squares"] >= 36
    # The river stays where the reader scrolled it: here that may be at its first layers.
    found = page.wait_for_function(
        """async (canvas) => {
          const { sceneOf } = await import('/static/river/board.js');
          const middle = () => {
            canvas.closest('.board').scrollLeft = 10_000;
            const { x, y, width, height } = sceneOf(canvas).squares.find(({ layer }) => layer === 13);
            scrollBy(0, canvas.getBoundingClientRect().top + y - 600);
            const { left, top } = canvas.getBoundingClientRect();
            return [left + x + width / 2, top + y + height / 2];
          };
          const before = middle();
          await new Promise(requestAnimationFrame);
          const at = middle();
          return at.every((one, i) => one === before[i]) && document.elementFromPoint(...at) === canvas && at;
        }""",
        arg=river.element_handle(),
    )
    page.mouse.click(*found.json_value())
    page.wait_for_url("**view=attention**")
    settled(page)
    assert "layer=13" in page.url
    assert page.locator(".panel-error").count() == 0
    expect(page.get_by_test_id("matrix").first).to_be_visible()

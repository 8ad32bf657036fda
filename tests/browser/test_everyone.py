"""Accessibility: tables, texts for cells, large type, reduced motion, and what axe finds in every state."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import all_heads, open_more, serious, serious_in_both_themes, settled, to_station, turn

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TEXT = "The cat sat on the mat."
UNMASKED = 'run={"pad":{"count":3},"masks":{"causal":false,"padding":false}}'
STATIONS = ("tokens", "qkv", "attention", "prediction")
LONG = "text=" + " ".join([TEXT] * 14)


def show(page: "Page", query: str = "text=" + TEXT) -> None:
    page.goto("/?" + query)
    settled(page)


# --- axe on every state ----------------------------------------------------------------------------------------------


@pytest.mark.warm
def test_axe_on_every_station(page: "Page") -> None:
    """The page in both themes, its stations in one or the other. (tests/test_colours.py has all colours in both.)"""
    show(page, f"river.shown=on&text={TEXT}")
    found = {"page": serious_in_both_themes(page)}
    for view in STATIONS:
        if view == STATIONS[2]:
            turn(page, "dark")
        to_station(page, view)
        page.locator(f"[data-station={view}]").wait_for()
        settled(page)
        parts = ["#opened"]
        if page.locator("[data-panel=inspector]").is_visible():  # a station that has nothing to explain has none
            parts.append("[data-panel=inspector]")
        found[view] = serious(page, *parts)
    assert {view: what for view, what in found.items() if what} == {}


@pytest.mark.parametrize("lang", ["en", pytest.param("ja", marks=pytest.mark.japanese)])
def test_axe_on_the_empty_page_and_its_menus(page: "Page", lang: str) -> None:
    page.goto(f"/?lang={lang}")
    page.wait_for_selector('body[data-state="empty"]')
    rules: Literal["all", "others"] = "all" if lang == "en" else "others"  # its colours are the same
    found = {"empty": serious(page, rules=rules)}
    show(page, f"river.shown=on&lang={lang}&text={TEXT}")
    for name, part in {"model": "[data-part=model]", "export": "[data-part=export]", "help": "dialog.help"}.items():
        if name != "model":
            open_more(page)
        page.locator(f"[data-part={name}]").locator("button").or_(
            page.locator(f"button[data-part={name}]")
        ).first.click()
        found[name] = serious(page, part, rules=rules)
        page.keyboard.press("Escape")
    assert {state: what for state, what in found.items() if what} == {}


@pytest.mark.warm
def test_axe_on_masks_and_errors(page: "Page", page_errors: list[str]) -> None:
    show(page, f"compare=on&{UNMASKED}&text={TEXT}")
    found = {"compare": serious_in_both_themes(page, ".sentence", ".path", "#opened", "[data-panel=compare]")}
    page.get_by_test_id("sentence").fill("word " * 600)
    page.wait_for_selector('body[data-state="error"]')
    found["error"] = serious(page, ".sentence")
    page_errors.clear()  # the browser reports the 4xx
    assert {state: what for state, what in found.items() if what} == {}


def is_grey(part: "Locator") -> bool:
    """Whether it, or something around it, has lost its colour."""
    return bool(
        part.evaluate("""part => {
          for (let one = part; one; one = one.parentElement)
            if (getComputedStyle(one).filter === 'grayscale(1)') return true;
          return false;
        }""")
    )


@pytest.mark.warm
@pytest.mark.parametrize(
    ("query", "parts"),
    [
        pytest.param(f"compare=on&{UNMASKED}", "[data-panel=inspector] [data-panel=compare]", id="masks"),
        pytest.param(
            "view=model&drawer=generation",
            ".strip .says .board .candidates [data-panel=next_token]",
            id="river",
        ),
        pytest.param(
            "river.shown=on&query=3&key=1", ".strip .candidates .board #opened [data-panel=inspector]", id="head"
        ),
        pytest.param(
            'model=mini-softmax&beside={"model":"mini-rotary"}',
            ".second>.main>.body>.columns>.place>.opened",
            id="beside",
        ),
    ],
)
def test_what_is_about_the_last_sentence_that_fit_is_grey_in_an_error(
    page: "Page", page_errors: list[str], query: str, parts: str
) -> None:
    show(page, f"{query}&text={TEXT}")
    sentence = page.get_by_test_id("sentence").first
    sentence.fill("word " * 600)
    page.wait_for_selector('body[data-state="error"]:not(:has(.page:not([hidden], [data-state="error"])))')
    page_errors.clear()  # the browser reports the 4xx
    assert not is_grey(sentence)
    shown = {part: page.locator(part).first for part in parts.split()}
    assert {part for part, one in shown.items() if not one.is_visible()} == set(), "it is still drawn"
    assert {part for part, one in shown.items() if not is_grey(one)} == set()


@pytest.mark.warm
def test_a_second_model_that_took_the_sentence_keeps_its_colours(page: "Page", page_errors: list[str]) -> None:
    """Its window is longer: 256 tokens, not 128."""
    show(page, f'model=mini-softmax&beside={{"model":"stories-gpt"}}&text={TEXT}')
    page.get_by_test_id("sentence").first.fill("a " * 150)
    page.wait_for_selector('body[data-state="error"] > .second[data-state="ready"]')
    page_errors.clear()
    first, second = (page.locator(one).first for one in ("body>main .opened", ".second .opened"))
    assert is_grey(first)
    assert not is_grey(second)


@pytest.mark.warm
def test_axe_on_generated_tokens(page: "Page") -> None:
    show(page, f"river.shown=on&drawer=generation&text={TEXT}")
    count = page.get_by_test_id("token").count()
    page.get_by_test_id("gen-step").click()
    page.wait_for_function("count => document.querySelectorAll('[data-testid=token]').length > count", arg=count)
    settled(page)
    page.get_by_test_id("token").last.click()
    settled(page)
    assert serious_in_both_themes(page, ".sentence", "[data-panel=generation]", "[data-panel=next_token]") == []
    page.get_by_test_id("gen-back").click()
    settled(page)
    page.locator("[data-panel=next_token]").get_by_test_id("candidate").nth(4).click()
    ends = page.get_by_test_id("tree-end")
    expect(ends).to_have_count(2)
    settled(page)
    for at in (0, 1):
        ends.nth(at).click()
    expect(page.get_by_test_id("pair-kl")).to_be_visible()
    settled(page)
    assert serious_in_both_themes(page, "[data-panel=generation]", "[data-panel=compared_texts]") == []


def test_axe_on_a_phone_and_with_large_type(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 800})
    show(page, f"river.shown=on&text={TEXT}")
    assert serious(page) == []
    open_more(page)
    page.get_by_test_id("type").click()
    settled(page)
    page.locator("[data-testid=matrix-table] summary").first.click()
    assert serious(page, rules="others") == []


# --- a table for each matrix ------------------------------------------------------------------------------------------


def table_of(page: "Page", place: str = "weights") -> Any:
    """Its headers and cells, as text."""
    details = page.locator(f"[data-matrix={place}] ~ [data-testid=matrix-table]")
    if not details.evaluate("details => details.open"):  # a test before may have opened it
        assert details.locator("table").count() == 0, "a table is built only when it is opened"
        details.locator("summary").click()
    details.locator("table").wait_for()
    return details.evaluate("""details => ({
      caption: details.querySelector('caption').textContent,
      columns: [...details.querySelectorAll('thead th[scope=col]')].map((cell) => cell.textContent),
      rows: [...details.querySelectorAll('tbody th[scope=row]')].map((cell) => cell.textContent),
      cells: [...details.querySelectorAll('tbody tr')]
        .map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent)),
    })""")


@pytest.mark.warm
def test_table_has_the_numbers_of_the_tensor(page: "Page") -> None:
    show(page, f"layer=2&head=1&text={TEXT}")
    table = table_of(page)
    expected = page.evaluate(
        """async (text) => {
          const api = await import('/static/data/api.js');
          const { significant } = await import('/static/ui/format.js');
          const want = ['layers.2.attn.pattern'];
          const { tensors } = await api.trace({ text, want, heads: [1], dtype: 'float32' });
          return Array.from(tensors[want[0]].data, (value) => significant(value));
        }""",
        TEXT,
    )
    n = len(table["rows"])
    assert "Head 2·1" in table["caption"]
    assert table["rows"] == table["columns"]
    assert table["rows"][0] == "The 0"
    for query in range(n):
        allowed = expected[query * n : query * n + query + 1]
        assert table["cells"][query] == allowed + ["forbidden: causal mask"] * (n - query - 1)


@pytest.mark.warm
@pytest.mark.parametrize(
    ("query", "place"), [("attention.step=scaled", "scores"), ("attention.step=masked", "masked"), ("view=qkv", "q")]
)
def test_every_matrix_has_a_table(page: "Page", query: str, place: str) -> None:
    show(page, f"{query}&text={TEXT}")
    table = table_of(page, place)
    rows = len(table["rows"])
    assert rows == page.get_by_test_id("token").count()
    assert all(len(row) == len(table["columns"]) for row in table["cells"])
    first = table["cells"][0]
    assert first[1] == "−∞ forbidden: causal mask" if place == "masked" else re.match(r"−?\d", first[1])


@pytest.mark.warm
def test_compared_matrices_have_tables(page: "Page") -> None:
    show(page, f'compare=on&run={{"pad":{{"count":1}}}}&text={TEXT}')
    for place in ("before", "after", "difference"):
        assert table_of(page, place)["cells"]
    widths = page.locator(".pair > .side, .pair .matrix").evaluate_all("all => all.map((one) => one.clientWidth)")
    whole = page.locator(".station:visible > .station-body").first.evaluate("body => body.clientWidth")
    assert max(widths) <= whole, "a wide table scrolls and does not widen the picture above it"


def test_long_tables_come_in_pages(page: "Page") -> None:
    show(page, LONG + "&query=70")
    table = table_of(page)
    n = page.get_by_test_id("token").count()
    assert n > 64
    details = page.get_by_test_id("matrix-table").first
    assert len(table["rows"]) == min(64, n - 64)
    assert f"of {n}" in details.get_by_test_id("table-rows").inner_text()
    assert details.locator("[aria-current]").count() == 1
    details.get_by_role("button", name="Earlier rows").click()
    expect(details.locator("tbody tr").first).to_have_attribute("data-row", "0")
    assert details.locator("tbody tr").count() == 64


def test_an_open_table_follows(page: "Page") -> None:
    show(page, f"layer=0&head=0&text={TEXT}")
    before = table_of(page)
    all_heads(page)
    page.locator("[data-testid=head][data-layer='3'][data-head='2']").click()
    page.wait_for_function("() => document.querySelector('.matrix-table caption').textContent.includes('Head 3·2')")
    cells = page.locator(".matrix-table tbody tr").last.locator("td").all_text_contents()
    assert cells != before["cells"][-1]


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        pytest.param("en", r"query cat.?, key The.?: weight 0\.\d{4,}", marks=pytest.mark.warm),
        pytest.param("ja", r"クエリ.*cat.*キー.*The.*重み.*0\.\d{4,}", marks=pytest.mark.japanese),
    ],
)
def test_a_chosen_cell_is_read_out(page: "Page", lang: str, words: str) -> None:
    show(page, f"lang={lang}&query=2&key=0&text={TEXT}")
    matrix = page.get_by_test_id("matrix").first
    matrix.focus()
    page.keyboard.press("ArrowUp")
    settled(page)
    readout = page.get_by_test_id("readout").first
    assert readout.get_attribute("aria-live") == "polite"
    assert matrix.get_attribute("aria-describedby") == readout.get_attribute("id")
    assert re.search(words, readout.inner_text()), readout.inner_text()


@pytest.mark.warm
def test_counts_under_other_tokenizers(page: "Page") -> None:
    show(page, "view=tokens&text=注目とは attention")
    counts = page.get_by_test_id("token-counts")
    rows = counts.locator("tbody tr")
    assert rows.first.locator("td").first.inner_text() == str(page.get_by_test_id("token").count())
    assert "14 characters, 22 bytes" in counts.inner_text()
    answer = page.request.post("/api/tokenize", data={"text": "注目とは attention", "compare": True}).json()
    assert [encoding["name"] for encoding in answer["encodings"]] == ["gpt2", "cl100k_base", "o200k_base"]
    here = [encoding for encoding in answer["encodings"] if encoding["available"]]
    missing = [encoding["name"] for encoding in answer["encodings"] if not encoding["available"]]
    assert rows.locator("th").all_inner_texts()[1:] == [encoding["name"] for encoding in here]
    for row, encoding in zip(rows.all()[1:], here, strict=False):
        assert str(encoding["n_tokens"]) in row.inner_text()
    if missing:
        rows.last.locator("summary").click()
        said = rows.last.inner_text()
        assert ", ".join(missing) + ": not on this machine" in said
        assert f"tiktoken.get_encoding('{missing[0]}')" in said


# --- large type -------------------------------------------------------------------------------------------------------


TYPE_SIZE = "document.querySelector('.tok').getBoundingClientRect().height"


def test_large_type_is_remembered(page: "Page") -> None:
    show(page)
    before = page.evaluate(TYPE_SIZE)
    open_more(page)
    button = page.get_by_role("button", name="Large type")
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.activeElement.dataset.testid") == "type", "in the menu by now, which is open"
    page.reload()
    settled(page)
    assert page.locator("html").get_attribute("data-type") == "large"
    assert page.evaluate(TYPE_SIZE) > 1.2 * before
    switch_type(page)
    page.goto("/?lang=ja")
    open_more(page)
    page.get_by_role("button", name="大きな文字").wait_for()
    assert page.locator("html").get_attribute("data-type") is None


def test_large_type_fits(open_page: "Callable[..., Page]") -> None:
    page = open_page()
    show(page)
    for width, stations in {390: STATIONS, 1024: STATIONS[1:3], 1440: STATIONS[::3]}.items():
        page.set_viewport_size({"width": width, "height": 900})
        settled(page)
        before = page.evaluate(TYPE_SIZE)
        switch_type(page)
        assert page.evaluate(TYPE_SIZE) > (1.1 if width < 900 else 1.2) * before
        for view in stations:
            to_station(page, view)
            settled(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (width, view)
        switch_type(page)


def switch_type(page: "Page") -> None:
    """By its button, which on a phone is in the header's menu."""
    button, more = page.get_by_test_id("type"), page.get_by_test_id("more")
    if not button.is_visible():
        more.click()
    button.click()
    page.keyboard.press("Escape")


# --- motion -----------------------------------------------------------------------------------------------------------


def test_nothing_moves_where_nothing_should(open_page: "Callable[..., Page]") -> None:
    page = open_page(reduced_motion="reduce")
    show(page, f"river.shown=on&text={TEXT}")
    page.get_by_test_id("switch-causal").click()
    page.get_by_test_id("gen-step").hover()
    assert page.evaluate("document.getAnimations().filter((one) => one.playState === 'running').length") == 0
    moving = page.evaluate("""() => [...document.querySelectorAll('*')].filter((element) => {
      const { animationName, transitionDuration } = getComputedStyle(element);
      return animationName !== 'none' || transitionDuration.split(',').some((time) => parseFloat(time) > 0);
    }).map((element) => element.className)""")
    assert moving == []

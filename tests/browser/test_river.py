"""The river: the whole model as one picture, with the server's numbers."""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import expect

from chumoku.model.trace import trace
from tests.browser.helpers import (
    all_heads,
    brief_percent,
    loaded,
    matrix_shown,
    requests_of_next,
    serious,
    to_station,
    wait_for_run,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.warm

TEXT = "Tom lost his red car. Tom was sad. Mom found the red"
SENTENCES = {
    "decoder-only": TEXT,
    "encoder-only": "the actors are wonderful",
    "encoder-decoder": "I ate a banana in the morning.",
}


def show(page: "Page", query: str = f"text={TEXT}") -> None:
    """Opens the whole model, or the view that the address names with the river's strip above it."""
    whole = "" if "view=" in query else "view=model&"
    page.goto(f"/?river.shown=on&{whole}{query}")
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


@pytest.mark.parametrize("family", SENTENCES)
def test_each_family_has_its_river(page: "Page", family: str) -> None:
    model = loaded(family).name
    last = "&query=7" if family == "encoder-decoder" else ""  # a translation opens at a word of content
    show(page, f"model={model}&text={SENTENCES[family]}{last}")
    assert painted(page) > 20_000
    start, *_ = events(page, {"model": model, "text": SENTENCES[family], "edges": []})
    expect(page.get_by_test_id("river-says")).to_contain_text(f"({shares(start['p'])})")
    if start["classes"]:
        expect(page.get_by_test_id("river-says").locator(".said").first).to_have_text(start["classes"][start["answer"]])
    else:
        token = start["tokens"][str(start["answer"])]
        said = "END" if token["special"] else token["text"].strip()
        expect(page.get_by_test_id("river-says").locator(".said").first).to_have_text(said)


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
    expect(page.get_by_test_id("river-says").locator(".q").first).to_have_text("Mom")
    expected = answered(page, 10)
    expect(page.get_by_test_id("river-says").locator(".said").first).to_have_text(expected["text"].strip())
    assert f"{100 * expected['before']:.0f}" in says(page)
    picture.press("ArrowLeft")
    expect(page.get_by_test_id("river-readout")).to_contain_text("Mom, layer 4")


def test_the_sentence_of_a_place_is_about_that_place(page: "Page") -> None:
    """Of an FFN what it adds to the logit, of the embedding its row, of a token its id, of the stream its lengths."""
    model, layer = loaded("decoder-only"), 5
    ids = model.tokenizer.encode(TEXT)
    names = ["layers.0.resid_pre", f"layers.{layer}.resid_post"]
    first, last = (trace(model, ids, names).tensors[name][-1].norm() for name in names)
    said = page.get_by_test_id("river-says")
    show(page, f"view=prediction&layer={layer}&text={TEXT}")
    expect(said).to_contain_text("Second: ")
    labels = [page.get_by_test_id("likely").nth(n).get_attribute("aria-label") or "" for n in (0, 1)]
    answers = [re.split(r": | \(", label.removeprefix("Take "))[0] for label in labels]
    assert said.locator(".said").all_inner_texts()[:2] == answers
    row = page.get_by_test_id("logit-sum").get_by_role("button", name=f"layer {layer} FFN")
    value = row.locator("b").inner_text()
    row.click()
    expect(said).to_contain_text(f"FFN of layer {layer}: it changes the logit of car by {value}")
    page.get_by_test_id("ffn-off").wait_for()
    expect(said).to_have_text(re.compile(r", and helps others more\. .* car rises to .*\.$"))
    told = re.findall(r" to ([\d.]+\s%)\.", said.inner_text())[-1]
    page.get_by_test_id("ffn-off").click()
    run = wait_for_run(page, "run.interventions?.length === 1")
    assert run["interventions"][0]["where"] == {"attention": "self", "layer": layer, "role": "out"}
    expect(said).to_contain_text(f" to {told}")  # what was announced
    page.get_by_test_id("edit-undo").click()
    expect(page.get_by_test_id("ffn-off")).to_be_visible()
    page.get_by_test_id("station").and_(page.locator("[data-view=embedding]")).click()
    expect(said).to_have_text(
        f"red₂ begins as row {ids[-1]} of the embedding matrix + the learned vector of position {len(ids) - 1}."
        " No other token has reached it yet."
    )
    page.locator("#tab-tokens").click()
    expect(said).to_have_text(f"To the model, red₂ is number {ids[-1]} of the 4,096 tokens that it knows.")
    expect(page.get_by_test_id("crumb-embedding")).to_have_text("tokens")
    page.locator("#tab-residual").click()
    expect(said).to_have_text(f"Layer by layer, the vector of red₂ changes in length from {first:.1f} to {last:.1f}.")


def test_what_changes_nothing_here_draws_nothing(page: "Page") -> None:
    show(page, f"layer=3&head=5&text={TEXT}")
    expect(page.get_by_test_id("river-says")).to_contain_text("Hide ")  # nothing more will arrive
    to_station(page, "attention")
    for hides in ("head", "layer"):
        expect(page.get_by_test_id(f"hide-in-{hides}")).to_be_visible()  # both are measured
    page.get_by_test_id("river").evaluate("""(canvas) => {
      const pen = canvas.getContext('2d');
      window.cleared = 0;
      pen.clearRect = (...area) => (window.cleared++, CanvasRenderingContext2D.prototype.clearRect.apply(pen, area));
    }""")
    page.get_by_test_id("step-qk").click()
    page.wait_for_function("() => location.search.includes('attention.step=qk')")
    for view in ("av", "qkv"):
        page.locator(f"[data-testid=station][data-view={view}]").click()
        page.wait_for_function("view => location.search.includes(`view=${view}`)", arg=view)
        page.wait_for_selector('body[data-state="ready"]')
    page.evaluate("new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)))")
    assert page.evaluate("window.cleared") == 0
    page.get_by_test_id("token").nth(10).click()
    page.wait_for_function("() => window.cleared > 0")


@pytest.mark.fresh
def test_the_table_says_the_same(page: "Page") -> None:
    show(page)
    expect(page.get_by_test_id("river-says")).to_contain_text("Hide ")  # nothing more will arrive
    details = page.locator('[data-panel="river"] details')
    assert details.locator("tbody tr").count() == 0, "nothing is built before it is opened"
    details.locator("summary").press("Enter")  # beside the river alone it is shown only on focus
    expect(details.locator("tbody tr").first).to_be_visible()
    rows = details.locator("table").first.locator("tbody tr").all_inner_texts()
    assert 20 < len(rows) <= 64
    shares = [float(row.split("\t")[3].split()[0].strip("<%\u202f ").rstrip("%")) for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert any(row.startswith("layer 5\tred₂\tcar") for row in rows)


def test_a_token_alone_is_drawn_and_said(page: "Page") -> None:
    show(page, "text=Once")
    assert painted(page) > 5_000
    expect(page.get_by_test_id("river-legend")).to_contain_text("single token")


@pytest.mark.fresh
@pytest.mark.parametrize(
    "query",
    [f"text={TEXT}", pytest.param(f"lang=ja&theme=dark&text={TEXT}", marks=pytest.mark.japanese)],
    ids=["en", "ja"],
)
def test_axe_finds_nothing(page: "Page", query: str) -> None:
    show(page, query)
    page.locator('[data-panel="river"] summary').press("Enter")
    assert serious(page, '[data-panel="river"]') == []


# --- cuts -------------------------------------------------------------------------------------------------------------

LOOK = {"attention": "self", "layer": 5, "query": 13, "key": 4}
"""The last token at the first "car", in the last layer."""


def measured(page: "Page") -> None:
    """Wait until the effects are there."""
    page.locator(
        '[data-testid="river-legend"]:has-text("Darker"), [data-testid="river-legend"]:has-text("濃い")'
    ).wait_for()


def point_of(page: "Page", edge: dict[str, Any]) -> tuple[float, float]:
    """The middle of a line on the page, or of what it left behind."""
    x, y = page.get_by_test_id("river").evaluate(
        """async (canvas, edge) => {
          const { lines, ghosts } = (await import('/static/river/board.js')).sceneOf(canvas);
          const is = (line) => Object.entries(edge).every(([name, value]) => line[name] === value);
          const { x0, x1, y0, y1 } = ghosts.find(is) ?? lines.find(is);
          const { left, top } = canvas.getBoundingClientRect();
          return [left + (x0 + x1) / 2, top + (y0 + y1) / 2];
        }""",
        edge,
    )
    return x, y


def events(page: "Page", request: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of /api/explain/effects."""
    answer = page.request.post("/api/explain/effects", data=request)
    assert answer.ok, answer.text()
    return [json.loads(line.removeprefix("data: ")) for line in answer.text().splitlines() if line.startswith("data: ")]


def shares(*ps: float) -> str:
    return " → ".join(map(brief_percent, ps))


def without(edges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"kind": "mask", "where": {**edge, "role": "mask"}, "allow": False} for edge in edges]


def test_the_sentence_says_what_decides_and_cuts_it(page: "Page") -> None:
    show(page)
    expect(page.get_by_test_id("river-says")).to_contain_text("Hide ")
    start, *effects, _ = events(page, {"text": TEXT, "row": 13})
    most = min((one for one in effects if one["query"] == 13), key=lambda one: one["delta"])
    assert most["key"] == 4
    looks = [{**LOOK, "layer": layer} for layer in range(6)]
    left, *_ = events(
        page, {"text": TEXT, "row": 13, "answer": start["answer"], "edges": [], "interventions": without(looks)}
    )
    before, after = brief_percent(start["p"]), brief_percent(left["p"])
    offer = f"Hide car from red₂ in all layers and the prediction car falls to {after}."
    expected = f"After red₂, the model predicts car ({before}). {offer}"
    assert says(page) == expected

    page.get_by_test_id("cut-looks").click()
    said = page.get_by_test_id("river-says")
    expect(said).to_contain_text("Hidden in 6 layers: red₂ cannot attend to car. The prediction car falls from 98")
    expect(said).to_contain_text("to 2.3")
    assert page.evaluate("document.activeElement.dataset.testid") == "river"
    # Of another token it says which: the cut changes nothing there.
    for press in ("ArrowUp", "ArrowUp", "Enter"):
        page.get_by_test_id("river").press(press)
    expect(said).to_contain_text("cannot attend to car. After the, the model still predicts")


def cut(page: "Page", edge: dict[str, Any]) -> None:
    """Chooses a line by a click, and hides it, or shows it again, by its button."""
    page.mouse.click(*point_of(page, edge))
    page.get_by_test_id("river-hide").click()


@pytest.mark.fresh
def test_a_click_chooses_a_line_and_another_act_hides_it(page: "Page") -> None:
    show(page)
    measured(page)
    start, effect, _ = events(page, {"text": TEXT, "row": 13, "edges": [LOOK]})
    page.mouse.move(*point_of(page, LOOK))
    tip = page.locator(".river-tip")
    expect(tip).to_contain_text(f"car ({shares(start['p'], effect['p'])})")
    hide = page.get_by_test_id("river-hide")
    expect(hide).to_be_hidden()
    page.mouse.click(*point_of(page, LOOK))
    expect(hide).to_have_text(f"Hide in layer 5 → {brief_percent(effect['p'])}")
    carrier = carrying(page)
    name = f"head 5·{carrier['head']}"
    in_head = page.get_by_test_id("river-hide-in-head")
    expect(in_head).to_have_text(f"Hide in {name} → {brief_percent(carrier['p'])}")
    expect(page.get_by_test_id("river-open-head")).to_have_text(f"Open {name}")
    expect(tip).to_contain_text("Carried by head 5·5, also 5·6, 5·3")  # which give car 40, 51 and 45 % of their weight
    page.mouse.move(0, 0)
    expect(tip).to_contain_text("layer 5: red₂ attends to car")  # it stays
    assert "interventions" not in page.url
    page.get_by_test_id("river").press("Escape")
    expect(tip).to_be_hidden()
    for _ in range(2):
        page.mouse.click(*point_of(page, LOOK))
    run = wait_for_run(page, "run.interventions?.length === 1")
    assert run["interventions"] == without([LOOK])
    expect(tip).to_be_hidden()
    fall = f"from {brief_percent(start['p'])} to {brief_percent(effect['p'])}"
    expected = f"Hidden in layer 5: red₂ cannot attend to car. The prediction car falls {fall}. Hide it in all layers"
    expect(page.get_by_test_id("river-says")).to_have_text(expected)
    page.reload()
    expect(page.get_by_test_id("river-says")).to_have_text(expected)

    page.mouse.click(*point_of(page, LOOK))
    expect(hide).to_have_text("Restore the connection")
    hide.click()
    expect(page.get_by_test_id("river-says")).to_contain_text("After red₂, the model predicts")
    assert "interventions" not in page.url


def carrying(page: "Page") -> dict[str, Any]:
    """The head of layer 5 without whose edge the answer is least likely, as the server measures it."""
    heads = [LOOK | {"head": head} for head in range(8)]
    _, *effects, _ = events(page, {"text": TEXT, "row": 13, "edges": heads})
    return min(effects, key=lambda one: one["p"])


def test_a_line_opens_the_head_that_carries_it_or_is_hidden_there(page: "Page") -> None:
    show(page)
    page.mouse.click(*point_of(page, LOOK))  # at once: what is missing is measured when the question is
    page.get_by_test_id("river-open-head").click()
    head = carrying(page)["head"]
    page.wait_for_url(re.compile(rf"layer=5&head={head}&query=13&key=4"))
    show(page)
    page.mouse.click(*point_of(page, LOOK))
    page.get_by_test_id("river-hide-in-head").click()
    run = wait_for_run(page, "run.interventions?.length === 1")
    assert run["interventions"] == without([LOOK | {"head": head}])


@pytest.mark.fresh  # another test may have measured it already
def test_a_line_is_hidden_in_all_heads_that_carry_it_by_one_act(page: "Page") -> None:
    """One edit for each head, one step back, measured by one request; the number is that of the run that follows."""
    show(page)
    asked: list[Any] = []
    page.on("request", lambda one: asked.append(one.post_data_json) if one.url.endswith("/effects") else None)
    page.mouse.click(*point_of(page, LOOK))
    button = page.get_by_test_id("river-hide-in-heads")
    expect(button).to_be_visible()
    page.mouse.move(0, 0)
    page.mouse.move(300, 300)
    carried = [LOOK | {"head": head} for head in (5, 6, 3)]
    start, _ = events(page, {"text": TEXT, "row": 13, "edges": [], "interventions": without(carried)})
    expect(button).to_have_text(f"Hide in all three → {brief_percent(start['p'])}")
    assert sum(len(one.get("interventions", [])) == 3 for one in asked) == 1
    button.click()
    run = wait_for_run(page, "run.interventions?.length === 3")
    expect(page.get_by_test_id("river-says")).to_contain_text(
        "Hidden in heads 5·5, 5·6, 5·3: red₂ cannot attend to car."
    )
    assert len(run["interventions"]) == 3
    assert all(one in without(carried) for one in run["interventions"])
    expect(page.get_by_test_id("river-says")).to_contain_text(f"to {brief_percent(start['p'])}")
    page.keyboard.press("Alt+u")
    expect(page.get_by_test_id("river-says")).to_contain_text("After red₂, the model predicts")
    assert "interventions" not in page.url


def test_a_line_that_is_not_among_the_widest_is_measured_when_it_is_pointed_at(page: "Page") -> None:
    show(page, f"text={TEXT} car and Tom was happy because he had his red car again. He said")
    measured(page)
    expect(page.get_by_test_id("river-says")).to_contain_text("Hide ")  # nothing more will arrive
    edge = page.get_by_test_id("river").evaluate(
        """async (canvas) => {
          const { lineAt } = await import('/static/river/layout/lines.js');
          const { lines } = (await import('/static/river/board.js')).sceneOf(canvas);
          const drawn = lines.filter(({ own, shown, many }) => shown && !own && !many);
          const found = drawn.sort((a, b) => a.share - b.share);
          const apart = ({ x0, x1, y0, y1 }) => [(x0 + x1) / 2, (y0 + y1) / 2];
          const { attention, layer, query, key } = found.find((line) => lineAt(lines, ...apart(line)) === line);
          return { attention, layer, query, key };
        }"""
    )
    text = page.get_by_test_id("sentence").input_value()
    row = page.get_by_test_id("token").count() - 1
    start, effect, _ = events(page, {"text": text, "row": row, "edges": [edge]})
    page.mouse.move(*point_of(page, edge))
    expect(page.locator(".river-tip")).to_contain_text("→")
    assert page.locator(".river-tip").inner_text().endswith(f"({shares(start['p'], effect['p'])})")


def test_what_an_ffn_adds_is_a_number_under_the_pointer_and_in_the_table(page: "Page") -> None:
    show(page)
    x, y = page.get_by_test_id("river").evaluate(
        """async (canvas) => {
          const { beads } = (await import('/static/river/board.js')).sceneOf(canvas);
          const { left, top } = canvas.getBoundingClientRect();
          return [left + beads[3].x, top + beads[3].y];
        }"""
    )
    model = loaded("decoder-only")
    names = ["layers.3.ffn.out", "layers.3.resid_mid"]
    run = trace(model, model.tokenizer.encode(TEXT), names).tensors
    added, before = (run[name][-1].norm() for name in names)
    ratio = float(added / before)
    page.mouse.move(x, y)
    expect(page.locator(".river-tip")).to_have_text(
        f"layer 3: the FFN, a small network that sees no other word, adds to red₂ a vector {ratio:.2f} times"
        " as long as the stream before it"
    )
    table = page.locator('[data-panel="river"] details')
    table.locator("summary").press("Enter")
    expect(table.locator("table").nth(1).locator("tr").nth(4)).to_have_text(f"layer 3{ratio:.2f}")
    picture = page.get_by_test_id("river")
    picture.focus()
    for _ in range(3):
        picture.press("ArrowLeft")
    expect(page.get_by_test_id("river-readout")).to_contain_text(f"adds to red₂ a vector {ratio:.2f} times")


# Before the text of each token, and after it and its number.
ROOM = """all => all.map((one) => {
  const text = document.createRange();
  text.selectNodeContents(one);
  text.setEndBefore(one.querySelector('i'));
  const [around, within] = [one, text].map((part) => part.getBoundingClientRect());
  return [within.left - around.left, around.right - within.right];
})"""


def comes_back_at_once(page: "Page", run: dict[str, Any]) -> None:
    """What was taken back in one step, redo brings back in one; undo still goes step by step."""
    page.keyboard.press("Control+Shift+z")
    assert wait_for_run(page, "run.interventions?.length === 6") == run
    for is_there in ("!('head' in {})", "'head' in {}"):
        page.keyboard.press("Control+z")
        where = is_there.format("run.interventions[0].where")
        wait_for_run(page, f"run.interventions.length === 1 && {where}")


def writes_and_chooses(page: "Page") -> None:
    """The sentence of a head says what is written next, until another row is chosen; no word of the text moves then."""
    said = page.get_by_test_id("river-says")
    page.get_by_test_id("gen-step").click()
    expect(said).to_have_text(re.compile(r"^The .*(wrote|took) .* Next: .* In head 5·5 it attends most to .*%\)\.$"))
    lefts = "all => all.map((one) => one.getBoundingClientRect().left)"
    words = page.get_by_test_id("token")
    before = words.evaluate_all(lefts)
    words.nth(13).click()
    expect(said).to_contain_text("Hidden in head 5·5: red₂ cannot attend to car")
    assert words.evaluate_all(lefts) == before
    numbers = [re.sub("[^₀-₉]", "", one) for one in words.all_inner_texts()]  # whatever is chosen
    assert numbers == ["₁", "", "", "₁", "₁", "₁", "₂", "", "", "₂", "", "", "", "₂", "₂"]
    rooms = [room for both in words.evaluate_all(ROOM) for room in both]
    assert max(rooms) - min(rooms) < 0.5, "as much at both sides"


TOPS = "lines => lines.map((line) => Math.round(line.getBoundingClientRect().top))"


def test_a_weight_is_hidden_in_its_head_or_in_its_layer(page: "Page") -> None:
    """Each button says what it does, and that is what happens."""
    show(page, f"view=attention&layer=5&head=5&key=4&text={TEXT}")
    both = [LOOK | {"head": 5}, LOOK]
    start, *effects, _ = events(page, {"text": TEXT, "row": 13, "edges": both})
    offers = page.get_by_test_id("river-says").locator(".tells")
    expect(offers).to_have_count(2)
    in_head, in_layer = (brief_percent(effect["p"]) for effect in effects)
    expect(offers.nth(0)).to_have_text(f"Hide car in this head and the prediction car falls to {in_head}.")
    expect(offers.nth(1)).to_have_text(f"Hide it in layer 5 → {in_layer}.")
    weight = page.locator("[data-line=weight] output")
    was = weight.inner_text().split()[-1]
    logit, lines = page.locator("[data-line=logit] output"), page.locator(".card-line")
    expect(logit).to_contain_text("+")
    wrote, tops = logit.inner_text().split()[-1], lines.evaluate_all(TOPS)
    page.get_by_test_id("hide-in-head").click()
    assert wait_for_run(page, "run.interventions?.length === 1")["interventions"] == without(both[:1])
    expect(page.get_by_test_id("river-says")).to_have_text(
        "Hidden in head 5·5: red₂ cannot attend to car. "
        f"The prediction car falls from {brief_percent(start['p'])} to {brief_percent(effects[0]['p'])}. "
        f"Hide it in layer 5 → {brief_percent(effects[1]['p'])}."
    )
    # The cell and the arithmetic keep what was there.
    expect(weight).to_have_text(f"✓ {was} 0")
    expect(page.locator(".card-line:has(.card-was)")).to_have_count(4)  # + M, eˢ ÷ Σ, the weight, the logit
    expect(page.get_by_test_id("arithmetic-was")).to_have_text(was)
    expect(logit).to_have_text(re.compile(rf"this cell {re.escape(wrote)} 0$"))
    assert lines.evaluate_all(TOPS) == tops, "each line stays where it is compared"
    expect(page.locator(".overlay .struck").filter(has_text=f"{float(was):.2f}"[1:])).to_have_count(1)
    # In difference every line that changed says from what to what, and the others are pale.
    page.get_by_test_id("compare-difference").click()
    expect(page.locator("[data-line=exp] output")).to_contain_text("→ 0 ÷")
    expect(page.locator("[data-line=mask] output")).to_have_text("+ 0 → −∞")
    expect(page.locator(".card-line.same")).to_have_count(4)  # q, k, q·k and the score
    assert lines.evaluate_all(TOPS) == tops
    page.get_by_test_id("compare-after").click()
    expect(page.locator(".card-line.same")).to_have_count(0)
    page.get_by_test_id("hide-wider").click()
    assert wait_for_run(page, "!('head' in run.interventions[0].where)")["interventions"] == without(both[1:])
    expect(page.get_by_test_id("river-says")).to_contain_text(f"to {brief_percent(effects[1]['p'])}.")
    page.get_by_test_id("hide-wider").click()
    run = wait_for_run(page, "run.interventions?.length === 6")
    assert run["interventions"] == without([{**LOOK, "layer": layer} for layer in range(6)])
    expect(page.get_by_test_id("hide-wider")).to_have_count(0)
    page.get_by_test_id("show-again").click()
    wait_for_run(page, "!run.interventions")
    expect(page.get_by_test_id("show-again")).to_have_count(0)
    comes_back_at_once(page, run)
    writes_and_chooses(page)
    # One Undo takes back every edit, wherever it was made.
    page.get_by_test_id("switch-causal").click()
    wait_for_run(page, "run.masks?.causal === false")
    page.get_by_test_id("edits-list").click()
    expect(page.get_by_test_id("edit-mask")).to_have_text("causal mask off×")
    page.keyboard.press("Escape")
    page.get_by_test_id("note-masks").click()
    wait_for_run(page, "!run.masks && !run.interventions")
    expect(page.get_by_test_id("edits-list")).to_be_hidden()


def test_back_takes_a_cut_back(page: "Page") -> None:
    show(page)
    measured(page)
    cut(page, LOOK)
    expect(page.get_by_test_id("river-says")).to_contain_text("falls from")
    page.go_back()
    expect(page.get_by_test_id("river-says")).to_contain_text("After red₂, the model predicts")


def test_the_keyboard_cuts_every_look_at_a_token(page: "Page") -> None:
    show(page)
    measured(page)
    picture = page.get_by_test_id("river")
    picture.focus()
    for _ in range(10):
        picture.press("ArrowUp")  # the first shows the ring; nine rows up is "car"
    expect(page.get_by_test_id("river-readout")).to_contain_text("car, layer 5")
    picture.press("Shift+Delete")
    run = wait_for_run(page, "run.interventions?.length === 6")
    assert run["interventions"] == without([{**LOOK, "layer": layer} for layer in range(6)])
    expect(page.get_by_test_id("river-says")).to_contain_text("Hidden in 6 layers: red₂ cannot attend to car.")
    page.get_by_test_id("edits-list").click()
    expect(page.get_by_test_id("edit-chip")).to_have_text("red₂ ↛ car, all layers×")
    page.get_by_test_id("edit-remove").click()
    expect(page.get_by_test_id("river-says")).to_contain_text("After red₂, the model predicts")
    # A link that leaves one layer out says in which the look is still there.
    cuts = without([{**LOOK, "layer": layer} for layer in range(5)])
    show(page, urlencode({"run": json.dumps({"input": {"text": TEXT}, "interventions": cuts})}))
    expect(page.get_by_test_id("river-says")).to_contain_text(
        "Hidden in 5 layers: red₂ attends to car in layer 5 only."
    )


def test_a_classifiers_line_is_cut(page: "Page") -> None:
    model, text = loaded("encoder-only").name, SENTENCES["encoder-only"]
    show(page, f"model={model}&text={text}")
    measured(page)
    start, *effects, _ = events(page, {"model": model, "text": text})
    decisive = min((one for one in effects if one["query"] == 0 and one["key"] > 0), key=lambda one: one["p"])
    assert brief_percent(decisive["p"]) != brief_percent(start["p"])
    edge = {name: decisive[name] for name in ("attention", "layer", "query", "key")}
    cut(page, edge)
    expect(page.get_by_test_id("river-says")).to_contain_text(
        f"from {brief_percent(start['p'])} to {brief_percent(decisive['p'])}"
    )


def test_a_translation_draws_on_the_source(page: "Page") -> None:
    model, text = loaded("encoder-decoder").name, SENTENCES["encoder-decoder"]
    show(page, f"model={model}&text={text}&query=5")
    measured(page)
    says = page.get_by_test_id("river-says")
    named, offered = says.locator(".looked").nth(0), page.get_by_test_id("cut-looks")
    expect(offered).to_be_visible()
    expect(says).to_contain_text(f"Its main source is {named.inner_text()}.")
    assert named.inner_text() in offered.inner_text()  # also where another word has the larger single effect
    cross = page.get_by_test_id("river").evaluate(
        """async (canvas) => {
          const { lines, bands } = (await import('/static/river/board.js')).sceneOf(canvas);
          const read = lines.filter(({ from, to, query, shown }) => from === 1 && to === 0 && query === 5 && shown);
          const { attention, layer, query, key } = read.sort((a, b) => b.share - a.share)[0];
          return { attention, layer, query, key };
        }"""
    )
    cut(page, cross)
    run = wait_for_run(page, "run.interventions?.length === 1")
    assert run["interventions"] == without([cross])
    expect(page.get_by_test_id("river-says")).to_contain_text(f"Hidden in layer {cross['layer']}")


def test_a_finished_translation_leads_to_its_words(page: "Page") -> None:
    model, text = loaded("encoder-decoder").name, SENTENCES["encoder-decoder"]
    show(page, f"model={model}&temperature=0&text={text}")
    measured(page)
    expect(page.get_by_test_id("river-says")).to_contain_text("を食べた")  # the word that tells most
    page.get_by_test_id("target-next").click()
    expect(page.get_by_test_id("river-says")).to_contain_text("END")
    expect(page.get_by_test_id("river-says")).to_contain_text("Click a word of the translation")
    page.get_by_test_id("gen-step").click()  # it writes END, and no more
    expect(page.get_by_test_id("river-says")).to_have_text(
        "The model ended its text here. Click a word of the translation to see where it comes from."
    )
    expect(page.get_by_test_id("gen-step")).to_be_disabled()
    expect(page.get_by_test_id("gen-step")).to_have_attribute("title", "The model ended its text here.")
    x, y = page.get_by_test_id("river").evaluate(
        """async (canvas) => {
          const [{ rows, columns }] = (await import('/static/river/board.js')).sceneOf(canvas).bands;
          const { left, top } = canvas.getBoundingClientRect();
          return [left + columns[0].x0 - 30, top + rows[0].y];
        }"""
    )
    page.mouse.move(x, y)
    expect(page.locator(".river-tip")).to_have_text("Click: where does 朝 come from?")
    page.mouse.click(x, y)
    expect(page.get_by_test_id("river-says")).to_contain_text("The model wrote 朝")
    expect(page.locator(".river-tip")).to_be_hidden()  # it is chosen


def test_put_away_it_asks_for_nothing_and_comes_back(page: "Page") -> None:
    page.goto(f"/?view=attention&river.shown=off&text={TEXT}")
    page.wait_for_selector('body[data-state="ready"]')
    says = page.get_by_test_id("river-says")
    expect(says).to_be_hidden()
    asked: list[str] = []
    # Of this sentence: what was asked about the one before may still be on its way.
    page.on("request", lambda one: "The cat sat" in (one.post_data or "") and asked.append(one.url))
    page.get_by_test_id("sentence").fill("The cat sat")
    page.wait_for_function("() => JSON.parse(document.body.dataset.traced).text === 'The cat sat'")
    page.wait_for_selector('body[data-state="ready"]')
    assert asked
    assert not [url for url in asked if "/api/explain/route" in url or "/api/explain/effects" in url]
    page.wait_for_function("() => /The.cat.sat/.test(location.href)")
    # As a lesson does that puts it away, and shows it again.
    with page.expect_request("**/api/explain/route"):
        page.evaluate("""() => {
          const address = new URL(location.href);
          address.searchParams.delete('river.shown');
          history.pushState(null, '', address);
          dispatchEvent(new PopStateEvent('popstate'));
        }""")
    expect(says).to_contain_text("sat attends to")
    page.get_by_test_id("token").nth(1).click()
    page.wait_for_function("() => location.search.includes('query=1')")
    assert "river.shown" not in page.url, "it is there by default"


def test_a_text_that_comes_while_nothing_of_it_is_seen_is_laid_out_later(page: "Page") -> None:
    """A stylesheet may hide it: then its place has no width, and its rows are still those of the text before."""
    show(page)
    rows = "async (canvas) => (await import('/static/river/board.js')).sceneOf(canvas)?.bands[0].rows.length"
    assert page.get_by_test_id("river").evaluate(rows) == 14
    hide = "(board, how) => { board.style.display = how }"
    page.locator(".river .board").evaluate(hide, "none")
    page.get_by_test_id("sentence").fill("The cat sat")
    page.wait_for_function("() => JSON.parse(document.body.dataset.traced).text === 'The cat sat'")
    expect(page.get_by_test_id("river-says")).to_contain_text("After sat")
    page.locator(".river .board").evaluate(hide, "")
    page.get_by_test_id("token").nth(1).click()
    expect(page.get_by_test_id("river-says")).to_contain_text("After cat")
    assert page.get_by_test_id("river").evaluate(rows) == 3


def test_a_quiz_covers_what_it_would_tell(page: "Page") -> None:
    show(page)
    page.goto("/?view=model&river.shown=on&quiz=on&text=" + TEXT)
    expect(page.get_by_test_id("quiz-end")).to_be_visible()
    expect(page.get_by_test_id("river-says")).to_be_hidden()
    # The river stays, as a strip: the streams alone, without lines and without the answer.
    covered = """async (canvas) => {
      const { sceneOf, boardOf } = await import('/static/river/board.js');
      const { lines } = sceneOf(canvas);
      const { bars, chosen } = boardOf(canvas).shown;
      return { lines: lines.some(({ own }) => !own), streams: lines.length > 0, bars: bars.length, chosen };
    }"""
    river = page.get_by_test_id("river")
    expect(river).to_be_visible()
    assert river.evaluate(covered) == {"lines": False, "streams": True, "bars": 0, "chosen": None}
    page.get_by_test_id("quiz-dock").get_by_test_id("quiz-show").click()
    page.wait_for_function("() => !/next|attention/.test(document.body.dataset.quiz)")
    expect(page.get_by_test_id("river-says")).to_contain_text("predicts")
    assert river.evaluate(covered)["bars"] > 0
    page.get_by_test_id("quiz-end").click()
    expect(page.get_by_test_id("river-says")).to_be_visible()


def test_after_a_step_the_sentence_says_what_the_model_wrote(page: "Page") -> None:
    show(page, f"seed=7&text={TEXT}")
    sampling = {"temperature": 0.8, "top_k": 20, "top_p": 0.95, "seed": 7}
    asked = {"model": "stories-gpt", "text": TEXT, "max_new_tokens": 3, **sampling}
    answer = page.request.post("/api/generate", data=asked).text()
    events = [json.loads(line.removeprefix("data: ")) for line in answer.splitlines() if line.startswith("data: ")]
    steps = [event for event in events if "u" in event]
    said = page.get_by_test_id("river-says")
    for i, step in enumerate(steps):
        page.get_by_test_id("gen-step").click()
        told = rf"{step['token']['text'].strip()}.? \((it had )?{shares(step['before'])}\)"
        expect(said).to_contain_text(re.compile(told))
        likely = step["prediction"]["candidates"][0]
        then = steps[i + 1]["token"] if i + 1 < len(steps) else None
        if then and then["id"] != likely["id"]:
            comes = f"{then['text'].strip()} ({shares(steps[i + 1]['before'])})"
            expect(said).to_contain_text(re.compile(rf"Most likely next: .* The draw will take {re.escape(comes)}"))
        elif then:
            expect(said).to_contain_text("Next: ")
        fell = re.compile(f"draw, {step['u']:.2f}, fell on {step['token']['text'].strip()}")
        expect(page.get_by_test_id("dock-draw")).to_have_attribute("title", fell)
    assert steps[0]["before"] > 0.9  # the first is the most likely, the last is not
    likely = steps[1]["prediction"]["candidates"][0]
    assert likely["id"] != steps[2]["token"]["id"]
    expect(said).to_have_text(re.compile(rf"The draw took gave .*not the likelier {likely['text'].strip()} "))


def test_a_greedy_step_under_a_ban_is_not_told_as_a_draw(page: "Page") -> None:
    show(page, f"temperature=0&banned={quote(json.dumps([' car']))}&text={TEXT}")
    page.get_by_test_id("gen-step").click()
    said = page.get_by_test_id("river-says")
    expect(said).to_contain_text(re.compile(r"The model wrote \S+ \(it had (< )?\d"))
    expect(said).not_to_contain_text("draw took")


def test_a_cut_holds_while_it_writes_on(page: "Page") -> None:
    show(page, f"temperature=0&text={TEXT}")
    measured(page)
    cut(page, LOOK)
    wait_for_run(page, "run.interventions?.length === 1")
    expect(page.get_by_test_id("river-says")).to_contain_text("falls from")
    page.get_by_test_id("gen-play").click()
    run = wait_for_run(page, "run.input?.token_ids?.length >= 16")
    page.get_by_test_id("gen-pause").click()
    assert run["interventions"] == without([LOOK])
    expect(page.get_by_test_id("river-says")).to_contain_text(re.compile(r"^The model wrote .* Next: "))
    expect(page.get_by_test_id("edits-list")).to_be_visible()
    asked = {"model": "stories-gpt", "text": TEXT, "interventions": without([LOOK]), "temperature": 0}
    answer = page.request.post("/api/generate", data={**asked, "max_new_tokens": 2}).text()
    steps = [json.loads(line.removeprefix("data: ")) for line in answer.splitlines() if line.startswith("data: ")]
    assert run["input"]["token_ids"][14:16] == [step["token"]["id"] for step in steps if "token" in step]
    # From a word before the cut on, it is another sentence: nothing of it is cut.
    label = """async (canvas) => {
      const { bands: [{ rows, columns }] } = (await import('/static/river/board.js')).sceneOf(canvas);
      const { left, top } = canvas.getBoundingClientRect();
      return [left + columns[0].x0 - 30, top + rows[5].y];
    }"""
    page.mouse.click(*page.get_by_test_id("river").evaluate(label))
    page.wait_for_function("() => location.search.includes('query=5')")
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("likely").first.click()
    run = wait_for_run(page, "run.input?.token_ids?.length === 7")
    assert "interventions" not in run
    page.wait_for_selector('body[data-state="ready"]')


# --- what it cannot show ----------------------------------------------------------------------------------------------


def test_a_long_text_folds_what_hardly_counts_and_unfolds_it(page: "Page") -> None:
    words = "One day a boy and a girl went to the park with a red ball and a big dog and they had so much fun there . "
    show(page, f"text={words * 9}")
    state = """async (canvas) => {
      const { bands: [{ rows, index, columns }] } = (await import('/static/river/board.js')).sceneOf(canvas);
      const { left, top } = canvas.getBoundingClientRect();
      const fold = rows.find(({ from, to }) => to - from > 1);
      return [index.length, rows.length, fold && [left + columns[0].x0 - 30, top + fold.y, fold.to - fold.from]];
    }"""
    picture = page.get_by_test_id("river")
    tokens, rows, (x, y, inside) = picture.evaluate(state)
    assert tokens > 200
    assert rows < tokens / 2
    page.mouse.click(x, y)
    assert picture.evaluate(state)[1] == rows + inside - 1


SAID_IN_ITS_PLACE = """() => getComputedStyle(
  document.querySelector('[data-panel=river] > .station'), '::before').content"""


@pytest.mark.fresh
def test_a_river_that_waits_or_is_refused_says_so_in_its_place(page: "Page", page_errors: list[str]) -> None:
    error = {"code": "too_long", "message": "too long", "limit": 1, "what_to_do": "Shorten it."}
    held: list[Route] = []

    def hold(route: "Route") -> None:
        held.append(route)

    page.route("**/api/explain/route", hold)
    with page.expect_request("**/api/explain/route"):
        page.goto("/?view=model&river.shown=on&text=" + TEXT)
    assert "Every word passes through all layers" in page.evaluate(SAID_IN_ITS_PLACE)
    held[0].fulfill(status=422, json={"error": error})
    page.wait_for_selector('body[data-state="ready"]')
    lacks = page.locator('[data-panel="river"] .panel-lacks')
    expect(lacks).to_contain_text("There is no picture of this sentence.")
    expect(lacks).to_contain_text("Shorten the sentence.")
    expect(page.get_by_test_id("token")).to_have_count(14)
    assert all("422" in error for error in page_errors)
    page_errors.clear()  # the browser's own report of the answer


@pytest.mark.fresh
def test_a_model_that_cannot_be_cut_says_so(page: "Page") -> None:
    def uncuttable(route: "Route") -> None:
        answer = route.fetch()
        model = answer.json()
        model["description"]["can"]["effects"] = False
        route.fulfill(response=answer, json=model)

    asked = requests_of_next(page)
    page.route("**/api/models/*", uncuttable)
    show(page)
    expect(page.get_by_test_id("river-legend")).to_contain_text("Nothing can be hidden here.")
    for _ in range(2):
        page.mouse.click(*point_of(page, LOOK))
    expect(page.get_by_test_id("river-hide")).to_be_hidden()
    picture = page.get_by_test_id("river")
    picture.focus()
    picture.press("ArrowUp")
    picture.press("Delete")
    page.wait_for_selector('body[data-state="ready"]')
    assert "interventions" not in page.url
    assert asked
    assert not [url for url in asked if "/api/explain/effects" in url]


# --- heads ------------------------------------------------------------------------------------------------------------


def square_of(page: "Page", head: dict[str, Any]) -> tuple[float, float]:
    """The middle of a head's square on the page."""
    x, y = page.get_by_test_id("river").evaluate(
        """async (canvas, head) => {
          const { squares } = (await import('/static/river/board.js')).sceneOf(canvas);
          const one = squares.find((one) => Object.entries(head).every(([name, value]) => one[name] === value));
          window.scrollBy(0, canvas.getBoundingClientRect().top + one.y - 300);
          const { left, top } = canvas.getBoundingClientRect();
          return [left + one.x + one.width / 2, top + one.y + one.height / 2];
        }""",
        head,
    )
    return x, y


def test_a_head_is_shown_while_the_pointer_rests_on_it(page: "Page") -> None:
    show(page)
    weight = page.evaluate(
        """async (text) => {
          const api = await import('/static/data/api.js');
          const want = ['layers.5.attn.pattern'];
          const { tensors } = await api.trace({ text, want, heads: [5], dtype: 'float32' });
          return Math.max(...tensors[want[0]].data.slice(-14));
        }""",
        TEXT,
    )
    page.mouse.move(*square_of(page, {"layer": 5, "head": 5}))
    said = page.get_by_test_id("river-tip")
    expect(said).to_contain_text("Head 5·5: red₂ attends most to car (")
    between = [int(number) for number in re.findall(r"\d+", said.inner_text().partition("car (")[2].partition(")")[0])]
    assert between[0] - 0.5 <= 100 * weight <= between[-1] + 0.5, "the picture has 256 shades"
    page.mouse.down()
    page.mouse.up()  # opens it: nothing of the tip stays
    expect(page.get_by_role("heading", name="Head 5·5")).to_be_visible()
    expect(page.get_by_test_id("river-says")).to_contain_text("Head 5·5: red₂ attends to car")
    expect(said).to_be_hidden()


def test_the_heads_show_the_difference_as_the_lines_do(page: "Page") -> None:
    """Without the causal mask a row gives weight from what stands before it (ochre) to what follows (blue)."""
    show(page)
    page.get_by_test_id("switch-causal").click()
    wait_for_run(page, "run.masks?.causal === false")
    page.get_by_test_id("compare-difference").click()
    expect(page.get_by_test_id("river-legend")).to_contain_text("ochre")
    page.wait_for_function(
        """async () => {
          const canvas = document.querySelector('[data-testid="river"]');
          const { sceneOf } = await import('/static/river/board.js');
          const { x, y, width, height } = sceneOf(canvas).squares.at(-1);
          const [dpr, half] = [devicePixelRatio, width / 2];
          const warmth = (left, top) => {
            const box = [left, top, half, height / 2].map((at) => Math.round(at * dpr));
            const { data } = canvas.getContext('2d').getImageData(...box);
            return data.reduce((sum, one, i) => sum + (i % 4 === 0 ? one : i % 4 === 2 ? -one : 0), 0);
          };
          return warmth(x, y + height / 2) > 0 && warmth(x + half, y) < 0;
        }"""
    )


def test_a_heads_tip_says_what_is_lost_without_it_and_its_eye_switches_it_off(page: "Page") -> None:
    show(page)
    page.mouse.move(*square_of(page, {"layer": 5, "head": 5}))
    tip = page.get_by_test_id("river-tip")
    expect(tip).to_contain_text("Off: car (98 % → 93 %)")
    expect(tip).to_be_visible()
    said = tip.bounding_box()
    assert said
    assert said["y"] + said["height"] <= square_of(page, {"layer": 0, "head": 0})[1], "it covers no square"
    eye = page.get_by_test_id("part-eye")
    x, y = square_of(page, {"layer": 5, "head": 5})
    page.mouse.move(x + 1, y)
    expect(eye).to_have_attribute("title", re.compile(r"Switch head 5·5 off: it writes nothing\.\nOff: car \(98"))
    box = eye.bounding_box()
    assert box
    assert x < box["x"] < x + 40, "beside the middle, where a click opens the head"
    assert abs(box["y"] + box["height"] / 2 - y) < 30, "within the square"
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.wait_for_timeout(150)
    expect(tip).to_contain_text("Off: car (98 % → 93 %)")  # the eye lies on its head
    page.mouse.move(x, y - 200)
    expect(eye).to_be_hidden()
    page.mouse.move(x, y)
    eye.click()
    expect(page.get_by_test_id("river-says")).to_contain_text("Head 5·5 is off")


def test_around_the_middle_of_a_small_head_a_click_opens_it(open_page: "Callable[..., Page]") -> None:
    """On a laptop a square has 32 px, and its eye’s unseen edge reached over the middle: a click switched it off."""
    page = open_page(viewport={"width": 1280, "height": 720})
    show(page)
    x, y = square_of(page, {"layer": 5, "head": 6})
    page.mouse.move(x, y)
    expect(page.get_by_test_id("part-eye")).to_be_visible()
    hit = "([x, y]) => document.elementFromPoint(x, y).dataset.testid"
    assert {page.evaluate(hit, [x + dx, y + dy]) for dx in (-4, 0, 4) for dy in (-4, 0, 4)} == {"river"}
    box = page.get_by_test_id("part-eye").bounding_box()
    assert box
    assert page.evaluate(hit, [box["x"] + 9, box["y"] + 9]) == "part-eye"


@pytest.mark.fresh
def test_a_head_opens_below_down_to_the_arithmetic_of_a_cell_and_back(page: "Page") -> None:
    show(page)
    page.mouse.click(*square_of(page, {"layer": 5, "head": 5}))
    page.wait_for_function("() => location.search.includes('view=attention')")
    path, opened = page.get_by_test_id("path"), page.locator("#opened")
    frame = opened.get_by_test_id("matrix").first
    expect(frame).to_be_visible()
    crumbs = {name: page.get_by_test_id(f"crumb-{name}") for name in ("model", "layer", "head")}
    expect(crumbs["layer"]).to_contain_text("5")
    expect(crumbs["head"]).to_contain_text("5")
    weights = matrix_shown(frame)["z"]
    frame.focus()
    page.keyboard.press("ArrowLeft")
    title = page.get_by_test_id("arithmetic")
    expect(title).to_be_visible()
    figure = page.get_by_test_id("arithmetic-value")
    page.wait_for_url("**key=3**")  # the address follows a moment later
    assert float(figure.inner_text()) == pytest.approx(weights[13][3], rel=1e-3)
    page.reload()
    expect(title).to_be_visible()
    assert serious(page, '[data-panel="river"]', '[data-testid="path"]') == []
    expect(path).to_be_visible()
    crumbs["layer"].click()
    page.wait_for_function("() => location.search.includes('river.layer=main.5')")
    expect(opened).to_be_hidden()
    expect(crumbs["head"]).to_have_count(0)
    crumbs["model"].click()
    expect(crumbs["layer"]).to_have_count(0)
    page.wait_for_function("() => !location.search.includes('river.layer')")


def test_escape_in_the_picture_leads_up(page: "Page") -> None:
    show(page, f"view=attention&layer=5&head=5&text={TEXT}")
    picture = page.get_by_test_id("river")
    picture.focus()
    picture.press("Escape")
    page.wait_for_function("() => location.search.includes('river.layer=main.5')")
    expect(picture).to_be_focused()
    picture.press("Escape")
    page.wait_for_function("() => !location.search.includes('river.layer')")
    expect(page.get_by_test_id("crumb-layer")).to_have_count(0)
    expect(picture).to_be_focused()


def test_a_translations_rows_say_what_they_write(page: "Page") -> None:
    text = "He bought a new car yesterday."
    show(page, f"model=translate-enja&text={text}&layer=2&head=7&query=4&view=attention&attention=cross")
    expect(page.locator("#opened .row-label").nth(4)).to_have_text("車 ⇒ を買った")


def test_the_wheel_leads_in_and_out(page: "Page") -> None:
    show(page)
    turn = """async (canvas, [up, head]) => {
      const { squares, bands } = (await import('/static/river/board.js')).sceneOf(canvas);
      const one = head ? squares.find(({ layer, head }) => layer === 3 && head === 1) : bands[0].columns[3];
      const { left, top } = canvas.getBoundingClientRect();
      const [x, y] = head ? [one.x + 5, one.y + 5] : [one.x0 + 30, bands[0].top + 20];
      const at = { clientX: left + x, clientY: top + y, ctrlKey: true, deltaY: up ? -50 : 50, cancelable: true };
      canvas.dispatchEvent(new WheelEvent('wheel', at));
      await new Promise((done) => setTimeout(done, 400)); // turns that follow each other faster are one
    }"""
    picture = page.get_by_test_id("river")
    picture.evaluate(turn, [True, False])
    page.wait_for_function("() => location.search.includes('river.layer=main.3')")
    picture.evaluate(turn, [True, True])
    page.wait_for_function("() => location.search.includes('view=attention') && location.search.includes('head=1')")
    page.wait_for_selector('body[data-state="ready"]')
    picture.evaluate(turn, [False, False])
    page.wait_for_function("() => location.search.includes('river.layer=main.3')")
    picture.evaluate(turn, [False, False])
    page.wait_for_function("() => !location.search.includes('river.layer')")


FIRST_SCREEN = {
    "decoder-only": f"text={TEXT}",
    "encoder-decoder": "model=translate-enja&text=She sold her car yesterday.",
}

# Where rows and heads end in the window, how many heads a layer shows, and how far the legend and the table reach.
ENDS = """async (canvas) => {
  const { squares, lens, bands } = (await import('/static/river/board.js')).sceneOf(canvas);
  const { top, left, right } = canvas.getBoundingClientRect();
  const box = (name) => document.querySelector(`[data-panel=river] ${name}`).getBoundingClientRect();
  return {
    lens: top + lens,
    rows: [...new Set(squares.map(({ y, height }) => top + y + height))].sort((a, b) => a - b),
    heads: squares.length / bands.reduce((sum, { columns }) => sum + columns.length, 0),
    numbered: squares.every(({ numbered }) => numbered),
    beside: [box('.means').bottom, box('.foot').bottom, box('.river-table summary').bottom],
    right: box('.foot').right - right,
  };
}"""


@pytest.mark.parametrize("family", FIRST_SCREEN)
def test_the_model_is_one_screen(page: "Page", family: str) -> None:
    """All eight heads of each layer are in sight, each with its number, and what is said of the picture."""
    show(page, FIRST_SCREEN[family])
    page.set_viewport_size({"width": 1440, "height": 900})
    page.evaluate("new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)))")
    river = page.get_by_test_id("river")
    ends = river.evaluate(ENDS)
    assert ends["heads"] == 8
    assert max(ends["rows"] + ends["beside"]) <= 900
    assert ends["right"] <= 0
    page.set_viewport_size({"width": 1280, "height": 720})
    page.wait_for_function("canvas => canvas.clientWidth < 1280", arg=river.element_handle())
    ends = river.evaluate(ENDS)
    assert ends["heads"] == 8
    assert ends["lens"] < 720
    assert ends["rows"][0] <= 720
    assert max(ends["rows"] + ends["beside"]) <= 720
    assert ends["numbered"]


def test_a_decoder_shows_one_of_its_attentions_at_a_time(page: "Page") -> None:
    show(page, f"model={loaded('encoder-decoder').name}&text={SENTENCES['encoder-decoder']}&query=7")
    # After the full stop of a finished translation, END is as likely without any connection.
    expect(page.get_by_test_id("river-says")).to_contain_text("Next, the model predicts END")
    expect(page.get_by_test_id("river-says")).to_contain_text(
        "Click a word of the translation to see where it comes from."
    )
    attentions = """async (canvas) => {
      const { squares } = (await import('/static/river/board.js')).sceneOf(canvas);
      return [...new Set(squares.map((one) => one.attention))].sort();
    }"""
    assert page.get_by_test_id("river").evaluate(attentions) == ["cross", "encoder"]
    page.locator('.river [data-focus="decoder"]').click()
    page.wait_for_function("() => location.search.includes('river.heads=decoder')")
    assert page.get_by_test_id("river").evaluate(attentions) == ["decoder", "encoder"]


# --- time -------------------------------------------------------------------------------------------------------------


def test_the_answer_becomes_a_row_and_it_writes_on_until_it_is_stopped(page: "Page") -> None:
    show(page, f"text={TEXT}")
    page.get_by_test_id("gen-step").click()
    expect(page.get_by_test_id("river-says").locator(".q").first).to_have_text("car₂")
    assert page.get_by_test_id("token").count() == 15
    assert (
        page.get_by_test_id("river").evaluate(
            "async (canvas) => (await import('/static/river/board.js')).sceneOf(canvas).bands[0].rows.length"
        )
        == 15
    )
    page.get_by_test_id("gen-play").click()
    page.wait_for_function("() => document.querySelectorAll('[data-testid=token]').length >= 17")
    expect(page.get_by_test_id("gen-pause")).to_be_visible()
    page.get_by_test_id("gen-pause").click()
    expect(page.get_by_test_id("gen-play")).to_be_visible()


def test_any_moment_of_watch_can_be_seen(page: "Page") -> None:
    show(page)
    whole = painted(page)
    scrub = page.get_by_test_id("river-scrub")
    expect(page.get_by_test_id("river-watch")).to_be_hidden()  # as is asked for by who wants less motion
    scrub.fill("100")
    expect(page.get_by_test_id("river-head")).to_contain_text("Layer by layer, red₂ gathers")
    assert painted(page) < whole
    scrub.fill("1000")
    expect(page.get_by_test_id("river-head")).to_be_hidden()
    assert painted(page) == pytest.approx(whole, rel=0.02)


def test_watch_plays_to_its_end_and_is_not_there_with_less_motion(open_page: "Callable[..., Page]") -> None:
    page = open_page(reduced_motion="no-preference")
    show(page)
    page.get_by_test_id("river-scrub").fill("900")
    page.get_by_test_id("river-watch").click()
    page.wait_for_function("() => document.querySelector('[data-testid=river-scrub]').value === '1000'")
    expect(page.get_by_test_id("river-watch")).to_contain_text("Watch")
    page.get_by_test_id("river-scrub").fill("900")
    page.emulate_media(reduced_motion="reduce")
    expect(page.get_by_test_id("river-watch")).to_be_hidden()
    expect(page.get_by_test_id("river-scrub")).to_have_value("1000")


def test_the_sentences_button_lights_the_lines_that_it_hides(page: "Page") -> None:
    show(page)
    button = page.get_by_test_id("cut-looks")
    button.wait_for()
    lit = """async (canvas) => {
      return (await import('/static/river/board.js')).boardOf(canvas).lit.size;
    }"""
    river = page.get_by_test_id("river")
    assert river.evaluate(lit) == 0
    before = river.evaluate("(canvas) => canvas.toDataURL()")
    button.hover()
    assert river.evaluate(lit) == 6, "one in each layer"
    assert river.evaluate("(canvas) => canvas.toDataURL()") != before
    page.mouse.move(640, 5)
    assert river.evaluate(lit) == 0


@pytest.mark.parametrize("size", [(1280, 720), (1440, 900)])
def test_the_first_written_token_moves_no_head_and_no_answer(page: "Page", size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    show(page)
    places = """async (canvas) => {
      const { squares, answers, foot, said } = (await import('/static/river/board.js')).sceneOf(canvas);
      const { y, height } = canvas.getBoundingClientRect();
      const all = [squares.map(({ x, y, width }) => [x, y, width]), answers, foot, said, y, height];
      return JSON.stringify(all, (_, one) => (typeof one === 'number' ? Math.round(10 * one) / 10 : one));
    }"""
    before = page.get_by_test_id("river").evaluate(places)
    page.get_by_test_id("gen-step").click()
    expect(page.get_by_test_id("token")).to_have_count(15)
    page.wait_for_selector('[data-panel="river"][aria-busy="false"] [data-testid="river"]')
    assert page.get_by_test_id("river").evaluate(places) == before


@pytest.mark.parametrize("size", [(1280, 720), (1440, 900)])
def test_the_key_and_the_prediction_stay_where_they_are_on_the_start_page(
    open_page: "Callable[..., Page]", size: tuple[int, int]
) -> None:
    page = open_page(viewport={"width": size[0], "height": size[1]}, reduced_motion="reduce")
    page.goto("/?start")
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.locator(".first")).to_have_count(0)
    expect(page.locator(".start-key")).to_be_visible()
    places = """async () => {
      const canvas = document.querySelector('[data-testid=river]');
      const { answers, links } = (await import('/static/river/board.js')).sceneOf(canvas);
      const { x, y } = canvas.getBoundingClientRect();
      const name = links.find(({ to }) => to === 'prediction');
      const keys = [...document.querySelectorAll('[data-testid=river-key]')];
      const box = keys.find((one) => one.getBoundingClientRect().width).getBoundingClientRect();
      return [x + answers.x, y + answers.y, x + name.x, y + name.y, box.x, box.y];
    }"""
    before = page.evaluate(places)
    page.get_by_test_id("start-step").click()
    expect(page.get_by_test_id("token")).to_have_count(15)
    expect(page.get_by_test_id("river-legend").get_by_test_id("river-key")).to_be_visible()
    assert page.evaluate(places) == pytest.approx(before, abs=1)


# --- into a layer -----------------------------------------------------------------------------------------------------


def test_a_click_on_the_strip_leads_to_its_layer(page: "Page") -> None:
    """Wherever in the layer it is: the lines of a strip lie too close together to be chosen."""
    show(page, f"view=attention&layer=5&head=3&text={TEXT}")
    middles = """async (canvas) => {
      const { bands: [{ columns, top, bottom }] } = (await import('/static/river/board.js')).sceneOf(canvas);
      const { left, top: y } = canvas.getBoundingClientRect();
      return columns.map(({ x0, x1 }) => [left + (x0 + x1) / 2, y + (top + bottom) / 2]);
    }"""
    for layer in (2, 0, 4):
        page.mouse.click(*page.get_by_test_id("river").evaluate(middles)[layer])
        expect(page.get_by_test_id("crumb-layer")).to_have_text(f"Layer {layer}")
        expect(page.get_by_test_id("crumb-head")).to_have_text(f"Head {layer}·3")


def test_a_layer_opens_in_place_and_closes(page: "Page") -> None:
    show(page)
    picture = page.get_by_test_id("river")
    titles = """async (canvas) => {
      const { bands: [{ columns, top }] } = (await import('/static/river/board.js')).sceneOf(canvas);
      const { left, top: y } = canvas.getBoundingClientRect();
      return columns.map(({ x0 }) => [left + x0 + 20, y + top - 14]);
    }"""
    page.mouse.click(*picture.evaluate(titles)[4])
    page.wait_for_function("() => location.search.includes('river.layer=main.4')")
    expect(page.get_by_test_id("crumb-layer")).to_have_text("Layer 4")
    to_station(page, "qkv")
    page.wait_for_function("() => location.search.includes('view=qkv') && location.search.includes('layer=4')")
    picture.focus()
    picture.press("Escape")
    page.wait_for_function("() => location.search.includes('river.layer=main.4')")
    picture.press("Escape")
    expect(page.get_by_test_id("crumb-layer")).to_have_count(0)
    assert serious(page, '[data-panel="river"]') == []


def test_a_click_where_a_layer_has_no_line_opens_it_too(page: "Page") -> None:
    show(page)
    picture = page.get_by_test_id("river")
    where = """async (canvas) => {
      const { bands: [{ columns, rows }] } = (await import('/static/river/board.js')).sceneOf(canvas);
      const { left, top } = canvas.getBoundingClientRect();
      return [left + columns[5].x1 - 30, top + (rows[1].y + rows[2].y) / 2];
    }"""
    x, y = picture.evaluate(where)
    page.mouse.move(x, y)
    expect(picture).to_have_css("cursor", "pointer")
    look = point_of(page, LOOK)
    page.mouse.click(*look)
    expect(page.get_by_test_id("river-hide")).to_be_visible()
    page.mouse.click(x, y)  # the first click only lets the line go
    expect(page.get_by_test_id("river-tip")).to_be_hidden()
    expect(page.get_by_test_id("crumb-layer")).to_have_count(0)
    page.mouse.click(x, y)
    expect(page.get_by_test_id("crumb-layer")).to_have_text("Layer 5")
    page.mouse.click(x, y)  # it is open: this click means nothing
    page.wait_for_timeout(200)
    expect(page.get_by_test_id("crumb-layer")).to_have_text("Layer 5")


def test_the_words_best_guess_open_the_prediction_by_layer(page: "Page") -> None:
    show(page)
    picture = page.get_by_test_id("river")
    x, y = picture.evaluate("""async (canvas) => {
      const { links } = (await import('/static/river/board.js')).sceneOf(canvas);
      const { x, y, width } = links.find(({ to }) => to === 'lens');
      const { left, top } = canvas.getBoundingClientRect();
      return [left + x - width / 2, top + y - 4];
    }""")
    page.mouse.move(x, y)
    expect(picture).to_have_css("cursor", "pointer")
    expect(page.locator(".river-tip")).to_have_text("Show all best guesses, layer by layer")
    page.mouse.click(x, y)
    page.wait_for_url(re.compile(r"view=prediction.*prediction\.tab=layers|prediction\.tab=layers.*view=prediction"))


def test_the_legend_is_the_key_whichever_token_is_chosen(page: "Page") -> None:
    show(page, f"query=4&text={TEXT}")
    legend = page.get_by_test_id("river-legend")
    for token in (4, 3):
        page.get_by_test_id("token").nth(token).click()
        expect(page.get_by_test_id("token").nth(token)).to_have_attribute("aria-description", "query")
        expect(legend.get_by_text("Click a line to choose it, then hide it.")).to_be_visible()
        expect(legend.get_by_text("darker: matters more")).to_be_visible()
    page.get_by_test_id("token").first.click()  # it has no other token before it
    expect(legend.get_by_text("Thicker: more information passed on to Tom₁.", exact=True)).to_be_visible()


# --- cards ------------------------------------------------------------------------------------------------------------


@pytest.mark.fresh
def test_a_card_stays_beside_the_text_with_the_ones_around_it(page: "Page") -> None:
    page.goto("/?view=model&text=")
    page.get_by_test_id("example").first.click()
    caption, place = page.get_by_test_id("caption"), page.get_by_test_id("caption-place")
    expect(place).to_have_text("Example 1 of 15")
    expect(page.get_by_test_id("river-says")).to_contain_text("Hide car from red₂ in all layers and the prediction")
    expect(caption).to_be_hidden()
    place.hover()
    expect(caption).to_be_visible()
    expect(caption).to_contain_text("looks back at “car”")
    page.get_by_test_id("caption-after").click()
    expect(page.get_by_test_id("sentence")).to_have_value("The little bee had a broken wing. Lily helped the little")
    expect(caption).to_contain_text("Who does Lily help?")
    for at in (3, 4, 5):
        page.get_by_test_id("caption-after").click()
        expect(place).to_have_text(f"Example {at} of 15")
    expect(caption).to_contain_text("induction heads")
    page.wait_for_function("() => location.search.includes('view=attention')")
    expect(page.locator("#opened").get_by_test_id("matrix").first).to_be_visible()
    assert page.evaluate("scrollY") == 0, "a head that opens with a sentence scrolls nothing away"
    caption.locator("[data-word=head]").click()  # the glossary's
    expect(page.locator(".word-card")).to_contain_text("A separate search")
    page.keyboard.press("Escape")
    for at in (4, 3):
        page.get_by_test_id("caption-before").click()
        expect(place).to_have_text(f"Example {at} of 15")
    place.focus()
    for at in (2, 1):
        page.keyboard.press("ArrowLeft")
        expect(place).to_have_text(f"Example {at} of 15")
    expect(caption).to_contain_text("looks back at “car”")
    expect(caption).to_be_visible()
    assert serious(page, ".caption") == []
    page.mouse.move(0, 0)
    page.keyboard.press("Escape")
    expect(caption).to_be_hidden()
    expect(page.locator("main")).to_be_focused()
    page.get_by_test_id("sentence").fill("The little bee had a broken wing. Lily helped the little")
    expect(caption).to_contain_text("Who does Lily help?")
    page.get_by_test_id("sentence").fill("The cat sat")
    expect(place).to_be_hidden()
    page.wait_for_function("() => JSON.parse(document.body.dataset.traced).text === 'The cat sat'")


def test_an_encoders_head_leaves_the_chosen_row_of_the_translation(page: "Page") -> None:
    show(page, f"view=attention&model=translate-enja&text={SENTENCES['encoder-decoder']}&query=5")
    expect(page.get_by_test_id("river-says")).to_contain_text("を食べた attends")
    all_heads(page)
    page.locator('[data-testid="head"][data-attention="encoder"]').first.click()
    page.wait_for_function("() => location.search.includes('attention=encoder') && location.search.includes('row=5')")
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("crumb-model").click()
    expect(page.get_by_test_id("river-says")).to_contain_text("The model wrote を食べた")


# --- on a phone -------------------------------------------------------------------------------------------------------


def swipe(page: "Page", by: int) -> None:
    """One finger across the picture."""
    x, y = page.get_by_test_id("river").evaluate(
        """(canvas) => {
          const { left, top } = canvas.getBoundingClientRect();
          return [left + 180, top + 150];
        }"""
    )
    touch = page.context.new_cdp_session(page)
    for kind, to in [("touchStart", 0), *[("touchMove", by * i // 6) for i in range(1, 7)], ("touchEnd", None)]:
        points = [] if to is None else [{"x": x + to, "y": y}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_on_a_phone_layers_are_swiped_below_a_strip_of_all(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    show(page, f"text={TEXT}")
    expect(page.get_by_test_id("river-says")).to_contain_text("Hide ")
    bars, fits = page.get_by_test_id("river").evaluate(
        """async (canvas) => {
          const { answers, only } = (await import('/static/river/board.js')).sceneOf(canvas);
          const bottom = canvas.getBoundingClientRect().top + answers.y + answers.step;
          return [bottom, document.documentElement.scrollWidth <= 390 && only.layer === 5];
        }"""
    )
    assert bars < 844, "the answer is on the first screen"
    assert fits
    page.get_by_test_id("river").scroll_into_view_if_needed()
    swipe(page, 150)
    page.wait_for_function("() => location.search.includes('river.layer=main.4')")
    swipe(page, -150)
    page.wait_for_function("() => location.search.includes('river.layer=main.5')")
    assert serious(page, '[data-panel="river"]') == []


def test_on_a_phone_the_card_of_a_line_is_whole(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    show(page, f"layer=5&text={TEXT}")
    page.touchscreen.tap(*point_of(page, LOOK))
    expect(page.get_by_test_id("river-open-head")).to_have_text("Open head 5·5")
    expect(page.get_by_test_id("river-tip")).to_be_in_viewport(ratio=1)


def test_two_fingers_lead_out_of_a_layer(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    show(page, f"river.layer=main.2&text={TEXT}")
    picture = page.get_by_test_id("river")
    picture.evaluate("canvas => canvas.scrollIntoView()")
    touch = page.context.new_cdp_session(page)
    for kind, apart in [("touchStart", 160), ("touchMove", 150), ("touchMove", 90), ("touchMove", 40), ("touchEnd", 0)]:
        points = [{"x": 190 - apart / 2, "y": 200, "id": 0}, {"x": 190 + apart / 2, "y": 200, "id": 1}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points if apart else []})
    page.wait_for_function("() => !location.search.includes('river.layer')")
    assert page.evaluate("visualViewport.scale") == 1


def test_a_head_opened_far_down_on_a_phone_can_be_read(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    show(page, f"view=attention&layer=5&head=5&text={TEXT}")
    frame = page.locator("#opened").get_by_test_id("matrix").first
    expect(frame).to_have_attribute("aria-busy", "false")
    assert frame.locator(".sheet").evaluate("(sheet) => sheet.clientWidth / 14") >= 12


def test_a_source_that_a_translation_can_do_without_is_said_so(page: "Page") -> None:
    show(page, "model=translate-enja&text=The dog ate my bread.")
    said = page.get_by_test_id("river-says")
    page.locator(".target-strip").get_by_text("犬は").first.click()
    expect(said).to_contain_text(re.compile(r"source is dog\. It can do without it: Hide dog from 犬は .* rises to "))
    page.locator(".target-strip").get_by_text("パン").first.click()
    expect(said).to_contain_text(re.compile(r"source is bread\. Hide bread from パン .* falls to "))

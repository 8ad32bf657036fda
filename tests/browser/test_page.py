"""The page's foundation: sentence, tokens, heads, masks, address, languages, and what is shown when something fails.

Much of it is about loading, so each test has its own page unless it is marked `warm`.
"""

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import all_heads, open_more, open_sampling, overflows, to_station, wait_for_run

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

TEXT = "The cat sat on the mat."
STEP_MS = 800
"""Faster steps than one in 0.7 s count as one for Back."""


def post(server_url: str, path: str, body: dict[str, Any]) -> Any:
    request = Request(server_url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=30) as answer:
        return json.load(answer)


def ready(page: "Page") -> None:
    page.wait_for_selector('body[data-state="ready"]')


def show(page: "Page", query: str) -> None:
    page.goto("/?" + query)
    ready(page)


def type_text(page: "Page", text: str) -> None:
    """Type, and wait for the result of this text, not of the previous one."""
    page.get_by_test_id("sentence").fill(text)
    page.wait_for_function(
        """text => {
          const { traced, state } = document.body.dataset;
          return state === 'ready' && JSON.parse(traced ?? '{}').text === text;
        }""",
        arg=text,
    )


def strip_ids(page: "Page") -> list[int]:
    return page.get_by_test_id("token").evaluate_all("tokens => tokens.map(token => Number(token.dataset.id))")


# --- what is typed -------------------------------------------------------------------------------------------------


MARKUP = """node => {
  const copy = node.cloneNode(true);
  for (const one of [copy, ...copy.querySelectorAll('*')]) {
    const attributes = [...one.attributes].map(({ name, value }) => [name, value]).sort();
    for (const [name] of attributes) one.removeAttribute(name);
    for (const [name, value] of attributes)
      if (!['style', 'data-rests'].includes(name)) // neither sizes nor where a pointer is
        one.setAttribute(name, name === 'class' ? value.split(' ').sort().join(' ') : value);
  }
  return copy.outerHTML;
}"""


def test_what_is_drawn_in_place_is_what_a_fresh_page_draws(open_page: "Callable[..., Page]") -> None:
    page, fresh = open_page(), open_page()
    parts = [".strip:not(.target-strip)", '[data-testid="arithmetic"]', ".candidates", '[data-testid="legend"]']
    show(page, urlencode({"view": "attention", "layer": 2, "text": "Tom saw a café 😀."}))
    for text, head in (("A cat. A cat saw Tom and a red car.", 3), ("Tom ok", 6)):
        type_text(page, text)
        page.locator(f'[data-testid="head"][data-layer="2"][data-head="{head}"]').click()
        show(fresh, urlencode({"view": "attention", "layer": 2, "head": head, "text": text}))
        for one in (page, fresh):
            expect(one.locator('[data-line="moves"] .card-middle')).to_contain_text("writes")  # it comes last
            expect(one.locator(".card-title small")).to_have_text(f"head 2·{head}")
        for part in parts:
            assert page.locator(part).evaluate(MARKUP) == fresh.locator(part).evaluate(MARKUP), (part, text)


@pytest.mark.warm
def test_typing_draws_all_heads(page: "Page") -> None:
    page.goto("/")
    type_text(page, TEXT)

    all_heads(page)
    heads = page.get_by_test_id("head")
    listed = page.request.get("/api/models").json()
    model = next(model for model in listed["models"] if model["name"] == listed["default"])
    assert heads.count() == model["n_layer"] * model["n_head"]
    sizes, drawn = page.evaluate("""() => {
      const canvases = [...document.querySelectorAll('[data-testid=head]')];
      const alphas = (canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
        .data.filter((_, i) => i % 4 === 3);
      return [canvases.map((c) => [c.width, c.height]), canvases.map((c) => alphas(c).filter((a) => a === 255).length)];
    }""")
    n = len(strip_ids(page))
    assert set(map(tuple, sizes)) == {(n, n)}
    assert set(drawn) == {n * (n + 1) // 2}, "allowed cells are painted, forbidden ones show the hatching"


@pytest.mark.warm
def test_a_head_canvas_shows_the_weights(page: "Page", server_url: str) -> None:
    show(page, "text=The cat sat")
    all_heads(page)
    colours = page.evaluate("""async () => {
      const { rampColour } = await import('/static/chart/theme.js');
      const canvas = document.querySelector('[data-testid=head][data-layer="2"][data-head="1"]');
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      const api = await import('/static/data/api.js');
      const want = ['layers.2.attn.pattern'];
      const { tensors } = await api.trace({ text: 'The cat sat', want, heads: [1], dtype: 'uint8' });
      const pattern = tensors[want[0]].data;
      const n = canvas.width;
      const out = [];
      for (let q = 0; q < n; q++) for (let k = 0; k <= q; k++) {
        const i = q * n + k;
        out.push([[...data.slice(4 * i, 4 * i + 3)], rampColour('weights', pattern[i] / 255)]);
      }
      return out;
    }""")
    assert len(colours) > 3
    for painted, expected in colours:
        assert painted == expected


@pytest.mark.warm
def test_strip_has_the_ids_of_tokenize(page: "Page", server_url: str) -> None:
    text = "Lily's 2 dogs\tsaid: “héllo” 猫 👩‍🚀!"
    page.goto("/")
    type_text(page, text)
    tokens = post(server_url, "/api/tokenize", {"text": text})["tokens"]
    expect(page.get_by_test_id("token")).to_have_count(len(tokens))
    assert strip_ids(page) == [token["id"] for token in tokens]
    partial = page.locator("[data-testid=token][data-partial]")
    assert partial.count() == sum(token["partial"] for token in tokens) > 0
    assert "猫" in page.locator(".chargroup .whole").all_text_contents()


def test_a_character_in_bytes_is_read_as_one(page: "Page") -> None:
    page.goto("/?view=model&text=a 猫")
    expect(page.locator(".chargroup .text").first).to_have_attribute("data-part", re.compile(r"^1/\d$"))
    bytes_of = page.locator(".chargroup .token-byte")
    expect(bytes_of).not_to_have_count(0)
    expect(bytes_of.first).to_be_hidden()  # as it is read, bytes are in its title


@pytest.mark.warm
def test_counts_and_space_legend(page: "Page") -> None:
    show(page, "text=A cat.")
    counts = page.get_by_test_id("counts").inner_text()
    assert f"{len(strip_ids(page))} tokens" in counts
    assert "6 characters" in counts
    assert "marks a space" in counts


@pytest.mark.warm
def test_markup_is_shown_as_text(page: "Page") -> None:
    page.goto("/")
    hostile = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    type_text(page, hostile)
    assert page.evaluate("window.hacked") is None
    shown = "".join(page.locator("[data-testid=token] .text").all_text_contents())
    assert shown == hostile.replace(" ", "·")
    offered = page.locator("[data-testid=station]:not([hidden])")
    for view in offered.evaluate_all("tabs => tabs.map(tab => tab.dataset.view)"):
        to_station(page, view)
        ready(page)
    assert page.evaluate("window.hacked") is None
    assert page.locator("main script, main img[onerror]").count() == 0


@pytest.mark.warm
def test_newest_answer_wins(page: "Page") -> None:
    """The answer to the first text arrives after the answer to the second: it must not be drawn."""
    held: list[Route] = []

    def slow(route: "Route") -> None:
        if (route.request.post_data_json or {}).get("text") == "slow":
            held.append(route)
        else:
            route.continue_()

    show(page, "text=start")
    page.route("**/api/trace", slow)
    with page.expect_request(lambda request: "slow" in (request.post_data or "")):
        page.get_by_test_id("sentence").fill("slow")
    type_text(page, "fast and new")
    assert held
    for route in held:
        route.fulfill(response=route.fetch())
    page.evaluate("""async () => {  // what was asked after that answer comes after it
      await (await fetch('/api/models')).json();
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }""")
    ready(page)
    assert page.evaluate("JSON.parse(document.body.dataset.traced).text") == "fast and new"
    assert "".join(page.locator("[data-testid=token] .text").all_inner_texts()) == "fast·and·new"
    assert page.get_by_test_id("sentence").input_value() == "fast and new"


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.warm
def test_text_that_is_too_long_is_kept_and_explained(page: "Page", page_errors: list[str]) -> None:
    show(page, "text=" + TEXT)
    before = strip_ids(page)
    long = "word " * 400
    page.get_by_test_id("sentence").fill(long)
    problem = page.get_by_test_id("problem")
    problem.wait_for(state="visible")
    assert re.search(r"\d+ tokens.*256", problem.inner_text())
    assert page.get_by_test_id("sentence").input_value() == long
    assert page.get_by_test_id("sentence").get_attribute("aria-invalid") == "true"
    assert strip_ids(page) == before, "the last good picture is kept"
    page_errors.clear()  # the browser writes the 422 to its console

    type_text(page, "Short again")
    assert problem.is_hidden()


@pytest.mark.warm
def test_server_away_then_back(page: "Page", page_errors: list[str]) -> None:
    show(page, "text=" + TEXT)
    page.route("**/api/trace", lambda route: route.abort())
    page.get_by_test_id("sentence").fill("The cat sat on the hat.")
    banner = page.get_by_test_id("banner")
    expect(banner).to_contain_text("does not answer")
    assert page.get_by_test_id("sentence").input_value() == "The cat sat on the hat."
    page.unroute("**/api/trace")
    page.wait_for_function("() => JSON.parse(document.body.dataset.traced).text === 'The cat sat on the hat.'")
    ready(page)
    assert banner.is_hidden()
    page_errors.clear()  # the browser's own words about the lost requests


@pytest.mark.warm
def test_full_server_is_asked_again(page: "Page", page_errors: list[str]) -> None:
    asked = 0
    error = {"error": {"code": "full", "message": "Busy.", "hint": "Wait."}}

    def full_once(route: "Route") -> None:
        nonlocal asked
        asked += 1
        if asked == 1:
            route.fulfill(status=503, headers={"Retry-After": "1"}, json=error)
        else:
            route.continue_()

    page.route("**/api/trace", full_once)
    show(page, "text=A text that no other test has read.")
    assert asked > 1
    page_errors.clear()


def test_a_link_to_a_model_that_is_not_here(page: "Page") -> None:
    show(page, "model=no-such-model&text=" + TEXT)
    assert "no-such-model" in page.get_by_test_id("banner").inner_text()
    assert strip_ids(page)


def test_a_link_to_a_place_that_the_model_lacks_says_what_it_shows(page: "Page") -> None:
    show(page, "model=stories-gpt&view=rotation&layer=9&head=3&text=" + TEXT)
    banner = page.get_by_test_id("banner")
    said = "stories-gpt has no Layer 9 › Head 9·3 › rotation. Showing Layer 5 › Head 5·3 › attention instead."
    expect(banner).to_have_text(said)
    page.get_by_test_id("token").nth(1).click()
    expect(banner).to_be_hidden()
    for link in ("view=attention&layer=4&head=3", "view=model&quiz=on"):  # a quiz has no picture of the whole
        show(page, f"model=stories-gpt&{link}&text={TEXT}")
        expect(banner).to_be_hidden()


# --- the address -----------------------------------------------------------------------------------------------------


@pytest.mark.warm
def test_address_reproduces_the_state(page: "Page") -> None:
    show(page, "text=" + TEXT)
    all_heads(page)
    page.locator("[data-testid=head][data-layer='3'][data-head='5']").click()
    page.get_by_test_id("token").nth(4).click()
    page.get_by_test_id("token").nth(1).click(modifiers=["Shift"])
    page.get_by_test_id("switch-causal").click()
    to_station(page, "av")
    page.wait_for_function("() => location.search.includes('view=av') && location.search.includes('key=1')")

    def seen() -> Any:
        ready(page)
        return page.evaluate("""() => ({
          text: document.querySelector('[data-testid=sentence]').value,
          head: [...document.querySelectorAll('[data-testid=head].on')].map((c) => [c.dataset.layer, c.dataset.head]),
          query: [...document.querySelectorAll('[data-testid=token].q')].map((b) => b.dataset.index),
          key: [...document.querySelectorAll('[data-testid=token].k')].map((b) => b.dataset.index),
          causal: document.querySelector('[data-testid=switch-causal]').ariaChecked,
          view: document.querySelector('[role=tab][aria-selected=true]').dataset.view,
        })""")

    before = seen()
    expected = {"head": [["3", "5"]], "query": ["4"], "key": ["1"], "causal": "false", "view": "av"}
    assert before == {"text": TEXT} | expected
    page.reload()
    assert seen() == before


def test_a_model_is_described_when_it_is_first_needed(page: "Page") -> None:
    asked: list[str] = []
    whole: dict[str, Any] = {}

    def listed(route: "Route") -> None:
        answer = route.fetch().json()
        whole.update({line["name"]: dict(line) for line in answer["models"]})
        for line in answer["models"]:
            line.pop("description", None)
        route.fulfill(json=answer)

    def one(route: "Route") -> None:
        name = route.request.url.rsplit("/", 1)[1]
        asked.append(name)
        if "description" in whole[name]:
            route.fulfill(json=whole[name])
        else:
            route.continue_()

    page.route("**/api/models", listed)
    page.route("**/api/models/*", one)
    show(page, "model=stories-gpt&text=" + TEXT)
    assert asked == ["stories-gpt"]
    page.locator(".model-button").click()
    page.locator('[role=option][data-model="translate-enja"]').click()
    page.wait_for_selector('[data-testid="target-token"]')
    page.wait_for_selector('body[data-state="ready"]')
    assert asked == ["stories-gpt", "translate-enja"]
    page.go_back()
    page.wait_for_selector('[data-testid="target-token"]', state="detached")
    page.wait_for_selector('body[data-state="ready"]')
    assert strip_ids(page)
    assert asked == ["stories-gpt", "translate-enja"], "what is cached is not requested again"


def test_a_model_that_is_unavailable_says_why(page: "Page", page_errors: list[str]) -> None:
    """One since the start, another when it is first loaded."""
    lost, nan = "weights.safetensors: No such file.", "weights.safetensors: layers.0.attn.w_q.weight holds NaN."

    def listed(route: "Route") -> None:
        route.fulfill(json=route.fetch().json() | {"problems": [{"name": "lost", "reason": lost}]})

    def traced(route: "Route") -> None:
        if route.request.post_data_json["model"] == "translate-enja":
            error = {"code": "broken_model", "message": nan, "hint": "Use another model.", "got": nan}
            route.fulfill(status=500, json={"error": error})
        else:
            route.continue_()

    page.route("**/api/models", listed)
    page.route("**/api/trace", traced)
    show(page, "model=lost&text=" + TEXT)
    expect(page.locator(".banner")).to_have_text(f"“lost” cannot be used. {lost} Showing stories-gpt instead.")
    page.locator(".model-button").click()
    aside = page.locator("[role=option][aria-disabled=true]")
    expect(aside).to_have_text(f"lost{lost}")
    aside.click(force=True)
    expect(aside).to_be_visible()
    page.locator('[role=option][data-model="translate-enja"]').click()
    expect(page.get_by_test_id("problem")).to_contain_text(nan)
    page.locator(".model-button").click()
    expect(page.locator('[data-model="translate-enja"] .reason')).to_have_text(nan)
    page.locator('[role=option][data-model="stories-gpt"]').click()
    ready(page)
    expect(page.get_by_test_id("problem")).to_be_hidden()
    page_errors.clear()  # the browser reports each 500


@pytest.mark.warm
def test_ids_in_the_address_are_replayed(page: "Page", server_url: str) -> None:
    ids = [token["id"] for token in post(server_url, "/api/tokenize", {"text": TEXT})["tokens"]]
    unusual = [*ids[:2], ids[0], *ids[2:]]  # ids that no tokenizer gives for any text
    show(page, f'run={{"input":{{"token_ids":{unusual}}}}}&prompt=3')
    assert strip_ids(page) == unusual
    assert page.locator("[data-testid=token].gen").count() == len(unusual) - 3

    type_text(page, "Anew")
    assert strip_ids(page) == [t["id"] for t in post(server_url, "/api/tokenize", {"text": "Anew"})["tokens"]]
    wait_for_run(page, "!run.input?.token_ids")


@pytest.mark.warm
def test_back_closes_the_head(page: "Page") -> None:
    show(page, "layer=1&head=1&text=" + TEXT)
    open_head = page.locator("[data-testid=head].on")
    all_heads(page)
    page.locator("[data-testid=head][data-layer='4'][data-head='2']").click()
    expect(open_head).to_have_attribute("data-layer", "4")
    page.go_back()
    expect(open_head).to_have_attribute("data-layer", "1")
    ready(page)
    assert page.get_by_test_id("sentence").input_value() == TEXT


@pytest.mark.warm
def test_example_opens_and_back_returns(page: "Page") -> None:
    page.goto("/")
    page.wait_for_selector('body[data-state="empty"]')
    cards = page.get_by_test_id("example")
    assert cards.count() >= 4  # of stories-gpt; test_families.py opens those of other models
    text = cards.first.locator(".text").inner_text()
    cards.first.click()
    ready(page)
    assert page.get_by_test_id("sentence").input_value() == text
    page.go_back()
    page.wait_for_selector('body[data-state="empty"]')
    assert page.get_by_test_id("sentence").input_value() == ""


SWITCHES = {
    "embedding": {"embedding-neighbours": "embedding.tab=neighbours"},
    "attention": {"lines-lines": "attention.as=lines"},
    "ffn": {"ffn-shown-pre": "ffn.shown=pre", "ffn-sort-activation": "ffn.sort=activation"},
    "residual": {
        "residual-what-attn": "residual.what=attn",
        "residual-gradients": "residual.tab=gradients",
        "residual-over-token": "residual.over=token",
    },
    "prediction": {
        "axis-log": "prediction.axis=log",
        "prediction-layers": "prediction.tab=layers",
        "lens-log": "prediction.layers_axis=log",
    },
    "computation": {"way-all": "computation.way=all"},
}


@pytest.mark.warm
def test_every_switch_of_a_view_is_in_the_link(page: "Page") -> None:
    show(page, "text=" + TEXT)
    for view, switches in SWITCHES.items():
        page.get_by_test_id("walk-through").click() if view == "computation" else to_station(page, view)
        if view == "prediction":
            page.get_by_test_id("all-tokens").click()
            page.wait_for_url("**prediction.all=on**")
        for testid, said in switches.items():
            page.get_by_test_id(testid).click()
            page.wait_for_url(f"**{said}**")
    open_sampling(page)
    page.get_by_test_id("gen-length").fill("7")
    open_sampling(page)
    page.get_by_test_id("gen-pace").select_option("fast")
    page.wait_for_url("**generation.length=7&generation.pace=fast**")
    link = page.url
    show(page, "text=" + TEXT)
    expect(page.get_by_test_id("gen-length")).not_to_have_value("7")
    page.goto(link)
    ready(page)
    expect(page.get_by_test_id("gen-length")).to_have_value("7")
    expect(page.get_by_test_id("gen-pace")).to_have_value("fast")
    for view in ("ffn", "prediction", "computation"):  # tests/js/link.test.js reads every part of a state from its link
        switches = SWITCHES[view]
        page.get_by_test_id("walk-through").click() if view == "computation" else to_station(page, view)
        for testid in reversed(switches):  # the newest are those of the open tab
            if testid == "axis-log":
                page.get_by_test_id("prediction-token").click()
            expect(page.get_by_test_id(testid)).to_have_attribute("aria-pressed", "true")


def test_a_link_outside_the_model_is_fitted(page: "Page") -> None:
    show(page, "layer=99&head=99&query=99&key=99&view=nonsense&text=" + TEXT)
    assert page.get_by_test_id("crumb-model").get_attribute("aria-current") == "location"
    to_station(page, "attention")
    ready(page)
    assert page.locator("[data-testid=head].on").count() == 1
    assert page.locator("[data-testid=token].q").get_attribute("data-index") == str(len(strip_ids(page)) - 1)


# --- keyboard --------------------------------------------------------------------------------------------------------


@pytest.mark.warm
def test_arrow_keys_open_heads(page: "Page") -> None:
    show(page, "layer=1&head=1&text=" + TEXT)
    page.locator("[data-testid=head].on").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    on = page.locator("[data-testid=head].on[data-layer='2'][data-head='2']")
    expect(on).to_be_focused()
    assert page.locator("[data-testid=head][tabindex='0']").count() == 1, "one stop for Tab"


@pytest.mark.warm
def test_arrow_keys_choose_query_and_key(page: "Page") -> None:
    show(page, "query=3&key=0&text=" + TEXT)
    page.get_by_test_id("token").nth(3).focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("[data-testid=token].q")).to_have_attribute("data-index", "2")
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("[data-testid=token].k")).to_have_attribute("data-index", "1")
    assert page.locator("[data-testid=token].q").get_attribute("data-index") == "2"


@pytest.mark.warm
def test_slash_and_question_mark(page: "Page") -> None:
    show(page, "text=" + TEXT)
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.dataset.testid") == "sentence"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("dialog.help").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("dialog.help").is_hidden()


@pytest.mark.warm
def test_ribbon_is_a_tab_list(page: "Page") -> None:
    show(page, "view=tokens&text=" + TEXT)
    page.locator("#tab-tokens").focus()
    page.keyboard.press("ArrowRight")
    selected = page.locator("[role=tab][aria-selected=true]")
    assert selected.count() == 1
    second = page.locator("[data-testid=station]:visible").nth(1)
    assert selected.get_attribute("data-view") == second.get_attribute("data-view") != "tokens"


# --- masks, model, language, theme -----------------------------------------------------------------------------


@pytest.mark.warm
def test_causal_switch_retraces(page: "Page") -> None:
    show(page, "text=" + TEXT)
    n = len(strip_ids(page))
    now = page.get_by_test_id("causal-now")
    assert f"{n * (n - 1) // 2} of {n * n} cells" in now.inner_text()
    page.get_by_test_id("switch-causal").click()
    page.wait_for_function("() => JSON.parse(document.body.dataset.traced).masks.causal === false")
    ready(page)
    assert "no cell is masked" in now.inner_text()


@pytest.mark.warm
def test_model_menu_by_keyboard(page: "Page") -> None:
    show(page, "text=" + TEXT)
    button = page.get_by_role("button", name=re.compile("stories-gpt.*6 layers × 8 heads"))
    button.focus()
    page.keyboard.press("ArrowDown")
    option = page.get_by_role("option").first
    assert option.is_visible()
    assert option.get_attribute("aria-selected") == "true"
    page.keyboard.press("Escape")
    assert option.is_hidden()
    assert page.evaluate("document.activeElement.getAttribute('aria-haspopup')") == "listbox"


def test_share_copies_the_address(open_page: "Callable[..., Page]") -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    show(page, "layer=2&text=" + TEXT)
    lessons = page.get_by_test_id("lessons-button").bounding_box()
    page.get_by_test_id("share").click()
    expect(page.get_by_test_id("share-note")).to_contain_text("Link copied")
    assert page.get_by_test_id("lessons-button").bounding_box() == lessons
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    assert "--host 0.0.0.0" in (page.get_by_test_id("share").get_attribute("title") or ""), (
        "127.0.0.1 is not a link for a class"
    )


def test_japanese_page_keeps_the_state_and_is_remembered(page: "Page") -> None:
    show(page, "layer=2&head=3&text=" + TEXT)
    page.locator("[data-lang=ja]").click()
    page.wait_for_selector('html[lang="ja"]')
    ready(page)
    assert page.locator("#heads-title").inner_text().startswith("ヘッド")
    assert page.get_by_test_id("sentence").input_value() == TEXT
    assert page.locator("[data-testid=head].on").get_attribute("title") == "ヘッド 2·3"
    page.goto("/")
    assert page.locator("html").get_attribute("lang") == "ja"


def test_japanese_browser_gets_japanese(open_page: "Callable[..., Page]") -> None:
    page = open_page(locale="ja-JP")
    page.goto("/")
    page.wait_for_selector('body[data-state="empty"]')
    assert page.locator("html").get_attribute("lang") == "ja"


def test_theme_follows_the_system_and_is_remembered(open_page: "Callable[..., Page]") -> None:
    page = open_page(color_scheme="dark")
    show(page, "text=" + TEXT)
    theme = page.locator("html")
    assert theme.get_attribute("data-theme") == "dark"
    open_more(page)
    page.get_by_test_id("theme").click()
    assert theme.get_attribute("data-theme") == "light"
    page.reload()
    assert theme.get_attribute("data-theme") == "light"


@pytest.mark.parametrize(
    ("lang", "widths"), [("en", (360, 1024)), pytest.param("ja", (390, 1920), marks=pytest.mark.japanese)]
)
def test_nothing_overflows(open_page: "Callable[..., Page]", lang: str, widths: tuple[int, int]) -> None:
    page = open_page()
    page.goto(f"/?lang={lang}")
    page.wait_for_selector('body[data-state="empty"]')
    assert overflows(page, widths) == []
    type_text(page, "The 猫 named Lily saw a very unbelievably-long-compound-word")
    assert overflows(page, widths) == []


def test_what_is_typed_reaches_no_address_and_survives_a_reload(page: "Page", page_errors: list[str]) -> None:
    """First the text is in the query; then a text that is too long for any link."""
    asked: list[str] = []
    show(page, "text=A+text+there.&head=2")
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_function("() => location.hash === '#text=A+text+there.' && !location.search.includes('text')")
    type_text(page, TEXT)
    page.wait_for_function("() => location.hash === '#text=The+cat+sat+on+the+mat.'")
    assert "head=2" in page.url
    type(page).reload(page)  # as the browser does it
    ready(page)
    expect(page.get_by_test_id("sentence")).to_have_value(TEXT)
    assert not [url for url in asked if "cat" in url.partition("#")[0]]

    long = "長い文。" * 600  # 22 kB in an address, and more tokens than the model reads
    page.get_by_test_id("sentence").fill(long)
    page.wait_for_function("() => location.hash.startsWith('#kept=') && location.href.length < 200")
    type(page).reload(page)
    expect(page.get_by_test_id("sentence")).to_have_value(long)
    page.get_by_test_id("share").click()
    expect(page.get_by_test_id("share-note")).to_have_text("Too long for a link")
    page.goto(page.url.replace("kept=", "kept=x"))
    expect(page.locator(".banner")).to_contain_text("kept in the tab that it was typed in")
    page_errors.clear()  # the browser reports each 422


def test_a_step_writes_the_address_once(page: "Page") -> None:
    """Each writing takes a millisecond or two, before anything is drawn."""
    show(page, urlencode({"text": TEXT}))
    page.evaluate("""() => {
      window.written = [];
      for (const how of ["pushState", "replaceState"]) {
        const put = history[how].bind(history);
        history[how] = (...more) => { written.push(how); put(...more); };
      }
    }""")
    for on in ("false", "true", "false"):
        page.get_by_test_id("switch-causal").click()
        expect(page.get_by_test_id("switch-causal")).to_have_attribute("aria-checked", on)
        page.wait_for_timeout(STEP_MS)
    written = page.evaluate("written")
    assert written[-2:] == ["pushState"] * 2, "where Back returns to stands there already"
    page.go_back()
    expect(page.get_by_test_id("switch-causal")).to_have_attribute("aria-checked", "true")


def test_a_long_link_is_offered_as_a_file(page: "Page") -> None:
    """A short sentence with many edits."""
    cells = [{"layer": layer, "role": "mask", "query": 4, "key": key} for key in range(4) for layer in range(6)]
    edits = [{"kind": "mask", "where": cell, "allow": allow} for cell in cells for allow in (False, True)] * 4
    run = json.dumps({"model": "stories-gpt", "input": {"text": TEXT}, "interventions": edits})
    show(page, "layer=1#" + urlencode({"run": run}))
    page.get_by_test_id("share").click()
    expect(page.get_by_test_id("share-note")).to_have_text("Too long for a link: save it as a file?")
    with page.expect_download() as saving:
        page.get_by_test_id("share").click()
    assert saving.value.suggested_filename.endswith(".safetensors")

"""The computation: the numbers of each step are the Python trace's, and the highlighted elements are their inputs."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect
from torch import Tensor

from chumoku.model import checkpoint
from chumoku.model.trace import trace
from tests.browser.helpers import all_heads, link, loaded, serious, to_station, walked

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.warm

TEXTS = {
    "decoder-only": "The quick brown fox",
    "encoder-only": "a wonderful and funny film",
    "encoder-decoder": "I ate a banana in the morning.",
}
TARGET = "私は朝"
SENTENCE = "Tom+lost+his+red+car.+Tom+was+sad.+Mom+found+the+red"
LAYER, HEAD, QUERY, KEY, COL = 1, 2, 2, 1, 13
COMPLETE = ["tokens", "embed", "before", "q", "k", "v", "heads", "scores", "scale", "mask", "softmax", "av", "concat",
            "wo", "residual", "norm", "w1", "relu", "w2", "rest", "logits", "answer"]  # fmt: skip

# In which a model of one stack differs from a decoder that reads an encoder: its positions, mask, norms and answer.
OF_ONE_STACK = ["tokens", "embed", "before", "mask", "residual", "norm", "rest", "final", "logits", "answer"]

# Read from a step on the page: the open element, the sum of its terms, the model's own number and the verdict.
READ = """() => {
  const sum = document.querySelector('[data-station="computation"] [data-testid="computation-sum"]');
  if (!sum?.checkVisibility()) return null;
  const check = sum.querySelector('.check');
  return {
    row: Number(sum.dataset.row), col: Number(sum.dataset.col), value: Number(sum.dataset.value),
    own: check && Number(check.dataset.model), agrees: check && check.dataset.agrees === 'true',
    first: sum.querySelector('.sum-lines dd')?.textContent ?? null,
    lit: [...document.querySelectorAll('[data-station="computation"] .lit')].filter((i) => !i.hidden).length,
    mats: document.querySelectorAll('[data-station="computation"] .mat').length,
  };
}"""


@dataclass(frozen=True)
class Case:
    """A model, a sentence, and its whole trace in Python."""

    model: checkpoint.Checkpoint
    prefix: str
    tensors: dict[str, Tensor]
    text: str

    def linear(self, path: str) -> tuple[Tensor, Tensor]:
        parameters = self.model.model.state_dict()
        return parameters[f"{path}.weight"], parameters[f"{path}.bias"]


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    made = {}
    for family, text in TEXTS.items():
        model = loaded(family)
        encode = model.tokenizer.encode
        target = encode(TARGET) if family == "encoder-decoder" else None
        made[family] = Case(
            model, "decoder." if target else "", trace(model, encode(text), target=target).tensors, text
        )
    return made


def open_at(page: "Page", case: Case, **state: Any) -> None:
    target = {"target": TARGET} if case.prefix else {}
    start = {"model": case.model.name, "text": case.text, "view": "computation", "layer": LAYER, "head": HEAD}
    page.goto(link(start | target | {"query": QUERY, "key": KEY, "cell": f"{QUERY}.{COL}"} | state))
    settled(page)


def settled(page: "Page") -> None:
    page.wait_for_selector('body[data-state="ready"]')
    page.wait_for_selector('#opened[aria-busy="false"] [data-station="computation"] [data-testid="walk-step"]')
    assert page.locator(".panel-error:visible").count() == 0


def joined(heads: Tensor) -> Tensor:
    """[head position d_head] → [position, heads side by side]"""
    return heads.transpose(0, 1).flatten(1)


def results(case: Case) -> Iterator[tuple[str, Tensor]]:
    """Step → its result, from Python's trace."""
    x, config = case.tensors, case.model.config
    block = f"{case.prefix}layers.{LAYER}"
    last = f"{case.prefix}layers.{config.n_layer - 1}.resid_post"
    yield "in.embed", x[f"{case.prefix}layers.0.resid_pre"]
    yield "in.before", x[f"{block}.resid_pre"]
    streams = ["resid_mid", "resid_cross"] if case.prefix else ["resid_mid"]
    for group, after in zip(["attn", "cross_attn"], streams, strict=False):
        yield from attention_results(x, f"{block}.{group}", group)
        yield from residual_results(case, f"{block}.{group}_residual.norm", f"{block}.{after}", group)
    for step, tap in {"w1": "pre", "relu": "post", "w2": "out"}.items():
        yield f"ffn.{step}", x[f"{block}.ffn.{tap}"]
    yield from residual_results(case, f"{block}.ffn_residual.norm", f"{block}.resid_post", "ffn")
    yield "out.rest", x[last]
    if config.norm_order != "post":
        yield "out.final", x[f"{case.prefix}final_norm.out"]


def attention_results(x: dict[str, Tensor], path: str, group: str) -> Iterator[tuple[str, Tensor]]:
    scores, mask = x[f"{path}.scores"][HEAD], x[f"{path}.mask"][0]
    for name in "qkv":
        yield f"{group}.{name}", joined(x[f"{path}.{name}"])
    yield f"{group}.heads", x[f"{path}.q"][HEAD]
    yield f"{group}.scores", x[f"{path}.q"][HEAD] @ x[f"{path}.k"][HEAD].T
    yield f"{group}.scale", scores
    yield f"{group}.mask", scores.masked_fill(mask != 0, -math.inf)
    yield f"{group}.softmax", x[f"{path}.pattern"][HEAD]
    yield f"{group}.av", x[f"{path}.z"][HEAD]
    yield f"{group}.concat", joined(x[f"{path}.z"])
    yield f"{group}.wo", x[f"{path}.attn_out"]


def residual_results(case: Case, norm: str, after: str, group: str) -> Iterator[tuple[str, Tensor]]:
    yield f"{group}.norm", case.tensors[f"{norm}.out"]
    post = case.model.config.norm_order == "post"
    yield f"{group}.residual", case.tensors[f"{norm}.input" if post else after]


def rows_of(step: str) -> int:
    """The chosen row: the key's for K and V."""
    return KEY if step.split(".")[1] in ("k", "v") else QUERY


@pytest.mark.parametrize("family", TEXTS)
def test_every_step_shows_the_traces_numbers(page: "Page", cases: dict[str, Case], family: str) -> None:
    case = cases[family]
    open_at(page, case, attention="decoder" if case.prefix else "self", computation__step="in.tokens")

    kinds = None if case.prefix else OF_ONE_STACK
    seen = walked(page, READ, kinds)
    assert {step.split(".")[1] for step in seen} - {"final"} == set(COMPLETE)
    assert seen.pop("in.tokens") is None, "tokens have no sum"
    expected = {step: result for step, result in results(case) if not kinds or step.split(".")[1] in kinds}
    for step, said in seen.items():
        if kinds and step.split(".")[1] not in kinds:
            continue
        if step not in ("out.logits", "out.answer"):
            if step not in ("cross_attn.k", "cross_attn.v"):  # nothing has been chosen in the source yet
                assert said["row"] == rows_of(step), step
            want = expected.pop(step)[said["row"], said["col"]].item()
            assert said["value"] == pytest.approx(want, rel=1e-5, abs=1e-5), step
            other_head = step.endswith("concat") and said["col"] // case.model.config.d_head != HEAD
            assert said["lit"] == said["mats"] - other_head, f"{step}: what made it is lit"
        if said["own"] is not None:
            assert said["agrees"], step
    assert expected == {}
    answers(case, seen)


def answers(case: Case, seen: dict[str, Any]) -> None:
    """The logit of the most likely answer and its probability."""
    logits = case.tensors["logits"]
    row = logits if case.model.config.classes else logits[QUERY]
    row = row.clone().double()
    if not case.model.config.classes:
        row[case.model.tokenizer.never_sampled] = -math.inf
    best = 0 if case.model.config.classes else int(row.argmax())
    assert seen["out.logits"]["value"] == pytest.approx(row[best].item(), rel=1e-5)
    assert seen["out.answer"]["value"] == pytest.approx(row.softmax(-1)[best].item(), rel=1e-5)


def test_sums_are_made_of_the_row_and_the_column(page: "Page", cases: dict[str, Case]) -> None:
    """The dot product, before the bias, of one of the open head's columns and of the chosen FFN unit."""
    case = cases["decoder-only"]
    block, x = f"layers.{LAYER}", case.tensors
    inputs = {"q": f"{block}.attn_residual.norm.out", "w1": f"{block}.ffn_residual.norm.out"}
    for step, path in {"attn.q": f"{block}.attn.w_q", "ffn.w1": f"{block}.ffn.w_1"}.items():
        col = HEAD * case.model.config.d_head + COL if step == "attn.q" else COL
        open_at(page, case, computation__step=step, cell=f"{QUERY}.{col}", unit_id=COL)
        said = page.evaluate(READ)
        weight, bias = case.linear(path)
        dot = (x[inputs[step.split(".")[1]]][QUERY] @ weight[col]).item()
        assert said["col"] == col
        assert float(said["first"].replace("\u2212", "-")) == pytest.approx(dot, rel=1e-4, abs=1e-5)
        assert said["value"] == pytest.approx(dot + bias[col].item(), rel=1e-5, abs=1e-5)


def test_pointer_and_keys_choose_an_element(page: "Page", cases: dict[str, Case]) -> None:
    case = cases["decoder-only"]
    pattern = case.tensors[f"layers.{LAYER}.attn.pattern"][HEAD]
    open_at(page, case, computation__step="attn.softmax")
    page.get_by_test_id("way-all").click()
    frame = page.locator('[data-station="computation"] [data-testid="computation-result"] .frame')
    box = frame.bounding_box()
    assert box
    n = len(pattern)
    page.mouse.move(box["x"] + box["width"] * 0.5 / n, box["y"] + box["height"] * 3.5 / n)
    page.wait_for_function("() => document.querySelector('[data-testid=\"computation-sum\"]').dataset.row === '3'")
    said = page.evaluate(READ)
    assert (said["row"], said["col"]) == (3, 0)
    assert said["value"] == pytest.approx(pattern[3, 0].item(), rel=1e-5)
    assert page.evaluate("() => new URLSearchParams(location.search).get('query')") == str(QUERY), "only looked at"

    page.mouse.move(0, 0)
    frame.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.querySelector('[data-testid=\"computation-sum\"]').dataset.col === '0'")
    said = page.evaluate(READ)
    assert (said["row"], said["col"]) == (QUERY + 1, KEY - 1)
    assert said["value"] == pytest.approx(pattern[QUERY + 1, KEY - 1].item(), rel=1e-5)
    page.wait_for_url(re.compile(r"query=3&key=0"))
    page.get_by_test_id("way-one").click()


def test_the_walk_is_walked(page: "Page", cases: dict[str, Case]) -> None:
    """With the button, with the arrow keys, by playing to the end, and opened from a head of another attention."""
    case = cases["decoder-only"]
    open_at(page, case, computation__step="ffn.relu")
    at = page.get_by_test_id("walk-where")
    total = page.get_by_test_id("walk-step").count()
    page.get_by_test_id("walk-next").click()
    page.wait_for_selector('[data-step="ffn.w2"][aria-current="step"]')
    page.locator('[data-step="ffn.w2"]').focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector('[data-step="ffn.relu"][aria-current="step"]:focus')
    page.wait_for_url(re.compile(r"step=ffn\.relu"))
    page.keyboard.press("End")
    page.wait_for_selector('[data-step="out.answer"][aria-current="step"]')
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector('[data-step="out.logits"][aria-current="step"]')
    settled(page)
    page.get_by_test_id("walk-pace").select_option("0.5")
    page.wait_for_url("**computation.pace=0.5**")
    page.get_by_test_id("walk-play").click()
    page.wait_for_selector('[data-step="out.answer"][aria-current="step"]')
    page.wait_for_function("() => !document.querySelector('[data-testid=walk-play]').textContent.includes('❚❚')")
    assert at.inner_text() == f"{total} of {total}"
    to_station(page, "prediction")
    page.get_by_test_id("all-tokens").click()
    expect(page.get_by_test_id("bars")).to_be_visible()
    pressed = "(button) => { scrollTo(0, 90); const top = scrollY; button.click(); return top; }"
    top = page.get_by_test_id("walk-through").evaluate(pressed)
    assert top > 0
    # It plays at once, from what is open.
    page.wait_for_selector('[data-step="out.answer"][aria-current="step"]')
    expect(page.get_by_test_id("walk-play")).to_have_attribute("aria-label", "Play")
    expect(page).not_to_have_url(re.compile("computation.plays"))
    page.get_by_test_id("walk-through").click()
    expect(page.locator("#tab-prediction")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_test_id("walk-play")).to_be_hidden()
    page.wait_for_function("top => scrollY === top", arg=top)  # as it was when this was pressed

    open_at(page, cases["encoder-decoder"], computation__step="attn.softmax", attention="decoder")
    all_heads(page)
    page.locator('[data-testid="head"][data-attention="cross"][data-layer="0"][data-head="3"]').click()
    page.wait_for_selector('[data-step="cross_attn.softmax"][aria-current="step"]')
    assert page.locator('[data-station="computation"] [data-testid="opened-title"]').inner_text() == (
        "Cross-attention · Head 0·3"
    )
    page.get_by_test_id("all-heads").click()  # they lie over the walk
    page.wait_for_selector('[data-testid="all-heads"][aria-expanded="false"]')


def test_only_what_a_step_shows_is_asked_for_once(page: "Page", cases: dict[str, Case]) -> None:
    case = cases["decoder-only"]
    asked: list[str] = []
    page.goto("/?text=")  # the page before it may still ask for something
    page.wait_for_selector('body[data-state="empty"]')
    page.on(
        "request", lambda one: asked.extend(re.findall(r"[\w.]+\.w_\w+\.\w+|\w*embedding\.weight", one.post_data or ""))
    )
    open_at(page, case, computation__step="ffn.w1", layer=4)
    page.get_by_test_id("walk-next").click()
    page.wait_for_selector('[data-step="ffn.relu"][aria-current="step"]')
    page.get_by_test_id("walk-previous").click()
    page.wait_for_selector('[data-step="ffn.w1"][aria-current="step"]')
    settled(page)
    assert len(asked) == len(set(asked)), "each is requested once"
    assert not any("embedding" in name for name in asked), "the whole vocabulary is never requested"


@pytest.mark.fresh
@pytest.mark.japanese
def test_everyone_can_walk(open_page: "Callable[..., Page]", cases: dict[str, Case]) -> None:
    """On a phone, in the dark, in Japanese: nothing overflows, and axe finds nothing serious."""
    page = open_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    for step in ("attn.q", "attn.softmax", "ffn.w2"):
        open_at(page, cases["decoder-only"], computation__step=step, lang="ja")
        assert page.evaluate("() => document.documentElement.scrollWidth") == 390
        mats = page.locator('[data-station="computation"] .mat')
        widths = mats.evaluate_all("mats => mats.map((mat) => mat.querySelector('canvas').clientWidth)")
        assert 0 < max(widths) <= 390
    assert page.locator('[data-station="computation"] .step-name').inner_text().startswith("FFN の 2 つ目")
    assert serious(page, '[data-station="computation"]') == []


def test_the_walk_follows_one_dimension_to_the_end_and_play_shows_each_result(page: "Page") -> None:
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto("/?text=Tom+lost+his+red+ball&view=computation&layer=1&head=2&computation.step=attn.v")
    summed = page.get_by_test_id("computation-sum")
    page.wait_for_selector('body[data-state="ready"] [data-testid=computation-sum][data-col]')
    dimension = int(summed.get_attribute("data-col") or "-1")
    assert dimension // 32 == 2, "an element of the open head"
    for step in ("heads", "scores", "scale", "mask", "softmax", "av", "concat", "wo", "residual"):
        page.get_by_test_id("walk-next").click()
        page.wait_for_selector(f'[data-step="attn.{step}"][aria-current=step]')
        page.wait_for_selector('body[data-state="ready"] [data-panel=opened][aria-busy=false]')
        if step in ("av", "concat", "wo", "residual"):
            shown = dimension % 32 if step == "av" else dimension
            page.wait_for_selector(f'[data-testid=computation-sum][data-col="{shown}"]')

    page.get_by_test_id("walk-play").click()
    page.wait_for_selector('[data-step="ffn.norm"][aria-current=step]')
    page.wait_for_function("""() => {
      const { top, bottom } = document.querySelector('[data-testid=computation-result]').getBoundingClientRect();
      return top >= 0 && (bottom <= innerHeight || top <= 1);
    }""")


# What plays: the height of the bar, whether steps are cut, where the matrices begin, the foot of the last and of the
# sum, and how far the page is scrolled.
PLACED = """() => {
  const station = document.querySelector('[data-station="computation"]');
  const of = (part) => [...station.querySelectorAll(part)].filter((one) => one.checkVisibility());
  const rail = station.querySelector('.walk-steps');
  const ends = of('.mat, .sum').map((one) => one.getBoundingClientRect().bottom);
  return {
    bar: station.querySelector('.bar').offsetHeight, cut: rail.scrollWidth > rail.clientWidth,
    top: of('.mat').map((one) => Math.round(one.getBoundingClientRect().top))[0],
    hidden: of('.sum').some((one) => one.scrollHeight > one.clientHeight),
    foot: Math.max(0, ...ends), scrolled: scrollY,
  };
}"""


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1440, 900)])
def test_on_a_laptop_nothing_jumps_or_is_cut_while_the_calculation_plays(page: "Page", width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.goto("/?view=attention&layer=5&head=5&query=13&key=4&river.shown=on#text=" + SENTENCE)
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("walk-through").click()
    page.get_by_test_id("walk-play").click()
    steps = walked(page, PLACED)
    assert len(steps) == 24
    assert {step: at["bar"] for step, at in steps.items() if at["bar"] > 34} == {}
    assert [step for step, at in steps.items() if at["cut"] or at["hidden"] or at["scrolled"]] == []
    assert {step: at["foot"] for step, at in steps.items() if at["foot"] > height} == {}
    assert len({at["top"] for at in steps.values() if at["top"] is not None}) == 1

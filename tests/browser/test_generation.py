"""Next token, sampling settings and generation: what the page shows is what model/ computes.

A page remembers, for each sentence, which tokens were drawn, undone and left: each test has a sentence of its own.
"""

import json
import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen
from zlib import crc32

import numpy as np
import pytest
from playwright.sync_api import expect

from chumoku.model.trace import trace
from tests.browser.helpers import all_heads, brief_percent, link, open_sampling, open_tools, wait_for_run
from tests.browser.states import opened

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Request

    from chumoku.model.checkpoint import Checkpoint
    from chumoku.model.generate import Step
    from chumoku.model.run import Run
    from chumoku.model.sampling import Distribution, SamplingSettings

pytestmark = pytest.mark.warm

TEXT = "Once upon a time, there was a little girl named Lily. She had {} birds."
LAYER, HEAD, SEED = 2, 3, 7


@pytest.fixture(scope="module")
def checkpoint() -> "Checkpoint":
    from chumoku.model import checkpoint

    return checkpoint.load(checkpoint.ZOO / "stories-gpt")


@pytest.fixture
def text(request: pytest.FixtureRequest) -> str:
    return TEXT.format(crc32(request.node.name.encode()) % 1000)


@pytest.fixture
def prompt(checkpoint: "Checkpoint", text: str) -> list[int]:
    return checkpoint.tokenizer.encode(text)


def show(page: "Page", text: str, **query: object) -> None:
    page.goto(link({"text": text, "layer": LAYER, "head": HEAD, "view": "tokens", "drawer": "generation", **query}))
    settled(page)
    unfold(page)


def unfold(page: "Page") -> None:
    """Open what is not needed for stepping."""
    page.get_by_test_id("fold-writing").evaluate("fold => { fold.open = true }")


def settled(page: "Page", n_tokens: int | None = None) -> None:
    """Wait until everything is drawn, for a path of `n_tokens`."""
    page.wait_for_function(
        """n => {
          const path = document.querySelector('[data-testid=tree]')?.dataset.ids?.split('.').length;
          const strip = document.querySelectorAll('[data-testid=token]').length;
          const busy = document.querySelector('[aria-busy=true]:not([hidden])');
          return document.body.dataset.state === 'ready' && !busy && path === strip && (n === null || path === n);
        }""",
        arg=n_tokens,
    )


def ids_of(page: "Page") -> list[int]:
    ids = page.get_by_test_id("tree").get_attribute("data-ids") or ""
    return [int(one) for one in ids.split(".")]


def node(page: "Page", ids: list[int]) -> "Locator":
    """The tree's node whose text is `ids`."""
    return page.locator(f'[data-testid=tree-node][data-text="{".".join(map(str, ids))}"]')


def ends(page: "Page") -> "Locator":
    """What chooses a text for a comparison: one at the end of each branch."""
    return page.get_by_test_id("tree-end")


def press(page: "Page", name: str, n_tokens: int) -> None:
    page.get_by_test_id(f"gen-{name}").click()
    settled(page, n_tokens)


def model_steps(checkpoint: "Checkpoint", prompt: "list[int] | Run", n: int, **settings: Any) -> "list[Step]":
    """What `model.generate` gives with the page's settings: the prompt's step and `n` more."""
    from chumoku.model.generate import generate
    from chumoku.model.sampling import SamplingSettings

    chosen = SamplingSettings(**{"temperature": 0.8, "top_k": 20, "top_p": 0.95, "seed": SEED, **settings})
    return list(generate(checkpoint, prompt, chosen, n, ["layers.2.attn.pattern"]))


def bars_of(page: "Page") -> "Locator":
    """The panel's; a prediction station that a test before has opened has its own, hidden."""
    return page.locator('[data-panel="next_token"]').get_by_test_id("candidate")


def candidates(page: "Page") -> list[dict[str, Any]]:
    rows = bars_of(page).evaluate_all("rows => rows.map(({dataset, innerText}) => ({...dataset, text: innerText}))")
    return [{**row, "id": int(row["id"]), "before": float(row["before"]), "after": float(row["after"])} for row in rows]


def percent(share: float) -> str:
    """As static/ui/format.js writes it."""
    return "<\u202f0.1\u202f%" if 0 < share < 0.0005 else f"{share * 100:.1f}\u202f%"


# --- the next token -------------------------------------------------------------------------------------------------

# tests/js/test_sampling.py compares the distributions for many more.
SETTINGS = {
    "default": {},
    "greedy": {"temperature": 0},
    "wide": {"temperature": 1.5, "top_k": 0, "top_p": 0.5},
}


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_bars_are_the_models_distribution(
    page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int], settings: dict[str, Any]
) -> None:
    from chumoku.model.sampling import SamplingSettings, distribution
    from chumoku.model.trace import trace

    logits = trace(checkpoint, prompt, ["logits"]).tensors["logits"]
    used = SamplingSettings(**{"temperature": 0.8, "top_k": 20, "top_p": 0.95, **settings})
    show(page, text, **settings)
    for query in (5, len(prompt) - 1):
        page.get_by_test_id("token").nth(query).click()
        settled(page)
        expect(page.get_by_test_id("next-where")).to_contain_text(f": token {query + 1}")
        follows = query < len(prompt) - 1
        expect(page.get_by_test_id("next-actual")).to_be_visible(visible=follows)
        check_bars(page, distribution(logits[query], used, [checkpoint.tokenizer.pad_id]), used, 5 if follows else 6)


def check_bars(page: "Page", truth: "Distribution", used: "SamplingSettings", n: int) -> None:
    """`n`: how many tokens are listed; one that follows in the text has a line of its own."""
    shown = candidates(page)
    assert [row["id"] for row in shown] == truth.before.argsort(descending=True, stable=True)[:n].tolist()
    for row in shown:
        assert row["before"] == pytest.approx(float(truth.before[row["id"]]), abs=1e-6)
        assert row["after"] == pytest.approx(float(truth.after[row["id"]]), abs=1e-6)
        assert (row["kept"] == "true") == bool(truth.kept[row["id"]])
        assert brief_percent(row["before"]) in row["text"]
        assert (brief_percent(row["after"]) if row["kept"] == "true" else "0\u202f%") in row["text"]
    rest = page.get_by_test_id("next-rest").inner_text()
    assert f"As uncertain as {2**truth.entropy_bits:.1f} equally likely tokens" in rest
    about = page.get_by_test_id("next-rest").locator("[title]").evaluate_all("all => all.map(({ title }) => title)")
    assert about[-1] == f"Entropy: {truth.entropy_bits:.2f} bits"
    cut = len(truth.before) - 1 - truth.n_kept  # PAD does not count as excluded
    if used.temperature and cut:
        assert f"{cut:,} " in rest
        names = ("never", "top\u2011k", "top\u2011p", "min\u2011p")
        by = [(name, mass) for name, mass in zip(names, truth.masses, strict=True) if mass]
        parts = " + ".join(f"{name} {percent(mass)}" for name, mass in by)
        assert about[0] == f"Excluded, after penalty and temperature: {parts}"


def test_the_row_and_the_token_that_follows_are_named(
    page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]
) -> None:
    show(page, text, query=4)
    expect(page.get_by_test_id("next-where")).to_have_text("After “… a time,”: token 5")

    shown = candidates(page)
    rank = [row["id"] for row in shown].index(prompt[5])
    expect(page.get_by_test_id("next-actual")).to_contain_text(
        f"rank {rank + 1}, {brief_percent(shown[rank]['before'])}"
    )
    expect(bars_of(page).nth(rank)).to_have_class(re.compile("actual"))

    page.get_by_test_id("token").nth(len(prompt) - 1).click()
    expect(page.get_by_test_id("next-actual")).to_be_hidden()  # nothing follows the last row


def test_settings_change_the_bars_and_the_address(page: "Page", text: str) -> None:
    show(page, text, top_p=1)  # only top-k cuts
    before = candidates(page)
    open_sampling(page)
    page.get_by_test_id("sampling-topK").fill("3")
    page.wait_for_function("() => document.querySelectorAll('.panel.next [data-kept=true]').length === 3")
    page.wait_for_url("**top_k=3**")
    after = candidates(page)

    assert [row["before"] for row in before] == [row["before"] for row in after]
    assert sum(row["after"] for row in after) == pytest.approx(1)
    why = "too unlikely (top-k 3)"
    expect(page.get_by_test_id("likely").nth(3)).to_have_attribute(
        "title", re.compile(rf"^Take .*, although sampling excludes it: {re.escape(why)}$")
    )
    page.get_by_test_id("likely").nth(3).focus()
    expect(page.get_by_test_id("dock-draw-note")).to_have_text(why)
    struck = "node => getComputedStyle(node).textDecorationLine"
    names = page.locator(".likely:not(.out, [hidden]) > .text")
    assert [names.nth(i).evaluate(struck) for i in range(5)] == ["none"] * 3 + ["line-through"] * 2
    open_sampling(page)
    page.get_by_test_id("sampling-topK").fill("0")
    page.get_by_test_id("sampling-minP").fill("0.3")
    page.wait_for_url("**min_p=0.3**")
    most = max(row["before"] for row in before)
    kept = sum((row["before"] / most) ** (1 / 0.8) >= 0.3 for row in before)  # at temperature 0.8
    page.wait_for_function("(n) => document.querySelectorAll('.panel.next [data-kept=true]').length === n", arg=kept)
    page.get_by_test_id("sampling-penalty").fill("1.5")
    page.wait_for_url("**repetition_penalty=1.5**")
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("sampling-temperature").fill("0")
    expect(page.get_by_test_id("next-rest")).to_contain_text("the most likely token is always taken")


def test_the_station_shows_more_of_the_same(
    page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]
) -> None:
    show(page, text, view="prediction")
    expect(page.get_by_test_id("next-tokens")).to_be_visible()
    for folded in ("bars", "candidate-row", "answer-choice"):
        expect(page.get_by_test_id(folded).first).to_be_hidden()
    page.get_by_role("button", name="All 4,096 tokens", expanded=False).click()
    expect(page.get_by_role("button", name="All 4,096 tokens", expanded=True)).to_be_visible()
    expect(page.get_by_test_id("answer-choice")).to_be_visible()
    truth = model_steps(checkpoint, prompt, 0)[0].next
    rows = page.get_by_test_id("candidate-row").evaluate_all("rows => rows.map(({dataset}) => ({...dataset}))")

    assert len(rows) == 20
    for row in rows:
        assert float(row["before"]) == pytest.approx(float(truth.before[int(row["id"])]), abs=1e-6)
        assert float(row["after"]) == pytest.approx(float(truth.after[int(row["id"])]), abs=1e-6)
    shares = [float(row["before"]) for row in rows]
    rest = page.get_by_test_id("candidates-rest").locator("td.before").inner_text()
    assert float(rest.split()[0]) == pytest.approx(100 * (1 - sum(shares)), abs=2e-3)
    page.get_by_test_id("axis-linear").click()
    bars = page.get_by_test_id("bars")
    expect(bars.locator(".bars .point")).to_have_count(40)  # before and after
    page.get_by_test_id("axis-log").click()
    expect(page.get_by_test_id("axis-log")).to_have_attribute("aria-pressed", "true")
    page.get_by_test_id("candidate-row").nth(2).get_by_role("button").click()
    settled(page, len(prompt) + 1)
    assert ids_of(page)[-1] == int(rows[2]["id"])


def multiply_adds(checkpoint: "Checkpoint", ids: list[int], *, cached: bool) -> float:
    """Of one step, from torch's own count of passes over n tokens and over one: n · rows + n² · mixing."""
    from torch.utils.flop_counter import FlopCounterMode

    def counted(n: int) -> float:
        counter = FlopCounterMode(display=False)
        with counter:
            trace(checkpoint, ids[:n], ["logits"])
        return counter.get_total_flops() / 2

    n = len(ids)
    once = counted(1)
    mixing = (counted(n) - n * once) / (n * n - n)
    rows = 1 if cached else n
    return rows * (once - mixing + n * mixing)


def test_what_fed_the_text_is_the_rows_that_predicted_it(
    page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]
) -> None:
    show(page, text, fed__by="head")
    n = len(prompt)
    for more in (1, 2):
        press(page, "step", n + more)
    open_tools(page)
    page.get_by_test_id("tool-fed").click()
    ids = model_steps(checkpoint, prompt, 2)[-1].ids
    pattern = trace(checkpoint, ids, [f"layers.{LAYER}.attn.pattern"]).tensors[f"layers.{LAYER}.attn.pattern"][HEAD]
    tokens = page.get_by_test_id("fed-token")
    expect(tokens).to_have_count(len(ids))
    shares = "all => all.map(({ dataset }) => Number(dataset.share))"
    both = pattern[[n - 1, n]].mean(0).numpy()
    np.testing.assert_allclose(tokens.evaluate_all(shares), both, atol=1.5 / 255)
    page.get_by_test_id("fed-frame").fill("1")  # the first written token alone
    expect(page.get_by_test_id("fed-frame")).to_have_attribute("aria-valuetext", "written token 1 of 2")
    np.testing.assert_allclose(tokens.evaluate_all(shares), pattern[n - 1].numpy(), atol=1.5 / 255)
    page.get_by_test_id("fed-play").click()
    expect(page.get_by_test_id("fed-frame")).to_have_attribute("aria-valuetext", "written token 2 of 2")
    expect(page.get_by_test_id("fed-play")).to_have_text("Play")  # it ends with the text


IN_SIGHT = """(one) => {
  const { left, right } = one.getBoundingClientRect();
  const around = [];
  for (let up = one.parentElement; up; up = up.parentElement) around.push(up);
  return around.filter((up) => getComputedStyle(up).overflowX !== 'visible').every((up) => {
    const box = up.getBoundingClientRect();
    return left >= box.left - 1 && right <= box.right + 1;
  });
}"""
SHARE = "({ style }) => [style.left, style.width].map(parseFloat)"


# --- steps ----------------------------------------------------------------------------------------------------------


def the_cache_of(page: "Page", checkpoint: "Checkpoint", step: "Step") -> None:
    """What the sheet says of a step and shows of it; then it is switched off."""
    n = len(step.ids)
    counts = [multiply_adds(checkpoint, step.ids, cached=cached) for cached in (True, False)]
    times = f"{counts[1] / counts[0]:.0f} times fewer"
    last = checkpoint.tokenizer.decode([step.ids[-1]]).strip()
    expect(page.get_by_test_id("gen-cache")).to_have_text(
        f"{times} multiply\u2011adds This step: 1 new column ({last}), {n - 1} reused."
    )
    shown = page.locator(".cache-bars output").all_inner_texts()
    assert shown[:2] == [f"{step.cache_bytes / 1024:.0f}\u202fKiB", "0"]
    assert shown[2:4] == [f"{count / 1e6:.1f}\u202fM" for count in counts]
    # Each Step is a request for one token: the process had read all before it.
    expect(page.get_by_test_id("cache-server")).to_contain_text(f"{n - 1} reused, 1 computed")
    # The picture: keys and values of every layer, and beside what was kept the new token's column, with its name.
    pictures = page.locator(".cache-picture")
    layers = checkpoint.config.n_layer
    expect(pictures).to_have_count(2 * layers)
    sizes = page.locator(".cache-picture canvas").evaluate_all("all => all.map(({ width, height }) => [width, height])")
    d_head = checkpoint.config.d_model // checkpoint.config.n_head
    assert sizes == [[n - 1, d_head], [1, d_head]] * (2 * layers)
    new = page.locator(".cache-picture .new")
    assert min(new.evaluate_all("all => all.map(({ clientWidth }) => clientWidth)")) >= 8
    expect(page.locator(".cache-layer > figcaption > b")).to_have_text([last] * layers)
    kept = page.locator(".cache-picture[data-role=v][data-layer='1'] .kept")
    kept.hover(position={"x": 1, "y": 1})
    values = trace(checkpoint, step.ids, ["layers.1.attn.v"]).tensors["layers.1.attn.v"]
    title = kept.get_attribute("title") or ""
    assert float(title.rsplit(" ", 1)[1].replace("−", "-")) == pytest.approx(float(values[HEAD, 0, 0]), rel=1e-3)
    # Switched off, the same step the other way round.
    page.get_by_test_id("switch-cache").click()
    expect(page.get_by_test_id("switch-cache")).to_have_attribute("aria-checked", "false")
    expect(page.get_by_test_id("gen-cache")).to_have_text(
        f"{counts[1] / counts[0]:.0f} times as many multiply\u2011adds "
        f"Without the cache, this step computes all {n} columns."
    )
    expect(page.locator(".cache-bars .with.taken")).to_have_count(0)  # the other line is bold
    expect(page.get_by_test_id("cache-server")).to_be_hidden()


def test_a_step_is_the_models_own(page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]) -> None:
    from chumoku.model.sampling import draw, uniform

    steps = model_steps(checkpoint, prompt, 3)
    show(page, text)
    for step in steps[1:3]:
        press(page, "step", len(step.ids))
        assert ids_of(page) == step.ids
        index = len(step.ids) - 1
        assert step.u is not None
        assert step.drawn is not None
        expect(page.get_by_test_id("gen-drawn")).to_contain_text(f"Random draw {step.u:.2f} fell on")
        expect(page.get_by_test_id("gen-drawn")).to_contain_text(
            f"{brief_percent(float(step.drawn.after[step.ids[-1]]))} after"
        )
        # The dock shows where the next number will fall: in the share of its token, which is as wide as it is likely.
        u = uniform(7, index + 1)
        then = draw(step.next, u)
        expect(page.get_by_test_id("dock-draw-said")).to_have_text(
            re.compile(rf"next draw {u:.2f} → .*{re.escape(checkpoint.tokenizer.decode([then]).strip())}")
        )
        left, width = page.locator('.draw[data-u="stands"] .share.hit').evaluate(SHARE)
        assert left <= 100 * u < left + width
        assert width == pytest.approx(100 * float(step.next.after[then]), abs=1e-3)
        expect(page.locator(".likely.falls")).to_have_attribute("data-id", str(then))
        expect(page.get_by_test_id("next-where")).to_contain_text(f": token {index + 1}")
        for row in candidates(page):
            assert row["before"] == pytest.approx(float(step.next.before[row["id"]]), abs=1e-5)
    expect(page.get_by_test_id("gen-count")).to_have_text("2 written")
    page.get_by_test_id("sheet-cache").click()  # from sheet to sheet
    expect(page.get_by_test_id("gen-drawn")).to_be_hidden()
    the_cache_of(page, checkpoint, steps[2])
    n = len(steps[2].ids)
    new = page.locator(".cache-picture .new")
    # The next token is the same, and every column was computed.
    press(page, "step", n + 1)
    assert ids_of(page) == steps[3].ids
    expect(page.get_by_test_id("gen-cache")).to_contain_text(f"this step computes all {n + 1} columns.")
    expect(new.first).to_have_attribute("width", str(n + 1))
    page.get_by_test_id("cache-of-steps").click()
    page.get_by_test_id("cache-costs-milliseconds").click()
    page.get_by_test_id("cache-measure").click()
    expect(page.get_by_test_id("cache-difference")).to_contain_text("Largest difference between their logits")


def test_the_cache_counts_a_text_that_was_written_before(
    page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]
) -> None:
    steps = model_steps(checkpoint, prompt, 2)[1:]
    show(page, text)
    for step in steps:
        press(page, "step", len(step.ids))
    wait_for_run(page, f"run.input?.token_ids.join() === '{','.join(map(str, steps[-1].ids))}'")  # the address follows
    page.reload()
    settled(page, len(steps[-1].ids))
    page.get_by_test_id("dock-cache").click()
    size = f"{steps[-1].cache_bytes / 1024:.0f}\u202fKiB"
    expect(page.get_by_test_id("gen-cache")).to_contain_text("times fewer multiply\u2011adds")
    expect(page.locator(".cache-bars output").first).to_have_text(size)
    expect(page.get_by_test_id("cache-server")).to_be_hidden()
    page.get_by_test_id("cache-of-steps").click()
    less, more = (sum(multiply_adds(checkpoint, step.ids, cached=cached) for step in steps) for cached in (True, False))
    times = f"{more / less:.0f}" if more >= 10 * less else f"{more / less:.1f}"
    sums = [f"{count / 1e6:.1f}\u202fM" for count in (less, more)]
    expect(page.get_by_test_id("gen-cache")).to_have_text(
        f"{times} times fewer multiply\u2011adds 2 steps: {sums[0]} instead of {sums[1]}."
    )


def test_a_recurrent_model_shows_the_state_that_it_carries(page: "Page") -> None:
    from chumoku.model import checkpoint
    from chumoku.model.generate import generate
    from chumoku.model.sampling import SamplingSettings

    wkv = checkpoint.load(checkpoint.ZOO / "mini-wkv")
    page.goto(link({"text": "Once upon a time there", "model": "mini-wkv", "layer": 1, "head": 3, "drawer": "cache"}))
    chosen = SamplingSettings(temperature=0.8, top_k=20, top_p=0.95, seed=SEED)
    *_, ids = (step.ids for step in generate(wkv, wkv.tokenizer.encode("Once upon a time there"), chosen, 1))
    n = len(ids)
    pictures = page.locator(".cache-picture.state")
    expect(pictures).to_have_count(3 * wkv.config.n_layer)
    expect(page.get_by_test_id("likely").first).to_be_visible()  # until the sentence is read, Step does nothing
    page.get_by_test_id("gen-step").click()
    expect(page.get_by_test_id("token")).to_have_count(n)
    expect(page.get_by_test_id("gen-cache")).to_contain_text(f"{n} tokens cached")
    expect(pictures).to_have_count(3 * wkv.config.n_layer)
    page.locator(".cache-pictures summary").click()
    last = wkv.tokenizer.decode(ids[-1:]).strip()  # the trace of the text before has a table of its own
    table = page.get_by_role("table", name=f"The state of layer 1, group 3, after {last}", exact=True)
    expect(table).to_contain_text("log b after")
    state = trace(wkv, ids, ["layers.1.attn.state_mean", "layers.1.attn.state_log_sum"]).tensors
    mean, log_sum = (state[f"layers.1.attn.state_{role}"][3] for role in ("mean", "log_sum"))
    expected = [mean[-2], mean[-1], mean[-1] - mean[-2], log_sum[-2], log_sum[-1]]
    for feature in (0, 31):
        cells = table.locator(f"tr[data-row='{feature}'] td").all_inner_texts()
        found = [float(one.replace("−", "-")) for one in cells]
        assert found == pytest.approx([float(one[feature]) for one in expected], rel=2e-3, abs=1e-6)
    # One size after any number of tokens, beside keys and values that grow; what is not counted says why.
    shown = page.locator(".cache-bars output").all_inner_texts()
    size = 4 * 2 * wkv.config.n_layer * wkv.config.d_model / 1024
    assert shown == [f"{size:.0f}\u202fKiB", f"{n * size:.0f}\u202fKiB"]
    page.get_by_test_id("cache-of-steps").click()
    expect(page.locator(".cache-legend")).to_have_text(
        "Not counted: this mechanism is not made of QKᵀ and weighted values alone."
    )


def hangs(page: "Page", word: "Locator") -> None:
    """The card is right below its word, over the candidates."""
    under = word.bounding_box(), page.get_by_test_id("could-be").bounding_box()
    assert 0 < under[1]["y"] - under[0]["y"] - under[0]["height"] < 12


@pytest.mark.fresh
def test_the_line_over_the_text_is_asked_for_in_the_settings_and_kept_in_the_link(page: "Page") -> None:
    show(page, "Once upon a time there was")
    told = page.locator(".tok.told")
    expect(told).to_have_count(0)
    open_sampling(page)
    page.get_by_test_id("surprise-on").click()
    others = page.get_by_test_id("token").count() - 1  # all but the first
    expect(told).to_have_count(others)
    page.wait_for_url("**dock.surprise=on**")
    page.reload()
    expect(told).to_have_count(others)
    open_sampling(page)
    page.get_by_test_id("surprise-off").click()
    expect(told).to_have_count(0)


def test_the_line_over_the_text_and_what_a_token_could_have_been(
    page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]
) -> None:
    from chumoku.model.sampling import SamplingSettings, distribution

    at = 5
    page.mouse.move(0, 0)
    show(page, text)
    box = page.get_by_test_id("token").nth(at).bounding_box()
    show(page, "Once upon")
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    show(page, text)  # a token that comes under the resting pointer is not asked about
    told, card = page.locator(".tok.told"), page.get_by_test_id("could-be")
    press(page, "step", len(prompt) + 1)
    expect(told).to_have_count(0)  # what the step itself has brought is of one word alone
    page.get_by_test_id("token").nth(at).hover()
    expect(card).to_be_visible()
    hangs(page, page.get_by_test_id("token").nth(at))
    expect(card).not_to_contain_text("bits")  # a pointer alone asks for the words
    page.get_by_test_id("token").last.click()
    card.locator("summary").click()
    expect(told).to_have_count(len(prompt))  # all but the first
    ids = [*prompt, *ids_of(page)[len(prompt) :]]
    logits = trace(checkpoint, ids, ["logits"]).tensors["logits"]
    rows = [distribution(row, SamplingSettings(), [checkpoint.tokenizer.pad_id]) for row in logits]
    bits = [-math.log2(float(row.before[after])) for row, after in zip(rows, ids[1:], strict=False)]
    drawn = told.evaluate_all(
        "all => all.map(({ style }) => ['--surprise', '--entropy'].map(name => Number(style.getPropertyValue(name))))"
    )
    assert [surprise for surprise, _ in drawn] == pytest.approx([min(1, one / 10) for one in bits], abs=1e-4)
    assert [entropy for _, entropy in drawn] == pytest.approx([row.entropy_bits / 10 for row in rows[:-1]], abs=1e-4)
    for index in (len(prompt), at):  # of the other words, too, as long as they are open
        if index == at:
            page.keyboard.press("Escape")
            page.get_by_test_id("token").nth(at).hover()
            expect(card.get_by_role("button")).to_have_count(0)  # of a typed word it only tells
        expect(card).to_contain_text(f"surprise {bits[index - 1]:.1f} bits")
        expect(card).to_contain_text(f"entropy {rows[index - 1].entropy_bits:.1f} bits")
    expect(told).to_have_count(len(prompt))
    likely = [one for one in rows[at - 1].before.argsort(descending=True)[:5].tolist() if one != ids[at]]
    shown = [one.strip("“”[]") for one in card.locator(".text").all_inner_texts()]
    assert shown == [checkpoint.tokenizer.decode([one]).strip() for one in likely], "only the other ones"
    page.mouse.down()  # dragged over the text, the pointer chooses row after row
    page.get_by_test_id("token").nth(at + 2).hover()
    page.mouse.up()
    expect(card).to_be_hidden()
    expect(page.get_by_test_id("token").nth(at + 2)).to_have_class(re.compile(r"\bq\b"))


def test_a_click_on_a_written_word_offers_others_in_its_place(page: "Page", text: str, prompt: list[int]) -> None:
    show(page, text)
    for n in (1, 2, 3):
        press(page, "step", len(prompt) + n)
    ids = ids_of(page)
    at = len(prompt) + 1
    word, card = page.get_by_test_id("token").nth(at), page.get_by_test_id("could-be")
    offered = card.get_by_test_id("could-take")
    word.hover()
    expect(card).to_contain_text("Click the word to take another.")
    word.click()
    expect(word).to_have_class(re.compile(r"\bq\b"))  # its row is chosen, as ever
    expect(page.get_by_test_id("gen-step")).to_have_accessible_name("Write at the end")
    expect(page.locator(".tok.later")).to_have_count(1)  # it does not read the one after it
    expect(offered.first).to_be_visible()
    expect(card).to_contain_text(re.compile(r"^Instead of .*%\):"))
    expect(page.locator(".page.replacing")).to_have_count(1)  # the candidates below are paler meanwhile
    hangs(page, word)
    page.mouse.move(2, 2)  # a sentence that is drawn again under the pointer would be pointed at
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    page.keyboard.press("Enter")
    expect(offered.first).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(offered.first).to_be_focused()
    page.keyboard.press("Escape")  # from a row, too, and no further: the page stays where it is
    expect(card).to_be_hidden()
    expect(word).to_be_focused()
    assert ids_of(page) == ids
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    expect(offered.first).to_be_focused()
    other = int(offered.first.get_attribute("data-id"))
    assert other != ids[at]
    page.keyboard.press("Enter")
    settled(page, at + 1)
    assert ids_of(page) == [*ids[:at], other]
    expect(card).to_be_hidden()
    expect(word).to_be_focused()
    expect(page.get_by_test_id("gen-step")).to_have_accessible_name("Write")  # its row is the last one now
    for kept in (ids, [*ids[:at], other]):
        expect(node(page, kept)).to_have_count(1)  # both texts are in the tree


def test_beams_go_on_from_the_text(page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]) -> None:
    from chumoku.model.beams import TextSearch
    from chumoku.model.run import Run
    from chumoku.model.session import DecoderSession

    tokenizer = checkpoint.tokenizer
    own = TextSearch(
        lambda: DecoderSession(checkpoint, Run(prompt)), tokenizer.end_id, tokenizer.never_sampled, max_new=3, beams=2
    )
    while own.open:
        own.step()
    show(page, text, **{"generation.beams": 2, "generation.length": 3})
    page.get_by_test_id("beam-search").click()
    expect(page.get_by_test_id("hypothesis")).to_have_count(2)
    scores = page.locator(".beams tbody tr").evaluate_all("all => all.map(({ dataset }) => Number(dataset.score))")
    assert scores == pytest.approx([one.score for one in own.best], abs=1e-4)
    considered = page.locator(".beam-tree span[style]")
    expect(considered).to_have_count(sum(map(len, own.considered)))
    page.locator('[data-testid=beam-rank]:text-is("2")').click()
    settled(page, len(prompt) + len(own.best[1].ids))
    assert ids_of(page) == prompt + own.best[1].ids
    expect(page.get_by_test_id("hypothesis").nth(1)).to_have_attribute("aria-pressed", "true")


def test_two_settings_go_on_from_one_text(page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]) -> None:
    texts = [model_steps(checkpoint, prompt, 5, top_k=top_k)[-1].ids for top_k in (2, 50)]
    show(page, text, **{"generation.length": 5})
    page.get_by_test_id("two-by").select_option("topK")
    for side, top_k in (("cool", "2"), ("warm", "50")):
        page.get_by_test_id(f"two-{side}").fill(top_k)
    page.get_by_test_id("two-write").click()
    same = next((n for n, pair in enumerate(zip(*texts, strict=True)) if len(set(pair)) > 1), len(texts[0]))
    said = f"Tokens before they split: {same - len(prompt)}" if same < len(texts[0]) else "Both wrote the same."
    expect(page.get_by_test_id("two-said")).to_have_text(said)
    for side, ids in zip(("cool", "warm"), texts, strict=True):
        expect(page.get_by_test_id(f"two-take-{side}")).to_have_attribute("data-ids", ".".join(map(str, ids)))
    page.get_by_test_id("two-take-warm").click()
    settled(page, len(texts[1]))
    assert ids_of(page) == texts[1]


def test_typed_text_is_written_token_by_token_where_a_word_is_chosen(
    page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]
) -> None:
    show(page, text)
    open_sampling(page)
    field = page.get_by_test_id("type-token")
    field.fill("purple elephant.")
    field.press("Enter")
    typed = checkpoint.tokenizer.encode(" purple elephant.")
    settled(page, len(prompt) + len(typed))
    assert ids_of(page) == prompt + typed
    expect(page.get_by_test_id("gen-drawn")).to_contain_text("was typed. The model’s own probability:")
    expect(field).to_have_value("")
    page.get_by_test_id("token").nth(4).click()
    settled(page)
    open_sampling(page)
    field.fill("lake")
    field.press("Enter")
    lake = checkpoint.tokenizer.encode(" lake")
    settled(page, 5 + len(lake))
    assert ids_of(page) == prompt[:5] + lake


def test_three_steps_are_one_play_of_three(
    page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]
) -> None:
    settings: dict[str, Any] = {"seed": 12, "temperature": 1.2, "top_k": 0, "top_p": 1}
    ids = model_steps(checkpoint, prompt, 3, **settings)[-1].ids
    show(page, text, **settings)
    for n in range(1, 4):
        press(page, "step", len(prompt) + n)
    stepped = ids_of(page)

    press(page, "restart", len(prompt))
    open_sampling(page)
    page.get_by_test_id("gen-length").fill("3")
    open_sampling(page)
    page.get_by_test_id("gen-pace").select_option("fast")
    press(page, "play", len(prompt) + 3)

    assert stepped == ids_of(page) == ids
    expect(page.get_by_test_id("gen-play")).to_be_visible()  # no longer "Pause"


def test_the_new_tokens_row_is_the_models(page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]) -> None:
    from chumoku.model.trace import trace

    show(page, text, view="attention")
    ids = model_steps(checkpoint, prompt, 2)[-1].ids
    truth = trace(checkpoint, ids, [f"layers.{layer}.attn.pattern" for layer in range(checkpoint.config.n_layer)])
    with requests_of(page) as asked:
        press(page, "step", len(prompt) + 1)
        press(page, "step", len(prompt) + 2)

    # The overview grew by the rows that came with the steps; only the open head was requested. It is the traced one.
    traces = [request.post_data_json for request in asked if request.url.endswith("/api/trace")]
    assert all(trace["heads"] == [HEAD] for trace in traces), traces
    for layer in range(checkpoint.config.n_layer):
        for head in (0, HEAD):
            pattern = truth.tensors[f"layers.{layer}.attn.pattern"][head].numpy()
            np.testing.assert_allclose(overview(page, layer, head), pattern, atol=2.5 / 255)

    # The open head is float32: its new row, weight by weight.
    pattern = truth.tensors[f"layers.{LAYER}.attn.pattern"][HEAD]
    for key in (0, len(ids) // 2, len(ids) - 1):
        page.get_by_test_id("token").nth(key).click(modifiers=["Shift"])
        readout = page.get_by_test_id("readout")
        expect(readout).to_have_attribute("data-row", str(len(ids) - 1))
        expect(readout).to_have_attribute("data-col", str(key))
        assert float(readout.get_attribute("data-value") or "nan") == pytest.approx(float(pattern[-1, key]), abs=1e-5)
    strongest = int(pattern[-1].argmax())
    looks = page.get_by_test_id("gen-looks")
    expect(looks).to_contain_text(f"({percent(float(pattern[-1, strongest]))})")
    said = looks.locator("[data-key]")
    expect(said).to_have_attribute("data-key", str(strongest))
    assert float(said.get_attribute("data-value") or "nan") == pytest.approx(float(pattern[-1, strongest]), abs=1e-5)


def overview(page: "Page", layer: int, head: int) -> np.ndarray:
    """The weights [query key] of a head's small picture, computed back from its colours."""
    all_heads(page)
    canvas = page.locator(f'[data-testid=head][data-layer="{layer}"][data-head="{head}"]')
    pixels = canvas.evaluate(
        """async canvas => {
          const { pixelTable } = await import('/static/chart/theme.js');
          const table = pixelTable('weights');
          const { data, width } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          const words = [...new Uint32Array(data.buffer)];
          return { width, levels: words.map(word => word ? table.indexOf(word) : 0) };
        }"""
    )
    assert -1 not in pixels["levels"]
    return np.array(pixels["levels"]).reshape(-1, pixels["width"]) / 255


@contextmanager
def requests_of(page: "Page") -> "Iterator[list[Request]]":
    """Context manager: collects the requests of a page."""
    seen: list[Request] = []

    def listen(request: "Request") -> None:
        seen.append(request)

    page.on("request", listen)
    yield seen
    page.remove_listener("request", listen)


# --- back, restart, branches ----------------------------------------------------------------------------------------


def test_back_keeps_what_it_undoes(page: "Page", text: str, prompt: list[int]) -> None:
    show(page, text)
    expect(page.get_by_test_id("gen-back")).to_be_disabled()
    n = len(prompt)
    for i in range(1, 4):
        press(page, "step", n + i)
    ids = ids_of(page)

    press(page, "back", n + 2)
    assert ids_of(page) == ids[:-1]
    expect(node(page, ids)).to_be_visible()
    expect(node(page, ids[:-1])).to_have_attribute("aria-current", "true")
    press(page, "step", n + 3)
    assert ids_of(page) == ids  # the same draw
    press(page, "restart", n)
    assert ids_of(page) == prompt
    expect(page.get_by_test_id("gen-restart")).to_be_disabled()
    node(page, ids[:-1]).click()
    settled(page, n + 2)
    assert ids_of(page) == ids[:-1]
    expect(ends(page)).to_have_count(0)  # a text alone


def test_a_candidate_can_be_taken(page: "Page", text: str, prompt: list[int]) -> None:
    show(page, text)
    n = len(prompt)
    press(page, "step", n + 1)
    press(page, "step", n + 2)
    left = ids_of(page)
    page.get_by_test_id("token").nth(n - 1).click()
    settled(page)
    expect(page.get_by_test_id("next-where")).to_contain_text(f": token {n}")

    other = next(row["id"] for row in candidates(page) if row["id"] != left[n])
    page.locator(f'.panel.next [data-testid=candidate][data-id="{other}"]').click()
    settled(page, n + 1)
    assert ids_of(page) == [*prompt, other]
    expect(page.get_by_test_id("gen-drawn")).to_contain_text("was chosen, not drawn")

    # The abandoned path is a branch; returning to it makes a branch of this one.
    expect(ends(page)).to_have_count(2)
    node(page, left).click()
    settled(page, n + 2)
    assert ids_of(page) == left
    node(page, [*prompt, other]).click()
    settled(page, n + 1)
    assert ids_of(page) == [*prompt, other]


def test_a_candidate_inside_the_prompt_ends_it_there(page: "Page", text: str, prompt: list[int]) -> None:
    show(page, text, query=3)
    other = next(row["id"] for row in candidates(page) if row["id"] != prompt[4])
    page.locator(f'.panel.next [data-testid=candidate][data-id="{other}"]').click()
    settled(page, 5)
    assert ids_of(page) == [*prompt[:4], other]
    expect(page.get_by_test_id("gen-count")).to_have_text("1 written")
    node(page, prompt).click()
    settled(page, len(prompt))
    assert ids_of(page) == prompt


def test_another_seed_leaves_a_branch(page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]) -> None:
    n = len(prompt)

    def drawn(seed: int) -> list[int]:
        return model_steps(checkpoint, prompt, 1, seed=seed, temperature=2, top_k=0)[-1].ids

    first = drawn(0)
    other = next(seed for seed in range(1, 30) if drawn(seed) != first)
    show(page, text, seed=0, temperature=2, top_k=0)
    press(page, "step", n + 1)
    press(page, "back", n)
    open_sampling(page)
    page.get_by_test_id("sampling-seed").fill(str(other))
    press(page, "step", n + 1)
    assert ids_of(page) == drawn(other)
    node(page, first).click()
    settled(page, n + 1)
    assert ids_of(page) == first


def test_ten_continuations_are_the_models_own(
    page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]
) -> None:
    show(page, text)
    page.locator(".tree-bare").get_by_test_id("tree-ways").click()  # in the empty tree
    ways = {tuple(model_steps(checkpoint, prompt, 8, seed=SEED + 1 + i)[-1].ids) for i in range(10)}
    expect(page.get_by_test_id("ways-said")).to_contain_text(re.compile(rf"\b{len(ways)} (different )?texts"))
    for ids in ways:
        expect(node(page, list(ids))).to_have_count(1)
    assert ids_of(page) == prompt  # the page stays
    expect(ends(page)).to_have_count(len(ways))
    page.get_by_test_id("tree-undo").click()
    expect(page.get_by_test_id("tree-node")).to_have_count(1)


def test_the_sentence_offers_to_compare_with_the_text_that_was_left(page: "Page", text: str) -> None:
    page.goto(link({"text": text, "view": "model", "seed": SEED}))
    says = page.get_by_test_id("river-says")
    step = page.get_by_test_id("gen-step")
    expect(page.get_by_test_id("cut-looks")).to_be_visible()  # while the sentence is read, Step does nothing
    tokens = page.get_by_test_id("token")
    n = tokens.count()
    # A candidate that came under the resting pointer is not taken by a second click there.
    reached = page.evaluate(
        """() => {
          let reached = 0;
          const [says, chip] = ['[data-testid=river-says]', '.likely'].map((at) => document.querySelector(at));
          chip.addEventListener('click', () => reached++);
          for (const node of [says, chip])
            node.dispatchEvent(new MouseEvent('click', { bubbles: true, detail: 1, clientX: 5, clientY: 5 }));
          return reached;
        }"""
    )
    assert reached == 0
    for i in (1, 2):
        step.click()
        expect(tokens).to_have_count(n + i)
        expect(says).to_contain_text(tokens.nth(-1).inner_text())
    expect(page.get_by_test_id("compare-texts")).to_have_count(0)
    left = tokens.nth(-1).inner_text()
    page.get_by_test_id("gen-back").click()
    expect(tokens).to_have_count(n + 1)
    expect(says).to_contain_text("Next: ")  # all is read
    expect(page.get_by_test_id("other-text")).to_have_count(0)  # Write writes it again
    page.locator(".likely:not(.falls)").nth(1).click()  # neither the likeliest nor the drawn
    expect(says).to_contain_text(re.compile(r"^You took \S+ \(.*\) instead of \S+ \("))
    expect(says).to_contain_text("The other text is kept: Compare both texts")
    step.click()  # the reader writes on before comparing
    expect(tokens).to_have_count(n + 3)
    expect(says).to_contain_text("The model wrote")
    expect(says).not_to_contain_text("is kept")
    page.get_by_test_id("compare-texts").click()
    expect(page.get_by_test_id("pair-kl")).to_be_visible()
    expect(page.get_by_test_id("compare-texts")).to_have_count(0)  # they stand below
    for i in (2, 1):
        page.get_by_test_id("gen-back").click()
        expect(tokens).to_have_count(n + i)
    page.get_by_test_id("other-text").click()
    expect(tokens).to_have_count(n + 2)
    expect(tokens.nth(-1)).to_contain_text(left)


def test_an_open_head_offers_the_other_text_too(page: "Page", text: str) -> None:
    page.goto(link({"text": text, "view": "attention", "layer": 5, "head": 5, "seed": SEED, "river.shown": "on"}))
    page.wait_for_selector('body[data-state="ready"]')
    tokens, says = page.get_by_test_id("token"), page.get_by_test_id("river-says")
    n = tokens.count()
    page.get_by_test_id("gen-step").click()
    expect(tokens).to_have_count(n + 1)
    expect(says).to_contain_text("The model wrote")
    page.get_by_test_id("gen-back").click()
    expect(tokens).to_have_count(n)
    page.locator(".likely:not(.falls)").nth(1).click()
    expect(says.get_by_test_id("compare-texts")).to_be_visible()
    page.get_by_test_id("gen-back").click()
    expect(tokens).to_have_count(n)
    expect(says).to_contain_text(re.compile(r"^Head 5·5: .* attends to "))
    expect(says.get_by_test_id("hide-in-head").or_(says.get_by_test_id("hide-in-layer"))).to_have_count(1)
    says.get_by_test_id("other-text").click()
    expect(tokens).to_have_count(n + 1)


def times_as_likely(checkpoint: "Checkpoint", prompt: list[int], *ids: int) -> str:
    """What is said of how much likelier one of two tokens is after a prompt, to two digits."""
    p = trace(checkpoint, prompt, ["logits"]).tensors["logits"][-1].double().softmax(-1)
    less, more = sorted(float(p[one]) for one in ids)
    times = f"{more / less:.1f}" if more / less < 9.95 else f"{float(f'{more / less:.2g}'):,.0f}"
    return f"is {times}× as likely"


INKS = """() => ["a", "b"].map((side) => {
  const [edge, badge, bar] = [`.tree-edges .edge.${side}`, `.pair-badge.${side}`, `.pair-row .${side} > s`]
    .map((one) => getComputedStyle(document.querySelector(one)));
  const frame = badge.borderTopColor;
  return { ink: [edge.stroke, frame], dashes: edge.strokeDasharray, filled: badge.backgroundColor === frame,
    hatched: bar.backgroundImage !== "none" };
})"""


def are_told_apart_in_one_ink(page: "Page") -> None:
    """Blue and brown mean that a probability rises or falls."""
    expect(page.get_by_test_id("pair-kl")).to_be_visible()
    a, b = page.evaluate(INKS)
    assert a["ink"] == b["ink"]
    assert [a["dashes"] == "none", a["filled"], a["hatched"]] == [True, True, False]
    assert [b["dashes"] == "none", b["filled"], b["hatched"]] == [False, False, True]


def test_two_texts_are_compared_with_the_models_own_numbers(
    page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]
) -> None:
    n = len(prompt)
    show(page, text, view="attention")
    for i in (1, 2, 3):
        press(page, "step", n + i)
    longer = ids_of(page)
    first = longer[: n + 1]
    node(page, longer[:n]).click()
    settled(page, n)
    bars_of(page).nth(4).click()
    settled(page, n + 1)
    second = ids_of(page)
    page.get_by_test_id("tree-pick").click()  # with the text that it forked from
    are_told_apart_in_one_ink(page)
    assert page.get_by_test_id("pair-level").evaluate(IN_SIGHT), "a row that cuts its text may not hold the link"
    names = ["logits", f"layers.{LAYER}.attn.pattern"]
    runs = [trace(checkpoint, ids, names).tensors for ids in (first, second)]
    logits = np.stack([run["logits"][-1].double().numpy() for run in runs])
    logits[:, checkpoint.tokenizer.pad_id] = -np.inf
    p, q = np.exp(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True))
    kept = p > 0
    kl = [float((a[kept] * np.log2(a[kept] / b[kept])).sum()) for a, b in ((p, q), (q, p))]
    apart = page.get_by_test_id("pair-kl")
    assert [float(apart.get_attribute(f"data-{one}") or "nan") for one in ("ab", "ba")] == pytest.approx(kl, abs=1e-4)
    words = ("nearly equal", "similar", "different", "very different")
    word = words[sum(max(kl) >= least for least in (0.05, 0.5, 2))]
    expect(apart).to_have_text(re.compile(rf"^{word} KL.{re.escape(f'{max(kl):.1f}')}$"))
    expect(page.get_by_test_id("pair-parted")).to_contain_text(
        times_as_likely(checkpoint, prompt, first[-1], second[-1])
    )
    rows = (
        page.get_by_test_id("pair-next")
        .locator(".pair-row")
        .evaluate_all("all => all.map((one) => ({...one.dataset}))")
    )
    assert 2 <= len(rows) <= 4
    for row in rows:
        assert [float(row["a"]), float(row["b"])] == pytest.approx([p[int(row["id"])], q[int(row["id"])]], abs=1e-5)
    looks = page.get_by_test_id("pair-looks").locator(".pair-row").first
    most = max(run[names[1]][HEAD, -1].max() for run in runs)
    assert max(float(looks.get_attribute(f"data-{one}") or 0) for one in "ab") == pytest.approx(float(most), abs=1e-5)
    written = written_as_long(page, second, n + 3)
    goes_to_its_text(page, longer, n)
    is_compared_from_inside(page)
    expect(page.get_by_test_id("next-where")).to_be_visible()
    ends(page).first.click()
    expect(page.get_by_test_id("tree-pick-hint")).to_have_text("A is chosen. Press B at the end of the other text.")
    expect(ends(page)).to_have_text(["A", "B"])
    ends(page).first.click()
    expect(page.get_by_test_id("tree-pick-hint")).to_be_hidden()

    # A file brings back what was pruned.
    with page.expect_download() as saving:
        page.get_by_test_id("tree-save").click()
    page.get_by_test_id("tree-prune").click()
    settled(page, n)
    expect(ends(page)).to_have_count(0)
    page.get_by_test_id("tree-file").set_input_files(saving.value.path())
    settled(page, n + 3)
    expect(ends(page)).to_have_count(2)
    assert ids_of(page) == written


def goes_to_its_text(page: "Page", first: list[int], n: int) -> None:
    """A goes to the first text, and B to the second; both stay compared. Then Back to `n` + 1 tokens."""
    ends(page).filter(has_text="A").click()
    expect(page.get_by_test_id("tree")).to_have_attribute("data-ids", ".".join(map(str, first)))
    expect(page.get_by_test_id("pair-kl")).to_be_visible()
    expect(ends(page)).to_have_text(["A", "B"])
    ends(page).filter(has_text="B").click()
    settled(page, n + 3)
    for length in (n + 2, n + 1):
        press(page, "back", length)


def is_compared_from_inside(page: "Page") -> None:
    """A text that goes on after the shown token has its mark at the end of its row, not over an edge."""
    page.get_by_test_id("pair-clear").click()
    page.get_by_test_id("tree-pick").click()  # from inside its text
    expect(page.get_by_test_id("pair-kl")).to_be_visible()
    expect(ends(page)).to_have_text(["A", "B"])  # at the ends of their rows, not over an edge
    for name in "ab":
        expect(page.locator(f".tree-edges .edge.{name}").first).to_be_attached()
    page.get_by_test_id("pair-clear").click()


def written_as_long(page: "Page", text: list[int], n_tokens: int) -> list[int]:
    """The shorter of two compared texts at the other one's length; then the page is back at `text`."""
    page.get_by_test_id("pair-level").click()
    settled(page, n_tokens)
    expect(page.get_by_test_id("pair-level")).to_have_count(0)
    written = ids_of(page)
    assert written[: len(text)] == text
    expect(ends(page)).to_have_text(["A", "B"])
    for length in range(n_tokens - 1, len(text) - 1, -1):
        press(page, "back", length)
    expect(page.get_by_test_id("pair-kl")).to_be_visible()
    return written


def test_a_reload_goes_on_from_the_text_and_the_tree(page: "Page", text: str, prompt: list[int]) -> None:
    """No token is lost or drawn again, and how each was drawn is still known."""
    n = len(prompt)
    show(page, text)
    for i in (1, 2):
        press(page, "step", n + i)
    ids = ids_of(page)
    said = page.get_by_test_id("gen-drawn").inner_text()
    page.get_by_test_id("tree-name").fill("first")
    page.get_by_test_id("tree-name").press("Enter")
    node(page, prompt).click()
    settled(page, n)
    bars_of(page).nth(3).click()
    settled(page, n + 1)
    other = ids_of(page)
    wait_for_run(page, f"run.input?.token_ids.join() === '{','.join(map(str, other))}'")
    with requests_of(page) as asked:
        page.reload()
        settled(page, n + 1)
    assert not [request for request in asked if request.url.endswith("/api/generate")]
    assert ids_of(page) == other
    expect(ends(page)).to_have_count(2)
    expect(page.locator(".tree-marks .name")).to_have_text("first")
    node(page, ids).click()
    settled(page, n + 2)
    expect(page.get_by_test_id("gen-drawn")).to_have_text(said)


@pytest.mark.fresh
def test_a_link_replays_and_draws_nothing(page: "Page", text: str, prompt: list[int]) -> None:
    show(page, text)
    press(page, "step", len(prompt) + 1)
    press(page, "step", len(prompt) + 2)
    ids = ids_of(page)
    wait_for_run(page, f"run.input?.token_ids.join() === '{','.join(map(str, ids))}'")
    with requests_of(page) as asked:
        page.goto(page.url.replace("temperature", "ignored") + "&seed=99")
        settled(page, len(ids))
    assert ids_of(page) == ids
    assert not [request for request in asked if request.url.endswith("/api/generate")]
    expect(page.get_by_test_id("tree-node")).to_have_count(3)  # the prompt, and two tokens
    unfold(page)
    press(page, "restart", len(prompt))
    assert ids_of(page) == prompt


def test_a_way_that_was_not_taken_is_pressed(page: "Page", text: str, prompt: list[int]) -> None:
    """Its token is written in the place of the one that was taken, which stays in the tree."""
    show(page, text)
    press(page, "step", len(prompt) + 1)
    taken = ids_of(page)
    other = page.get_by_test_id("tree-stub").first
    token = int(other.get_attribute("data-id") or "")
    other.click()
    settled(page, len(prompt) + 1)
    assert ids_of(page) == [*prompt, token]
    expect(node(page, taken)).to_have_count(1)
    expect(page.locator(f"[data-testid=tree-stub][data-id='{token}']")).to_have_count(0)


# --- play and pause -------------------------------------------------------------------------------------------------


@pytest.fixture
def slow_steps(monkeypatch: pytest.MonkeyPatch, server_url: str) -> Iterator[list[int]]:
    """Slows the server's steps down and counts them."""
    from chumoku.app.services.generation import GenerationSession

    made: list[int] = []
    step = GenerationSession.step

    def slow(session: GenerationSession) -> Any:
        time.sleep(0.12)
        made.append(session.n_new)
        return step(session)

    monkeypatch.setattr(GenerationSession, "step", slow)
    yield made
    no_stream(server_url)  # a closed one may still be in its last step


def no_stream(server_url: str) -> None:
    """Wait until the server has no open generation."""
    deadline = time.monotonic() + 60
    while True:
        with urlopen(f"{server_url}/metrics", timeout=60) as answer:
            if re.search(r"^chumoku_streams_open 0\b", answer.read().decode(), re.MULTILINE):
                return
        assert time.monotonic() < deadline, "a generation is still open"
        time.sleep(0.02)


def test_pause_stops_the_server(
    page: "Page", text: str, server_url: str, prompt: list[int], slow_steps: list[int]
) -> None:
    show(page, text)
    open_sampling(page)
    page.get_by_test_id("gen-length").fill("100")
    open_sampling(page)
    page.get_by_test_id("gen-pace").select_option("fast")
    page.get_by_test_id("gen-play").click()
    expect(page.get_by_test_id("gen-step")).to_be_disabled()
    page.get_by_test_id("tree-node").nth(2).wait_for()
    page.get_by_test_id("gen-pause").click()
    settled(page)
    shown, made = len(ids_of(page)), len(slow_steps)
    no_stream(server_url)
    assert len(slow_steps) <= made + 2  # of a hundred
    settled(page, shown)
    expect(page.get_by_test_id("gen-play")).to_be_enabled()


def test_typing_ends_playing(page: "Page", text: str, server_url: str, slow_steps: list[int]) -> None:
    show(page, text)
    page.get_by_test_id("gen-play").click()
    page.get_by_test_id("tree-node").nth(1).wait_for()
    page.get_by_test_id("sentence").fill("The cat")
    settled(page, 2)
    expect(page.get_by_test_id("gen-play")).to_be_visible()
    no_stream(server_url)
    settled(page, 2)


def test_other_settings_while_playing_hold_from_the_next_token(
    page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int], slow_steps: list[int]
) -> None:
    show(page, text, seed=3)
    open_sampling(page)
    page.get_by_test_id("gen-length").fill("6")
    page.get_by_test_id("gen-play").click()
    page.get_by_test_id("tree-node").nth(2).wait_for()
    open_sampling(page)
    page.get_by_test_id("sampling-temperature").fill("0")
    settled(page, len(prompt) + 6)
    ids = ids_of(page)
    assert ids == model_steps(checkpoint, ids[:-2], 2, temperature=0)[-1].ids


# --- full windows and errors ----------------------------------------------------------------------------------------


def test_a_full_window_says_so(page: "Page", checkpoint: "Checkpoint") -> None:
    size = checkpoint.config.max_seq_len
    show(page, "", token_ids=[11] * size)
    expect(page.get_by_test_id("gen-step")).to_be_disabled()
    expect(page.get_by_test_id("gen-play")).to_be_disabled()
    expect(page.get_by_test_id("gen-note")).to_contain_text(f"window of {size} tokens is full")
    expect(bars_of(page).first).to_be_disabled()


def test_play_stops_where_the_window_ends(page: "Page", checkpoint: "Checkpoint", prompt: list[int]) -> None:
    size = checkpoint.config.max_seq_len
    ids = (prompt * size)[: size - 2]
    show(page, "", token_ids=ids)
    open_sampling(page)
    page.get_by_test_id("gen-pace").select_option("fast")
    press(page, "play", size)
    expect(page.get_by_test_id("gen-note")).to_contain_text("is full")


def test_the_end_of_the_text_says_so(page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]) -> None:
    ids = [*prompt, checkpoint.tokenizer.end_id]
    show(page, text, token_ids=ids, prompt=len(prompt))
    expect(page.get_by_test_id("gen-step")).to_be_disabled()
    expect(page.get_by_test_id("gen-note")).to_contain_text("ended its text")
    press(page, "back", len(prompt))
    expect(page.get_by_test_id("gen-step")).to_be_enabled()
    expect(page.get_by_test_id("gen-note")).to_be_hidden()


def test_generation_keeps_to_the_run(page: "Page", text: str, checkpoint: "Checkpoint", prompt: list[int]) -> None:
    from chumoku.model.run import Run
    from chumoku.model.trace import Masks

    ablated = {"kind": "ablate", "where": {"layer": 2, "role": "z", "head": 1}}
    runs: list[tuple[dict[str, Any], dict[str, bool]]]
    runs = [({"masks": {"causal": False}}, {"causal": False}), ({"interventions": [ablated]}, {})]
    for run, told in runs:
        page.goto(
            link({"drawer": "generation", "run": json.dumps({"model": "stories-gpt", "input": {"text": text}, **run})})
        )
        settled(page, len(prompt))
        with requests_of(page) as asked:
            press(page, "step", len(prompt) + 1)
        sent = next(request.post_data_json for request in asked if request.url.endswith("/api/generate"))
        assert sent["masks"] == {"causal": None, "padding": True} | told
        assert sent.get("interventions", []) == run.get("interventions", [])
        if told:
            assert ids_of(page) == model_steps(checkpoint, Run(prompt, use=Masks(causal=False)), 1)[-1].ids


def test_a_server_that_is_gone_loses_nothing(
    page: "Page", text: str, prompt: list[int], page_errors: list[str]
) -> None:
    show(page, text)
    press(page, "step", len(prompt) + 1)
    page.route("**/api/generate", lambda route: route.abort())
    page.get_by_test_id("gen-step").click()
    expect(page.get_by_test_id("gen-problem")).to_contain_text("Nothing is lost")
    assert len(ids_of(page)) == len(prompt) + 1
    page.unroute("**/api/generate")
    page.get_by_test_id("gen-retry").click()
    settled(page, len(prompt) + 2)
    expect(page.get_by_test_id("gen-problem")).to_be_hidden()
    page_errors.clear()


def test_all_by_keyboard(page: "Page", text: str, prompt: list[int]) -> None:
    show(page, text)
    step = page.get_by_test_id("gen-step")
    step.focus()
    for n in (1, 2):
        page.keyboard.press("Enter")
        settled(page, len(prompt) + n)
        expect(step).to_be_focused()
    ids = ids_of(page)
    node(page, ids).focus()
    page.keyboard.press("ArrowLeft")
    settled(page, len(ids) - 1)
    assert ids_of(page) == ids[:-1]
    expect(page.get_by_test_id("next-where")).to_contain_text(f": token {len(prompt) + 1}")
    expect(node(page, ids[:-1])).to_be_focused()
    page.keyboard.press("ArrowRight")
    settled(page, len(ids))
    assert ids_of(page) == ids
    bars_of(page).first.focus()
    page.keyboard.press("ArrowDown")
    expect(bars_of(page).nth(1)).to_be_focused()


# --- how it stands on the page --------------------------------------------------------------------------------------


def test_a_candidate_is_called_the_same_wherever_it_stands(page: "Page") -> None:
    """In the dock, beside the river and in the list: the same tokens, names, shares and order; pieces have a mark."""
    page.goto(f"{link({'text': 'Tom had a big red whe', 'view': 'model', 'drawer': 'generation'})}&river.shown=on")
    settled(page)
    names = "all => all.map((one) => [one.dataset.id, one.innerText.trim().split(/\\s*\\n\\s*/).slice(0, 2)])"
    chips = page.get_by_test_id("likely").locator("visible=true").evaluate_all(names)
    listed = bars_of(page).evaluate_all(names)
    assert chips[0][1][0].startswith("…"), "it goes on with the word"
    n = min(len(chips), len(listed))
    assert n >= 4
    assert chips[:n] == listed[:n]
    answers = (
        page.get_by_test_id("answer")
        .locator("visible=true")
        .evaluate_all("all => all.map((one) => [one.dataset.id, one.getAttribute('aria-label')])")
    )
    labels = page.get_by_test_id("likely").evaluate_all(
        "all => all.map((one) => [one.dataset.id, one.getAttribute('aria-label')])"
    )
    beside = [one for one in answers if one[0]]
    assert len(beside) >= 3, "beside the river"
    assert beside == labels[: len(beside)]


def test_what_is_left_out_and_what_sampling_keeps_is_said(page: "Page") -> None:
    page.goto(link({"text": "Tom lost his red car. Tom was sad. Mom found the red", "view": "model"}))
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.get_by_test_id("share-of")).to_have_text("model")
    kept = page.locator(".draw .share").count()
    struck = page.evaluate(
        "() => [...document.querySelectorAll('.likely')].filter((one) => one.matches('.cut')).length"
    )
    assert struck == 7 - kept
    expect(page.get_by_test_id("dock-draw-kept")).to_have_text(f"{kept} kept")
    page.get_by_test_id("share-of").click()
    expect(page.get_by_test_id("share-of")).to_have_text("after sampling")


BOXES = """names => names.map((name) => {
  const { x, y, width, height } = document.querySelector(`[data-testid=${name}]`).getBoundingClientRect();
  return [name, x, y, width, height];
})"""
SHEETS = ["sheet-generation", "sheet-cache"]
CONTROLS = ["gen-back", "gen-step", "gen-play", "sampling", "dock-generation", "dock-cache"]


@pytest.mark.parametrize("width", [1280, 390])
def test_what_stays_keeps_its_place_from_write_to_write_and_from_sheet_to_sheet(
    open_page: "Callable[..., Page]", width: int
) -> None:
    phone = {"has_touch": True, "is_mobile": True} if width < 760 else {}
    page = open_page(viewport={"width": width, "height": 844 if phone else 720}, reduced_motion="reduce", **phone)
    page.goto(link({"text": "Tom lost his red car. Tom was sad. Mom found the red", "view": "model", "seed": SEED}))
    page.wait_for_selector('body[data-state="ready"]')
    token = page.get_by_test_id("token")
    n = token.count()
    bar = "document.querySelector('.draw > .shares').getBoundingClientRect().x"
    places = [(page.evaluate(BOXES, CONTROLS), page.evaluate(bar))]
    for i in (1, 2, 3):
        page.get_by_test_id("gen-step").click()
        expect(token).to_have_count(n + i)
        page.wait_for_selector('body[data-state="ready"]')
        places.append((page.evaluate(BOXES, CONTROLS), page.evaluate(bar)))
    assert all(place == places[0] for place in places)
    page.get_by_test_id("dock-generation").click()
    expect(page.get_by_test_id("sheet-generation").locator("visible=true")).to_have_count(1)
    tree = page.locator(".generation .sheet-tabs").bounding_box()
    page.locator(".generation").get_by_test_id("sheet-cache").click()
    expect(page.get_by_test_id("gen-cache")).to_be_visible()
    assert page.locator(".kv .sheet-tabs").bounding_box() == tree
    lines = page.locator(".cache-said > b").evaluate(
        "b => b.getClientRects()[0].height / parseFloat(getComputedStyle(b).fontSize)"
    )
    assert lines < 2, "in one line"


def test_on_a_phone_the_tree_comes_before_the_comparison(open_page: "Callable[..., Page]") -> None:
    """What is shown is in sight in it, and the text, its candidates, the draw and Write are on the same screen."""
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    opened(page, "tree", "en")
    expect(page.get_by_test_id("pair-parted")).to_be_visible()
    stand = page.locator(".tree-items > .stand")
    parts = [page.get_by_test_id("token").last, page.get_by_test_id("likely").first, page.get_by_test_id("dock-draw")]
    parts += [page.get_by_test_id("gen-step"), stand, page.get_by_test_id("tree-end").first]
    parts += [page.get_by_test_id("pair-parted")]
    boxes = [part.bounding_box() for part in parts]
    tops = [box["y"] for box in boxes if box]
    assert tops[:5] == sorted(tops[:5])
    assert tops[4] < tops[6] <= 844
    for box in boxes:
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    # The mark of A stands after its text, not over it.
    mark, label = page.get_by_test_id("tree-end").first, page.locator(".tree-items > button:not(.root) > .text").nth(2)
    a, b = mark.bounding_box(), label.bounding_box()
    assert a is not None
    assert b is not None
    assert a["x"] >= b["x"] + b["width"]


def test_on_a_phone_the_signs_at_an_edge_scroll_by_a_page(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    text = "Tom lost his red car. Tom was sad. Mom found the red"
    page.goto(link({"text": text, "view": "model", "seed": SEED, "drawer": "generation"}))
    settled(page)
    n = len(ids_of(page))
    for i in range(1, 11):
        press(page, "step", n + i)
    written = ids_of(page)
    tree, dock = page.get_by_test_id("tree"), page.locator(".dock")
    row_of = {tree: tree, dock: dock.locator(".candidates")}
    # Of the candidates, what leads back to the first stands in the place of what led to the last.
    for within, name, x, times in [
        (tree, "before", 10, 1),
        (tree, "after", 26, 1),
        (dock, "after", 22, 2),
        (dock, "before", 22, 1),
    ]:
        button = within.get_by_test_id(f"pages-{name}")
        box = button.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 44
        assert box["x"] + box["width"] <= 390
        was = row_of[within].evaluate("row => row.scrollLeft")
        for _ in range(times):
            page.touchscreen.tap(box["x"] + x, box["y"] + box["height"] / 2)
            page.wait_for_timeout(100)
        now = row_of[within].evaluate("row => row.scrollLeft")
        assert now < was if name == "before" else now > was
    assert ids_of(page) == written, "no token was taken"


def test_on_a_phone_a_long_tree_opens_small_at_its_fork(open_page: "Callable[..., Page]") -> None:
    """Two buttons make it larger and smaller, one compares its texts."""
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(link({"text": "Tom lost his red ball. Tom was sad. Mom found the red", "view": "model", "seed": SEED}))
    page.wait_for_selector('body[data-state="ready"]')
    n = page.get_by_test_id("token").count()
    counts = [*range(n + 1, n + 11), *range(n + 9, n, -1)]
    for i, count in enumerate(counts):
        page.get_by_test_id("gen-step" if i < 10 else "gen-back").click()
        expect(page.get_by_test_id("token")).to_have_count(count)
    page.locator(".likely:not(.falls)").nth(1).click()
    for count in range(n + 2, n + 11):
        if count > n + 2:
            page.get_by_test_id("gen-step").click()
        expect(page.get_by_test_id("token")).to_have_count(count)
    page.get_by_test_id("dock-generation").click()
    # From the fork on, at least six words are whole between what fades on both sides.
    page.wait_for_function(
        """() => {
          const { left, right } = document.querySelector('[data-testid=tree]').getBoundingClientRect();
          const of = (one) => one.getBoundingClientRect();
          const words = [...document.querySelectorAll('.tree-items > .shown > .text')];
          const whole = words.filter((one) => of(one).left >= left + 40 && of(one).right <= right - 60);
          const fork = document.querySelector('.tree-edges circle');
          return fork && whole.length >= 6 && Math.abs(of(fork).right - left - 44) < 10;
        }"""
    )
    sizes = page.locator(".tree-items .text").evaluate_all("(all) => all.map((one) => getComputedStyle(one).fontSize)")
    assert min(float(size[:-2]) for size in sizes) >= 12
    expect(page.get_by_test_id("tree-out")).to_have_attribute("aria-disabled", "true")
    page.get_by_test_id("tree-in").tap()
    expect(page.locator(".tree-items .share-said").last).to_contain_text("%")
    page.get_by_test_id("tree-pick").tap()
    expect(page.get_by_test_id("pair-kl")).to_be_visible()


def test_on_a_phone_the_split_of_two_texts_is_in_sight(open_page: "Callable[..., Page]") -> None:
    page = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page.goto(link({"text": "Tom lost his red ball. Tom was sad. Mom found the red", "view": "model", "seed": SEED}))
    settled_at = "n => document.querySelectorAll('[data-testid=token]').length === n"
    page.wait_for_selector('body[data-state="ready"]')
    n = page.get_by_test_id("token").count()
    for press_, counts in (("gen-step", range(n + 1, n + 11)), ("gen-back", range(n + 9, n + 3, -1))):
        for count in counts:
            page.get_by_test_id(press_).click()
            page.wait_for_function(settled_at, arg=count)
    page.locator(".likely:not(.falls)").nth(1).click()
    for count in range(n + 5, n + 11):
        if count > n + 5:
            page.get_by_test_id("gen-step").click()
        page.wait_for_function(settled_at, arg=count)
    page.get_by_test_id("compare-texts").click()
    expect(page.get_by_test_id("pair-kl")).to_be_visible()
    edges = """() => {
      const { left, right } = document.querySelector('[data-testid=tree]').getBoundingClientRect();
      const fork = document.querySelector('.tree-edges circle').getBoundingClientRect();
      return [left + 44, fork.left, right - 76];
    }"""
    sides = page.evaluate(edges)
    assert sides == sorted(sides), sides
    page.get_by_test_id("gen-back").click()
    expect(
        page.get_by_test_id("pair-b").or_(page.get_by_test_id("pair-a")).filter(has_text="1 taken back")
    ).to_have_count(1)
    # It opens where the reader chose last, of columns that are as narrow as a finger.
    page.get_by_test_id("close-drawer").click()
    page.get_by_test_id("gen-step").click()
    page.wait_for_function(settled_at, arg=n + 10)
    page.get_by_test_id("dock-generation").click()
    chosen = page.locator('.tree-items [data-how="taken"]')
    page.wait_for_function(
        """() => {
          const { left, right } = document.querySelector('[data-testid=tree]').getBoundingClientRect();
          const node = document.querySelector('.tree-items [data-how="taken"]').getBoundingClientRect();
          return node.left >= left + 40 && node.right <= right - 76;
        }"""
    )
    assert 44 <= chosen.evaluate("(one) => one.getBoundingClientRect().width") < 60

"""A·V, FFN and residual stream: the page's numbers are the Python trace's, and one selection drives all of them."""

import json
import math
import re
from typing import TYPE_CHECKING, Any

import pytest
import torch
from playwright.sync_api import expect

from chumoku.model import checkpoint
from chumoku.model.attribution.gradients import gradient_norms
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.parameters import count_parameters
from chumoku.model.explain.residual import streams
from chumoku.model.explain.units import units
from chumoku.model.trace import Padding, trace
from tests.browser.helpers import drawn, link, matrix_shown, to_station

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

TEXT = "May the force be with you."
LAYER, HEAD, QUERY = 3, 5, 4

pytestmark = pytest.mark.warm  # a station's own switches (pre or post, order) stay from one test to the next


@pytest.fixture(scope="module")
def gpt() -> Checkpoint:
    return checkpoint.load(checkpoint.ZOO / "stories-gpt")


def show(page: "Page", view: str, text: str = TEXT, **state: Any) -> None:
    page.goto(link({"text": text, "view": view} | state))
    drawn(page)


def draw_as(page: "Page", *choices: str) -> None:
    for choice in choices:
        page.get_by_test_id(choice).click()
    drawn(page)


def open_page_of_units(page: "Page") -> None:
    """The page of units with their numbers is folded until it is wanted."""
    fold = part(page, "page")
    if fold.get_attribute("open") is None:
        fold.locator("> summary").click()
    drawn(page)


def residual_tab(page: "Page", name: str) -> None:
    """Open a tab of the residual stream, and wait for what it shows."""
    page.get_by_test_id(f"residual-{name}").click()
    expect(part(page, name).locator(".place > *").first).to_be_attached()
    page.wait_for_function("() => document.querySelector('[data-panel=opened]').ariaBusy === 'false'")


def part(page: "Page", name: str) -> "Locator":
    return page.locator(f'.station:not([hidden]) [data-part="{name}"]')


def values(page: "Page", name: str) -> torch.Tensor:
    """The values of a picture; NaN for a forbidden cell."""
    z = matrix_shown(page.locator(f'[data-matrix="{name}"]'))["z"]
    return torch.tensor([[math.nan if x is None else x for x in row] for row in z])


def same(a: torch.Tensor, b: torch.Tensor) -> None:
    torch.testing.assert_close(a.double(), b.double(), atol=1e-4, rtol=1e-4, equal_nan=True)


def bars(page: "Page", name: str) -> list[int]:
    found = part(page, name).get_by_test_id("bar")
    return [int(x) for x in found.evaluate_all("bars => bars.map((bar) => bar.dataset.id)")]


def test_z_is_the_sum_of_the_values_it_looks_at(page: "Page", gpt: Checkpoint) -> None:
    show(page, "av", layer=LAYER, head=HEAD, query=QUERY, key=2, cell=f"{QUERY}.7")
    draw_as(page, "av-values-plain")
    taps = {name: f"layers.{LAYER}.attn.{name}" for name in ("z", "v", "pattern")}
    run = trace(gpt, gpt.tokenizer.encode(TEXT), list(taps.values()))
    z, v, pattern = (run.tensors[name][HEAD] for name in taps.values())
    same(values(page, "z"), z)
    seen = v.clone()
    seen[QUERY + 1 :] = math.nan  # later keys are hatched
    same(values(page, "av-v"), seen)
    sum_line = page.get_by_test_id("av-sum").get_by_test_id("check")
    assert sum_line.get_attribute("data-agrees") == "true"
    assert float(sum_line.get_attribute("data-ours") or "nan") == pytest.approx(float(z[QUERY, 7]), abs=1e-5)
    moved = pattern[QUERY] * v.norm(dim=-1)
    assert bars(page, "shares") == moved.argsort(descending=True)[: QUERY + 1].tolist()
    assert float(part(page, "shares").locator(".said").get_attribute("data-total") or "nan") == pytest.approx(
        float(moved.sum()), rel=1e-4
    )
    along = 100 * float(pattern[QUERY, 2] * v[2] @ z[QUERY] / (z[QUERY] @ z[QUERY]))
    assert f"{along:.1f}".replace("-", "−") in part(page, "shares").locator(".about").inner_text()

    draw_as(page, "av-values-weighted")
    page.wait_for_function("() => new URLSearchParams(location.search).get('av.values') === 'weighted'")
    same(values(page, "av-v").nan_to_num(), pattern[QUERY][:, None] * v)
    page.locator('[data-matrix="z"]').focus()  # the keyboard moves the choice; sum and shares follow
    page.keyboard.press("ArrowUp")
    page.wait_for_function(f"() => new URLSearchParams(location.search).get('cell') === '{QUERY - 1}.7'")
    assert float(sum_line.get_attribute("data-ours") or "nan") == pytest.approx(float(z[QUERY - 1, 7]), abs=1e-5)
    assert len(bars(page, "shares")) == QUERY


def test_ffn_shows_every_unit_and_its_strongest_tokens(page: "Page", gpt: Checkpoint) -> None:
    show(page, "ffn", layer=LAYER, query=QUERY, unit_id=100)
    draw_as(page, "ffn-shown-post", "ffn-sort-id")
    open_page_of_units(page)
    ids = gpt.tokenizer.encode(TEXT)
    run = trace(gpt, ids, [f"layers.{LAYER}.ffn.pre", f"layers.{LAYER}.ffn.post"])
    pre, post = run.tensors.values()
    found = units(gpt, ids)[LAYER]
    same(values(page, "ffn-post"), post[:, 64:128])
    assert bars(page, "units") == found.top_units[QUERY].tolist()
    counts = {name: part(page, "counts").get_by_test_id(f"ffn-{name}") for name in ("here-dead", "here-always")}
    assert counts["here-dead"].get_attribute("data-count") == str(len(found.dead))
    assert counts["here-always"].get_attribute("data-count") == str(len(found.always_on))
    assert part(page, "counts").get_by_test_id("ffn-agrees").get_attribute("data-agrees") == "true"
    stored = gpt.card["units"]["layers"][LAYER]
    assert part(page, "counts").get_by_test_id("ffn-corpus-dead").get_attribute("data-count") == str(stored["n_dead"])

    part(page, "units").get_by_test_id(
        "bar"
    ).first.click()  # the token's strongest unit, and the tokens on which that unit fires most
    best = int(found.top_units[QUERY, 0])
    page.wait_for_function(f"() => new URLSearchParams(location.search).get('unit_id') === '{best}'")
    firing = [t for t in post[:, best].argsort(descending=True).tolist() if post[t, best] > 0]
    assert bars(page, "tokens") == firing[:8]
    draw_as(page, "ffn-shown-pre", "ffn-sort-activation")
    order = pre[QUERY].argsort(descending=True)[:64]
    same(values(page, "ffn-pre"), pre[:, order])
    page.get_by_test_id("ffn-later").click()
    drawn(page)
    same(values(page, "ffn-pre"), pre[:, pre[QUERY].argsort(descending=True)[64:128]])
    canvas = page.get_by_test_id("ffn-map")
    assert canvas.evaluate("canvas => canvas.height") == len(ids)


def test_keys_move_over_the_map_of_all_units(page: "Page", gpt: Checkpoint) -> None:
    """As over any matrix: by one, with Shift by 16, to both ends of a row; the page of units follows."""
    show(page, "ffn", layer=LAYER, query=QUERY, unit_id=100)
    draw_as(page, "ffn-shown-post", "ffn-sort-id")
    open_page_of_units(page)
    post = trace(gpt, gpt.tokenizer.encode(TEXT), [f"layers.{LAYER}.ffn.post"]).tensors[f"layers.{LAYER}.ffn.post"]
    said = page.get_by_test_id("ffn-map-cell")
    page.get_by_role("application", name=re.compile("All 1,024 units as a strip")).focus()
    for key, row, unit in (
        ("ArrowRight", QUERY, 101),
        ("Shift+ArrowRight", QUERY, 117),
        ("ArrowUp", QUERY - 1, 117),
        ("End", QUERY - 1, 1023),
    ):
        page.keyboard.press(key)
        page.wait_for_function(
            f"""() => {{
              const at = new URLSearchParams(location.search);
              return at.get('unit_id') === '{unit}' && at.get('query') === '{row}';
            }}"""
        )
        expect(said).to_have_text(re.compile(f"^unit {unit} on .+: "))
        value = float(said.inner_text().split(": ")[1].replace("\u2212", "-"))
        assert value == pytest.approx(float(post[row, unit]), abs=1e-3)
    drawn(page)
    same(values(page, "ffn-post"), post[:, 960:])
    assert page.locator(".ffn-map").evaluate("map => map === document.activeElement"), "the keyboard stays on the map"


def test_the_residual_stream_and_its_gradients(page: "Page", gpt: Checkpoint) -> None:
    show(page, "residual", layer=LAYER, query=QUERY)
    residual_tab(page, "stream")
    draw_as(page, "residual-what-stream")
    ids = gpt.tokenizer.encode(TEXT)
    (stream,) = streams(gpt, ids)
    same(values(page, "residual"), stream.norm)
    draw_as(page, "residual-what-ffn", "residual-measure-cosine")
    ffns = [one.cosine for one in stream.written if one.sublayer.kind == "ffn"]
    same(values(page, "residual-ffn-cosine"), torch.stack(ffns))
    residual_tab(page, "norms")
    for one in stream.norms:
        row = page.locator(f'[data-norm="{one.path}"]')
        told = [float(row.get_attribute(f"data-{name}") or "nan") for name in ("in", "out", "kept")]
        assert told == pytest.approx([float(x[QUERY]) for x in (one.norm_in, one.norm_out, one.cos_in_out)], rel=1e-4)
    residual_tab(page, "parameters")
    said = json.loads(page.get_by_test_id("total").evaluate("one => JSON.stringify(one.dataset)"))
    parameters = count_parameters(gpt.model)
    assert (int(said["total"]), int(said["untied"])) == (parameters.total, parameters.untied_total)
    assert said["agrees"] == "true"

    residual_tab(page, "gradients")
    answer = page.get_by_test_id("answer")
    second = answer.locator("option").nth(1).get_attribute("value") or ""
    answer.select_option(second)
    page.wait_for_function(f"() => new URLSearchParams(location.search).get('answer') === '{second}'")
    page.wait_for_selector('body[data-state="ready"]')
    table = page.get_by_test_id("gradients")
    page.wait_for_function("() => document.querySelector('[data-panel=opened]').ariaBusy === 'false'")
    assert table.is_hidden(), "a table is folded until it is wanted"
    page.get_by_test_id("folded").filter(has=table).locator("summary").click()
    for run, name in zip(gradient_norms(gpt, ids, int(second), row=QUERY), ("on", "off"), strict=True):
        cells = table.locator(f'[data-run="{name}"] td').evaluate_all(
            "cells => cells.map((c) => Number(c.dataset.value))"
        )
        assert cells == pytest.approx(run.stacks[0].total.tolist(), rel=1e-3)
    assert page.get_by_test_id("log-p").get_attribute("data-agrees") == "true"
    table.get_by_role("button", name="2", exact=True).press("Enter")
    page.wait_for_function("() => new URLSearchParams(location.search).get('layer') === '1'")
    page.wait_for_selector('body[data-state="ready"]')
    here = table.locator("[aria-current=true]")
    expect(here).to_have_text("2")
    assert here.evaluate("here => here === document.activeElement"), "the focus stays where it was"


def test_a_translator_s_stations_follow_the_open_attention(page: "Page") -> None:
    """With cross-attention open, FFN and stream are the decoder's. The sinusoid table is listed but not counted."""
    loaded, text = checkpoint.load(checkpoint.ZOO / "translate-enja"), "I like cats."
    ids, target = loaded.tokenizer.encode(text), loaded.tokenizer.encode(written := "猫が好きです。")
    translator = {"model": "translate-enja", "layer": 1, "target": written}
    show(page, "residual", text, **translator)
    residual_tab(page, "stream")
    draw_as(page, "residual-what-stream")
    encoder, decoder = streams(loaded, ids, target=target)
    same(values(page, "residual"), decoder.norm)
    assert page.get_by_test_id("residual-what-cross_attn").is_visible()
    residual_tab(page, "parameters")
    assert page.locator('[data-part="parameters"] tr[data-part="sinusoid"]').count() == 1
    show(page, "residual", text, **translator, attention="encoder")
    residual_tab(page, "stream")
    drawn(page)
    same(values(page, "residual"), encoder.norm)
    assert page.get_by_test_id("residual-what-cross_attn").is_hidden()
    show(page, "ffn", text, **translator, unit_id=3)
    draw_as(page, "ffn-shown-post", "ffn-sort-id")
    open_page_of_units(page)
    post = trace(loaded, ids, ["decoder.layers.1.ffn.post"], target=target).tensors["decoder.layers.1.ffn.post"]
    same(values(page, "ffn-post"), post[:, :64])
    show(page, "av", text, **translator, head=2)
    z = trace(loaded, ids, ["decoder.layers.1.cross_attn.z"], target=target).tensors["decoder.layers.1.cross_attn.z"]
    same(values(page, "z"), z[2])


def test_pads_do_not_count_and_a_classifier_has_classes(page: "Page") -> None:
    loaded, text = checkpoint.load(checkpoint.ZOO / "sentiment-encoder"), "I like this film."
    show(page, "ffn", text, model="sentiment-encoder", layer=1, pad=2)
    found = units(loaded, loaded.tokenizer.encode(text), pad=Padding(2, "left"))[1]
    here = part(page, "counts").get_by_test_id("ffn-here-dead")
    assert here.get_attribute("data-count") == str(len(found.dead))
    to_station(page, "residual")
    drawn(page)
    residual_tab(page, "gradients")
    options = page.get_by_test_id("answer").locator("option")
    expect(options).to_have_count(len(loaded.config.classes))  # those of another model stay until these are here
    assert [one.split(" · ")[0] for one in options.all_text_contents()] == list(loaded.config.classes)


@pytest.mark.fresh
def test_a_phone_scrolls_down_only(open_page: Any) -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    show(page, "av", layer=LAYER, head=HEAD)
    for view in ("av", "ffn", "residual"):
        to_station(page, view)
        drawn(page)
        assert page.evaluate("() => document.documentElement.scrollWidth") == 390

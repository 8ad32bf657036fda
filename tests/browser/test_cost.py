"""The station of costs: counted for the open model, and measured on request. What models trained alike cost in loss."""

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from chumoku.model.checkpoint import ZOO

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.warm


def test_costs_are_counted_for_the_sentence_and_measured_until_stopped(page: "Page") -> None:
    page.goto("/?view=cost&text=One day a dog ran.")
    station = page.locator("[data-station=cost]")
    n = len(page.request.post("/api/tokenize", data={"text": "One day a dog ran."}).json()["tokens"])
    own = station.locator("tr.open")
    expect(own).to_have_attribute("data-form", "softmax")
    expect(own).to_have_attribute("data-time", str(2 * n * n * 256 + 2 * n * n * 8))
    station.get_by_test_id("cost-at-long").click()
    expect(own).to_have_attribute("data-space", str(4 * (8 * 10_000**2 + 4 * 10_000 * 256)))
    page.wait_for_url("**cost.at=long**")

    station.get_by_test_id("cost-measured").click()
    button = station.get_by_test_id("cost-measure")
    button.click()
    expect(station.locator(".curve circle").first).to_be_visible()
    button.click()
    expect(button).to_have_text("Measure again")
    for _ in range(50):  # the server notices between two measurements that its client has gone
        streams = page.request.get("/readyz").json()["streams"]
        if streams == 0:
            break
        page.wait_for_timeout(100)
    assert streams == 0


def test_the_skew_of_relative_positions_says_what_it_saves(page: "Page") -> None:
    page.goto("/?model=mini-relative&view=cost&cost.shown=space&text=One day a dog ran.")
    station = page.locator("[data-station=cost]")
    n = len(page.request.post("/api/tokenize", data={"text": "One day a dog ran."}).json()["tokens"])
    naive, skewed = (
        2 * n * n * 32,
        4 * n * (2 * n - 1),
    )  # two vectors for each pair; a column for each distance, by head
    expect(station).to_contain_text(f"at T = {n}, 2·T²·d_k × 4 B = {4 * naive / 1000:.2f}")
    expect(station).to_contain_text(f"by distance instead: T·(2T − 1)·h × 4 B = {4 * skewed / 1000:.2f}")


def test_models_trained_alike_stand_in_one_table_and_their_losses_go_on_beyond_the_window(page: "Page") -> None:
    cards = {file.parent.name: json.loads(file.read_text("utf-8")) for file in ZOO.glob("mini-*/card.json")}
    page.goto("/?model=mini-relative&view=training&training.tab=alike&text=One day a dog ran.")
    station = page.locator("[data-station=training]")
    for name, card in cards.items():
        row = station.locator(f"[data-testid=alike][data-model={name}]")
        expect(row).to_have_attribute("data-bits", str(card["evaluation"]["bits_per_byte"]))
        if name != "mini-softmax":
            times, gap = row.locator("[data-column=speed]"), row.locator("[data-column=gap]")
            expect(times).to_have_text(f"{card['speed']['times']:.1f} ×")
            expect(gap).to_have_text(gap_said(card, cards))
    expect(station).to_contain_text(cards["mini-wkv"]["speed"]["hardware"])
    drawn = [name for name, card in cards.items() if card.get("lengths", {"length": [0]})["length"][-1] > 128]
    expect(station.locator(".curve")).to_have_count(len({*drawn, "mini-softmax"}))
    expect(station.locator(".curve.own circle")).to_have_count(len(cards["mini-relative"]["lengths"]["length"]))
    looks = station.locator(".curve path").evaluate_all(
        "all => all.map(one => [getComputedStyle(one).stroke, getComputedStyle(one).strokeDasharray].join())"
    )
    assert len(set(looks)) == len(looks), looks
    expect(station.locator("[data-testid=alike][data-model=mini-wkv]")).to_contain_text("bfloat16")
    expect(station).to_contain_text("46 passages of 11 documents")
    expect(station).to_contain_text("at 1,024 it is 0.09 nats higher (standard error 0.02)")
    station.get_by_role("button", name="mini-rotary").click()
    expect(station.locator("tr.open[data-testid=alike]")).to_have_attribute("data-model", "mini-rotary")


def gap_said(card: dict[str, Any], cards: dict[str, dict[str, Any]]) -> str:
    """In bits per byte; none below twice what seeds make."""
    gap = card["evaluation"]["bits_per_byte"] - cards["mini-softmax"]["evaluation"]["bits_per_byte"]
    return "none" if abs(gap) < 2 * max(map(range_of_seeds, cards.values())) else f"{gap:+.3f}".replace("-", "−")


def range_of_seeds(card: dict[str, Any]) -> float:
    """How far apart the same training ends from other seeds; 0 where it was done once."""
    bits = [card["evaluation"]["bits_per_byte"], *(seed["bits_per_byte"] for seed in card.get("seeds", []))]
    return float(max(bits) - min(bits))

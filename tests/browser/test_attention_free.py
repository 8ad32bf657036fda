"""Mechanisms without a plain QKᵀ, with random weights: every number that the page recomputes is the model's own."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import flaws, matrix_shown, settled

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.warm

TEXT = "No QKᵀ here."
PLACES = [  # a view of a mechanism, and how many recomputed numbers it shows beside the model's
    ("aft-full", "view=attention&attention.step=feature&cell=9,2", 2),
    ("aft-full", "view=computation&computation.step=attn.feature&cell=9,2", 3),
    ("aft-full", "view=computation&computation.step=attn.role-numerator&cell=9,2", 1),
    ("aft-conv", "view=distance&head=1", 1),
    ("aft-conv", "view=attention&attention.step=weights&head=1", 1),
    ("aft-conv", "view=gate&gate.sum=denominator", 2),
    ("aft-conv", "view=computation&computation.step=attn.k&head=1", 1),
    ("aft-conv", "view=computation&computation.step=attn.role-denominator&head=1", 1),
    ("wkv", "view=decay&cell=9,1", 2),
    ("wkv", "view=computation&computation.step=attn.role-gate&cell=9,1", 1),
    ("wkv", "view=attention&attention.step=feature", 2),
    ("relative", "view=attention&attention.step=distance", 2),
    ("relative", "view=av", 2),
    ("rotary", "view=rotation&key=3", 4),
]


@pytest.fixture(scope="module")
def app_url(toys_url: str) -> str:
    return toys_url


def show(page: "Page", mechanism: str, place: str) -> None:
    page.goto(f"/?text={TEXT}&model=toy-{mechanism}&{place}")
    settled(page)


def test_what_the_page_recomputes_is_the_models_own_number(page: "Page") -> None:
    for mechanism, place, least in PLACES:
        show(page, mechanism, place)
        assert flaws(page) == [], (mechanism, place)
        assert page.locator('[data-testid="check"]:visible').count() >= least, (mechanism, place)


def test_another_query_changes_the_gate_and_no_weight(page: "Page") -> None:
    show(page, "aft-full", "view=gate&cell=9,2")
    page.get_by_test_id("gate-asks").select_option("1")
    expect(page.get_by_test_id("gate-says")).to_contain_text("by the gate alone")
    page.wait_for_url(lambda url: "gate.asks=1" in url)


def test_a_state_has_no_causal_switch_and_its_columns_are_groups(page: "Page") -> None:
    show(page, "wkv", "view=attention&drawer=labels")
    expect(page.get_by_test_id("switch-causal")).to_be_disabled()
    page.mouse.move(0, 0)  # a switch under the pointer says what it means first
    page.get_by_test_id("switch-causal").focus()
    expect(page.get_by_text("Causal by construction")).to_be_visible()
    expect(page.get_by_test_id("groups")).to_contain_text("mean")
    expect(page.get_by_test_id("label-counts")).to_contain_text("groups of features")
    expect(page.get_by_test_id("opened-title").first).to_contain_text("Features")


def test_a_mask_acts_on_weights_by_feature_before_and_after(page: "Page") -> None:
    """Its overview is a mean over features, and forbidden keys are left out of both sums."""
    show(page, "aft-full", 'view=attention&run={"masks":{"causal":false}}&compare=on&cell=9,2')
    before, after, difference = (
        matrix_shown(page.locator(f'[data-matrix="{run}"]'))["z"] for run in ("before", "after", "difference")
    )
    for t, (was, now) in enumerate(zip(before, after, strict=True)):
        assert [i for i, weight in enumerate(was) if weight is None] == list(range(t + 1, len(was)))
        assert None not in now
        assert sum(weight or 0 for weight in was) == pytest.approx(1, abs=1e-5) == sum(now)
    assert difference[9][2] == pytest.approx(after[9][2] - before[9][2], abs=1e-6)
    assert flaws(page) == []

"""A masked language model on the page: a token is hidden and the gap filled; every number is the Python trace's, and
every view that is offered opens."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from playwright.sync_api import expect

from chumoku.model import checkpoint
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.trace import trace
from tests.browser.helpers import flaws, offered, serious, settled, to_station, to_step, wait_for_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.warm

TEXT = "a cat sat"
MASK = 259
# The steps of the walk in which filling gaps differs; test_computation.py takes every step of another encoder.
OF_A_GAP = ("in.tokens", "in.embed", "attn.mask", "attn.softmax", "out.rest", "out.logits", "out.answer")
STATIONS = {"tokens", "embedding", "qkv", "attention", "av", "ffn", "residual"}


@pytest.fixture(scope="module")
def filler(toys: Path) -> Checkpoint:
    """In float16, as it is stored."""
    return checkpoint.load(toys / "filler")


@pytest.fixture(scope="module")
def app_url(toys_url: str) -> str:
    return toys_url


def show(page: "Page", view: str = "attention", **more: object) -> None:
    page.goto(f"/?text={TEXT}&model=filler&view={view}" + "".join(f"&{name}={value}" for name, value in more.items()))
    filled(page)


def filled(page: "Page") -> None:
    settled(page)
    page.get_by_test_id("gap-candidate").first.wait_for()
    assert flaws(page) == []


def likeliest(filler: Checkpoint, ids: list[int], row: int) -> list[tuple[int, float]]:
    """The ten likeliest tokens at a row, from the logits."""
    logits = trace(filler, ids, ["logits"]).tensors["logits"][row].double()
    logits[filler.tokenizer.never_sampled] = -torch.inf
    p, best = logits.softmax(-1).sort(descending=True, stable=True)
    return list(zip(best[:10].tolist(), p[:10].tolist(), strict=True))


def shown(page: "Page") -> list[tuple[int, float]]:
    all_ = page.get_by_test_id("gap-candidate").all()
    return [(int(one.get_attribute("data-id") or -1), float(one.get_attribute("data-before") or -1)) for one in all_]


def assert_close(found: list[tuple[int, float]], expected: list[tuple[int, float]]) -> None:
    assert [i for i, _ in found] == [i for i, _ in expected]
    assert [p for _, p in found] == pytest.approx([p for _, p in expected], abs=1e-6)


def test_a_token_is_hidden_and_the_gap_filled(page: "Page", filler: Checkpoint) -> None:
    ids = list(TEXT.encode())
    show(page, query=3)
    assert_close(shown(page), likeliest(filler, ids, 3))
    assert "c" in page.get_by_test_id("gap-stands").inner_text()

    page.get_by_test_id("gap-hide").click()
    ids[2] = MASK
    run = wait_for_run(page, "run.input?.token_ids")
    assert run["input"]["token_ids"] == ids, "[CLS] is at position 0"
    expect(page.get_by_test_id("gap-hide")).to_be_hidden()
    filled(page)
    expected = likeliest(filler, ids, 3)
    assert_close(shown(page), expected)
    assert page.get_by_test_id("gap-stands").inner_text() == ""

    chips = page.get_by_test_id("likely").locator("visible=true")
    likely = [i for i, _ in expected[: chips.count()]]
    assert [int(chip.get_attribute("data-id") or -1) for chip in chips.all()] == likely
    expect(page.locator(".candidates")).to_have_attribute("aria-label", re.compile("The model’s probability"))
    expect(page.get_by_test_id("gen-step")).to_be_hidden()
    chips.nth(1).click()
    ids[2] = expected[1][0]
    assert wait_for_run(page, f"!run.input?.token_ids?.includes({MASK})")["input"]["token_ids"] == ids


def test_a_link_opens_at_its_gap(page: "Page", filler: Checkpoint) -> None:
    ids = [*b"a c", MASK, *b"t sat"]
    page.goto(f'/?model=filler&view=attention&run={{"input":{{"token_ids":{ids}}}}}')
    filled(page)
    assert_close(shown(page), likeliest(filler, ids, 4))


def test_cls_is_no_gap(page: "Page") -> None:
    page.goto(f"/?text={TEXT}&model=filler&view=attention&query=0")
    page.wait_for_selector('body[data-state="ready"]')
    expect(page.get_by_test_id("gap-where")).to_have_text("row 0")
    assert page.get_by_test_id("gap-candidate").count() == 0
    expect(page.get_by_test_id("gap-hide")).to_be_hidden()


def test_every_view_that_is_offered_opens(page: "Page") -> None:
    show(page, "tokens")
    assert offered(page) >= STATIONS
    for view in offered(page):
        to_station(page, view)
        filled(page)
    steps = page.get_by_test_id("walk-step")
    show(page, "computation")
    for step in OF_A_GAP:
        assert steps.and_(page.locator(f'[data-step="{step}"]')).count() == 1, step
        to_step(page, step)
        page.wait_for_selector(f'[data-step="{step}"][aria-current="step"]')
        filled(page)
    assert serious(page, "[data-panel='gap']") == []

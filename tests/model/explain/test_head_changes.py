"""What changes in every head, against plain loops. tests/js/head_changes.json holds the page's own arithmetic to it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from chumoku.model.describe import Attention
from chumoku.model.explain import head_changes
from chumoku.model.explain.head_changes import Change, Meeting, Places, changes_of, parts
from chumoku.model.run import Run
from chumoku.model.taps import Edit
from chumoku.model.trace import Masks, Padding
from chumoku.model.traceable import ZooModel
from tests.model.explain.helpers import SOURCE, a_model
from tests.model.helpers import FAMILIES, close, tiny_checkpoint

FIXTURE = Path(__file__).parent.parent.parent / "js" / "head_changes.json"
TARGET = [7, 8, 9]


def runs(family: str) -> tuple[ZooModel, Run, Run]:
    """As it is, and with two PADs on the left that nothing masks, and no causal mask."""
    traceable = ZooModel(a_model(family, "pre"))
    target = TARGET if family == "encoder-decoder" else None
    return traceable, Run(SOURCE, target), Run(SOURCE, target, Masks(False, False), Padding(2))


def in_order(traceable: ZooModel, before: Run, n_pads: int) -> Places:
    n = len(traceable.trace(before, []).ids)
    target = None if before.target is None else list(range(len(before.target) + 1))
    return {"source": [at + n_pads for at in range(n)], "target": target}


def looped(was: Tensor, now: Tensor, places: tuple[Any, Any], pads: tuple[int, int], causal: bool) -> list[float]:
    """moved, future and pad of a head; `pads`: how many PADs the queries and the keys after begin with."""
    rows, keys = places
    moved = []
    for query in range(len(was)):
        there = rows[query]
        total = sum(abs(float(now[there, keys[key]]) - float(was[query, key])) for key in range(was.shape[1]))
        moved.append(total + sum(float(now[there, key]) for key in range(now.shape[1]) if key not in keys))
    own = range(pads[0], len(now))
    future = [sum(float(now[q, k]) for k in range(pads[1], now.shape[1]) if k > q) for q in own]
    pad = [sum(float(now[q, k]) for k in range(pads[1])) for q in own]
    means = [sum(moved) / 2 / len(moved), sum(future) / len(own) if causal else 0.0, sum(pad) / len(own)]
    return means


def stacked(one: Change) -> Tensor:
    return torch.stack([one.moved, one.future, one.pad], -1)


@pytest.mark.parametrize("family", FAMILIES)
def test_changes_are_those_of_plain_loops(family: str) -> None:
    traceable, before, after = runs(family)
    places = in_order(traceable, before, 2)
    found = {one.attention: one for one in changes_of(traceable, before, after, places)}
    assert list(found) == [one.id for one in traceable.description.attentions]
    first = {"source": 2, "target": 0}
    for one in traceable.description.attentions:
        taps = one.roles[str(one.overview)].taps
        was, now = (traceable.trace(run, list(taps)).tensors for run in (before, after))
        at = (places[one.queries], places[one.keys])
        pads = (first[one.queries], first[one.keys])
        heads = [zip(was[tap], now[tap], strict=True) for tap in taps]
        expected = [[looped(a, b, at, pads, one.causal) for a, b in layer] for layer in heads]
        close(stacked(found[one.id]), torch.tensor(expected, dtype=torch.float64), 1e-3)  # they are kept as float16
        assert found[one.id].moved.min() > 0.001


def test_equal_runs_differ_by_nothing_at_all() -> None:
    traceable, before, _ = runs("decoder-only")
    (found,) = changes_of(traceable, before, before, in_order(traceable, before, 0))
    assert stacked(found).abs().max() == 0


def test_a_side_without_places_is_not_compared() -> None:
    traceable, before, after = runs("encoder-decoder")
    places = {**in_order(traceable, before, 2), "target": None}
    assert [one.attention for one in changes_of(traceable, before, after, places)] == ["encoder"]


@pytest.mark.parametrize("kept", [1, 100])
def test_what_is_kept_at_once_is_bounded_and_changes_nothing(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    traceable, before, after = runs("encoder-decoder")
    places = in_order(traceable, before, 2)
    whole = [stacked(one) for one in changes_of(traceable, before, after, places)]
    monkeypatch.setattr(head_changes, "KEPT", kept)
    for part in parts(traceable.description.attentions, places):
        sizes = [one.n_head * len(places[one.queries] or []) * len(places[one.keys] or []) for one in part.values()]
        assert sum(sizes) <= kept or len(sizes) == 1
    found = [stacked(one) for one in changes_of(traceable, before, after, places)]
    assert all(torch.equal(a, b) for a, b in zip(whole, found, strict=True))


def test_an_intervention_moves_its_own_layer_and_those_after_it() -> None:
    traceable = ZooModel(tiny_checkpoint())
    (attention,) = traceable.description.attentions

    def ablate(x: Tensor, _: int) -> Tensor:
        x[:, 0] = 0
        return x

    edit: dict[str, Edit] = {attention.roles["z"].taps[0]: ablate}
    before, after = Run(SOURCE), Run(SOURCE, edit=edit)
    (found,) = changes_of(traceable, before, after, in_order(traceable, before, 0))
    assert found.moved[0].max() == 0 < found.moved[1].min()


# --- The page's arithmetic of short texts -----------------------------------------------------------------

WAS = [[[1024, 0, 0], [512, 512, 0], [256, 256, 512]]]
NOW = [[[100, 200, 300, 424, 0], [0, 1024, 0, 0, 0], [24, 500, 500, 0, 0], [0, 100, 0, 900, 24], [1, 2, 3, 18, 1000]]]
"""Of 1,024: exact as float16."""
PLACES: dict[str, list[int | None]] = {"PADs on the left": [2, 3, 4], "swapped": [3, 2, 4], "one is gone": [2, None, 4]}


def case(places: list[int | None], causal: bool) -> dict[str, Any]:
    """Three tokens, and the same after two PADs."""
    (attention,) = tiny_checkpoint().description.attentions
    one = Attention(**vars(attention) | {"causal": causal})
    meeting = Meeting(one, {"source": places, "target": None}, Run(SOURCE), Run(SOURCE, pad=Padding(2)))
    was, now = (torch.tensor(x) / 1024 for x in (WAS, NOW))
    moved, future, pad = meeting.against(was.half())(now[None])[0, 0].tolist()
    return {"places": places, "causal": causal, "moved": moved, "future": future, "pad": pad}


def test_the_page_is_tested_against_what_python_says() -> None:
    """`CHUMOKU_WRITE_FIXTURES=1 pytest tests/model/explain/test_head_changes.py` rewrites it."""
    cases = [case(places, causal) for places in PLACES.values() for causal in (True, False)]
    written = {"of": 1024, "was": WAS[0], "now": NOW[0], "pads": 2, "cases": cases}
    if os.environ.get("CHUMOKU_WRITE_FIXTURES"):
        FIXTURE.write_text(json.dumps(written, indent=1) + "\n", "utf-8")
    assert json.loads(FIXTURE.read_text("utf-8")) == written

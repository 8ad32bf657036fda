"""Activation patching, against plain runs, one by one, in which the other run's row is put in its place."""

from typing import Any

import pytest
import torch
from torch import Tensor

from chumoku.model.attribution import patching
from chumoku.model.attribution.knockouts import PatchPart, tap_of
from chumoku.model.attribution.patching import Patching, WholePatching, patch_parts, patch_taps
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.run import Run
from chumoku.model.trace import Padding, Trace, trace
from chumoku.model.traceable import ZooModel
from tests.model.explain.helpers import EVERY_KIND, SOURCE, a_model, options, sampled

OTHER = list(b"intention")
ANSWER, AGAINST = 1, 2


@pytest.fixture
def any_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random models hardly tell the two sentences apart."""
    monkeypatch.setattr(patching, "LEAST", 1e-6)


def other(checkpoint: Checkpoint, ids: list[int] = OTHER, **asked: Any) -> Trace:
    taps = patch_taps(checkpoint.description)
    return trace(checkpoint, ids, [*taps, "logits"], **options(checkpoint) | asked)


def lengths(found: Patching) -> dict[str, int]:
    given = found.knockouts.given
    return {"source": len(given.ids), "target": len(given.target_ids or [])}


def edited(checkpoint: Checkpoint, tap: str, position: int, row: Tensor, **asked: Any) -> Tensor:
    """The logits of a plain run of its own in which this row is put in its place."""

    def put(x: Tensor, _: int) -> Tensor:
        x = x.clone()
        x[0, position] = row
        return x

    edit = {**asked.pop("edit", {}), tap: put}
    return trace(checkpoint, SOURCE, ["logits"], edit=edit, **options(checkpoint) | asked).tensors["logits"]


@pytest.mark.usefixtures("any_difference")
@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_a_patch_is_what_a_plain_run_with_the_row_shows(family: str, order: str) -> None:
    """Every activation at some positions, in one batch."""
    checkpoint = a_model(family, order)
    source = other(checkpoint)
    found = Patching(checkpoint, SOURCE, source, ANSWER, AGAINST, **options(checkpoint))
    parts = [part for part in patch_parts(checkpoint.description, lengths(found)) if part.position in (0, 3, 5)]
    assert {part.what for part in parts} == {"stream", "attention", "ffn"}
    told = found.patch(parts)
    assert [one.part for one in told] == parts
    for one in told:
        tap = tap_of(checkpoint.description, one.part)
        logits = edited(checkpoint, tap, one.part.position, source.tensors[tap][one.part.position])
        row = logits if logits.dim() == 1 else logits[found.row]
        difference = float(row[ANSWER] - row[AGAINST])
        assert one.difference == pytest.approx(difference, abs=1e-4)
        p = sampled(checkpoint, row).double().softmax(-1)[ANSWER]
        assert one.p == pytest.approx(float(p), abs=1e-5)
        ends = found.sides
        assert one.moved == pytest.approx((one.difference - ends.base) / (ends.source - ends.base))
    assert max(abs(one.moved) for one in told) > 1e-3


def test_every_position_of_the_first_stream_makes_the_other_run(tiny: Checkpoint) -> None:
    """The last row's answer, when all rows are patched one after the other."""
    source = other(tiny)
    found = Patching(tiny, SOURCE, source, ANSWER, AGAINST)
    edit: Any = {"layers.0.resid_pre": lambda x, _: source.tensors["layers.0.resid_pre"][None].clone()}
    logits = trace(tiny, SOURCE, ["logits"], edit=edit).tensors["logits"][-1]
    assert float(logits[ANSWER] - logits[AGAINST]) == pytest.approx(found.sides.source, abs=1e-5)


@pytest.mark.usefixtures("any_difference")
def test_patching_a_run_with_itself_changes_no_bit(family: Checkpoint) -> None:
    """Through the passes themselves, although equal rows would need none."""
    source = other(family, SOURCE)
    away = other(family)
    found = Patching(family, SOURCE, away, ANSWER, AGAINST, **options(family))
    found.knockouts.source = source.tensors
    parts = patch_parts(family.description, lengths(found))
    assert {one.difference for one in found.patch(parts)} == {found.sides.base}, "no pass"
    last = [part for part in parts if part.position == 3]
    order, patched = found.knockouts.last_states(last, found.row)
    found.knockouts.source = found.knockouts.here
    again, plain = found.knockouts.last_states(last, found.row)
    assert order == again
    assert patched.equal(plain)


@pytest.mark.usefixtures("any_difference")
def test_whole_passes_measure_the_same(family: Checkpoint) -> None:
    source = other(family)
    batched = Patching(family, SOURCE, source, ANSWER, AGAINST, **options(family))
    run = Run(SOURCE, options(family).get("target"))
    whole = WholePatching(ZooModel(family), run, source, ANSWER, AGAINST)
    parts = [part for part in patch_parts(family.description, lengths(batched)) if part.position in (1, 4)]
    for one, same in zip(batched.patch(parts), whole.patch(parts), strict=True):
        assert one.part == same.part
        assert one.moved == pytest.approx(same.moved, abs=1e-4)


@pytest.mark.usefixtures("any_difference")
def test_a_patch_is_on_top_of_the_run_s_interventions_and_pads(family: Checkpoint) -> None:
    def silent(x: Tensor, _: int) -> Tensor:
        x[:, 2] = 0.0
        return x

    one = family.description.attentions[-1]
    asked: Any = {"edit": {one.tap("z", 0): silent}, "pad": Padding(2, "left")}
    source = other(family, pad=Padding(2, "left"))
    found = Patching(family, SOURCE, source, ANSWER, AGAINST, **options(family) | asked)
    stack = family.description.readout
    part = PatchPart(stack.id, 0, "ffn", found.row)
    (told,) = found.patch([part])
    tap = tap_of(family.description, part)
    logits = edited(family, tap, found.row, source.tensors[tap][found.row], **asked)
    row = logits if logits.dim() == 1 else logits[found.row]
    assert told.difference == pytest.approx(float(row[ANSWER] - row[AGAINST]), abs=1e-4)


def test_runs_that_do_not_correspond_are_refused(tiny: Checkpoint) -> None:
    with pytest.raises(ValueError, match="the other run has 8 tokens, this one 9"):
        Patching(tiny, SOURCE, other(tiny, OTHER[:-1]), ANSWER, AGAINST)


def test_runs_that_hardly_differ_are_refused(tiny: Checkpoint) -> None:
    with pytest.raises(ValueError, match="of the two sentences are"):
        Patching(tiny, SOURCE, other(tiny, SOURCE), ANSWER, AGAINST)
    base = torch.tensor([0.0, -1.0, -2.0])
    assert patching.Sides(base, base + torch.tensor([0, 0.11, 0]), 0, 1).source == pytest.approx(0.89)
    with pytest.raises(ValueError, match=r"1\.00 and 0\.91: less than 0\.1 apart"):
        patching.Sides(base, base + torch.tensor([0, 0.09, 0]), 0, 1)

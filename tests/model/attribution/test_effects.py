"""Effects, against plain runs in which the cell is forbidden."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model.attribution import effects
from chumoku.model.attribution.effects import Effects, knockout
from chumoku.model.attribution.knockouts import FfnPart, HeadPart, parts_of, tap_of
from chumoku.model.attribution.rollout import Edge
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.interventions import Composed, EditCells
from chumoku.model.masks import EDITED
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.taps import Edit
from chumoku.model.trace import trace
from tests.model.explain.helpers import EVERY_KIND, SOURCE, a_model, every_run, options, sampled
from tests.model.helpers import close

ANSWER = 1


def forbidding(edge: Edge, before: Edit | None = None) -> Edit:
    def edit(x: Tensor, first: int) -> Tensor:
        x = x if before is None else before(x, first)
        x[:, :, edge.query, edge.key] |= EDITED
        return x

    return edit


def log_p(checkpoint: Checkpoint, row: int, edge: Edge | None = None, **asked: Any) -> float:
    """ln p(answer) of a plain run, with a cut or without."""
    edits = dict(asked.pop("edit", {}))
    if edge is not None:
        tap = checkpoint.description.attention(edge.attention).tap("mask", edge.layer)
        edits[tap] = forbidding(edge, edits.get(tap))
    logits = trace(checkpoint, SOURCE, ["logits"], edit=edits, **options(checkpoint) | asked).tensors["logits"]
    chosen = logits if checkpoint.config.classes else logits[row]
    return float(sampled(checkpoint, chosen).double().log_softmax(-1)[ANSWER])


def some_edges(checkpoint: Checkpoint) -> list[Edge]:
    """In every layer of every attention, from several queries, with the first layer last."""
    cells = [(5, 3), (4, 4), (3, 5), (5, 2), (0, 3), (2, 4)]
    return [
        Edge(one.id, layer, *cell)
        for one in checkpoint.description.attentions
        for layer in (1, 0)
        for cell in cells
    ]  # fmt: skip


def agree(checkpoint: Checkpoint, **asked: Any) -> None:
    """The effects of some edges are the differences that their plain runs make."""
    found = Effects(checkpoint, SOURCE, ANSWER, **options(checkpoint) | asked)
    before = log_p(checkpoint, found.row, **asked)
    assert found.log_p == pytest.approx(before, abs=1e-6)
    edges = some_edges(checkpoint)
    told = found.measure(edges)
    assert [one.part for one in told] == edges
    after = [log_p(checkpoint, found.row, edge, **asked) for edge in edges]
    close(torch.tensor([one.delta for one in told]), torch.tensor(after) - before, 1e-5)
    close(torch.tensor([one.p for one in told]), torch.tensor(after).exp(), 1e-5)
    assert max(abs(one.delta) for one in told) > 1e-4, "some edge decides something"


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_an_effect_is_what_a_plain_run_shows(family: str, order: str) -> None:
    agree(a_model(family, order))


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS.keys() - {"softmax"}))
def test_an_effect_is_what_a_plain_run_shows_however_the_model_attends(mechanism: str) -> None:
    how = {"position": "learned" if mechanism.startswith("aft") else "none", "reach": 3}
    agree(a_model("decoder-only", "pre", mechanism=mechanism, n_head=3, d_model=12, **how))


@every_run
def test_an_effect_is_what_a_padded_run_shows(family: Checkpoint, run: dict[str, Any]) -> None:
    agree(family, **run)


def test_an_effect_is_on_top_of_the_run_s_interventions(family: Checkpoint) -> None:
    """A head without its output, and cells already forbidden and allowed: also the one that is then cut."""

    def silent(x: Tensor, _: int) -> Tensor:
        x[:, 2] = 0.0
        return x

    def edited(x: Tensor, _: int) -> Tensor:
        x[:, 0, 5, 1] |= EDITED
        x[:, :, 5, 3] = 0
        return x

    one = family.description.attentions[-1]
    agree(family, edit={one.tap("z", 0): silent, one.tap("mask", 1): edited, one.tap("mask", 0): edited})


def test_a_batch_gives_what_each_gives_alone(family: Checkpoint) -> None:
    def edited(x: Tensor, _: int) -> Tensor:
        x[:, 0, 5, 1] |= EDITED
        return x.contiguous()

    edit = {tap: edited for one in family.description.attentions for tap in one.roles["mask"].taps}
    found = Effects(family, SOURCE, ANSWER, edit=edit, **options(family))
    together = found.measure(some_edges(family))
    alone = [found.measure([edge])[0] for edge in some_edges(family)]
    close(torch.tensor([one.delta for one in together]), torch.tensor([one.delta for one in alone]), 1e-6)


def test_batches_are_bounded_in_bytes(family: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    found, edges = Effects(family, SOURCE, ANSWER, **options(family)), some_edges(family)
    assert list(found.batches(edges)) == [edges]
    monkeypatch.setattr(effects, "BATCH_BYTES", 3 * found.bytes_of_a_pass())
    batches = list(found.batches(edges))
    assert [edge for batch in batches for edge in batch] == edges
    assert {len(batch) for batch in batches[:-1]} == {3}
    monkeypatch.setattr(effects, "BATCH_BYTES", 1)
    assert [len(batch) for batch in found.batches(edges)] == [1] * len(edges)


def test_a_cut_of_nothing_changes_no_bit(tiny: Checkpoint) -> None:
    """A future key is forbidden already."""
    edge = Edge("self", 1, 2, 5)
    (one,) = Effects(tiny, SOURCE, ANSWER).measure([edge])
    assert one.delta == 0.0
    cut = {"layers.1.attn.mask": forbidding(edge)}
    plain, same = (trace(tiny, SOURCE, ["logits"], edit=edit).tensors["logits"] for edit in ({}, cut))
    assert plain.equal(same)


def test_the_only_key_of_a_query_cannot_be_cut(tiny: Checkpoint) -> None:
    found = Effects(tiny, SOURCE, ANSWER)
    assert not found.can_knock_out(Edge("self", 0, 0, 0))
    assert found.can_knock_out(Edge("self", 0, 1, 0))

    def alone(x: Tensor, _: int) -> Tensor:
        x[:, 2, 3, :3] |= EDITED  # in one head
        return x

    found = Effects(tiny, SOURCE, ANSWER, edit={"layers.0.attn.mask": alone})
    assert not found.can_knock_out(Edge("self", 0, 3, 3))
    assert found.can_knock_out(Edge("self", 0, 3, 2))


def test_an_edge_can_be_knocked_out_in_one_head(family: Checkpoint) -> None:
    """As when the mask of that head is edited, however the pass is made."""
    edge = Edge(family.description.attentions[-1].id, 0, 5, 3, head=1)
    found = Effects(family, SOURCE, ANSWER, **options(family))
    (one,) = found.measure([edge])
    tap = family.description.attention(edge.attention).tap("mask", edge.layer)
    cut = Effects(family, SOURCE, ANSWER, edit={tap: knockout(edge, None)}, **options(family))
    assert one.delta == pytest.approx(cut.log_p - found.log_p, abs=1e-5)
    assert one.delta != found.measure([replace(edge, head=None)])[0].delta


def test_any_row_can_be_asked(tiny: Checkpoint) -> None:
    """An earlier row does not see later looks."""
    found = Effects(tiny, SOURCE, ANSWER, row=3)
    later, own = found.measure([Edge("self", 0, 5, 1), Edge("self", 0, 3, 1)])
    assert later.delta == pytest.approx(0, abs=1e-6)
    assert own.delta == pytest.approx(log_p(tiny, 3, Edge("self", 0, 3, 1)) - log_p(tiny, 3), abs=1e-5)


def test_what_cannot_be_measured_is_refused(tiny: Checkpoint) -> None:
    with pytest.raises(ValueError, match="token id 257 is never sampled"):
        Effects(tiny, SOURCE, 257)
    with pytest.raises(ValueError, match="token id 258 is not one of 0 to 257"):
        Effects(tiny, SOURCE, 258)
    with pytest.raises(ValueError, match="row 9 predicts nothing"):
        Effects(tiny, SOURCE, ANSWER, row=9)
    with pytest.raises(ValueError, match=r"edits layers.1.resid_pre|edits layers.0.resid_post"):
        Effects(tiny, SOURCE, ANSWER, edit={"layers.0.resid_post": lambda x, _: x})


def silenced(part: HeadPart | FfnPart, before: Edit | None) -> Edit:
    def edit(x: Tensor, first: int) -> Tensor:
        x = (x if before is None else before(x, first)).clone()
        x[(slice(None), part.head) if isinstance(part, HeadPart) else slice(None)] = 0.0
        return x

    return edit


def agree_without(checkpoint: Checkpoint, **asked: Any) -> None:
    """What each head and each FFN does is the difference that a plain run without it makes."""
    found, parts = Effects(checkpoint, SOURCE, ANSWER, **options(checkpoint) | asked), parts_of(checkpoint.description)
    told = found.measure(parts)
    assert [one.part for one in told] == parts
    edits = asked.pop("edit", {})
    before = answers(checkpoint, found.row, edit=edits, **asked)
    for one in told:
        tap = tap_of(checkpoint.description, one.part)
        after = answers(checkpoint, found.row, edit=edits | {tap: silenced(one.part, edits.get(tap))}, **asked)
        assert one.delta == pytest.approx(float(after[ANSWER] - before[ANSWER]), abs=1e-5)
        assert one.p == pytest.approx(float(after[ANSWER].exp()), abs=1e-6)
        assert one.kl == pytest.approx(float(F.kl_div(after, before, log_target=True, reduction="sum")), abs=1e-6)
    assert min(one.kl for one in told if isinstance(one.part, FfnPart)) > 0


def answers(checkpoint: Checkpoint, row: int, **asked: Any) -> Tensor:
    """Log-probabilities of a plain run, without tokens that are never sampled."""
    logits = trace(checkpoint, SOURCE, ["logits"], **options(checkpoint) | asked).tensors["logits"]
    return sampled(checkpoint, logits if checkpoint.config.classes else logits[row]).double().log_softmax(-1)


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_what_a_head_or_an_ffn_does_is_what_a_plain_run_without_it_shows(family: str, order: str) -> None:
    agree_without(a_model(family, order))


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS.keys() - {"softmax"}))
def test_a_head_can_be_silenced_however_the_model_attends(mechanism: str) -> None:
    how = {"position": "learned" if mechanism.startswith("aft") else "none", "reach": 3}
    agree_without(a_model("decoder-only", "pre", mechanism=mechanism, n_head=3, d_model=12, **how))


@every_run
def test_a_silenced_part_is_on_top_of_masks_and_interventions(family: Checkpoint, run: dict[str, Any]) -> None:
    """A head that is off already has no effect, exactly."""
    one = family.description.attentions[-1]
    off = {
        one.tap("z", 0): silenced(HeadPart(one.id, 0, 1), None),
        one.tap("mask", 1): forbidding(Edge(one.id, 1, 5, 1)),
    }
    agree_without(family, edit=off, **run)
    found = Effects(family, SOURCE, ANSWER, edit=off, **options(family) | run)
    again, other = found.measure([HeadPart(one.id, 0, 1), HeadPart(one.id, 0, 0)])
    assert (again.delta, again.kl) == (0.0, 0.0)
    assert other.kl > 0


def test_a_silenced_head_is_a_pass_with_its_slice_of_w_o_zeroed(tiny: Checkpoint) -> None:
    """Recomputed in plain PyTorch, with the model's own weights changed."""
    part = HeadPart("self", 0, 1)
    found = Effects(tiny, SOURCE, ANSWER)
    (told,) = found.measure([part])
    changed = copy.deepcopy(tiny)
    d_head = tiny.description.attention("self").d_head
    with torch.no_grad():
        changed.model.get_parameter("layers.0.attn.w_o.weight")[:, d_head : 2 * d_head] = 0.0
    after = answers(changed, found.row)[ANSWER]
    assert told.delta == pytest.approx(float(after - found.log_p), abs=1e-5)
    assert abs(told.delta) > 1e-4


@torch.no_grad()
def test_a_row_without_any_edge_is_a_head_that_writes_zeros_there(tiny: Checkpoint) -> None:
    """All edges of a row hidden, one edit each: the same logits, to the bit, as with z of that row set to 0."""
    head, row = 1, 4
    cells = [EditCells(allow=False, head=head, query=row, key=key) for key in range(row + 1)]

    def zeros(z: Tensor, first: int) -> Tensor:
        z = z.clone()
        z[..., head, row - first, :] = 0.0
        return z

    hidden, silent, plain = (
        trace(tiny, SOURCE, ["logits"], edit=edit).tensors["logits"]
        for edit in ({"layers.1.attn.mask": Composed(cells)}, {"layers.1.attn.z": zeros}, {})
    )
    assert torch.equal(hidden, silent)
    assert not torch.equal(hidden[row], plain[row])

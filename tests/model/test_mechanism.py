"""Another mechanism in one file: all of model/ works with it wherever its roles allow."""

from pathlib import Path

import pytest
import torch

from chumoku.model import checkpoint
from chumoku.model.attribution.gradients import gradient_norms
from chumoku.model.attribution.logit_attribution import contributions
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import describe, parameters
from chumoku.model.explain.parameters import count_parameters
from chumoku.model.explain.residual import streams
from chumoku.model.explain.swaps import swap_tokens
from chumoku.model.explain.units import count_units, units
from chumoku.model.generate import generate
from chumoku.model.identities import discrepancies
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.run import Run
from chumoku.model.sampling import SamplingSettings
from chumoku.model.taps import tap_dims
from chumoku.model.trace import Masks, Padding, trace
from chumoku.model.traceable import ZooModel
from chumoku.model.translate import beam_search
from tests.model.helpers import check_rows_of_steps, close, target_of
from tests.shortcuts import generate_target, labels, logit_lens

SOURCE, TARGET = list(b"attention"), list(b"looks")
TOYS = ("toy-gated-mean", "toy-hidden-mean", "toy-translator")
OPTIONS = {
    "as trained": {},
    "unmasked": {"use": Masks(causal=False, padding=False)},
    "left-padded": {"pad": Padding(3, "left")},
    "right-padded": {"pad": Padding(2, "right")},
}


@pytest.fixture(scope="module", params=TOYS)
def toy(request: pytest.FixtureRequest, toy_models: Path) -> Checkpoint:
    return checkpoint.load(toy_models / request.param)


@pytest.fixture(scope="module")
def shown(toy_models: Path) -> Checkpoint:
    return checkpoint.load(toy_models / "toy-gated-mean")


@pytest.fixture(scope="module")
def hidden(toy_models: Path) -> Checkpoint:
    return checkpoint.load(toy_models / "toy-hidden-mean")


def test_it_says_what_it_has(shown: Checkpoint, hidden: Checkpoint) -> None:
    (one,), (other,) = shown.description.attentions, hidden.description.attentions
    assert (one.kind, one.overview) == ("gated-mean", "weights")
    assert (other.kind, other.overview) == ("hidden-mean", None)
    assert not {"q", "k", "scores", "pattern"} & (one.roles.keys() | other.roles.keys())
    assert shown.description.can == describe(shown.config).can
    assert [name for name, can in shown.description.can.items() if not can] == [
        "beams", "contributions", "route", "effects",
    ]  # fmt: skip
    assert [name for name, can in hidden.description.can.items() if not can] == [
        "beams", "contributions", "route", "effects", "heads",
    ]  # fmt: skip


def test_every_tap_and_parameter_is_described(toy: Checkpoint) -> None:
    assert {name: place.dims for name, place in toy.description.taps.items()} == tap_dims(toy.model)
    there = dict(toy.model.named_parameters(remove_duplicate=False))
    assert parameters(toy.config).keys() == there.keys()
    sizes = {"vocab": toy.config.vocab_size, "position": 64, "d_model": 15, "d_ff": 22, "head": 3}
    for name, one in parameters(toy.config).items():
        assert list(there[name].shape) == [sizes[dim] for dim in one.dims.split()], name


def test_a_step_has_rows_of_its_queries_or_of_all_keys(toy: Checkpoint) -> None:
    check_rows_of_steps(ZooModel(toy), Run(SOURCE, **target_of(toy, TARGET)))


@pytest.mark.parametrize("how", OPTIONS)
def test_a_trace_agrees_with_itself(toy: Checkpoint, how: str) -> None:
    run = trace(toy, SOURCE, **target_of(toy, TARGET), **OPTIONS[how])
    assert run.dims == tap_dims(toy.model)
    for one in toy.description.attentions:
        for layer in range(one.n_layer):
            found = list(discrepancies(one, layer, run.tensors, toy.model.get_parameter))
            assert "product" in {gap.op for gap in found}
            assert [gap for gap in found if gap.absolute > 1e-5] == []
        if one.overview is not None:
            weights, mask = (run.tensors[one.tap(role, 0)] for role in (one.overview, "mask"))
            close(weights.sum(-1), (mask == 0).any(-1).float(), 1e-5)
            assert (weights[mask != 0] == 0).all()


@pytest.mark.parametrize("side", ["left", "right"])
def test_pads_move_no_token(toy: Checkpoint, side: str) -> None:
    """Its decay depends on positions, so they must reach the mixer."""
    plain, padded = (trace(toy, SOURCE, ["logits"], **target_of(toy, TARGET), pad=Padding(n, side)) for n in (0, 2))
    real = [t for t, i in enumerate(padded.ids) if i != toy.tokenizer.pad_id]
    rows = slice(None) if padded.target_ids else real
    close(padded.tensors["logits"][rows], plain.tensors["logits"], 1e-4)


def test_a_cached_step_is_what_a_trace_says(toy: Checkpoint) -> None:
    names = [one.tap(role, 1) for one in toy.description.attentions[-1:] for role in ("gate", "z")] + ["logits"]
    writes = toy.description.writes
    made = generate if writes == "source" else generate_target
    for step in made(toy, SOURCE, SamplingSettings(seed=3), 6, names):
        how = {} if writes == "source" else {"target": step.ids}
        whole = trace(toy, step.ids if writes == "source" else SOURCE, names, **how)
        for name in names:
            close(step.tensors[name], whole.tensors[name][..., -step.computed :, :], 1e-4)
        assert step.cache_bytes > 0


def test_a_fork_continues_from_a_copy(shown: Checkpoint) -> None:
    model, cache = shown.decoder_only, shown.decoder_only.new_cache()
    ids, mask = torch.tensor([SOURCE]), torch.zeros(1, 1, 9, 9, dtype=torch.uint8).triu(1)
    model(ids[:, :4], mask[..., :4, :4], cache=cache)
    fork = cache.copy()
    expected = model(ids[:, 4:5], mask[..., 4:5, :5], cache=cache)
    assert (cache.positions, fork.positions) == (5, 4)
    assert torch.equal(model(ids[:, 4:5], mask[..., 4:5, :5], cache=fork), expected)


def test_beams_select_rows_of_its_cache(toy_models: Path) -> None:
    translator = checkpoint.load(toy_models / "toy-translator")
    for found in beam_search(translator, SOURCE[:4], beams=3):
        how = {"target": found.ids[:-1]}
        logits = trace(translator, SOURCE[:4], ["logits"], **how).tensors["logits"].double()
        logits[:, translator.tokenizer.never_sampled] = -torch.inf
        log_p = logits.log_softmax(-1).gather(-1, torch.tensor(found.ids)[:, None])
        assert found.log_p == pytest.approx(float(log_p.sum()), abs=1e-3)


def test_what_it_has_the_roles_for_is_explained(toy: Checkpoint) -> None:
    more = target_of(toy, TARGET)
    lens = logit_lens(toy, SOURCE, **more)
    logits = trace(toy, SOURCE, ["logits"], **more).tensors["logits"].double()
    logits[:, toy.tokenizer.never_sampled] = -torch.inf
    assert lens.top[-1, :, 0].tolist() == logits.argmax(-1).tolist()
    with_residuals, _ = gradient_norms(toy, SOURCE, 7, **more)
    assert with_residuals.log_p == pytest.approx(float(logits[-1].log_softmax(-1)[7]), abs=1e-5)
    assert len(swap_tokens(toy, SOURCE, 0, 1, **more)) == 2
    assert [one.stack for one in streams(toy, SOURCE, **more)] == [one.id for one in toy.description.stacks]
    assert len(units(toy, SOURCE, **more)) == len(count_units(toy, [(SOURCE, more.get("target"))]))
    parts = {one.part for one in count_parameters(toy.model).counts}
    assert {"W_V", "W_G", "W_O", "W_S", "decay"} <= parts


def test_what_it_has_not_the_roles_for_is_refused_by_name(shown: Checkpoint, hidden: Checkpoint) -> None:
    with pytest.raises(ValueError, match="toy-gated-mean has an attention whose output is not a sum over heads"):
        contributions(shown, SOURCE, 7)
    assert labels(hidden, SOURCE) == []
    assert {(head.layer, head.head) for head in labels(shown, SOURCE)} == {(n, h) for n in (0, 1) for h in (0, 1, 2)}


def test_an_unknown_mechanism_lists_the_known_ones(toy_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(MECHANISMS, "gated-mean")
    with pytest.raises(ValueError, match=r"unknown mechanism 'gated-mean'; known are softmax, .*, hidden-mean"):
        checkpoint.load(toy_models / "toy-gated-mean")

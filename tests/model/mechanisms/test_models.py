"""A model of each mechanism: traces, padding, caches, forks, the river; no prefix changes with what follows it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from chumoku.model.attribution.norm_contributions import norms
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.config import Family
from chumoku.model.describe import parameters
from chumoku.model.explain.anatomy import parameter
from chumoku.model.generate import generate
from chumoku.model.identities import discrepancies
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.run import Run
from chumoku.model.sampling import SamplingSettings
from chumoku.model.taps import tap_dims
from chumoku.model.trace import Masks, Padding, trace
from chumoku.model.traceable import ZooModel
from tests.model.helpers import causal_mask, check_rows_of_steps, close, target_of, tiny_checkpoint, tiny_model
from tests.model.mechanisms.naive import NAIVE
from tests.shortcuts import route

SOURCE = list(b"attention")
OPTIONS: dict[str, dict[str, Any]] = {
    "as trained": {},
    "unmasked": {"use": Masks(causal=False, padding=False)},
    "left-padded": {"pad": Padding(3, "left")},
    "right-padded": {"pad": Padding(2, "right")},
    "PADs take positions": {"pad": Padding(3, "left", follow=False)},
}
CONSTANT = ("aft-simple", "aft-local", "aft-conv", "wkv")
"""Their caches have one size, however long the text is: older keys are one sum."""


@pytest.fixture(scope="module", params=NAIVE)
def model(request: pytest.FixtureRequest) -> Checkpoint:
    return tiny_checkpoint(mechanism=request.param, d_model=18, reach=3, rank=4, position="none")


@pytest.mark.parametrize("how", OPTIONS)
def test_a_trace_agrees_with_itself(model: Checkpoint, how: str) -> None:
    run = trace(model, SOURCE, **OPTIONS[how])
    assert run.dims == tap_dims(model.model)
    (one,) = model.description.attentions
    for layer in range(one.n_layer):
        found = list(discrepancies(one, layer, run.tensors, model.model.get_parameter))
        assert [gap for gap in found if gap.absolute > 1e-5] == []
        assert one.overview is not None
        weights, mask = (run.tensors[one.tap(role, layer)] for role in (one.overview, "mask"))
        close(weights.sum(-1), (mask == 0).any(-1).float(), 1e-5)
        assert (weights[mask != 0] == 0).all()


def test_every_tap_and_parameter_is_described(model: Checkpoint) -> None:
    assert {name: place.dims for name, place in model.description.taps.items()} == tap_dims(model.model)
    there = dict(model.model.named_parameters(remove_duplicate=False))
    assert parameters(model.config).keys() == there.keys()
    sizes = {"vocab": 258, "position": 24, "d_model": 18, "d_ff": 22, "d_head": 6, "head": 3, "rank": 4}
    sizes["distance"] = 7 if model.config.mechanism == "relative" else 3
    for name, one in parameters(model.config).items():
        assert list(there[name].shape) == [sizes[dim] for dim in one.dims.split()], name


def test_recording_changes_no_bit(model: Checkpoint) -> None:
    close(trace(model, SOURCE).tensors["logits"], trace(model, SOURCE, ["logits"]).tensors["logits"], 0.0)


@pytest.mark.parametrize("side", ["left", "right"])
def test_pads_move_no_token(model: Checkpoint, side: str) -> None:
    plain, padded = (trace(model, SOURCE, ["logits"], pad=Padding(n, side)) for n in (0, 3))
    real = [t for t, is_pad in enumerate(padded.is_pad) if not is_pad]
    close(padded.tensors["logits"][real], plain.tensors["logits"], 1e-4)


def test_a_prefix_never_changes_with_what_follows(model: Checkpoint) -> None:
    whole = trace(model, SOURCE, ["logits"]).tensors["logits"]
    for n in range(1, len(SOURCE)):
        close(trace(model, SOURCE[:n], ["logits"]).tensors["logits"], whole[:n], 1e-4)


@pytest.mark.parametrize("shown", [False, True], ids=["state", "every key"])
@pytest.mark.parametrize("pad", [Padding(), Padding(2, "left")], ids=["plain", "padded"])
def test_a_cached_step_is_what_a_trace_says(model: Checkpoint, shown: bool, pad: Padding) -> None:
    (one,) = model.description.attentions
    names = ["logits", one.tap("attn_out", 1)] + ([one.tap(str(one.overview), 1)] if shown else [])
    sizes = []
    for step in generate(model, Run(SOURCE, pad=pad), SamplingSettings(seed=3), 6, names):
        whole = trace(model, step.ids[pad.count :], names, pad=pad).tensors
        for name in names:
            close(step.tensors[name], whole[name][..., -step.computed :, :], 1e-4)
        sizes.append(step.cache_bytes)
    grows = shown or model.config.mechanism not in CONSTANT
    assert grows == (sizes[-1] > sizes[1])


@pytest.mark.parametrize("family", ["decoder-only", "encoder-decoder"])
def test_a_step_has_rows_of_its_queries_or_of_all_keys(model: Checkpoint, family: Family) -> None:
    """As each role says of itself."""
    if model.config.mechanism == "wkv" and family != "decoder-only":
        pytest.skip("wkv is for one stream")
    made = tiny_checkpoint(family, mechanism=model.config.mechanism, d_model=18, reach=3, rank=4, position="none")
    check_rows_of_steps(ZooModel(made), Run(SOURCE, **target_of(made, list(b"io"))))


def test_a_fork_continues_from_a_copy(model: Checkpoint) -> None:
    gpt, cache = model.decoder_only, model.decoder_only.new_cache()
    ids, mask = torch.tensor([SOURCE]), causal_mask(len(SOURCE))
    gpt(ids[:, :4], mask[..., :4, :4], cache=cache)
    fork = cache.copy()
    expected = gpt(ids[:, 4:5], mask[..., 4:5, :5], cache=cache)
    assert (cache.positions, fork.positions) == (5, 4)
    gpt(ids[:, 5:6], mask[..., 5:6, :6], cache=cache)
    close(gpt(ids[:, 4:5], mask[..., 4:5, :5], cache=fork), expected, 0.0)


def test_beams_take_their_rows_of_the_cache(model: Checkpoint) -> None:
    """After `select`, row i of the cache is what beam i has read, whichever row that was."""
    gpt, mask = model.decoder_only, causal_mask(6)
    ids = torch.tensor([list(b"abcdef"), list(b"uvwxyz")])
    cache, chosen = gpt.new_cache(), torch.tensor([1, 1, 0])
    gpt(ids[:, :5], mask[..., :5, :5], cache=cache)
    cache.select(chosen)
    close(gpt(ids[chosen][:, 5:], mask[..., 5:, :], cache=cache)[:, 0], gpt(ids, mask)[chosen][:, -1], 1e-4)


def test_what_the_keys_hand_over_adds_up_to_attn_out(model: Checkpoint) -> None:
    (one,), run = model.description.attentions, trace(model, SOURCE)
    for layer in range(one.n_layer):
        of = {role: run.tensors[one.tap(role, layer)] for role in one.contribution_roles if role in one.roles}
        of |= {
            role: parameter(model.model, one.parameters[role][layer])
            for role in one.contribution_roles
            if role not in of
        }
        weights, values = MECHANISMS[one.kind].key_contributions(of)
        each = weights[..., None] * (values if values.dim() == 4 else values[:, None])  # head query key d_model
        b_o = parameter(model.model, one.parameters["b_o"][layer]) if "b_o" in one.parameters else 0
        close(each.sum((0, 2)) + b_o, run.tensors[one.tap("attn_out", layer)], 1e-4)
        close(norms(weights.double(), values.double()), each.double().sum(0).norm(dim=-1), 1e-5)


def test_its_river_adds_up(model: Checkpoint) -> None:
    ((flow,),) = [river.flows for river in route(model, SOURCE)]
    close(flow.share.sum(-1), torch.ones(2, len(SOURCE), dtype=torch.float64))


def test_relative_positions_read_texts_longer_than_any_table() -> None:
    """No table has a row for a position: the same weights, with a longer window, say the same and go on."""
    short = tiny_model(mechanism="relative", d_model=18, reach=3, position="none")
    long = tiny_model(mechanism="relative", d_model=18, reach=3, position="none", max_seq_len=64)
    long.load_state_dict(short.state_dict())
    ids = torch.arange(40)[None]
    mask = causal_mask(40)
    close(long(ids, mask)[:, :24], short(ids[:, :24], mask[..., :24, :24]), 1e-4)


def test_rotary_needs_pairs() -> None:
    with pytest.raises(ValueError, match="d_head=5 is odd"):
        tiny_checkpoint(mechanism="rotary")


def test_wkv_is_for_one_stream() -> None:
    with pytest.raises(ValueError, match="decoder-only"):
        tiny_checkpoint("encoder-only", mechanism="wkv", d_model=18)


@pytest.mark.parametrize("mechanism", ["aft-full", "aft-local"])
def test_how_far_a_learned_bias_reaches_is_described(mechanism: str) -> None:
    made = tiny_checkpoint(mechanism=mechanism, d_model=18, reach=3, rank=4, position="none")
    (one,) = made.description.attentions
    w = trace(made, SOURCE).tensors[one.tap("position_bias", 0)]  # query key
    places = torch.arange(len(SOURCE))
    apart = (places[:, None] - places).abs()
    assert torch.equal(w == 0, apart >= (one.bias_reach or len(SOURCE)))
    assert one.bias_reach == (3 if mechanism == "aft-local" else None)

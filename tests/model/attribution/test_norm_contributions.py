"""Shares, against a triple loop, an example by hand, and what interventions leave of them."""

import weakref

import pytest
import torch
from torch import Tensor

from chumoku.model.attribution.norm_contributions import Flow, Mixing, norms
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer
from chumoku.model.explain.anatomy import parameter
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.trace import trace
from tests.model.explain.helpers import EVERY_KIND, RUNS, SOURCE, a_model, every_run, options
from tests.model.helpers import FAMILIES, NORM_ORDERS, close
from tests.pairwise import pairwise
from tests.shortcuts import route
from tests.toys.mechanism import registered


def flows(checkpoint: Checkpoint, **asked: object) -> dict[str, Flow]:
    found = route(checkpoint, SOURCE, **options(checkpoint) | asked)
    return {flow.attention: flow for river in found for flow in river.flows}


@pytest.mark.parametrize(("family", "order", "run"), pairwise(FAMILIES, NORM_ORDERS, ["plain", "left"]))
def test_shares_are_those_of_a_triple_loop(family: str, order: str, run: str) -> None:
    checkpoint, asked = a_model(family, order), RUNS[run]
    tensors = trace(checkpoint, SOURCE, **options(checkpoint) | asked).tensors
    traced = {name: x.double() for name, x in tensors.items()}
    found = flows(checkpoint, **asked)
    for stack in checkpoint.description.stacks:
        for part in stack.sublayers:
            if isinstance(part, AttentionSublayer):
                flow = found[part.attention]
                share, own = looped(checkpoint, part, traced)
                close(flow.share[part.layer], share, 1e-5)
                close(flow.residual[part.layer], own, 1e-5)


def looped(checkpoint: Checkpoint, part: AttentionSublayer, traced: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """share [query key] and own [query], one vector c_qk after the other."""
    one = checkpoint.description.attention(part.attention)
    pattern, v = (traced[one.tap(role, part.layer)] for role in ("pattern", "v"))
    w_o = parameter(checkpoint.model, one.parameters["w_o"][part.layer]).double()
    x, attn_out = traced[part.reads.tap], traced[part.writes.tap]
    share = torch.zeros(pattern.shape[1:], dtype=torch.float64)
    own = torch.zeros(len(share), dtype=torch.float64)
    for q in range(len(share)):
        for k in range(share.shape[1]):
            heads = [pattern[h, q, k] * v[h, k] @ w_o[:, 5 * h : 5 * h + 5].T for h in range(3)]
            share[q, k] = added(checkpoint, part, sum(heads, torch.zeros(15)), attn_out[q]).norm()
        whole = x[q].norm() + share[q].sum()
        own[q] = x[q].norm() / whole
        share[q] /= whole
        if one.queries == one.keys:
            share[q, q] += own[q]
    return share, own


def added(checkpoint: Checkpoint, part: AttentionSublayer, c: Tensor, attn_out: Tensor) -> Tensor:
    """What c adds to the stream: itself, unless a LayerNorm of `attn_out` comes first, of which it is a summand."""
    if part.norm is None or part.norm.place != "res-post":
        return c
    gain = parameter(checkpoint.model, part.norm.parameters["gain"]).double()
    return (c - c.mean()) / (attn_out.var(correction=0) + 1e-5).sqrt() * gain


@every_run
def test_at_every_boundary_shares_add_up_to_one(family: Checkpoint, run: dict[str, object]) -> None:
    for flow in flows(family, **run).values():
        whole = flow.share.sum(-1) + (flow.residual if flow.queries != flow.keys else 0)
        close(whole, torch.ones_like(whole))


@every_run
def test_forbidden_cells_have_no_share(family: Checkpoint, run: dict[str, object]) -> None:
    asked = options(family) | run
    traced = trace(family, SOURCE, **asked).tensors
    for id, flow in flows(family, **run).items():
        one = family.description.attention(id)
        for layer, share in enumerate(flow.share):
            forbidden = (traced[one.tap("mask", layer)] != 0).all(0)
            if flow.queries == flow.keys:
                forbidden.fill_diagonal_(False)
            assert share[forbidden].eq(0).all()


def test_what_the_keys_hand_over_is_what_the_heads_write(family: Checkpoint) -> None:
    """Summed over keys, the terms of a head are its `head_out`."""
    traced = trace(family, SOURCE, **options(family)).tensors
    for one in family.description.attentions:
        for layer in range(one.n_layer):
            of = {role: traced[one.tap(role, layer)] for role in ("pattern", "v")}
            of["w_o"] = parameter(family.model, one.parameters["w_o"][layer])
            weights, values = MECHANISMS[one.kind].key_contributions(of)
            close(weights @ values, traced[one.tap("head_out", layer)], 1e-5)


def test_norms_by_hand() -> None:
    """Two heads, one query, two keys: c_0 = 1·(3, 0) + ½·(0, 8) = (3, 4), and c_1 = 2·(1, 1) − 2·(1, 1) = 0."""
    weights = torch.tensor([[[1.0, 2.0]], [[0.5, -2.0]]], dtype=torch.float64)  # head query key
    values = torch.tensor([[[3.0, 0.0], [1.0, 1.0]], [[0.0, 8.0], [1.0, 1.0]]], dtype=torch.float64)
    close(norms(weights, values), torch.tensor([[5.0, 0.0]], dtype=torch.float64))


def test_heads_that_share_values() -> None:
    """Four query heads, two heads of values: heads 0 and 1 take the first."""
    pattern, v, w_o = torch.rand(4, 3, 3), torch.rand(2, 3, 2), torch.rand(8, 8)
    _, values = MECHANISMS["softmax"].key_contributions({"pattern": pattern, "v": v, "w_o": w_o})
    for head, group in enumerate((0, 0, 1, 1)):
        close(values[head], v[group] @ w_o[:, 2 * head : 2 * head + 2].T, 1e-6)


def zero(head: int) -> object:
    def edit(x: Tensor, _: int) -> Tensor:
        x[:, head] = 0.0
        return x

    return edit


def test_without_its_heads_a_query_keeps_to_itself(family: Checkpoint) -> None:
    """With z of every head 0, nothing moves in that layer; with one head 0, its terms are gone."""
    for one in family.description.attentions:
        tap = one.tap("z", 1)
        none = flows(family, edit={tap: lambda x, _: torch.zeros_like(x)})[one.id]
        close(none.residual[1], torch.ones_like(none.residual[1]))
        patterns = {one.tap("pattern", 1): zero(2)}
        close(flows(family, edit={tap: zero(2)})[one.id].share, flows(family, edit=patterns)[one.id].share)


def test_what_an_intervention_wrote_came_from_no_key(family: Checkpoint) -> None:
    """A row of `attn_out` that was replaced: its query has its own stream alone; other rows are as before."""
    one = family.description.attentions[0]

    def replace(x: Tensor, _: int) -> Tensor:
        x[:, 1] = 3.0
        return x

    before, after = flows(family)[one.id], flows(family, edit={one.tap("attn_out", 0): replace})[one.id]
    assert after.residual[0, 1] == 1
    close(after.share[0, 2:], before.share[0, 2:])


def test_a_cut_closes_its_line_and_the_others_widen(family: Checkpoint) -> None:
    one = family.description.attentions[-1]

    def cut(x: Tensor, _: int) -> Tensor:
        x[:, :, 3, 1] = 8
        return x

    before, after = flows(family)[one.id], flows(family, edit={one.tap("mask", 1): cut})[one.id]
    assert after.share[1, 3, 1] == 0 < before.share[1, 3, 1]
    close(after.share[1, 2], before.share[1, 2])
    close(after.share[0], before.share[0])


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_an_ffn_s_number_is_what_it_adds_beside_what_was_there(family: str, order: str) -> None:
    checkpoint = a_model(family, order)
    traced = trace(checkpoint, SOURCE, **options(checkpoint)).tensors
    for stack, river in zip(
        checkpoint.description.stacks, route(checkpoint, SOURCE, **options(checkpoint)), strict=True
    ):
        for part in stack.ffns:
            before = traced[part.reads.tap]
            added = traced[f"{part.module}_residual.norm.out" if order == "res-post" else part.writes.tap]
            close(river.ffn[part.layer], (added.norm(dim=-1) / before.norm(dim=-1)).double(), 1e-5)


def test_each_stack_has_its_attentions_in_order(family: Checkpoint) -> None:
    ids = [[flow.attention for flow in river.flows] for river in route(family, SOURCE, **options(family))]
    assert ids == ([["encoder"], ["decoder", "cross"]] if len(family.description.stacks) == 2 else [["self"]])


def test_a_model_that_cannot_say_what_a_key_adds_has_no_route() -> None:
    with registered():
        toy = a_model("decoder-only", "pre", mechanism="gated-mean")
        assert (toy.description.can["route"], toy.description.can["effects"]) == (False, False)
        with pytest.raises(ValueError, match="without per-key contributions"):
            route(toy, SOURCE)


def test_of_all_patterns_and_values_only_those_of_one_layer_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    alive, most = weakref.WeakSet[Tensor](), []
    hold = Mixing.hold

    def watched(self: Mixing, tap: str, x: Tensor) -> Tensor:
        kept = hold(self, tap, x)
        alive.add(self.open[tap])
        most.append(len(alive))
        return kept

    monkeypatch.setattr(Mixing, "hold", watched)
    checkpoint = a_model("decoder-only", "pre")
    route(checkpoint, SOURCE, **options(checkpoint))
    assert (len(most), max(most)) == (2 * checkpoint.config.n_layer, 2)

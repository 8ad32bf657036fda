"""Each edit of a mask or a head, on all zoo models: against their attention written out in plain PyTorch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional as F

from chumoku.app.api.run import RunRequest
from chumoku.app.services.library import Library
from chumoku.app.services.plan import plan_run
from chumoku.model.checkpoint import ZOO
from chumoku.model.describe import Attention
from chumoku.model.masks import EDITED
from chumoku.model.means import FILE, read_means
from chumoku.model.mechanisms import rotary
from chumoku.model.run import Run
from chumoku.model.traceable import ZooModel
from tests.app.edits import MASKS, Edit, close, does_something, edited, masks_of
from tests.app.families import opened
from tests.app.test_formula_edits import NAMES, logits_of, request_for


def split(x: Tensor, heads: int) -> Tensor:
    """[batch position features] → [batch head position d_head]"""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def by_scores(mixer: Any, given: tuple[Tensor, ...], allowed: Tensor) -> Tensor:
    """torch's own attention."""
    x, memory, _, query_positions, key_positions, *_ = given
    q, k, v = (split(w(of), mixer.n_head) for w, of in ((mixer.w_q, x), (mixer.w_k, memory), (mixer.w_v, memory)))
    if type(mixer).__name__ == "RotaryAttention":
        q, k = rotary.rotate(q, query_positions), rotary.rotate(k, key_positions)
    z = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed[None])
    return torch.where(allowed.any(-1)[None, ..., None], z, 0.0).transpose(1, 2).flatten(-2)


def by_feature(mixer: Any, given: tuple[Tensor, ...], allowed: Tensor) -> Tensor:
    """σ(q) ⊙ Σ softmax(w + k) v over the allowed keys, feature by feature (Zhai et al. 2021, equation 2)."""
    x, _, _, query_positions, key_positions, *_ = given
    if hasattr(mixer, "decay"):  # RWKV: r for q, and the exponents that decay, from its own code
        q, k, v = (split(each, mixer.n_head) for each in mixer.project(x, x, None, None))
        exponents = mixer.logits(k, query_positions, key_positions)
    else:
        q, k, v = (split(w(x), mixer.n_head) for w in (mixer.w_q, mixer.w_k, mixer.w_v))
        w = mixer.bias(query_positions, key_positions)
        exponents = k[:, :, None] + (0 if w is None else w[..., None])  # batch head query key feature
    exponents = exponents.masked_fill(~allowed[None, ..., None], -torch.inf)
    weights = exponents.softmax(-2).nan_to_num(0.0)
    return (q.sigmoid() * (weights * v[:, :, None]).sum(-2)).transpose(1, 2).flatten(-2)


def path_of(one: Attention, layer: int) -> str:
    """Of its module."""
    return one.tap("mask", layer).rpartition(".")[0]


class Zoo:
    """A zoo model, and a copy of its modules that computes its attentions in plain PyTorch."""

    def __init__(self, model: ZooModel) -> None:
        self.ours = model
        made = copy.deepcopy(model.checkpoint.model)
        self.theirs = ZooModel(replace(model.checkpoint, model=made))
        self.allowed: dict[str, Tensor] = {}
        self.changed: dict[str, tuple[int, Callable[[Tensor], Tensor]]] = {}
        for one in self.attentions:
            for path in (path_of(one, layer) for layer in range(one.n_layer)):
                mixer: Any = made.get_submodule(path)
                mixer.joined = None
                self.write_out(mixer, path, one.kind)
                mixer.w_o.register_forward_pre_hook(lambda module, args, path=path: self.read_by_w_o(path, *args))

    def read_by_w_o(self, path: str, z: Tensor) -> Tensor:
        """[batch position d_model]"""
        if path not in self.changed:
            return z
        n_head, change = self.changed[path]
        return change(z.clone().unflatten(-1, (n_head, -1))).flatten(-2)

    def write_out(self, mixer: Any, path: str, kind: str) -> None:
        """Relative distances keep their own code, and get the mask (`tests/model/mechanisms/test_relative.py`)."""
        own = mixer.forward

        def forward(*given: Any) -> Tensor:
            allowed = self.allowed[path]
            if kind == "relative":
                reasons = torch.where(allowed, 0, EDITED).to(torch.uint8)[None]
                found: Tensor = own(*given[:2], reasons, *given[3:])
                return found
            written: Tensor = mixer.w_o((by_scores if hasattr(mixer, "scores") else by_feature)(mixer, given, allowed))
            return written

        mixer.forward = forward

    @property
    def attentions(self) -> tuple[Attention, ...]:
        return tuple(self.ours.description.attentions)

    def found(self, *edits: Edit) -> Tensor:
        return logits_of(self.ours, self.run(*edits))

    def run(self, *edits: Edit) -> Run:
        return plan_run(self.ours, self.request(*edits), 1000).run

    def request(self, *edits: Edit) -> RunRequest:
        asked = request_for(self.ours, *edits)
        return asked if asked.target is None else asked.model_copy(update={"target": "猫がマットの上に座った。"})

    def expected(self, *edits: Edit) -> Tensor:
        """With masks that are edited here."""
        run = self.run()
        lengths = {"source": len(run.ids), "target": len(run.target or ())}
        for one in self.attentions:
            whole = torch.ones(one.n_head, lengths[one.queries], lengths[one.keys], dtype=torch.bool)
            for layer in range(one.n_layer):
                self.allowed[path_of(one, layer)] = edited(whole.tril() if one.causal else whole, edits, one, layer)
        return logits_of(self.theirs, run)


@pytest.fixture(scope="module", params=NAMES)
def zoo(request: pytest.FixtureRequest, loaded: Library) -> Zoo:
    return Zoo(ZooModel(opened(loaded, request.param), read_means(ZOO / request.param)))


def test_masks_are_those_of_attention_written_out(zoo: Zoo) -> None:
    plain = zoo.found()
    close(plain, zoo.expected(), 1e-3)
    for name in MASKS:
        edits = masks_of(zoo.attentions, name)
        found = zoo.found(*edits)
        close(found, zoo.expected(*edits), 1e-3)
        assert torch.equal(found, plain) != does_something(zoo.attentions, edits), name


Change = Callable[[Tensor], Tensor]
"""Of what W_O reads, as heads [batch position head d_head]."""


def silent(which: list[int]) -> Change:
    def change(x: Tensor) -> Tensor:
        x[:, :, which] = 0
        return x

    return change


def moved(head: int) -> Change:
    def change(x: Tensor) -> Tensor:
        x[:, 3, head] = x[:, 1, head]
        return x

    return change


def averaged(head: int, stored: Tensor) -> Change:
    """By the stored mean [position d_head]; later than it goes, by the mean of that."""

    def change(x: Tensor) -> Tensor:
        rows = torch.cat((stored, stored.mean(0, keepdim=True)))
        x[:, :, head] = rows[torch.arange(x.shape[1]).clamp(max=len(stored))]
        return x

    return change


def test_a_head_that_is_off_or_patched_or_a_mean_changes_what_w_o_reads(zoo: Zoo) -> None:
    """Also all heads but one; and a row of the head in the place of another."""
    plain, own = zoo.found(), zoo.request().model_dump(exclude_none=True, exclude={"interventions"})
    stored = load_file(ZOO / zoo.ours.name / FILE)
    for one in zoo.attentions:
        where, head = {"attention": one.id, "layer": 1}, one.n_head - 1
        off = [{"kind": "ablate", "where": {**where, "head": n}} for n in range(one.n_head)]
        row = {"role": "z", "head": head, "query": 3, "from_row": 1}
        for edits, change in (
            (off[head:], silent([head])),
            (off[:head], silent(list(range(head)))),
            ([{**off[head], "to": "mean"}], averaged(head, stored[one.tap("z", 1)][head].float())),
            ([{"kind": "patch", "where": {**where, **row}, "from": own}], moved(head)),
        ):
            found = zoo.found(*edits)
            zoo.changed = {path_of(one, 1): (one.n_head, change)}
            close(found, zoo.expected(), 1e-3)
            zoo.changed = {}
            assert torch.equal(found, plain) == (not edits)

"""Mechanisms for tests: without scores and pattern, and one of them without an overview.

A gated mean: position i takes the mean of the values that it may see, weighted by e^(strength_j − decay · |i − j|),
and multiplies it by a gate. `gated-mean` records these weights; `hidden-mean` computes the same and records none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import torch
from torch import Tensor, nn

from chumoku.model import masks
from chumoku.model.config import ModelConfig
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.mechanisms.caches import History
from chumoku.model.mechanisms.mixer import Identity, Mixer, MixerDescription, Parameter
from chumoku.model.taps import Tap

ROLES = {
    "v": "head position d_head",
    "gate": "head position d_head",
    "mask": "head query key",
    "weights": "head query key",
    "mean": "head position d_head",
    "z": "head position d_head",
    "attn_out": "position d_model",
}
SHOWN = ("mask", "weights")


class GatedMean(Mixer):
    shown = SHOWN

    def __init__(self, d_model: int, n_head: int) -> None:
        super().__init__()
        self.n_head = n_head
        self.w_v, self.w_g, self.w_o = (nn.Linear(d_model, d_model) for _ in range(3))
        self.w_s = nn.Linear(d_model, n_head, bias=False)
        self.decay = nn.Parameter(torch.zeros(n_head))
        for role in self.roles():
            setattr(self, role, Tap(ROLES[role]))

    @classmethod
    def roles(cls) -> dict[str, str]:
        return {role: dims for role, dims in ROLES.items() if role in cls.shown or role not in SHOWN}

    @classmethod
    def describe(cls, config: ModelConfig) -> MixerDescription:  # type: ignore[override]
        square = {f"w_{x}": Parameter(f"w_{x}.weight", "d_model d_model") for x in "vgo"}
        biases = {f"b_{x}": Parameter(f"w_{x}.bias", "d_model") for x in "vgo"}
        own = {"w_s": Parameter("w_s.weight", "head d_model"), "decay": Parameter("decay", "head")}
        weighed = (Identity("weighted_sum", ("weights", "v"), "mean"),) if cls.shown else ()
        return MixerDescription(
            cls.roles(),
            square | biases | own,
            overview="weights" if cls.shown else None,
            n_head=config.n_head,
            n_kv_head=config.n_head,
            d_head=config.d_head,
            identities=(*weighed, Identity("product", ("gate", "mean"), "z")),
            by_key=("v",),
        )

    @classmethod
    def build(cls, config: ModelConfig) -> Self:
        return cls(config.d_model, config.n_head)

    def new_cache(self) -> History:
        return History()

    def writers(self) -> Iterator[nn.Linear]:
        yield self.w_o

    def init_weights(self) -> None:
        nn.init.uniform_(self.decay, 0.0, 1.0)

    def forward(  # type: ignore[override]
        self,
        x_query: Tensor,
        x_key_value: Tensor,
        mask: Tensor,
        query_positions: Tensor,
        key_positions: Tensor,
        is_pad: Tensor | None = None,
        cache: History | None = None,
    ) -> Tensor:
        batch, n_key, _ = x_key_value.shape
        heads = (batch, -1, self.n_head, x_key_value.shape[-1] // self.n_head)
        v = self.w_v(x_key_value).view(batch, n_key, *heads[2:]).transpose(1, 2)  # batch head key d_head
        strength = self.w_s(x_key_value).transpose(1, 2)[..., None]  # batch head key 1
        places = key_positions.expand(batch, -1)[..., None]  # batch key 1
        if cache is not None:
            v, strength, places = cache.append(v, strength, places)
        v = self.v(v)
        gate = self.gate(self.w_g(x_query).sigmoid().view(heads).transpose(1, 2))  # batch head query d_head
        apart = (query_positions.expand(batch, -1)[..., None] - places.mT).abs()[:, None]  # batch 1 query key
        mean = self.mean(self.weigh(strength.mT - self.decay[:, None, None] * apart, mask) @ v)
        z = self.z(gate * mean)  # batch head query d_head
        return self.attn_out(self.w_o(z.transpose(1, 2).flatten(-2)))

    def weigh(self, x: Tensor, mask: Tensor) -> Tensor:
        """e^x over the allowed keys; rows sum to 1: [batch head query key]"""
        if self.shown:
            mask = self.mask(mask.expand_as(x))
        e = torch.where(masks.allowed(mask), (x - x.amax(-1, keepdim=True)).exp(), 0.0)
        weights = e / e.sum(-1, keepdim=True).clamp(min=1e-30)
        return self.weights(weights) if self.shown else weights


class HiddenMean(GatedMean):
    shown = ()


TOYS: dict[str, Any] = {"gated-mean": GatedMean, "hidden-mean": HiddenMean}


@contextmanager
def registered() -> Iterator[None]:
    """Context manager: registers both. A mechanism's registry line is all it has outside its file."""
    new = TOYS.keys() - MECHANISMS.keys()  # inside another `registered`: none, and none to remove
    MECHANISMS.update(TOYS)
    try:
        yield
    finally:
        for name in new:
            del MECHANISMS[name]

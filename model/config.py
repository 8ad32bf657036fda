"""The numbers and names that define a model, as `config.json` stores them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from model.mechanisms import MECHANISMS

Family = Literal["decoder-only", "encoder-only", "encoder-decoder"]
PositionKind = Literal["learned", "sinusoidal", "none"]
NormOrder = Literal["pre", "post", "res-post"]
TextForm = Literal["natural", "treebank"]
CHOICES = {"family": Family, "position": PositionKind, "norm_order": NormOrder, "text_form": TextForm}


@dataclass(frozen=True)
class ModelConfig:
    """Everything needed to build a model with `transformer.build`.

    The names are the usual ones: `d_ff` is the inner width of the FFN, `max_seq_len` the longest sequence in tokens
    (in an encoder-decoder: on either side), `n_layer` the layers of each stack. An encoder-only model classifies texts
    into `classes`, or without any it predicts the token at each position; `mask_token` says that its vocabulary has
    [MASK], which hides one. `text_form` is how text is normalised before tokenizing (`text_form.py`); `mechanism` is
    how its attentions attend (`mechanisms/`). Raises `ValueError` if the numbers do not make a model.
    """

    vocab_size: int
    n_layer: int
    n_head: int
    d_model: int
    d_ff: int
    max_seq_len: int
    family: Family = "decoder-only"
    position: PositionKind = "learned"
    norm_order: NormOrder = "pre"
    dropout: float = 0.0
    tie_embeddings: bool = True
    scale_embeddings: bool = False
    layer_norm_eps: float = 1e-5
    classes: tuple[str, ...] = ()
    text_form: TextForm = "natural"
    mechanism: str = "softmax"
    mask_token: bool = False
    reach: int = 16
    rank: int = 32

    def __post_init__(self) -> None:
        for name in ("vocab_size", "n_layer", "n_head", "d_model", "d_ff", "max_seq_len", "reach", "rank"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name, kinds in CHOICES.items():
            if getattr(self, name) not in get_args(kinds):
                raise ValueError(f"unknown {name} {getattr(self, name)!r}; known are {', '.join(get_args(kinds))}")
        if self.mechanism not in MECHANISMS:
            raise ValueError(f"unknown mechanism {self.mechanism!r}; known are {', '.join(MECHANISMS)}")
        if self.d_model % self.n_head:
            raise ValueError(f"d_model={self.d_model} is not divisible by n_head={self.n_head}")
        MECHANISMS[self.mechanism].describe(self)  # raises for numbers that this mechanism cannot use
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout}")
        if self.classes and (self.family != "encoder-only" or len(self.classes) < 2):
            raise ValueError(f"only encoder-only models have classes, and at least two; got {self.classes!r}")
        if self.mask_token and self.family != "encoder-only":
            raise ValueError(f"only encoder-only models have a [MASK] token; this one is {self.family}")
        if self.family == "encoder-only" and not self.classes and not self.mask_token:
            raise ValueError("an encoder-only model without classes fills gaps, and needs mask_token for them")

    @property
    def d_head(self) -> int:
        """Width of one head: d_k = d_v = d_model / h (Vaswani et al. 2017, section 3.2.2)."""
        return self.d_model // self.n_head

    @property
    def is_causal(self) -> bool:
        """Whether the model was trained with a causal mask (in an encoder-decoder: in the decoder)."""
        return self.family != "encoder-only"

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """Build from the `model` part of `config.json`. Unknown keys raise `ValueError` listing the known ones."""
        known = [field.name for field in dataclasses.fields(cls)]
        unknown = sorted(set(data) - set(known))
        if unknown:
            raise ValueError(f"unknown model settings {unknown}; known are {known}")
        missing = [f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING and f.name not in data]
        if missing:
            raise ValueError(f"missing model settings {missing}")
        return cls(**data | {"classes": tuple(data.get("classes", ()))})

"""The numbers and names that define a model, as `config.json` stores them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args, get_type_hints

from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.pictures.picture import Picture

Family = Literal["decoder-only", "encoder-only", "encoder-decoder"]
PositionKind = Literal["learned", "sinusoidal", "none"]
NormOrder = Literal["pre", "post", "res-post"]
TextForm = Literal["natural", "treebank"]
CHOICES = {"family": Family, "position": PositionKind, "norm_order": NormOrder, "text_form": TextForm}
MOST_LAYERS, MOST = 1024, 2**24
"""Limits for layers and for all other counts: a config beyond them is damaged."""
MOST_IN_TABLE = 2**26
"""Limit for a table of positions, which sines and cosines fill before any weight is read."""


@dataclass(frozen=True)
class ModelConfig:
    """Everything needed to build a model with `transformer.build`.

    The names are the usual ones: `d_ff` is the inner width of the FFN, `max_seq_len` the longest sequence in tokens (in
    an encoder-decoder: on either side), `n_layer` the layers of each stack. An encoder-only model classifies texts into
    `classes`, or without any it predicts the token at each position; `mask_token` says whether its vocabulary has
    [MASK], which hides a token; `causal_mask`, whether a decoder was trained under one. `text_form` is how text is
    normalised before tokenizing (`tokenizer.TEXT_FORMS`); `mechanism` is how its attentions attend (`mechanisms/`).
    With a `picture` it reads pictures of that kind, whose patches are its tokens (`pictures/`). Raises `ValueError` if
    the numbers do not make a model.
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
    causal_mask: bool = True
    reach: int = 16
    rank: int = 32
    picture: Picture | None = None

    def __post_init__(self) -> None:
        self._check_sizes()
        for name, kinds in CHOICES.items():
            if getattr(self, name) not in get_args(kinds):
                raise ValueError(f"unknown {name} {getattr(self, name)!r}; known are {', '.join(get_args(kinds))}")
        if self.mechanism not in MECHANISMS:
            raise ValueError(f"unknown mechanism {self.mechanism!r}; known are {', '.join(MECHANISMS)}")
        if self.d_model % self.n_head:
            raise ValueError(f"d_model={self.d_model} is not divisible by n_head={self.n_head}")
        MECHANISMS[self.mechanism].describe(self)  # raises for numbers that this mechanism cannot use
        if not 0.0 < self.layer_norm_eps < 1.0:
            raise ValueError(f"layer_norm_eps must be in (0, 1), got {self.layer_norm_eps}")
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout}")
        if self.classes and (self.family != "encoder-only" or len(self.classes) < 2):
            raise ValueError(f"only encoder-only models have classes, and at least two; got {self.classes!r}")
        if self.mask_token and self.family != "encoder-only":
            raise ValueError(f"only encoder-only models have a [MASK] token; this one is {self.family}")
        if self.family == "encoder-only" and not self.classes and not self.mask_token:
            raise ValueError("an encoder-only model without classes is a masked language model, and needs mask_token")
        if self.picture is not None:
            self._check_picture(self.picture)

    def _check_picture(self, picture: Picture) -> None:
        if not self.classes or self.mask_token:
            raise ValueError("only classifiers without a [MASK] token read pictures")
        if self.max_seq_len != picture.n_patches + 1:
            raise ValueError(f"max_seq_len must be {picture.n_patches + 1}: [CLS] and {picture.n_patches} patches")
        if self.vocab_size <= picture.n_ids:
            raise ValueError(f"vocab_size must be more than the {picture.n_ids:,} possible patches")

    def _check_sizes(self) -> None:
        for name in ("vocab_size", "n_layer", "n_head", "d_model", "d_ff", "max_seq_len", "reach", "rank"):
            size, most = getattr(self, name), MOST_LAYERS if name == "n_layer" else MOST
            if size < 1:
                raise ValueError(f"{name} must be at least 1, got {size}")
            if size > most:
                raise ValueError(f"{name} must be at most {most:,}, got {size:,}")
        if self.max_seq_len * self.d_model > MOST_IN_TABLE:
            raise ValueError(f"max_seq_len × d_model must be at most {MOST_IN_TABLE:,}")

    @property
    def d_head(self) -> int:
        """Width of one head: d_k = d_v = d_model / h (Vaswani et al. 2017, section 3.2.2)."""
        return self.d_model // self.n_head

    @property
    def is_causal(self) -> bool:
        """Whether the model was trained with a causal mask (in an encoder-decoder: in the decoder)."""
        return self.causal_mask and self.family != "encoder-only"

    def to_json(self) -> dict[str, Any]:
        """The contents of `config.json`; without `picture` if the model reads text."""
        data = dataclasses.asdict(self)
        return data if self.picture is not None else {name: x for name, x in data.items() if name != "picture"}

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
        check_types(data)
        picture = data.get("picture")
        read = {"picture": None if picture is None else Picture.from_json(picture)}
        return cls(**data | read | {"classes": tuple(data.get("classes", ()))})


def check_types(data: dict[str, Any]) -> None:
    """Raise `ValueError` for the first setting whose JSON is of another type."""
    for name, kind in get_type_hints(ModelConfig).items():
        fits, noun = FITS.get(kind, (is_text, "a text"))
        if name in data and not fits(data[name]):
            raise ValueError(f"{name} must be {noun}, got {str(data[name])[:40]}")


def is_text(value: object) -> bool:
    return isinstance(value, str)


def is_whole(value: object) -> bool:
    return type(value) is int  # True is an int too


def is_number(value: object) -> bool:
    return type(value) in (int, float)


def is_switch(value: object) -> bool:
    return type(value) is bool


def is_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(is_text, value))


FITS: dict[Any, tuple[Callable[[object], bool], str]] = {
    int: (is_whole, "a whole number"),
    float: (is_number, "a number"),
    bool: (is_switch, "true or false"),
    tuple[str, ...]: (is_texts, "a list of texts"),
    Picture | None: (lambda value: value is None or isinstance(value, dict), "an object"),
}

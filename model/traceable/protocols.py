"""The protocols through which the app uses models. No code asks which class a model has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Description
from chumoku.model.means import Means
from chumoku.model.pictures.examples import Example
from chumoku.model.run import Run
from chumoku.model.session import Session
from chumoku.model.special_tokens import Special
from chumoku.model.tokenizer import Token
from chumoku.model.trace import Trace
from chumoku.model.translate import BeamSearch

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["About", "ModelSource", "Session", "Special", "TraceableModel", "TraceableTokenizer", "Weight"]


Span = tuple[int, int]


class TraceableTokenizer(Protocol):
    """Text to ids and back."""

    @property
    def vocab_size(self) -> int: ...
    @property
    def special(self) -> Special: ...
    @property
    def never_sampled(self) -> list[int]:
        """Ids with probability 0 in every prediction."""
        ...

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without special ids. Raises `ValueError` for text that UTF-8 cannot encode."""
        ...

    def encode_target(self, text: str) -> list[int]:
        """Encode a target, which some translators split differently from a source."""
        ...

    def covers(self, text: str) -> list[Span] | None:
        """For each id of `encode(text)`, the first and one-past-last character of `text` that it covers; None if
        unknown. The offsets of `tokens` count in the text that the ids spell, which may be lower-cased or
        normalised."""
        ...

    def tokens(self, ids: list[int]) -> list[Token]: ...
    def token_bytes(self, token_id: int) -> bytes: ...


@dataclass(frozen=True)
class Weight:
    """A parameter's shape, and the names of its dimensions."""

    shape: list[int]
    dims: str


@dataclass(frozen=True)
class ChatTemplate:
    """How turns become one text: a program in jinja2, and the special tokens that it is given by their roles."""

    source: str
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class About:
    """What is known about a model without its weights."""

    name: str
    description: Description
    special: Special
    never_sampled: list[int]
    card: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    """Its config as its author wrote it, for people."""
    weights: Mapping[str, Weight] = field(default_factory=dict)
    """Its parameters by name; a tied parameter appears under each of its names."""
    n_parameters: int = 0
    snapshots: Mapping[int, ModelSource] = field(default_factory=dict)
    """Snapshots of its training: for each step, the source that opens this snapshot in the same folder."""

    n_positions: int = 0
    """How many tokens the model itself can read if that is more than `max_seq_len`; otherwise 0."""

    n_lacking: int = 0
    """How many tokens its tokenizer has of which it has no embedding: a text with one is refused."""

    chat: ChatTemplate | None = None
    reads_pairs: bool = False
    """Whether its tokenizer joins two texts that it reads together."""
    n_token_types: int = 0
    """How many token types (BERT's segments) it tells apart; 0 or 1: none."""

    pictures: Sequence[Example] = ()
    """For a model that reads pictures: some held-out pictures."""
    fit: Callable[[Image], bytes] | None = None
    """For a model that reads photos: turns any picture into the bytes that it reads, [row column channel]."""
    means: Means | None = None
    """What its parts write on average, if that is stored."""
    first_name: str | None = None
    """The name of its special token `first`, if it differs from ours."""

    @property
    def reads_first(self) -> bool:
        """Whether its input begins with the special token `first` ([CLS]). Otherwise its output does (START)."""
        return self.special.first is not None and self.description.writes != "target"


class TraceableModel(Protocol):
    """A loaded model that can be traced."""

    @property
    def about(self) -> About: ...
    @property
    def tokenizer(self) -> TraceableTokenizer: ...

    @property
    def name(self) -> str:
        return self.about.name

    @property
    def description(self) -> Description:
        return self.about.description

    @property
    def device(self) -> torch.device: ...
    @property
    def nbytes(self) -> int:
        """The memory it takes, in bytes."""
        ...

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The model in our own modules, which `chumoku.model.explain` needs; None for other models."""
        ...

    def trace(self, run: Run, names: Sequence[str]) -> Trace:
        """One forward pass that keeps the taps called `names`. Raises `ValueError` for a run that it cannot read."""
        ...

    def start(self, run: Run, names: Sequence[str]) -> Session:
        """A text that grows, if the description says `can["generate"]`."""
        ...

    def search(self, run: Run, beams: int, alpha: float) -> BeamSearch:
        """A beam search, if the description says `can["beams"]`."""
        ...

    def read(self, stream: Tensor) -> Tensor:
        """The stream [position d_model] decoded as if it were the last: logits [position vocab|class]."""
        ...

    def weights(self, names: Sequence[str]) -> Mapping[str, Tensor]:
        """The parameters with these names."""
        ...


class ModelSource(Protocol):
    """A kind of model folder."""

    def can_open(self, folder: Path) -> bool:
        """Whether the folder is of this kind, by the names of its files."""
        ...

    def about(self, folder: Path) -> About:
        """What the config and the headers of the folder's files say, without reading weights. Raises `OSError` or
        `ValueError` naming what is missing or invalid."""
        ...

    def files(self, folder: Path) -> list[Path]:
        """The files that determine the model: as long as their bytes are the same, so is the model. Some may not
        exist."""
        ...

    def open(self, folder: Path, device: torch.device) -> TraceableModel:
        """Load the weights. Raises `OSError` or `ValueError`."""
        ...

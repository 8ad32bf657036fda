"""The quality of a language model on text: bits per byte, and the loss after texts of several lengths.

Bits per byte do not depend on the tokenizer. The loss of the same tokens at the end of longer and longer texts shows
how much more context helps, and whether a model can read texts longer than any in its training.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model import masks
from chumoku.model.config import ModelConfig
from chumoku.model.describe import parameters
from chumoku.model.mechanisms import fuse_attention
from chumoku.model.positions import POSITIONS, build_positions
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.transformer import DecoderOnly

PREFIXES = 32
"""How many prefixes of a text are read at once."""
WHOLE_WINDOW = "_whole_window"
"""The suffix of a figure's name if the whole window was visible."""


@dataclass
class Losses:
    """Sums over texts of −ln p: of all tokens, and of tokens that occur earlier in the window."""

    nats: float = 0.0
    n: int = 0
    nats_repeated: float = 0.0
    n_repeated: int = 0
    n_bytes: int = 0

    @property
    def bits_per_byte(self) -> float:
        return self.nats / math.log(2) / self.n_bytes

    @property
    def figures(self) -> dict[str, float]:
        """For a card: a token's loss is in nats."""
        per_token = {"loss": self.nats / self.n} if self.n else {}
        repeated = {"loss_on_repeated_tokens": self.nats_repeated / self.n_repeated} if self.n_repeated else {}
        return {"bits_per_byte": self.bits_per_byte} | per_token | repeated


def text_figures(
    model: DecoderOnly,
    tokenizer: Tokenizer,
    documents: Sequence[str],
    follow: Callable[[Sequence[str]], Iterable[str]] = iter,
) -> dict[str, float]:
    """The figures of `losses`. A model trained without a causal mask has each of them twice, the second time with the
    whole window visible, as in training. `follow` wraps the documents of the first pass, to report progress."""
    figures = losses(model, tokenizer, follow(documents)).figures
    if not model.config.is_causal:
        whole = losses(model, tokenizer, documents, whole_window=True).figures
        figures |= {f"{name}{WHOLE_WINDOW}": figure for name, figure in whole.items()}
    return figures


def bits_per_byte(
    model: DecoderOnly, tokenizer: Tokenizer, documents: Iterable[str], *, whole_window: bool = False
) -> float:
    """−log2 p(document) / bytes(document), over all documents together; see `losses`."""
    return losses(model, tokenizer, documents, whole_window=whole_window).bits_per_byte


@torch.inference_mode()
def losses(model: DecoderOnly, tokenizer: Tokenizer, documents: Iterable[str], *, whole_window: bool = False) -> Losses:
    """−ln p of the documents' tokens, in nats.

    Each document is read from its start, after an END. A document longer than the model's window is read in windows
    that overlap by half, so that every token after the first window has at least half a window of context. Every
    token, and so every byte, is counted once and predicted from the tokens before it. A model trained without a causal
    mask needs a pass for each token; with `whole_window` it sees the token that it has to predict, as in training.
    Raises `ValueError` if there is no text.
    """
    one_pass = whole_window or model.config.is_causal
    sums = Losses()
    for document in documents:
        sums.n_bytes += len(document.encode())
        ids = torch.tensor([tokenizer.end_id, *tokenizer.encode(document)], device=next(model.parameters()).device)
        for inputs, targets, fresh in windows(ids, model.config.max_seq_len):
            logits = rows_of_one_pass(model, inputs) if one_pass else last_rows(model, inputs)  # position vocab
            nats = F.cross_entropy(logits[fresh:].float(), targets[fresh:], reduction="none")  # fresh
            repeated = occurs_before(inputs, targets)[fresh:]
            sums.nats += float(nats.sum())
            sums.n += len(nats)
            sums.nats_repeated += float(nats[repeated].sum())
            sums.n_repeated += int(repeated.sum())
    if sums.n_bytes == 0:
        raise ValueError("there is no text to evaluate on")
    return sums


def occurs_before(inputs: Tensor, targets: Tensor) -> Tensor:
    """Which targets are among the inputs up to their own row: ids [position] twice → bool [position]."""
    same = targets[:, None] == inputs[None, :]  # target input
    return same.tril().any(-1)


def windows(ids: Tensor, window: int) -> Iterator[tuple[Tensor, Tensor, int]]:
    """Inputs, targets [position], and the first position that no earlier window has scored; ids [position]."""
    scored = 0
    for start in range(0, max(1, len(ids) - 1), max(1, window // 2)):
        inputs, targets = ids[start : start + window], ids[start + 1 : start + window + 1]
        if start + len(targets) <= scored:
            break
        yield inputs[: len(targets)], targets, scored - start if scored else 0
        scored = start + len(targets)


def trained_mask(config: ModelConfig, seq_len: int, device: torch.device) -> Tensor:
    """The mask that a decoder was trained with: reasons [1 1 query key]."""
    kind = masks.causal if config.is_causal else masks.nothing
    return kind(seq_len, seq_len, device)[None, None]


def rows_of_one_pass(model: DecoderOnly, inputs: Tensor) -> Tensor:
    """All rows of one pass with the mask of training: inputs [position] → logits [position vocab]."""
    return model(inputs[None], trained_mask(model.config, len(inputs), inputs.device))[0]


def last_rows(model: DecoderOnly, inputs: Tensor) -> Tensor:
    """The last row of a pass over each prefix: inputs [position] → logits [position vocab]. The tokens after a prefix
    are masked like PADs on its right."""
    rows = []
    for lengths in torch.arange(1, len(inputs) + 1, device=inputs.device).split(PREFIXES):
        after = masks.pads_right(lengths.tolist()).to(inputs.device)  # prefix position
        prefixes = inputs[None, : after.shape[1]].expand(len(lengths), -1)
        logits = model(prefixes, masks.decoder_mask(after, use_causal=False))  # prefix position vocab
        rows.append(logits[torch.arange(len(lengths)), lengths - 1])
    return torch.cat(rows)


LENGTHS = (32, 64, 96, 128, 192, 256, 384, 512, 1024)
SCORED = 32
"""How many tokens are predicted at each length; they are the same at every length."""


@dataclass(frozen=True)
class AtLength:
    """The mean loss in nats at one length. `apart`: the loss minus that at the longest length within the window;
    `error`: the standard error of `apart` over documents."""

    length: int
    loss: float
    apart: float
    error: float


def readable(config: ModelConfig) -> tuple[int, ...]:
    """The lengths that a model can read."""
    return tuple(n for n in LENGTHS if n <= config.max_seq_len or not ends(config))


def ends(config: ModelConfig) -> bool:
    """Whether its positions are a table, which ends at its window."""
    return any("position" in parameter.dims.split() for parameter in parameters(config).values())


def reading_on(model: DecoderOnly) -> DecoderOnly:
    """A copy for long texts: a table that is a formula gets more rows, and mixers their fast forms."""
    longest = max(LENGTHS)
    copy = deepcopy(model)
    if POSITIONS[model.config.position].formula:
        copy.positions = build_positions(replace(model.config, max_seq_len=longest)).to(next(copy.parameters()).device)
    fuse_attention(copy, longest)
    return copy


@torch.inference_mode()
def losses_by_length(model: DecoderOnly, passages: Tensor, documents: Tensor) -> list[AtLength]:
    """The mean −ln p of each passage's last `SCORED` tokens, predicted from the end of a text of each length.

    `passages` int64 [passage position] are one token longer than the longest length: a text of n tokens predicts up to
    the token after it. `documents` int64 [passage] number the documents from 0.
    """
    model = reading_on(model)
    read = {n: of_passages(model, passages[:, -n - 1 :]) for n in readable(model.config)}
    trained = read[max(n for n in read if n <= model.config.max_seq_len)]
    return [AtLength(n, float(nats.mean()), float((nats - trained).mean()), standard_error(nats - trained, documents))
            for n, nats in read.items()]  # fmt: skip


def of_passages(model: DecoderOnly, ids: Tensor) -> Tensor:
    """The mean −ln p of the last `SCORED` tokens of ids [passage position], given all before them: [passage]."""
    return torch.stack([nats_of(model, row)[-SCORED:].mean() for row in ids])


def nats_of(model: DecoderOnly, ids: Tensor) -> Tensor:
    """−ln p [position − 1] of every token but the first of ids [position], in one pass."""
    mask = trained_mask(model.config, len(ids) - 1, ids.device)
    return F.cross_entropy(model(ids[None, :-1], mask)[0].float(), ids[1:], reduction="none")


def standard_error(apart: Tensor, documents: Tensor) -> float:
    """The standard error of the mean of `apart` [passage]. Passages of one document are alike, so a document is one
    observation: the sum of its passages' deviations from the mean."""
    n = int(documents.max()) + 1
    off = torch.zeros(n, dtype=apart.dtype, device=apart.device).index_add_(0, documents, apart - apart.mean())
    return float((off.square().sum() * n / (n - 1)).sqrt() / len(apart))

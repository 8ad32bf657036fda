"""The quality of a language model on text: bits per byte, which does not depend on the tokenizer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model import masks
from chumoku.model.config import ModelConfig
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.transformer import DecoderOnly

PREFIXES = 32
"""How many prefixes of a text are read at once."""
WHOLE_WINDOW = "_whole_window"
"""The end of a figure's name when the whole window was visible."""


@dataclass
class Losses:
    """Sums over texts: −ln p of their tokens, and of those among them that occur earlier in what is read."""

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
    """The figures of `losses`. A model trained without the causal mask has each of them twice: also with the whole
    window visible, as in training. `follow` shows how far the first pass over the documents has come."""
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
    """−ln p of the documents' tokens.

    Each document is read from its start, after an END. A document longer than the model's window is read in windows
    that overlap by half, so that every token after the first window has at least half a window of context. Every
    token, and so every byte, is counted once, and is predicted from the tokens before it. Without a causal mask in
    training that takes a pass for each token; with `whole_window` such a model sees the token that it is to predict,
    as in training. Raises `ValueError` if there is no text.
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
    """Inputs, targets [position], and the first position that no window before has scored; ids [position]."""
    scored = 0
    for start in range(0, max(1, len(ids) - 1), max(1, window // 2)):
        inputs, targets = ids[start : start + window], ids[start + 1 : start + window + 1]
        if start + len(targets) <= scored:
            break
        yield inputs[: len(targets)], targets, scored - start if scored else 0
        scored = start + len(targets)


def trained_mask(config: ModelConfig, seq_len: int, device: torch.device) -> Tensor:
    """The mask that a decoder was trained under: reasons [1 1 query key]."""
    kind = masks.causal if config.is_causal else masks.nothing
    return kind(seq_len, seq_len, device)[None, None]


def rows_of_one_pass(model: DecoderOnly, inputs: Tensor) -> Tensor:
    """Every row of one pass under the mask of training: inputs [position] → logits [position vocab]."""
    return model(inputs[None], trained_mask(model.config, len(inputs), inputs.device))[0]


def last_rows(model: DecoderOnly, inputs: Tensor) -> Tensor:
    """The last row of a pass over each prefix: inputs [position] → logits [position vocab]. What follows a prefix is
    masked like PADs on its right."""
    rows = []
    for lengths in torch.arange(1, len(inputs) + 1, device=inputs.device).split(PREFIXES):
        after = masks.pads_right(lengths.tolist()).to(inputs.device)  # prefix position
        prefixes = inputs[None, : after.shape[1]].expand(len(lengths), -1)
        logits = model(prefixes, masks.decoder_mask(after, use_causal=False))  # prefix position vocab
        rows.append(logits[torch.arange(len(lengths)), lengths - 1])
    return torch.cat(rows)

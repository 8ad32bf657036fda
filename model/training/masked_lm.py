"""Masked language modelling: some tokens of a passage are hidden, and the model predicts them from both sides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.tokenizer import TEXT_FORMS, Tokenizer
from chumoku.model.training.data import spread
from chumoku.model.training.length_buckets import LengthBuckets, pad_rows
from chumoku.model.training.passages import Passages, split_texts, weighted
from chumoku.model.training.presets import Preset
from chumoku.model.training.task import Batch, Unseen
from chumoku.model.transformer import EncoderOnly, Transformer

HIDDEN, REPLACED = 0.8, 0.1
"""The shares of the chosen tokens that become [MASK] and a random token; the rest stay (Devlin et al. 2019, 3.1)."""


class MaskedTokens(NamedTuple):
    """`seen` int64 [batch position] is what the model reads, `chosen` bool [batch position] says where it has to
    predict, and `answers` int64 [chosen] are the original tokens there, row by row."""

    seen: Tensor
    chosen: Tensor
    answers: Tensor


def mask_tokens(ids: Tensor, share: float, tokenizer: Tokenizer, rng: np.random.Generator) -> MaskedTokens:
    """Choose `share` of the tokens of ids [batch position], at least one and never a special one, by BERT's rule
    (Devlin et al. 2019, section 3.1): 80 % of them become [MASK], 10 % a random token, 10 % stay as they are.

    Raises `ValueError` for a tokenizer without [MASK]."""
    if tokenizer.mask_id is None:
        raise ValueError("this tokenizer has no [MASK] to hide tokens with")
    flat = ids.flatten().numpy()
    first_special = min(tokenizer.special_ids.values())
    plain = np.flatnonzero(flat < first_special)
    n = max(1, round(share * len(plain)))
    places = rng.choice(plain, n, replace=False)
    n_hidden, n_replaced = round(HIDDEN * n), round(REPLACED * n)
    seen, chosen = flat.copy(), np.zeros(len(flat), dtype=bool)
    chosen[places] = True
    seen[places[:n_hidden]] = tokenizer.mask_id
    replaced = places[n_hidden : n_hidden + n_replaced]
    seen[replaced] = rng.integers(first_special, size=len(replaced))
    return MaskedTokens(
        torch.from_numpy(seen).view_as(ids), torch.from_numpy(chosen).view_as(ids), torch.from_numpy(flat[chosen])
    )


BPE_BYTES = 6_000_000
VALIDATION_ROWS = 64
VALIDATION_SEED = 0
PROBES = (
    "the film is not very _ .", "a _ and moving story", "once upon a time there was a little _ .",
    "i do n't know what to _ .", "she opened the _ and went in .", "the worst movie of the _ .",
    "he was so _ that he began to cry .", "it 's one of the _ films of the year .",
)  # fmt: skip
BLANK = "_"
"""Stands for [MASK] in PROBES."""


class MaskedLM:
    """The task of an encoder-only model without classes (`Task`)."""

    metric: ClassVar[str] = "nats_per_gap"
    learned_from: ClassVar[str] = "training texts of all files"

    def __init__(self, preset: Preset, data: Path, tokenizer: Tokenizer) -> None:
        self.preset, self.tokenizer = preset, tokenizer
        texts, window = split_texts(preset, data), preset.config.max_seq_len
        sources = [Passages.of(texts.to_read(source), tokenizer, window) for source in preset.sources]
        empty = [s.file for s, passages in zip(preset.sources, sources, strict=True) if not len(passages)]
        if empty:
            raise ValueError(f"{', '.join(empty)}: no passage to train on")
        self.held_out = Passages.of(texts.held_out, tokenizer, window)
        if not len(self.held_out):
            raise ValueError(f"{preset.validate_on} has no text to hold out")
        self.train = Passages.join(sources)
        self.draws = weighted([len(passages) for passages in sources], [s.weight for s in preset.sources])
        self.buckets = LengthBuckets(self.train.lengths[self.draws], preset.batch_size)

    @staticmethod
    def texts(preset: Preset, data: Path) -> Iterator[str]:
        """Training texts in the form that the model reads: all labelled ones, and a share of each other file."""
        form, found = TEXT_FORMS[preset.config.text_form], split_texts(preset, data).train
        for source in preset.sources:
            left = float("inf") if source.reads == "labelled" else source.weight * BPE_BYTES
            for text in found[source.file]:
                if left <= 0:
                    break
                left -= len(text.encode())
                yield form(text)

    @staticmethod
    def unseen(preset: Preset, data: Path, tokenizer: Tokenizer, most: int) -> Unseen:
        held_out = split_texts(preset, data).held_out
        limit, chosen = preset.config.max_seq_len - 1, spread(held_out, most)  # [CLS] comes first
        return Unseen(
            [(tokenizer.encode(text)[:limit], None) for text in chosen],
            f"{len(chosen)} of the {len(held_out)} texts of {preset.validate_on} held out (chosen by hash)",
        )

    def batch(self, rng: np.random.Generator) -> Batch:
        """Inputs: what the model reads, and which tokens are chosen, each [batch position]; targets: these tokens
        [chosen]."""
        rows = [self.train.row(self.draws[i]) for i in self.buckets.draw(rng)]
        return as_batch(mask_tokens(pad_rows(rows, self.tokenizer.pad_id), self.preset.gap_share, self.tokenizer, rng))

    def forward(self, model: Transformer, batch: Batch) -> Tensor:
        """Logits of the chosen tokens [chosen vocab]: unembedding all positions would cost more than the layers."""
        assert isinstance(model, EncoderOnly)
        seen, chosen = batch.inputs
        x = model.states(seen, masks.encoder_mask(seen == self.tokenizer.pad_id))
        logits: Tensor = model.unembedding(x[chosen])
        return logits

    @torch.inference_mode()
    def validate(self, model: Transformer) -> float:
        """Mean −ln p of the chosen tokens of held-out passages, in nats. The same tokens are chosen every time."""
        return self.fill_mask_scores(model)[0]

    @torch.inference_mode()
    def fill_mask_scores(self, model: Transformer) -> tuple[float, float]:
        """Mean −ln p of the chosen tokens of held-out passages, in nats, and the fraction that is the model's first
        choice."""
        device, nats, right, n = next(model.parameters()).device, 0.0, 0, 0
        for batch in map(as_batch, self.validation_batches()):
            logits = self.forward(model, batch.to(device)).float()
            targets = batch.targets.to(device)
            nats += float(F.cross_entropy(logits, targets, reduction="sum"))
            right += int((logits.argmax(-1) == targets).sum())
            n += len(targets)
        return nats / n, right / n

    def validation_batches(self) -> Iterator[MaskedTokens]:
        rng = np.random.default_rng(VALIDATION_SEED)
        order = np.argsort(self.held_out.lengths, kind="stable")
        for first in range(0, len(order), VALIDATION_ROWS):
            rows = [self.held_out.row(i) for i in order[first : first + VALIDATION_ROWS]]
            yield mask_tokens(pad_rows(rows, self.tokenizer.pad_id), self.preset.gap_share, self.tokenizer, rng)

    def evaluation(self, loaded: Checkpoint) -> dict[str, Any]:
        nats, right = self.fill_mask_scores(loaded.model)
        return {
            "on": f"{self.preset.gap_share:.0%} of the tokens of {len(self.held_out)} held-out passages "
            f"of {self.preset.validate_on} (chosen by hash), hidden by BERT's rule",
            "nats_per_gap": round(nats, 4),
            "first_choice_right": round(right, 4),
        }

    def samples(self, loaded: Checkpoint) -> list[dict[str, Any]]:
        return [{"text": text, "fills": best_fills(loaded, text)} for text in PROBES]


def as_batch(masked: MaskedTokens) -> Batch:
    return Batch((masked.seen, masked.chosen), masked.answers)


@torch.inference_mode()
def best_fills(loaded: Checkpoint, text: str, most: int = 5) -> list[dict[str, Any]]:
    """The most likely tokens for the blank in `text`, with their probabilities."""
    tokenizer = loaded.tokenizer
    assert tokenizer.mask_id is not None
    before, _, after = text.partition(BLANK)
    left = tokenizer.encode(before.rstrip())
    # A word begins with its space, which belongs to the blank.
    right = tokenizer.encoding.encode_ordinary(after)
    ids = torch.tensor([[tokenizer.first_id, *left, tokenizer.mask_id, *right]], device=loaded.device)
    logits = loaded.encoder_only(ids, masks.encoder_mask(torch.zeros_like(ids, dtype=torch.bool)))[0, 1 + len(left)]
    logits[tokenizer.never_sampled] = -torch.inf
    p, best = logits.softmax(-1).topk(most)
    return [{"token": tokenizer.decode([i]), "p": round(x, 4)} for i, x in zip(best.tolist(), p.tolist(), strict=True)]

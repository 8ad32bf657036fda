"""Translation by beam search, with one forward pass of the decoder for all beams."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.beams import Beams, Hypothesis, check_search
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.run import Run
from chumoku.model.session import read_source
from chumoku.model.taps import record
from chumoku.model.trace import check_length

LONGER = 50
"""A target can have this many more tokens than its source (Vaswani et al. 2017, section 6.1)."""


def translate(checkpoint: Checkpoint, text: str, *, beams: int = 4, alpha: float = 0.6) -> list[Hypothesis]:
    """At most `beams` hypotheses for `text`, best first. One beam is greedy decoding."""
    return beam_search(checkpoint, checkpoint.tokenizer.encode(text), beams=beams, alpha=alpha)


@torch.inference_mode()
def beam_search(
    checkpoint: Checkpoint, source_ids: Sequence[int], *, beams: int = 4, alpha: float = 0.6
) -> list[Hypothesis]:
    """Follow the `beams` most likely targets, one token per step, until no open beam can still win.

    Raises `ValueError` for an empty or too long source, and for `beams` or `alpha` out of range.
    """
    check_search(beams, alpha)
    check_length(len(source_ids), checkpoint.config.max_seq_len)
    search = BeamSearch(checkpoint, Run(source_ids), beams, alpha)
    while search.open:
        search.step()
    return search.best


def limits_of(checkpoint: Checkpoint, n_source: int) -> tuple[list[int], int | None, int]:
    """What a translation begins with, the id that ends it, and the most ids after the beginning."""
    tokenizer = checkpoint.tokenizer
    return [tokenizer.first_id], tokenizer.end_id, min(n_source + LONGER, checkpoint.config.max_seq_len - 1)


def beams_of(checkpoint: Checkpoint, n_source: int, beams: int, alpha: float) -> Beams:
    """The beams of a translation, before its first step."""
    return Beams(*limits_of(checkpoint, n_source), beams, alpha, checkpoint.device)


class BeamSearch(Beams):
    """Beams that run the model's forward passes themselves, under a run's masks and edits."""

    def __init__(self, checkpoint: Checkpoint, run: Run, beams: int, alpha: float) -> None:
        """Read the source of `run`. Its masks, PADs and edits apply to the whole search; its target is ignored."""
        super().__init__(*limits_of(checkpoint, len(run.ids)), beams, alpha, checkpoint.device)
        self.tokenizer = checkpoint.tokenizer
        self.model, self.run = checkpoint.encoder_decoder, run
        self.memory, self.source_is_pad = read_source(checkpoint, run)
        self.causal = checkpoint.config.is_causal if run.use.causal is None else run.use.causal
        self.cache = self.model.new_cache() if self.causal and run.keeps else None

    def step(self) -> None:
        """One more token for each beam."""
        rows = self.extend(self.next_log_p())
        if self.cache is not None:
            self.cache.select(rows)

    def next_log_p(self) -> Tensor:
        """ln p(next token | beam): [beam vocab], float64; −∞ for tokens that are never sampled."""
        n_beam, n_target = self.ids.shape
        new = self.ids if n_target == 1 or self.cache is None else self.ids[:, -1:]
        is_pad = torch.zeros_like(self.ids, dtype=torch.bool)
        mask = masks.decoder_mask(is_pad, use_causal=self.causal, query_len=new.shape[1])
        cross = masks.cross_mask(self.source_is_pad, new.shape[1], use_padding=self.run.use.padding)
        memory = self.memory.under(cross, n_beam)
        with record(edit=self.run.edit):
            logits = self.model.decode(new, mask, memory, cache=self.cache)[:, -1].double()
        logits[:, self.tokenizer.never_sampled] = float("-inf")
        return logits.log_softmax(-1)

"""Translation by beam search: the most likely targets among a few beams (Graves 2012; Wu et al. 2016, section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.run import Run
from chumoku.model.session import read_source
from chumoku.model.taps import record
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.trace import check_length

MAX_BEAMS = 16
LONGER = 50
"""A target can have this many more tokens than its source (Vaswani et al. 2017, section 6.1)."""


@dataclass(frozen=True)
class Hypothesis:
    """The target of a finished beam. `ids` begin after START and include END if `ended`. `log_p` = ln p(target |
    source) in nats; `score` = log_p / length penalty ranks hypotheses."""

    ids: list[int]
    log_p: float
    score: float
    ended: bool

    def text(self, tokenizer: Tokenizer) -> str:
        return tokenizer.decode(self.ids[: -1 if self.ended else None])


def length_penalty(n: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^α (Wu et al. 2016, equation 14). Without it (α = 0), short targets win."""
    return float(((5 + n) / 6) ** alpha)


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
    if not 1 <= beams <= MAX_BEAMS:
        raise ValueError(f"a search has 1 to {MAX_BEAMS} beams, got {beams}")
    if not 0 <= alpha <= 10:
        raise ValueError(f"the length penalty's alpha must be in [0, 10], got {alpha}")
    check_length(len(source_ids), checkpoint.config.max_seq_len)
    search = BeamSearch(checkpoint, Run(source_ids), beams, alpha)
    while search.open:
        search.step()
    return search.best


class Beams:
    """The open beams of one source, each [beam], and the finished hypotheses."""

    def __init__(self, checkpoint: Checkpoint, n_source: int, beams: int, alpha: float) -> None:
        self.tokenizer, self.beams, self.alpha = checkpoint.tokenizer, beams, alpha
        self.ids = torch.full((1, 1), self.tokenizer.first_id, device=checkpoint.device)  # beam position
        self.log_p = torch.zeros(1, dtype=torch.float64, device=checkpoint.device)  # beam
        self.max_len = min(n_source + LONGER, checkpoint.config.max_seq_len - 1)
        self.ended: list[Hypothesis] = []

    @property
    def open(self) -> bool:
        """Whether an open beam could still beat the worst hypothesis kept."""
        if not len(self.ids):
            return False
        if len(self.ended) < self.beams:
            return True
        return float(self.log_p.max()) / length_penalty(self.max_len, self.alpha) > self.best[-1].score

    @property
    def best(self) -> list[Hypothesis]:
        """The finished hypotheses, best first, as many as there are beams."""
        return sorted(self.ended, key=lambda h: h.score, reverse=True)[: self.beams]

    def extend(self, next_log_p: Tensor) -> Tensor:
        """Extend each open beam by every next token, ln p(token | beam) [beam vocab]. The most likely beams continue;
        those that end are finished. Returns the rows of the beams that continue, in their new order [beam]."""
        log_p = self.log_p[:, None] + next_log_p  # beam vocab
        n_vocab = log_p.shape[1]
        # Twice as many as there are beams: enough to continue even if all beams end now.
        best, at = log_p.flatten().topk(min(2 * self.beams, log_p.numel()))
        rows, tokens = at // n_vocab, at % n_vocab
        ids = torch.cat((self.ids[rows], tokens[:, None]), dim=1)  # candidate position
        possible = best > float("-inf")
        ending = (tokens == self.tokenizer.end_id) & possible
        full = ids.shape[1] - 1 >= self.max_len
        in_beam = torch.arange(len(best), device=best.device) < self.beams
        for i in torch.nonzero(in_beam & possible & (ending | full)).flatten().tolist():
            self.put_aside(ids[i, 1:].tolist(), float(best[i]))
        goes_on = torch.nonzero(possible & ~ending).flatten()[: 0 if full else self.beams]
        if self.beams == 1 and self.ended:  # greedy stops at the first END
            goes_on = goes_on[:0]
        self.ids, self.log_p = ids[goes_on], best[goes_on]
        return rows[goes_on]

    def put_aside(self, ids: list[int], log_p: float) -> None:
        ended = ids[-1] == self.tokenizer.end_id
        self.ended.append(Hypothesis(ids, log_p, log_p / length_penalty(len(ids), self.alpha), ended))


class BeamSearch(Beams):
    """Beams that run the model's forward passes themselves, under a run's masks and edits."""

    def __init__(self, checkpoint: Checkpoint, run: Run, beams: int, alpha: float) -> None:
        """Read the source of `run`. Its masks, PADs and edits apply to the whole search; its target is ignored."""
        super().__init__(checkpoint, len(run.ids), beams, alpha)
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

"""Beam search: the most likely continuations among a few beams (Graves 2012; Wu et al. 2016, section 7), and which were
considered on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from chumoku.model import batched_decoding
from chumoku.model.batched_decoding import is_decoder
from chumoku.model.sampling import endings
from chumoku.model.session import Session, is_resumable
from chumoku.model.tokenizer import Tokenizer

MAX_BEAMS = 16


@dataclass(frozen=True)
class Hypothesis:
    """A finished beam. `ids` begin after START, or after the text that is continued, and include END if `ended`.
    `log_p` = ln p(ids | what is before) in nats; `score` = log_p / length penalty ranks hypotheses."""

    ids: list[int]
    log_p: float
    score: float
    ended: bool

    def text(self, tokenizer: Tokenizer) -> str:
        return tokenizer.decode(self.ids[: -1 if self.ended else None])


@dataclass(frozen=True)
class Considered:
    """A token that a step considered: after which of the beams that the step before left `open` (their order is that of
    its list), ln p of the beam with it, and what became of it. `dropped`: others were more likely."""

    parent: int
    id: int
    log_p: float
    fate: Literal["open", "ended", "dropped"]


def length_penalty(n: int, alpha: float) -> float:
    """lp(Y) = ((5 + |Y|) / 6)^α (Wu et al. 2016, equation 14). Without it (α = 0), short targets win."""
    return float(((5 + n) / 6) ** alpha)


def check_search(beams: int, alpha: float) -> None:
    """Raise `ValueError` for values out of range."""
    if not 1 <= beams <= MAX_BEAMS:
        raise ValueError(f"a search has 1 to {MAX_BEAMS} beams, got {beams}")
    if not 0 <= alpha <= 10:
        raise ValueError(f"the length penalty's alpha must be in [0, 10], got {alpha}")


class Beams:
    """The open beams of one search, each [beam], and the finished hypotheses: at most `max_len` ids after `start`.

    `banned` are sequences that are not written: the last id of each is not taken where a beam ends with those before.
    `stops` says whether the newest of a beam's ids completes a text that ends it. Set both before the first step.
    """

    banned: Sequence[Sequence[int]] = ()
    stops: Callable[[list[int]], bool] | None = None

    def __init__(
        self, start: Sequence[int], end_id: int | None, max_len: int, beams: int, alpha: float,
        device: torch.device | str = "cpu",
    ) -> None:  # fmt: skip
        self.n_start, self.end_id, self.max_len = len(start), end_id, max_len
        self.beams, self.alpha = beams, alpha
        self.ids = torch.tensor([list(start)], device=device)  # beam position
        self.log_p = torch.zeros(1, dtype=torch.float64, device=device)  # beam
        self.ended: list[Hypothesis] = []
        self.considered: list[list[Considered]] = []
        """Of each step, the most likely first: twice as many as there are beams, or fewer."""

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
        """Extend each open beam by every next token, ln p(token | beam) [beam vocab]. What is banned keeps its share:
        as in transformers, the others' probabilities are the model's own. The most likely beams continue; those that
        end are finished. Returns the rows of the beams that continue, in their new order [beam]."""
        log_p = self.log_p[:, None] + next_log_p  # beam vocab
        for beam, written in enumerate(self.ids.tolist() if self.banned else ()):
            log_p[beam, endings(self.banned, written)] = float("-inf")
        n_vocab = log_p.shape[1]
        # Twice as many as there are beams: enough to continue even if all beams end now.
        best, at = log_p.flatten().topk(min(2 * self.beams, log_p.numel()))
        rows, tokens = at // n_vocab, at % n_vocab
        ids = torch.cat((self.ids[rows], tokens[:, None]), dim=1)  # candidate position
        possible = best > float("-inf")
        ending = (tokens == (-1 if self.end_id is None else self.end_id)) & possible
        if self.stops is not None:
            stopped = torch.tensor([self.stops(one) for one in ids.tolist()], device=ids.device)
            ending |= stopped & possible
        full = ids.shape[1] - self.n_start >= self.max_len
        in_beam = torch.arange(len(best), device=best.device) < self.beams
        finished = torch.nonzero(in_beam & possible & (ending | full)).flatten()
        for i in finished.tolist():
            self.put_aside(ids[i, self.n_start :].tolist(), float(best[i]))
        goes_on = torch.nonzero(possible & ~ending).flatten()[: 0 if full else self.beams]
        if self.beams == 1 and self.ended:  # greedy stops at the first END
            goes_on = goes_on[:0]
        self.note(rows, tokens, best, possible, finished, goes_on)
        self.ids, self.log_p = ids[goes_on], best[goes_on]
        return rows[goes_on]

    def note(
        self, rows: Tensor, tokens: Tensor, best: Tensor, possible: Tensor, finished: Tensor, goes_on: Tensor
    ) -> None:
        """Keep what this step considered."""
        ended, opened = set(finished.tolist()), set(goes_on.tolist())
        columns = zip(rows.tolist(), tokens.tolist(), best.tolist(), possible.tolist(), strict=True)
        self.considered.append(
            [
                Considered(row, id, p, "ended" if i in ended else "open" if i in opened else "dropped")
                for i, (row, id, p, can_be) in enumerate(columns)
                if can_be
            ]
        )

    def put_aside(self, ids: list[int], log_p: float) -> None:
        ended = ids[-1] == self.end_id
        self.ended.append(Hypothesis(ids, log_p, log_p / length_penalty(len(ids), self.alpha), ended))


class TextSearch(Beams):
    """Beams of a text, or of a target, that grows: each is a session. Works for every model that can generate.

    `start` begins a session; `never` are ids that are never sampled. Raises `ValueError` for values out of range, and
    for a full window.
    """

    def __init__(
        self, start: Callable[[], Session], end_id: int | None, never: Sequence[int], *, max_new: int, beams: int,
        alpha: float = 0.6,
    ) -> None:  # fmt: skip
        check_search(beams, alpha)
        first = start()
        room = first.window - len(first.prompt)
        if room < 1:
            raise ValueError(f"the model's window of {first.window} tokens is full")
        super().__init__(first.prompt, end_id, min(max_new, room), beams, alpha)
        self.start, self.never = start, list(never)
        self.sessions = [first]
        self.logits = [first.step(first.prompt).logits]  # of each beam, vocab

    @torch.inference_mode()
    def step(self) -> None:
        """One more token for each beam."""
        rows = self.extend(self.next_log_p()).tolist()
        if self.open:
            self.read(rows)

    def next_log_p(self) -> Tensor:
        """ln p(next token | beam): [beam vocab], float64; −∞ for tokens that are never sampled."""
        logits = torch.stack(self.logits).to("cpu", torch.float64)
        logits[:, self.never] = float("-inf")
        return logits.log_softmax(-1)

    def read(self, rows: Sequence[int]) -> None:
        """Each open beam reads its newest token, in one forward pass where possible."""
        newest = self.ids[:, -1].tolist()
        # Copies first: the first beam that continues a session takes the session itself.
        taken = [self.forked(row) if row in rows[:i] else None for i, row in enumerate(rows)]
        sessions = [one or self.sessions[row] for one, row in zip(taken, rows, strict=True)]
        groups = {batched_decoding.group(one) for one in sessions}
        together = [one for one in sessions if is_decoder(one)]
        if len(groups) == 1 and None not in groups and len(together) == len(sessions):
            forwards = batched_decoding.step(together, newest)
        else:
            forwards = [one.step(ids[len(one.ids) :]) for one, ids in zip(sessions, self.ids.tolist(), strict=True)]
        self.sessions, self.logits = sessions, [one.logits for one in forwards]

    def forked(self, row: int) -> Session:
        """Another session with the text of a beam; one that cannot resume has yet to read it."""
        session = self.start()
        parent = self.sessions[row]
        if is_resumable(session) and is_resumable(parent) and (prefix := parent.prefix) is not None:
            session.resume(prefix)
        return session

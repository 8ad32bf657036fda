"""What we say of a sentence, held against the weights that ship: which look decides its answer, and which does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from model import checkpoint
from model.checkpoint import ZOO, Checkpoint
from model.derive.effects import Effect, Effects
from model.derive.rollout import Edge, widest
from model.derive.route import route
from model.masks import EDITED
from model.taps import Edit
from model.trace import trace

load = cache(checkpoint.load)


@dataclass(frozen=True)
class Claim:
    """After `text` (and `target`), the model writes one of `answers`, with at least `before`; without the looks of its
    last row at `key`, in all layers, with less than 20 %."""

    model: str
    text: str
    key: str
    answers: tuple[str, ...]
    before: float
    target: str | None = None

    @property
    def opened(self) -> Checkpoint:
        return load(ZOO / self.model)

    @property
    def ids(self) -> list[int]:
        return self.opened.tokenizer.encode(self.text)

    @property
    def options(self) -> dict[str, Any]:
        return {} if self.target is None else {"target": self.opened.tokenizer.encode(self.target)}

    @property
    def row(self) -> int:
        """The last one: that of START is the first of a target."""
        return len(self.options["target"]) if self.options else len(self.ids) - 1

    @property
    def place(self) -> int:
        """Of the first token `key`."""
        return [token.text for token in self.opened.tokenizer.tokens(self.ids)].index(self.key)

    @property
    def attention(self) -> str:
        return self.opened.description.attentions[-1].id

    def p(self, edit: Mapping[str, Edit] | None = None) -> float:
        """The probability of all answers together."""
        run = trace(self.opened, self.ids, ["logits"], edit=edit, **self.options)
        logits = run.tensors["logits"][self.row].clone()
        logits[self.opened.tokenizer.never_sampled] = -torch.inf
        ids = [id for answer in self.answers for id in self.opened.tokenizer.encode(answer)]
        assert len(ids) == len(self.answers), "each answer is one token"
        return float(logits.double().softmax(-1)[ids].sum())


BALL = Claim("stories-gpt", "Tom lost his red ball. Tom was sad. Mom found the red", " ball", (" ball",), 0.9)
CLAIMS = [
    BALL,
    Claim(
        "stories-gpt", "The little bird had a broken wing. Lily helped the little", " bird", (" bird",), 0.8
    ),
    Claim(
        "translate-enja", "I ate a banana in the morning.", " ate", ("を食べ", "を食べた"), 0.8, "私は朝にバナナ"
    ),
]  # fmt: skip
BEN = Claim("stories-gpt", "Ben and Lily went to the park. Ben and", " Lily", (" Lily",), 0.9)
every_claim = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.key.strip())


def cutting(claim: Claim) -> dict[str, Edit]:
    """The last row's looks at the key, in all layers and heads."""

    def cut(x: Tensor, _: int) -> Tensor:
        x = x.clone(memory_format=torch.contiguous_format)
        x[:, :, claim.row, claim.place] |= EDITED
        return x

    return dict.fromkeys(claim.opened.description.attention(claim.attention).roles["mask"].taps, cut)


def lines(claim: Claim, n: int) -> list[Edge]:
    return widest(route(claim.opened, claim.ids, **claim.options), claim.row, n)


@every_claim
def test_without_its_looks_at_one_word_the_answer_falls(claim: Claim) -> None:
    assert claim.p() >= claim.before
    assert claim.p(cutting(claim)) < 0.2


@every_claim
def test_the_widest_line_is_the_look_at_this_word(claim: Claim) -> None:
    (line,) = lines(claim, 1)
    assert (line.attention, line.query, line.key) == (claim.attention, claim.row, claim.place)


def effects(claim: Claim, edges: list[Edge]) -> list[Effect]:
    (answer,) = claim.opened.tokenizer.encode(claim.answers[0])
    return Effects(claim.opened, claim.ids, answer, row=claim.row, **claim.options).measure(edges)


def test_one_cut_of_the_widest_line_takes_a_third() -> None:
    """“In layer 5, red no longer looks at ball. ball falls from 98 % to 62 %.”"""
    (line,) = lines(BALL, 1)
    (cut,) = effects(BALL, [line])
    assert line.layer == 5
    assert 0.4 < cut.p < 0.8


def test_a_wide_line_may_decide_nothing_and_a_thinner_one_much() -> None:
    """Cutting the second widest line changes nothing, a thinner one takes a quarter."""
    assert BEN.p() >= BEN.before
    _, second, *thinner = effects(BEN, lines(BEN, 6))
    assert abs(second.p - BEN.p()) < 0.03
    assert min(one.p for one in thinner) < BEN.p() - 0.15

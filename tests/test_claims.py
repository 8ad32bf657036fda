"""What the cards claim, held against the weights that ship: which look decides an answer, and which does not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from chumoku.model import checkpoint
from chumoku.model.attribution.effects import Effect, Effects
from chumoku.model.attribution.rollout import Edge, widest, widths
from chumoku.model.checkpoint import ZOO, Checkpoint
from chumoku.model.taps import Edit
from chumoku.model.trace import trace
from tests.knockouts import knockout_in, without
from tests.shortcuts import route

load = cache(checkpoint.load)


@dataclass(frozen=True)
class Claim:
    """After `text` (and `target`), the model writes one of `answers`; without the looks of its last row at `key`,
    in all layers, hardly any more."""

    model: str
    text: str
    key: str
    answers: tuple[str, ...]
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
        return self.at(self.key)

    def at(self, text: str) -> int:
        """The place of the first token `text`."""
        return [token.text for token in self.opened.tokenizer.tokens(self.ids)].index(text)

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


CARDS = [
    card
    for card in json.loads((Path(__file__).parents[1] / "static" / "examples.json").read_text("utf-8"))["examples"]
    if "claim" in card
]
SAID = {
    card["text"]: Claim(
        card["model"],
        card["text"],
        card["claim"].get("key", ""),
        tuple(card["claim"]["answers"]),
        card.get("target"),
    )
    for card in CARDS
}
CLAIMS = [claim for claim in SAID.values() if claim.key]
(BEN,) = [claim for claim in SAID.values() if not claim.key]
CAR = SAID["Tom lost his red car. Tom was sad. Mom found the red"]
every_claim = pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.key.strip())


def cutting(claim: Claim) -> dict[str, Edit]:
    return without(claim.opened, claim.row, claim.place)


def lines(claim: Claim, n: int) -> list[Edge]:
    return widest(route(claim.opened, claim.ids, **claim.options), claim.row, n)


@every_claim
def test_without_its_looks_at_one_word_the_answer_falls(claim: Claim) -> None:
    assert claim.p() >= 0.8
    assert claim.p(cutting(claim)) < 0.2


ROUNDED = 0.006
"""A card says whole percents; another machine may round the last one differently."""


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card["text"])
def test_a_card_says_the_numbers_that_hold(card: dict[str, Any]) -> None:
    said, claim = card["claim"], SAID[card["text"]]
    assert claim.p() == pytest.approx(said["before"] / 100, abs=ROUNDED)
    if claim.key:
        assert claim.p(cutting(claim)) == pytest.approx(said["after"] / 100, abs=ROUNDED)
        shown = [said["before"], said["after"]]
    else:
        shown = [said["second"], said["thinner"]["after"]]
        assert f"from {said['before']} to {said['second']}\u202f%" in card["see"]["en"]
    for text in card["see"].values():
        assert all(f"{percent}\u202f%" in text for percent in shown)


@every_claim
def test_the_widest_line_is_the_look_at_this_word(claim: Claim) -> None:
    (line,) = lines(claim, 1)
    assert (line.attention, line.query, line.key) == (claim.attention, claim.row, claim.place)


def effects(claim: Claim, edges: list[Edge]) -> list[Effect]:
    (answer,) = claim.opened.tokenizer.encode(claim.answers[0])
    return Effects(claim.opened, claim.ids, answer, row=claim.row, **claim.options).measure(edges)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card["text"])
def test_the_head_that_a_card_opens_decides_its_answer_most(card: dict[str, Any]) -> None:
    """Of the heads that look at the word, each cut alone, none lowers the answer more, and it looks there most."""
    claim = SAID[card["text"]]
    key = claim.place if claim.key else claim.at(card["claim"]["thinner"]["key"])
    roles = claim.opened.description.attentions[-1].roles
    weights = trace(claim.opened, claim.ids, roles["pattern"].taps, **claim.options).tensors
    rows = torch.stack([weights[tap][:, claim.row] for tap in roles["pattern"].taps])
    after = {
        (layer, head): claim.p({roles["mask"].taps[layer]: knockout_in(head, claim.row, key)})
        for layer, head in (rows[..., key] > 0.1).nonzero().tolist()
    }
    opened = card["layer"], card["head"]
    assert min(after, key=after.__getitem__) == opened
    assert int(rows[opened].argmax()) == key


def test_the_tip_of_a_line_says_its_share_of_all_that_reaches_the_token() -> None:
    """“15 % of all that reaches red₂, its own stream included”: of what attention brings, it is 34 %."""
    rivers = route(CAR.opened, CAR.ids)
    share = float(widths(rivers, CAR.row)["self"][5, CAR.row, CAR.place])
    own = float(rivers[-1].flows[0].residual[5, CAR.row])
    assert share == pytest.approx(0.15, abs=ROUNDED)
    assert share / (1 - own) == pytest.approx(0.34, abs=ROUNDED)
    texts = json.loads((Path(__file__).parents[1] / "static/i18n/en.json").read_text("utf-8"))
    assert texts["river.share"] == "{share} of all that reaches {token}, its own stream included"


def test_one_cut_of_the_widest_line_takes_a_quarter() -> None:
    """“Hidden in layer 5: red₂ cannot attend to car. car falls from 98 % to 72 %.”"""
    (line,) = lines(CAR, 1)
    (cut,) = effects(CAR, [line])
    assert line.layer == 5
    assert 0.4 < cut.p < 0.8


def test_a_wide_line_may_decide_nothing_and_a_thinner_one_much() -> None:
    """“The one to beach decides nothing … the look at Ben, just before, in layer 4. Without it, 23 %.”"""
    said = next(card["claim"] for card in CARDS if card["text"] == BEN.text)
    tokens = [token.text for token in BEN.opened.tokenizer.tokens(BEN.ids)]
    found = lines(BEN, 6)
    _, second, *thinner = effects(BEN, found)
    assert tokens[found[1].key] == " beach"
    assert second.p == pytest.approx(said["second"] / 100, abs=ROUNDED)
    line, effect = min(zip(found[2:], thinner, strict=True), key=lambda pair: pair[1].p)
    assert (line.layer, tokens[line.key]) == (said["thinner"]["layer"], said["thinner"]["key"])
    assert effect.p == pytest.approx(said["thinner"]["after"] / 100, abs=ROUNDED)

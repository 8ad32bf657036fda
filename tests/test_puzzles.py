"""The puzzles of the game *Break the model*, each with its best known way, on the weights that ship."""

import json
import re
from typing import Any

import pytest
import torch
from torch import Tensor

from chumoku.model import checkpoint
from chumoku.model.attribution.effects import Effects
from chumoku.model.attribution.rollout import Edge
from chumoku.model.checkpoint import ZOO, Checkpoint
from chumoku.model.interventions import Composed, EditCells
from chumoku.model.taps import Edit
from chumoku.model.trace import trace
from tests.taught import STATIC

RULES = (STATIC / "views/game/rules.js").read_text("utf-8")


def rows() -> list[Any]:
    """The table of the page's rules: JSON, but for commas at the ends of lines."""
    found = re.search(r"const ROWS = (\[.*?\n\]);", RULES, re.DOTALL)
    assert found
    return list(json.loads(re.sub(r",(\s*[\]}])", r"\1", found[1])))


def constant(name: str) -> float:
    found = re.search(rf"const {name} = ([\d.]+);", RULES)
    assert found
    return float(found[1])


BELOW, LOCKED_FROM = constant("BELOW"), constant("LOCKED_FROM")
PUZZLES = [pytest.param(row, id=f"{row[3]} {row[5] or 'falls'}: {row[0]}") for row in rows()]


@pytest.fixture(scope="module")
def stories() -> Checkpoint:
    return checkpoint.load(ZOO / "stories-gpt", "cpu")


def after(model: Checkpoint, ids: list[int], cuts: list[list[int]]) -> Tensor:
    """The last token's probabilities with these connections hidden: layer, head, query, key."""
    edits: dict[str, list[Edit]] = {}
    for layer, head, query, key in cuts:
        tap = model.description.attention("self").tap("mask", layer)
        edits.setdefault(tap, []).append(EditCells(allow=False, head=head, query=query, key=key))
    composed = {tap: Composed(found) for tap, found in edits.items()}
    return trace(model, ids, ["logits"], edit=composed).tensors["logits"][-1].softmax(-1)


def solved(p: Tensor, answer: int, word: int | None) -> bool:
    return float(p[answer]) < BELOW if word is None else int(p.argmax()) == word


@pytest.mark.parametrize("row", PUZZLES)
def test_the_best_known_way_solves_it_and_keeps_to_the_rules(stories: Checkpoint, row: list[Any]) -> None:
    text, ids, answer, named, word, wanted, best = row
    assert stories.tokenizer.encode(text) == ids
    names = {token.id: token.text.strip() for token in stories.tokenizer.tokens([answer, *([word] if word else [])])}
    assert names == {answer: named} | ({word: wanted} if word else {})
    p = after(stories, ids, [])
    assert int(p.argmax()) == answer
    assert float(p[answer]) > 0.5
    assert answer in ids, "it is in the sentence: there is a connection to lock"
    assert 4 <= len(best) <= 8
    assert len({tuple(cut) for cut in best}) == len(best)
    for layer, _, query, key in best:
        assert key < query, "a token always sees itself"
        assert not (layer >= LOCKED_FROM and query == len(ids) - 1 and ids[key] == answer), "locked"
    assert solved(after(stories, ids, best), answer, word)


@pytest.mark.parametrize("row", PUZZLES)
def test_no_cut_of_the_best_known_way_is_too_many(stories: Checkpoint, row: list[Any]) -> None:
    _, ids, answer, _, word, _, best = row
    for i in range(len(best)):
        assert not solved(after(stories, ids, best[:i] + best[i + 1 :]), answer, word), best[i]


@pytest.mark.parametrize("row", [one for one in PUZZLES if one.values[0][4] is None])
def test_no_single_connection_is_the_whole_puzzle(stories: Checkpoint, row: list[Any]) -> None:
    """All pairs were tried once, too, when the puzzle was made: that takes minutes for each."""
    _, ids, answer, _, _, _, _ = row
    effects = Effects(stories, ids, answer)
    edges = [
        Edge("self", layer, query, key, head)
        for layer in range(6)
        for query in range(1, len(ids))
        for key in range(query)
        for head in range(8)
        if not (layer >= LOCKED_FROM and query == len(ids) - 1 and ids[key] == answer)
    ]
    found = [one.p for part in range(0, len(edges), 256) for one in effects.measure(edges[part : part + 256])]
    assert min(found) > BELOW
    assert torch.tensor(found).std() > 0

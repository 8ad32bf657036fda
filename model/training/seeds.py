"""A model trained again from other seeds: how far its figures move by chance, as stored on its card."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chumoku.model.training.card import used

SAME = ("name", "steps", "tokens_seen", "recipe", "data")
"""What the cards of two such runs agree in."""
NEEDED = (*SAME, "seed", "evaluation", "hardware")


def other_seeds(card: dict[str, Any], runs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures of other runs of a card's recipe, in the order of their seeds: seed, numbers of the evaluation, and
    hardware, which names the precision. Raises `ValueError` for a run of another recipe and for a seed given twice."""
    own = checked(card)
    found = {own["seed"]: own}
    for run in map(checked, runs):
        for name in SAME:
            if run[name] != own[name]:
                raise ValueError(f"a run has {name} {run[name]} instead of {own[name]}: only the seed may differ")
        if found.setdefault(run["seed"], run) is not run:
            raise ValueError(f"there are two runs of {own['name']} with seed {run['seed']}: each needs its own")
    del found[own["seed"]]
    return [{"seed": seed, **figures(found[seed]), "hardware": found[seed]["hardware"]} for seed in sorted(found)]


def checked(card: dict[str, Any]) -> dict[str, Any]:
    """A card that can be compared. Raises `ValueError` for one that `chumoku train` did not write."""
    if missing := [name for name in NEEDED if name not in card]:
        raise ValueError(f"the card of {card.get('name', 'a run')} says nothing of {', '.join(missing)}")
    return {**card, "recipe": used(card["recipe"])}


def figures(card: dict[str, Any]) -> dict[str, float]:
    """What an evaluation measured, without what it was measured on."""
    said = card["evaluation"].items()
    return {name: value for name, value in said if isinstance(value, float)}

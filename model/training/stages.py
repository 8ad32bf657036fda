"""The trainings that a model's weights went through, one after another, and what each reached, as its card says."""

from __future__ import annotations

from typing import Any

from chumoku.model.training.seeds import figures

SAID = {"model": "name", "command": "command", "hardware": "hardware", "minutes": "minutes", "tokens": "tokens_seen"}
"""What a stage says, and where a card says it."""


def stages_of(card: dict[str, Any], began_with: dict[str, Any]) -> list[dict[str, Any]]:
    """The trainings of the model that this one began with, then its own: what was run, on how many tokens, and
    `held_out`, the figures of its weights on text that it never saw. A card without an evaluation counts as none."""
    before = began_with.get("stages") or ([stage(began_with)] if "evaluation" in began_with else [])
    return [*before, stage(card)]


def stage(card: dict[str, Any]) -> dict[str, Any]:
    said = {name: card[place] for name, place in SAID.items() if place in card}
    return {**said, "held_out": held_out(card)}


def held_out(card: dict[str, Any]) -> dict[str, float]:
    """The numbers of an evaluation; of a translator also chrF with 4 beams, and that of the way back."""
    found = {"chrf": card["evaluation"], "chrf_back": card["evaluation"].get("back", {})}
    return figures(card) | {name: one["beam_4"]["chrf"] for name, one in found.items() if "beam_4" in one}

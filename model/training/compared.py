"""A card's comparisons: other seeds of the same training, earlier stages of the weights, and the baseline's speed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import torch
from torch import Tensor

from chumoku.model.evaluate import trained_mask
from chumoku.model.mechanisms import fuse_attention
from chumoku.model.training.card import hardware, used
from chumoku.model.training.machine import Precision, faster, products_in, seconds_of
from chumoku.model.training.presets import PRESETS, Preset
from chumoku.model.training.recipe import cross_entropy
from chumoku.model.transformer import build

SAME = ("name", "steps", "tokens_seen", "recipe", "data")
"""The fields that must be equal on the cards of two runs that differ only in their seeds."""
NEEDED = (*SAME, "seed", "evaluation", "hardware")


def other_seeds(card: dict[str, Any], runs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The figures of other runs of a card's recipe, in the order of their seeds: the seed, the numbers of the
    evaluation, and the hardware, which names the precision. Raises `ValueError` for a run of another recipe or a seed
    given twice."""
    first = checked(card)
    found = {first["seed"]: first}
    for run in map(checked, runs):
        for name in SAME:
            if run[name] != first[name]:
                raise ValueError(f"a run has {name} {run[name]} instead of {first[name]}: only the seed may differ")
        if found.setdefault(run["seed"], run) is not run:
            raise ValueError(f"there are two runs of {first['name']} with seed {run['seed']}: each needs its own")
    del found[first["seed"]]
    return [{"seed": seed, **figures(found[seed]), "hardware": found[seed]["hardware"]} for seed in sorted(found)]


def checked(card: dict[str, Any]) -> dict[str, Any]:
    """A card that can be compared. Raises `ValueError` if `chumoku train` did not write it."""
    if missing := [name for name in NEEDED if name not in card]:
        raise ValueError(f"the card of {card.get('name', 'a run')} says nothing of {', '.join(missing)}")
    return {**card, "recipe": used(card["recipe"])}


def figures(card: dict[str, Any]) -> dict[str, float]:
    """The numbers of an evaluation."""
    said = card["evaluation"].items()
    return {name: value for name, value in said if isinstance(value, float)}


SAID = {"model": "name", "command": "command", "hardware": "hardware", "minutes": "minutes", "tokens": "tokens_seen"}
"""The fields of a stage, and the fields of a card that they come from."""


def stages_of(card: dict[str, Any], began_with: dict[str, Any]) -> list[dict[str, Any]]:
    """The trainings of the model that this one started from, then its own: each with the command, the tokens, and
    `held_out`, the figures on held-out text. A card without an evaluation is skipped."""
    before = began_with.get("stages") or ([stage(began_with)] if "evaluation" in began_with else [])
    return [*before, stage(card)]


def stage(card: dict[str, Any]) -> dict[str, Any]:
    said = {name: card[place] for name, place in SAID.items() if place in card}
    return {**said, "held_out": held_out(card)}


def held_out(card: dict[str, Any]) -> dict[str, float]:
    """The numbers of an evaluation; for a translator also chrF with 4 beams, in each direction that it learned."""
    found = {"chrf": card["evaluation"], "chrf_back": card["evaluation"].get("back", {})}
    return figures(card) | {
        name: evaluation["beam_4"]["chrf"] for name, evaluation in found.items() if "beam_4" in evaluation
    }


ROUNDS = 15
"""Steps of each model, taken in turn. The medians of the times and of each pair's ratio count: if the machine changes
its speed, it does so for both steps of a pair."""


def speed_beside(preset: Preset, device: torch.device) -> dict[str, Any]:
    """Seconds of a forward and a backward pass over one batch of the training's size, of a preset and of its baseline.

    Both have random weights and tokens, are fused as in training, and use whichever precision is faster. `times` is the
    time of a step divided by the baseline's, the median over pairs of steps. Raises `ValueError` for a preset without a
    baseline.
    """
    if preset.baseline in (None, preset.name):
        raise ValueError(f"{preset.name} has no baseline to compare its speed with")
    with torch.random.fork_rng(devices=[]):
        ours, theirs = (loss_of(each, device) for each in (preset, PRESETS[str(preset.baseline)]))
        chosen = [(loss, faster(loss, device)[0]) for loss in (ours, theirs)]
        rounds = [[seconds_of(loss, precision, device) for loss, precision in chosen] for _ in range(ROUNDS)]
    seconds, of_baseline = (median(column) for column in zip(*rounds, strict=True))
    return {
        "like": preset.baseline,
        "times": round(median(ours / theirs for ours, theirs in rounds), 2),
        "seconds": round(seconds, 3),
        "seconds_of_baseline": round(of_baseline, 3),
        "tokens": preset.batch_size * preset.config.max_seq_len,
        "precision": chosen[0][1],
        "precision_of_baseline": chosen[1][1],
        "hardware": f"{hardware(device)}, {threads(device)}",
    }


def loss_of(preset: Preset, device: torch.device) -> Callable[[Precision], Tensor]:
    """A function that computes the loss of a new model on random tokens, which is what a step spends its time on."""
    config = preset.config
    model = build(config).to(device).train()
    fuse_attention(model, config.max_seq_len)
    ids = torch.randint(config.vocab_size, (preset.batch_size, config.max_seq_len + 1), device=device)
    mask = trained_mask(config, config.max_seq_len, device)

    def loss(precision: Precision) -> Tensor:
        model.zero_grad()
        with products_in(precision, device):
            logits = model(ids[:, :-1], mask)  # batch position vocab
        return cross_entropy(logits, ids[:, 1:], preset.label_smoothing, preset.smoothing_form)

    return loss


def threads(device: torch.device) -> str:
    n = torch.get_num_threads() if device.type == "cpu" else 1
    return f"{n} thread{'s' * (n > 1)}"

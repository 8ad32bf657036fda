"""What a card says of a training beside others: the time of a step, what other seeds reached, what came before."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from chumoku.model.training import command, compared
from chumoku.model.training.command import add_seeds, add_speed, run_training
from chumoku.model.training.compared import ROUNDS, loss_of, other_seeds, speed_beside, stages_of
from chumoku.model.training.presets import PRESETS, Preset
from tests.training.helpers import tiny_preset

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def pair(monkeypatch: pytest.MonkeyPatch) -> tuple[Preset, Preset]:
    """A model, and one of twice the layers that is trained alike."""
    base = tiny_preset(baseline="tiny")
    deep = replace(base, name="tiny-deep", config=replace(base.config, n_layer=4))
    for one in (base, deep):
        monkeypatch.setitem(PRESETS, one.name, one)
    return base, deep


def test_a_step_is_timed_in_turn_with_the_baselines_and_the_median_over_pairs_counts(
    pair: tuple[Preset, Preset], monkeypatch: pytest.MonkeyPatch
) -> None:
    base, deep = pair
    timed: list[int] = []

    def seconds_of(loss: object, precision: str, device: torch.device) -> float:
        """A step takes 3 seconds and the baseline's 2. Later the machine is half as fast; once it stalls."""
        timed.append(len(timed))
        of_pair = (len(timed) - 1) // 2
        slow = 2.0 if of_pair >= ROUNDS // 2 else 1.0
        return (100.0 if len(timed) == 1 else 0.0) + slow * (3.0 if len(timed) % 2 else 2.0)

    monkeypatch.setattr(compared, "faster", lambda loss, device: ("float32", {}))
    monkeypatch.setattr(compared, "seconds_of", seconds_of)
    found = speed_beside(deep, CPU)
    assert len(timed) == 2 * ROUNDS
    assert (found["seconds"], found["seconds_of_baseline"], found["times"]) == (6.0, 4.0, 1.5)
    assert (found["like"], found["tokens"]) == ("tiny", base.batch_size * base.config.max_seq_len)
    assert (found["precision"], found["precision_of_baseline"]) == ("float32", "float32")
    with pytest.raises(ValueError, match="tiny has no baseline to compare its speed with"):
        speed_beside(base, CPU)


def test_the_timed_step_is_a_whole_one_and_takes_no_random_number_from_others(pair: tuple[Preset, Preset]) -> None:
    _, deep = pair
    before = torch.get_rng_state()
    assert speed_beside(deep, CPU)["seconds"] > 0
    assert torch.equal(torch.get_rng_state(), before)
    loss = loss_of(deep, CPU)
    losses = [loss("float32"), loss("float32")]
    assert losses[0].requires_grad
    assert losses[0].item() == losses[1].item(), "the same tokens each time"
    assert losses[0].item() == pytest.approx(torch.tensor(300.0).log().item(), abs=0.5)  # new weights guess evenly


def test_they_come_onto_the_card_of_a_trained_model(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained(seed: int, steps: int = 1, preset: str = "tiny-deep") -> Path:
        return run_training(
            preset=preset, data=data, device="cpu", steps=steps, seed=seed, out=tmp_path / f"{preset}-{seed}-{steps}"
        )

    folder, one, two = (trained(seed) for seed in (0, 1, 2))
    before = json.loads((folder / "card.json").read_text())
    monkeypatch.setattr(command, "speed_beside", lambda preset, device: {"times": 2.0, "like": preset.baseline})
    add_speed(folder, CPU)
    add_seeds(folder, [two, one])
    after = json.loads((folder / "card.json").read_text())
    assert after == before | {"speed": {"times": 2.0, "like": "tiny"}, "seeds": after["seeds"]}
    assert [run["seed"] for run in after["seeds"]] == [1, 2]
    for run, other in zip(after["seeds"], (one, two), strict=True):
        card = json.loads((other / "card.json").read_text())
        assert run["bits_per_byte"] == card["evaluation"]["bits_per_byte"]
        assert run["hardware"] == card["hardware"]
    assert after["seeds"][0]["bits_per_byte"] != after["seeds"][1]["bits_per_byte"]

    for runs, said in (
        ([folder], "two runs of tiny-deep with seed 0"),
        ([one, one], "two runs of tiny-deep with seed 1"),
        ([trained(3, steps=2)], "has steps 2 instead of 1"),
        ([trained(1, preset="tiny")], "has name tiny instead of tiny-deep"),
        ([tmp_path / "nowhere"], "the card of a run says nothing of name, steps, .* hardware"),
    ):
        with pytest.raises(ValueError, match=said):
            add_seeds(folder, runs)
    assert json.loads((folder / "card.json").read_text()) == after


def test_a_setting_that_older_cards_do_not_know_makes_no_other_recipe_unless_it_is_used() -> None:
    said = {"name": "one", "steps": 1, "tokens_seen": 8, "data": [], "hardware": "a CPU"}
    shipped = {**said, "seed": 0, "recipe": {"batch_size": 4}, "evaluation": {"bits_per_byte": 2.5}}
    later = {**shipped, "seed": 1, "evaluation": {"bits_per_byte": 2.25}}
    unused, in_use = ({"batch_size": 4, "both_directions": setting} for setting in (False, True))
    (seed,) = other_seeds(shipped, [{**later, "recipe": unused}])
    assert seed == {"seed": 1, "bits_per_byte": 2.25, "hardware": "a CPU"}
    with pytest.raises(ValueError, match=r"has recipe .* instead of"):
        other_seeds(shipped, [{**later, "recipe": in_use}])


def test_a_card_has_a_line_for_each_training_of_its_weights() -> None:
    def card(steps: int, bits: float) -> dict[str, object]:
        figures = {"on": "3 texts", "bits_per_byte": bits, "bytes": 9}
        return {"name": "one", "command": f"--steps {steps}", "hardware": "a CPU", "minutes": 0.5 * steps,
                "tokens_seen": 8 * steps, "evaluation": figures}  # fmt: skip

    first = {"model": "one", "command": "--steps 4", "hardware": "a CPU", "minutes": 2.0, "tokens": 32}
    first["held_out"] = {"bits_per_byte": 2.5}
    second = card(6, 2.0)
    second["stages"] = stages_of(second, card(4, 2.5))
    assert second["stages"][0] == first
    third = stages_of(card(2, 1.75), second)
    assert third[:2] == second["stages"]
    assert [(one["tokens"], one["held_out"]["bits_per_byte"]) for one in third] == [(32, 2.5), (48, 2.0), (16, 1.75)]
    assert [one["tokens"] for one in stages_of(card(2, 1.75), {})] == [16], "of what came before nothing is known"


def test_a_translator_s_line_says_chrf_too() -> None:
    of_beams = {"greedy": {"chrf": 29.0, "bleu": 34.0}, "beam_4": {"chrf": 30.0, "bleu": 35.0}}
    card = {"name": "t", "tokens_seen": 5, "evaluation": {"nats_per_token": 2.5, **of_beams}}
    assert stages_of(card, {}) == [{"model": "t", "tokens": 5, "held_out": {"nats_per_token": 2.5, "chrf": 30.0}}]
    both = card | {"evaluation": card["evaluation"] | {"back": of_beams}}
    assert stages_of(both, {})[0]["held_out"] == {"nats_per_token": 2.5, "chrf": 30.0, "chrf_back": 30.0}

"""The numbers that define a model: invalid combinations are refused with the reason."""

import dataclasses
import json

import pytest

from chumoku.model.config import Family, ModelConfig
from tests.model.helpers import FAMILIES, TINY


@pytest.mark.parametrize("family", FAMILIES)
def test_a_config_comes_back_from_json(family: Family) -> None:
    how = {"position": "sinusoidal", "norm_order": "post", "scale_embeddings": True, "text_form": "treebank"}
    config = ModelConfig(**TINY | how | {"family": family} | FAMILIES[family])
    assert ModelConfig.from_json(json.loads(json.dumps(config.to_json()))) == config
    assert config.d_head == 5


@pytest.mark.parametrize("name", ["vocab_size", "n_layer", "n_head", "d_model", "d_ff", "max_seq_len"])
@pytest.mark.parametrize("value", [0, -3])
def test_sizes_are_at_least_1(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name} must be at least 1, got {value}"):
        ModelConfig(**TINY | {name: value})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_head": 4}, "d_model=15 is not divisible by n_head=4"),
        ({"dropout": 1.0}, "dropout"),
        ({"dropout": -0.1}, "dropout"),
        ({"family": "encoder-only-maybe"}, "family"),
        ({"position": "rotary-maybe"}, "position"),
        ({"norm_order": "sandwich"}, "norm_order"),
        ({"text_form": "telegram"}, "text_form"),
        ({"family": "encoder-only", "classes": ["one"]}, "at least two"),
        ({"classes": ["no", "yes"]}, "only encoder-only models have classes, and at least two"),
        ({"classes": ["one"]}, "only encoder-only models have classes"),
        ({"family": "encoder-decoder", "classes": ["no", "yes"]}, "only encoder-only models have classes"),
    ],
)
def test_what_forms_no_model_is_refused_by_name(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ModelConfig.from_json(TINY | wrong)


def test_unknown_settings_list_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown model settings \['n_heads'\]; known are \['vocab_size', "):
        ModelConfig.from_json(TINY | {"n_heads": 3})


@pytest.mark.parametrize("name", TINY)
def test_a_missing_setting_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        ModelConfig.from_json({key: value for key, value in TINY.items() if key != name})


def test_only_encoders_are_not_causal() -> None:
    causal = [ModelConfig(**TINY | changes | {"family": family}).is_causal for family, changes in FAMILIES.items()]
    assert causal == [True, False, True]


def test_a_config_cannot_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModelConfig(**TINY).n_layer = 3  # type: ignore[misc]

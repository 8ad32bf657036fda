"""The descriptions that the page's tests read (tests/js/descriptions.json) are up to date."""

import json
import os
from pathlib import Path

import pytest

from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe

FIXTURES = Path(__file__).parent.parent / "js"
SIZE = {"vocab_size": 64, "n_layer": 2, "n_head": 2, "d_model": 8, "d_ff": 16, "max_seq_len": 32}
CONFIGS = {
    "decoder": ModelConfig(**SIZE),
    "encoder": ModelConfig(**SIZE, family="encoder-only", classes=("no", "yes"), norm_order="res-post"),
    "translator": ModelConfig(
        **SIZE, family="encoder-decoder", norm_order="post", position="sinusoidal", scale_embeddings=True
    ),
}


MECHANISMS = {
    mechanism: ModelConfig(**SIZE | {"n_layer": 1}, mechanism=mechanism, reach=4, rank=2)
    for mechanism in ("relative", "rotary", "aft-full", "aft-simple", "aft-conv", "wkv")
}


@pytest.mark.parametrize(("file", "configs"), [("descriptions.json", CONFIGS), ("mechanisms.json", MECHANISMS)])
def test_the_page_is_tested_against_what_models_say_now(file: str, configs: dict[str, ModelConfig]) -> None:
    """`CHUMOKU_WRITE_FIXTURES=1 pytest tests/model/test_description_fixture.py` rewrites them."""
    now = {
        name: {"config": config.to_json(), "description": describe(config).to_json()}
        for name, config in configs.items()
    }
    if os.environ.get("CHUMOKU_WRITE_FIXTURES"):
        (FIXTURES / file).write_text(json.dumps(now, indent=1) + "\n", "utf-8")
    assert json.loads((FIXTURES / file).read_text("utf-8")) == json.loads(json.dumps(now))

"""A warm start that gives dead FFN units a new beginning."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from chumoku.model import checkpoint, masks
from chumoku.model.block import FeedForward
from chumoku.model.training.command import command_line
from chumoku.model.training.prepare import prepare
from chumoku.model.training.train import Trainer
from chumoku.model.transformer import Transformer
from tests.training.helpers import assert_same_weights, tiny_preset, tiny_run, train

DEAD = {0: [1, 5], 1: []}


@pytest.fixture
def shipped(data: Path, tmp_path: Path) -> Path:
    """A model whose card calls two units of layer 0 dead; they never fire."""
    trained = train(tiny_preset(), tiny_run(tmp_path / "first", data, 20))
    with torch.no_grad():
        ffn_of(trained, 0).w_1.bias[DEAD[0]] = -1e3
    folder = tmp_path / "shipped"
    checkpoint.save(folder, trained, tmp_path / "first" / "tokenizer.tiktoken")
    layers = [
        {"path": f"layers.{layer}.ffn", "layer": layer, "n_dead": len(dead), "dead": dead, "stack": "main"}
        for layer, dead in DEAD.items()
    ]
    (folder / "card.json").write_text(json.dumps({"name": "tiny", "units": {"layers": layers}}))
    return folder


def ffn_of(model: Transformer, layer: int) -> FeedForward:
    ffn = model.get_submodule(f"layers.{layer}.ffn")
    assert isinstance(ffn, FeedForward)
    return ffn


def started(data: Path, folder: Path, shipped: Path, *, revive: bool) -> Trainer:
    run = tiny_run(folder, data, 20, warm_start=shipped, revive=revive)
    return Trainer(tiny_preset(), run, prepare(tiny_preset(), run.folder, run.data, run.warm_start))


def test_revived_units_change_nothing_at_first_and_then_learn(data: Path, tmp_path: Path, shipped: Path) -> None:
    trainer = started(data, tmp_path / "second", shipped, revive=True)
    before, model, ffn = checkpoint.load(shipped).model, trainer.averaged_model(), ffn_of(trainer.model, 0)
    tokens = torch.arange(20)[None]
    causal = masks.causal(20, 20)[None, None]
    with torch.no_grad():
        torch.testing.assert_close(model(tokens, causal), before(tokens, causal), rtol=0, atol=1e-5)
        normal = torch.randn(500, ffn.w_1.in_features)
        assert ((ffn.w_1(normal)[:, DEAD[0]] > 0).float().mean(0) > 0.2).all()
    assert trainer.revived == 2
    for _ in range(3):  # the rate begins at 0
        trainer.step()
    assert (ffn.w_2.weight[:, DEAD[0]] != 0).any(0).all()


def test_without_revival_dead_units_stay_dead(data: Path, tmp_path: Path, shipped: Path) -> None:
    trainer = started(data, tmp_path / "second", shipped, revive=False)
    assert_same_weights(trainer.model, checkpoint.load(shipped).model)
    before = ffn_of(trainer.model, 0).w_2.weight[:, DEAD[0]].sign()
    for _ in range(3):
        trainer.step()
    assert trainer.revived == 0
    assert torch.equal(ffn_of(trainer.model, 0).w_2.weight[:, DEAD[0]].sign(), before)


def test_only_a_warm_start_revives(data: Path, tmp_path: Path, shipped: Path) -> None:
    with pytest.raises(ValueError, match="only a warm start has dead units to revive"):
        tiny_run(tmp_path, data, revive=True)
    run = tiny_run(tmp_path, Path("d"), 9, warm_start=Path("zoo/one"), revive=True)
    assert command_line("stories-gpt", run, "float32").endswith("--warm-start zoo/one --revive")

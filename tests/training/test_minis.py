"""The presets `mini-…`: each differs from `mini-softmax` in one thing, and learns."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from chumoku.model import masks
from chumoku.model.checkpoint import ZOO
from chumoku.model.config import ModelConfig
from chumoku.model.mechanisms import MECHANISMS, fuse_attention, mixers
from chumoku.model.training.machine import PRECISIONS, products_in
from chumoku.model.training.prepare import prepare_tokenizer
from chumoku.model.training.presets import PRESETS, STORIES_GPT, difference
from chumoku.model.training.train import parameter_groups
from chumoku.model.transformer import build

SMALL = {"vocab_size": 20, "n_head": 2, "d_model": 16, "d_ff": 16, "max_seq_len": 12}
PLAIN = PRESETS["mini-softmax"]
ALONE = [{"norm_order"}, {"position"}, {"mechanism"}, {"n_head"}, {"causal_mask"}]
WITH_WHAT_IT_NEEDS = [{"mechanism", "position"}, {"position", "scale_embeddings"}]
MINIS = {name: preset for name, preset in PRESETS.items() if name.startswith("mini-")}


def test_each_differs_in_one_thing_and_what_that_needs() -> None:
    for name, preset in MINIS.items():
        ours, plain = asdict(preset.config), asdict(PLAIN.config)
        changed = {key for key in ours if ours[key] != plain[key]}
        assert difference(preset) == {key: ours[key] for key in changed}
        assert changed in ([set()] if preset is PLAIN else ALONE + WITH_WHAT_IT_NEEDS), name
        assert (preset.sources, preset.schedule) == (PLAIN.sources, PLAIN.schedule)


def test_other_presets_have_no_baseline() -> None:
    assert difference(STORIES_GPT) is None


def test_every_mechanism_has_one() -> None:
    assert {preset.config.mechanism for preset in MINIS.values()} == MECHANISMS.keys() - {"gated-mean", "hidden-mean"}


def test_they_share_the_stories_tokenizer(tmp_path: Path) -> None:
    tokenizer = prepare_tokenizer(PLAIN, tmp_path, Path("no data is needed"), None)
    assert tokenizer.vocab_size == PLAIN.config.vocab_size
    theirs = ZOO / "stories-gpt" / "tokenizer.tiktoken"
    assert (tmp_path / "tokenizer.tiktoken").read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_it_learns_a_sentence(mechanism: str) -> None:
    torch.manual_seed(0)
    model = build(ModelConfig(**SMALL, n_layer=1, mechanism=mechanism, reach=3, rank=2))
    fuse_attention(model, 12)
    ids, mask = torch.randint(20, (2, 12), generator=torch.Generator().manual_seed(1)), masks.causal(11, 11)[None, None]
    optimizer = torch.optim.AdamW(parameter_groups(model, 0.01), lr=0.02)
    losses = []
    for _ in range(60):
        logits = model(ids[:, :-1], mask)
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_it_trains_with_bfloat16_products(mechanism: str) -> None:
    """Sums of exponentials stay in float32, whatever the precision of the products before them."""
    torch.manual_seed(0)
    model = build(ModelConfig(**SMALL, n_layer=1, mechanism=mechanism, reach=3, rank=2))
    fuse_attention(model, 12)
    ids, mask = torch.randint(20, (2, 12)), masks.causal(11, 11)[None, None]
    losses = {}
    for precision in PRECISIONS:
        with products_in(precision, ids.device):
            logits = model(ids[:, :-1], mask)
        losses[precision] = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten())
        losses[precision].backward()
    assert losses["bfloat16"].item() == pytest.approx(losses["float32"].item(), rel=2**-7)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_weight_decay_spares_what_belongs_to_positions(mechanism: str) -> None:
    model = build(ModelConfig(**SMALL, n_layer=2, mechanism=mechanism))
    decayed, rest = (group["params"] for group in parameter_groups(model, 0.1))
    assert len(decayed) + len(rest) == len(list(model.parameters()))
    tables = {"table_k", "table_v", "bias_query", "bias_key", "kernel"}
    names = {id(p): name for name, p in model.named_parameters()}
    assert not {names[id(p)].rpartition(".")[2] for p in decayed} & tables
    spared = [p for mixer in mixers(model) for p in mixer.undecayed()]
    assert {id(p) for p in spared} <= {id(p) for p in rest}

"""A model that reads pictures, exported as a ViT and opened by transformers: the same numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForImageClassification

from chumoku.model import checkpoint
from chumoku.model.checkpoint import ZOO, Checkpoint
from chumoku.model.export.huggingface import export, megatron_bert, vit
from chumoku.model.pictures.examples import read_examples
from chumoku.model.pictures.picture import Picture
from chumoku.model.pictures.tokenizer import PatchTokenizer
from chumoku.model.trace import Trace, trace
from tests.model.helpers import tiny_model

PICTURE = Picture(size=6, patch=2, levels=5)


def traced(loaded: Checkpoint, rows: list[list[int]]) -> Trace:
    assert loaded.config.picture is not None
    return trace(loaded, loaded.config.picture.ids(rows))


def test_a_random_model_has_the_same_logits_and_weights_in_float64() -> None:
    changes = {"vocab_size": 628, "max_seq_len": 10, "family": "encoder-only", "classes": ("a", "b", "c")}
    ours = Checkpoint("tiny", tiny_model(picture=PICTURE, **changes), PatchTokenizer(PICTURE), {})
    assert vit.suits(ours.config)
    assert not megatron_bert.suits(ours.config)
    theirs = vit.build(ours.model, ours.tokenizer.special).eval().double()
    ours.model.double()
    rows = torch.randint(0, 5, (6, 6), generator=torch.Generator().manual_seed(1))
    run = traced(ours, rows.tolist())
    pixels = rows.double()[None, None] / 4
    with torch.no_grad():
        torch.testing.assert_close(theirs(pixels).logits[0], run.tensors["logits"], rtol=0, atol=1e-9)
        theirs.set_attn_implementation("eager")  # whose softmax is in float32
        patterns = theirs(pixels, output_attentions=True).attentions
    for layer, pattern in enumerate(patterns):
        torch.testing.assert_close(pattern[0], run.tensors[f"layers.{layer}.attn.pattern"], rtol=0, atol=1e-6)


def test_the_zoo_s_model_reopened_reads_the_same_digits(tmp_path: Path) -> None:
    ours = checkpoint.load(ZOO / "digits-vit")
    assert ours.config.picture is not None
    made = export(ours, tmp_path / "vit")
    assert (made.architecture, made.opened_by) == ("ViTForImageClassification", "AutoModelForImageClassification")
    assert "pixels[None, None] / 16" in (made.folder / "README.md").read_text()
    theirs = AutoModelForImageClassification.from_pretrained(made.folder, local_files_only=True).eval()
    for one in read_examples(ZOO / "digits-vit", ours.config.picture, 10)[:20]:
        expected = traced(ours, one.pixels).tensors["logits"]
        with torch.no_grad():
            found = theirs(torch.tensor(one.pixels)[None, None] / 16).logits[0]
        assert (found - expected).abs().max() <= 1e-5 * expected.abs().max()
        assert theirs.config.id2label[int(found.argmax())] == ours.config.classes[int(expected.argmax())]


def test_a_model_of_pictures_that_is_no_vit_has_no_counterpart(tmp_path: Path) -> None:
    changes = {"vocab_size": 628, "max_seq_len": 10, "family": "encoder-only", "classes": ("a", "b", "c")}
    model = tiny_model(picture=PICTURE, norm_order="post", **changes)
    with pytest.raises(ValueError, match="no counterpart"):
        export(Checkpoint("tiny", model, PatchTokenizer(PICTURE), {}), tmp_path / "none")

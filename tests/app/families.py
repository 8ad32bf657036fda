"""Three random models, one of each family, over bytes: no test depends on what a trained model says."""

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

from chumoku.app.services import library
from chumoku.app.services.library import Library
from chumoku.model import checkpoint
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.config import Family
from chumoku.model.tokenizer import from_ranks
from chumoku.model.traceable import ZooModel
from tests.model.helpers import BYTES, tiny_checkpoint

LANGUAGES = {"gpt": ["en"], "classifier": ["en"], "translator": ["en", "ja"]}
SOURCE, TARGET = "I like cats.", "猫が好き。"


def tiny(name: str, family: Family, **changes: Any) -> Checkpoint:
    made = tiny_checkpoint(family, max_seq_len=64, **changes)
    return replace(made, name=name, card={"languages": LANGUAGES[name]})


def trio() -> Library:
    """`gpt`, `classifier` (whose text form is treebank) and `translator`; `gpt` is the default."""
    classifier = tiny("classifier", "encoder-only", text_form="treebank")
    ranks = {bytes([byte]): byte for byte in range(BYTES)}
    classifier = replace(classifier, tokenizer=from_ranks(ranks, "treebank bytes", "encoder-only", "treebank"))
    models = [tiny("gpt", "decoder-only"), classifier, tiny("translator", "encoder-decoder")]
    return library.of([ZooModel(model) for model in models], "gpt")


def opened(models: Library, name: str) -> Checkpoint:
    """The modules of a model of ours."""
    with models.use(models.find(name)) as traceable:
        assert traceable.checkpoint is not None
        return traceable.checkpoint


def save(folder: Path, made: Checkpoint) -> Path:
    """The model on disk, as `chumoku` commands read it."""
    ranks = folder / "bytes.tiktoken"
    folder.mkdir(parents=True, exist_ok=True)
    ranks.write_bytes(b"\n".join(b"%b %d" % (base64.b64encode(bytes([i])), i) for i in range(BYTES)))
    checkpoint.save(folder / made.name, made.model, ranks)
    return folder / made.name

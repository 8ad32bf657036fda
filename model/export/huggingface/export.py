"""Writes a model of ours as a folder that Hugging Face's `from_pretrained` opens."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from safetensors import SafetensorError
from transformers import GenerationConfig, PreTrainedModel

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.export.huggingface import gpt2, gpt_neox, marian, megatron_bert, vit
from chumoku.model.export.huggingface.tokenizer import fast_tokenizer
from chumoku.model.files import SCRATCH

FORMS: tuple[ModuleType, ...] = (gpt2, gpt_neox, marian, megatron_bert, vit)
"""Each has `suits(config)`, `build(model, special)` and `OPENED_BY`. A new one is a file and an entry here."""


@dataclass(frozen=True)
class Exported:
    folder: Path
    architecture: str
    opened_by: str


def export(loaded: Checkpoint, folder: Path) -> Exported:
    """Write model, tokenizer and generation settings to `folder`, in float32, all or nothing.

    Raises `ValueError` for a model without a counterpart, and if `folder` is one of our models; `OSError` on a full
    disk.
    """
    form = next((found for found in FORMS if found.suits(loaded.config)), None)
    if form is None:
        raise ValueError(f"{loaded.name} has no counterpart in transformers: {kind_of(loaded)}")
    if (folder / "card.json").exists():
        raise ValueError(
            f"{folder} holds a model of Chumoku, whose config.json would be overwritten: name another folder"
        )
    theirs = form.build(loaded.model, loaded.tokenizer.special)
    if theirs.can_generate():
        theirs.generation_config = how_to_generate(theirs, loaded)
    architecture = type(theirs).__name__
    with all_or_nothing(folder) as scratch:
        theirs.save_pretrained(scratch)
        if loaded.config.picture is None:
            fast_tokenizer(loaded.tokenizer, loaded.config.max_seq_len).save_pretrained(scratch)
        else:
            vit.processor(loaded.config.picture).save_pretrained(scratch)
        (scratch / "README.md").write_text(about(loaded, architecture, form.OPENED_BY), encoding="utf-8")
    return Exported(folder, architecture, form.OPENED_BY)


@contextmanager
def all_or_nothing(folder: Path) -> Iterator[Path]:
    """A folder to write into, whose files are moved to `folder` at the end. If the disk is full, nothing is left, and
    `OSError` says so in one sentence."""
    made = next((each for each in (*reversed(folder.parents), folder) if not each.exists()), None)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with TemporaryDirectory(dir=folder, prefix=SCRATCH) as scratch:
            yield Path(scratch)
            for file in sorted(Path(scratch).iterdir()):
                os.replace(file, folder / file.name)
    except BaseException as error:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        if isinstance(error, OSError | SafetensorError):
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise OSError(f"{folder}: nothing was written: {reason}") from None
        raise


def how_to_generate(theirs: PreTrainedModel, loaded: Checkpoint) -> GenerationConfig:
    """Generate up to the window (transformers' default is 20 tokens), no special token but END, and no forced END."""
    special = loaded.tokenizer.special
    return GenerationConfig(
        max_length=loaded.config.max_seq_len,
        suppress_tokens=loaded.tokenizer.never_sampled,
        bos_token_id=theirs.config.bos_token_id,
        eos_token_id=special.end,
        pad_token_id=special.pad,
        decoder_start_token_id=special.first,
        forced_eos_token_id=None,
        do_sample=False,
        num_beams=1,
    )


def kind_of(loaded: Checkpoint) -> str:
    """A description of the model, for the error if transformers has no counterpart."""
    config = loaded.config
    mask = "" if config.is_causal or config.family == "encoder-only" else ", no causal mask"
    fills = ", fill-mask" if config.family == "encoder-only" and not config.classes else ""
    attention = f"{config.mechanism} attention, {config.position} positions"
    return f"{config.family}, {attention}, norm order {config.norm_order}{mask}{fills}"


def about(loaded: Checkpoint, architecture: str, opened_by: str) -> str:
    """The folder's README: what the model is, how to open it, and what it was trained on."""
    data = "\n".join(f"- {dataset['what']} ({dataset['licence']})" for dataset in loaded.card.get("data", []))
    learned = f"\nIt was trained on:\n\n{data}\n" if data else ""
    return f"""# {loaded.name}

A model of Chumoku as `{architecture}`. The weights are those of Chumoku, in float32.

```python
{how_to_open(loaded, opened_by)}
```
{learned}"""


def how_to_open(loaded: Checkpoint, opened_by: str) -> str:
    opened, picture = f'{opened_by}.from_pretrained("{loaded.name}")', loaded.config.picture
    if picture is not None:  # it has no tokenizer, and its image processor would only divide
        size, most = picture.size, picture.levels - 1
        return f"""import torch
from transformers import {opened_by}

model = {opened}
pixels = torch.zeros({size}, {size})  # rows of a picture, from 0 to {most}
logits = model(pixels[None, None] / {most}).logits"""
    return f"""from transformers import {opened_by}, AutoTokenizer

model = {opened}
tokenizer = AutoTokenizer.from_pretrained("{loaded.name}")"""

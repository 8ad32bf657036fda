"""Builds the tokenizer and the task from the data, before the first step."""

from __future__ import annotations

from pathlib import Path

from chumoku.model import tokenizer as tokenizers
from chumoku.model.checkpoint import ZOO
from chumoku.model.config import ModelConfig
from chumoku.model.files import write_whole
from chumoku.model.pictures.tokenizer import PatchTokenizer
from chumoku.model.special_tokens import special_names
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.training import bpe
from chumoku.model.training.classification import Classification
from chumoku.model.training.language_modelling import LanguageModelling
from chumoku.model.training.masked_lm import MaskedLM
from chumoku.model.training.pictures import Pictures
from chumoku.model.training.presets import Preset
from chumoku.model.training.task import Task
from chumoku.model.training.translation import Translation

TASKS: dict[str, type[Task]] = {
    "decoder-only": LanguageModelling,
    "encoder-decoder": Translation,
    "encoder-only": Classification,
}


def task_of(config: ModelConfig) -> type[Task]:
    """The task of a model: pictures; masked language modelling for an encoder without classes; otherwise by its
    family."""
    if config.picture is not None:
        return Pictures
    return MaskedLM if config.family == "encoder-only" and not config.classes else TASKS[config.family]


def prepare(preset: Preset, folder: Path, data: Path, warm_start: Path | None = None) -> Task:
    """The preset's task on the files in `data`, with the tokenizer of the run in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    return task_of(preset.config)(preset, data, prepare_tokenizer(preset, folder, data, warm_start))


def prepare_tokenizer(preset: Preset, folder: Path, data: Path, warm_start: Path | None) -> Tokenizer:
    """The run's tokenizer: the one that the run already has, that of another model, or one learned from the data."""
    config, ranks_file = preset.config, folder / "tokenizer.tiktoken"
    if config.picture is not None:
        return PatchTokenizer(config.picture)
    if not ranks_file.exists():
        taken = ZOO / preset.tokenizer if warm_start is None and preset.tokenizer else warm_start
        if taken is not None:
            write_whole(ranks_file, (taken / "tokenizer.tiktoken").read_bytes())
        else:
            n_ranks = config.vocab_size - len(special_names(config.family, config.mask_token))
            bpe.save_ranks(bpe.learn_ranks(task_of(config).texts(preset, data), n_ranks), ranks_file)
    tokenizer = tokenizers.load(ranks_file, config.family, config.text_form, config.mask_token)
    if tokenizer.vocab_size != config.vocab_size:
        raise ValueError(
            f"{ranks_file} has {tokenizer.vocab_size} ids, {preset.name} needs {config.vocab_size}: "
            "too little text to learn them from?"
        )
    return tokenizer

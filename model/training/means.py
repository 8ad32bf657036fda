"""Writes a zoo model's `means.safetensors`: what its parts write on average, over windows of its corpus.

    python -m chumoku.model.training.means MODEL_FOLDER CORPUS_FILE [--n 512] [--seed 0]

The corpus: documents separated by lines of <|endoftext|>; a .tsv of sentences, or of pairs for a translator. A model of
pictures takes those in its own folder.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor

from chumoku.model import checkpoint
from chumoku.model.files import write_whole
from chumoku.model.means import FILE, means_over, tapped
from chumoku.model.run import Run
from chumoku.model.traceable import ZooModel
from chumoku.model.traceable.zoo import pictures_in

POSITIONS = 32


def runs_of(model: ZooModel, folder: Path, corpus: Path | None, chance: random.Random) -> Iterator[Run]:
    """Runs over windows from random places, without end; over all pictures of a folder, once."""
    config = model.checkpoint.config
    if config.picture is not None:
        for example in pictures_in(folder, config):
            yield Run(config.picture.ids(example.pixels))
        return
    assert corpus is not None
    text = corpus.read_text(encoding="utf-8")
    if corpus.suffix == ".tsv":
        rows = [line.split("\t") for line in text.splitlines()[1:] if "\t" in line]
        while True:
            source, other = chance.choice(rows)[:2]
            target = model.tokenizer.encode_target(other) if model.description.writes == "target" else None
            yield Run(model.tokenizer.encode(source), target)
    documents = [one.strip() for one in text.split("<|endoftext|>")]
    while True:
        document = chance.choice(documents)
        words = document[chance.randrange(max(1, len(document) - 400)) :][:400].split(" ", 1)[-1]
        ids = model.tokenizer.encode(words)
        if len(ids) >= POSITIONS:
            yield Run(ids[:POSITIONS])


def write(folder: Path, corpus: Path | None, n: int, seed: int) -> None:
    model = ZooModel(checkpoint.load(folder))
    taps = tapped(model.description)
    axes = {tap: model.description.taps[tap].dims.split().index("position") for tap in taps}
    windows: list[Mapping[str, Tensor]] = []
    with torch.inference_mode():
        for run in runs_of(model, folder, corpus, random.Random(seed)):
            windows.append(model.trace(run, taps).tensors)
            if len(windows) == n:
                break
    means = means_over(windows, axes, POSITIONS)
    positions = max(mean.shape[axes[tap]] for tap, mean in means.items())
    on = "pictures of its own folder" if corpus is None else corpus.name
    about = {"n": len(windows), "positions": positions, "on": on, "seed": seed}
    write_whole(folder / FILE, save(means, {"chumoku": json.dumps(about)}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--n", type=int, default=512)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    write(given.folder, given.corpus, given.n, given.seed)

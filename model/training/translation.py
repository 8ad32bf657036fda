"""Translation: pairs of sentences; the target is predicted token by token, given the source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.training.bpe import BpeDropout
from chumoku.model.training.check_lists import check_lists
from chumoku.model.training.data import is_held_out, spread
from chumoku.model.training.length_buckets import LengthBuckets, pad_rows
from chumoku.model.training.presets import Preset
from chumoku.model.training.task import Batch, Unseen
from chumoku.model.transformer import Transformer

Pair = tuple[str, str]

PROBES = (
    "I ate a banana in the morning.", "Good morning.", "What time is it now?", "I like cats.", "She is reading a book.",
    "It is raining today.", "Where is the station?", "He went to school by bus.", "I don't know what to do.",
    "Please open the window.", "My father is a doctor.", "Do you speak English?", "I have two brothers.",
    "She drank a cup of coffee.", "We played tennis after school.", "This book is very interesting.",
    "Can you help me?", "I want to go to Japan.", "The cat is sleeping on the sofa.", "Thank you very much.",
)  # fmt: skip
PROBES_BACK = (
    "朝、バナナを食べました。", "おはようございます。", "今、何時ですか。", "私は猫が好きです。",
    "彼女は本を読んでいます。", "今日は雨が降っています。", "駅はどこですか。", "彼はバスで学校に行きました。",
    "窓を開けてください。", "父は医者です。",
)  # fmt: skip


def read_pairs(path: Path) -> list[Pair]:
    """`source<TAB>target[<TAB>…]` lines, blank ones skipped. Raises `ValueError` naming the first invalid line."""
    pairs = []
    for n, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), start=1):
        if not line.strip():
            continue
        source, tab, rest = line.rstrip("\r").partition("\t")
        if not tab:
            raise ValueError(f"{path}, line {n}: no tab between source and target")
        if not source.strip() or not rest.partition("\t")[0].strip():
            raise ValueError(f"{path}, line {n}: a source and a target, and one of them is empty")
        pairs.append((source, rest.partition("\t")[0]))
    return pairs


def bare(sentence: str) -> str:
    """A key without case, punctuation and spaces: sentences with the same key count as equal."""
    return re.sub(r"[\W_]+", "", sentence.lower())


def split_pairs(pairs: Sequence[Pair], fraction: float) -> tuple[list[Pair], list[Pair]]:
    """Training and held-out pairs, split by the hash of the source, so all translations of a sentence are on one side.
    A pair whose target is also the target of a held-out pair is dropped from training."""
    held_out = [pair for pair in pairs if is_held_out(bare(pair[0]), fraction)]
    seen = {bare(target) for _, target in held_out}
    train = [pair for pair in pairs if not is_held_out(bare(pair[0]), fraction) and bare(pair[1]) not in seen]
    return train, held_out


def split_sources(preset: Preset, data: Path) -> tuple[list[list[Pair]], list[Pair]]:
    """The training pairs of each file, and the held-out pairs of the preset's `validate_on`. A sentence that is held
    out of any file, in either language, is not trained on in any other."""
    every = [(read_pairs(source.path(data)), source) for source in preset.sources]
    held_out = {source.file: split_pairs(pairs, source.held_out)[1] for pairs, source in every}
    unseen = {bare(text) for found in held_out.values() for pair in found for text in pair}
    train = [[pair for pair in pairs if unseen.isdisjoint(map(bare, pair))] for pairs, _ in every]
    return train, held_out[preset.validate_on]


class Translation:
    """The task of an encoder-decoder (`Task`)."""

    metric: ClassVar[str] = "nats_per_token"
    learned_from: ClassVar[str] = "the training sentences of both languages"

    def __init__(self, preset: Preset, data: Path, tokenizer: Tokenizer) -> None:
        self.preset, self.tokenizer = preset, tokenizer
        found, self.held_out = split_sources(preset, data)
        fitting = [self.fitting(pairs) for pairs in in_direction(preset, found)]
        self.texts_of_train = [pair for texts, _ in fitting for pair in texts]
        self.train = [pair for _, ids in fitting for pair in ids]
        _, self.judged = self.fitting(self.held_out)
        self.dropout = BpeDropout(tokenizer, preset.bpe_dropout) if preset.bpe_dropout else None
        if not self.train or not self.judged:
            raise ValueError(
                f"{', '.join(source.file for source in preset.sources)} has {len(self.train)} pairs to train on and "
                f"{len(self.judged)} to hold out"
            )
        # Sorted by the length of the target, which costs more than the source; the source's length breaks ties.
        limit = preset.config.max_seq_len
        shares = [source.weight / max(1, len(ids)) for (_, ids), source in zip(fitting, preset.sources, strict=True)]
        weights = [share for (_, ids), share in zip(fitting, shares, strict=True) for _ in ids]
        lengths = [len(t) + len(s) / limit for s, t in self.train]
        self.buckets = LengthBuckets(lengths, preset.batch_size, weights if len(fitting) > 1 else None)

    @staticmethod
    def texts(preset: Preset, data: Path) -> Iterator[str]:
        """The training sentences of both languages."""
        for pairs in split_sources(preset, data)[0]:
            for pair in pairs:
                yield from pair

    @staticmethod
    def unseen(preset: Preset, data: Path, tokenizer: Tokenizer, most: int) -> Unseen:
        """Held-out pairs: the target as the decoder reads it, after START and without END."""
        held_out = split_sources(preset, data)[1]
        limit, chosen = preset.config.max_seq_len, spread(held_out, most)
        return Unseen(
            [(tokenizer.encode(s)[:limit], tokenizer.encode(t)[: limit - 1]) for s, t in chosen],
            f"{len(chosen)} of the {len(held_out)} pairs of {preset.validate_on} whose sentences it never saw "
            "(chosen by the source's hash)",
        )

    def encode(self, pair: Pair, tokenizer: Tokenizer | None = None) -> tuple[list[int], list[int]]:
        """Source ids, and target ids with END."""
        source, target = pair
        tokenizer = tokenizer or self.tokenizer
        return tokenizer.encode(source), [*tokenizer.encode(target), tokenizer.end_id]

    def fits(self, ids: tuple[list[int], list[int]]) -> bool:
        return max(map(len, ids)) <= self.preset.config.max_seq_len

    def fitting(self, pairs: Sequence[Pair]) -> tuple[list[Pair], list[tuple[list[int], list[int]]]]:
        """The pairs that fit into the window, as texts and as ids."""
        found = [(pair, ids) for pair in pairs if self.fits(ids := self.encode(pair))]
        return [pair for pair, _ in found], [ids for _, ids in found]

    def batch(self, rng: np.random.Generator) -> Batch:
        chosen = self.buckets.draw(rng)
        if self.dropout is None:
            return self.collate([self.train[i] for i in chosen])
        tokenizer = self.dropout.draw(rng)
        other = {i: self.encode(self.texts_of_train[i], tokenizer) for i in chosen}  # longer, with fewer merges
        return self.collate([other[i] if self.fits(other[i]) else self.train[i] for i in chosen])

    def collate(self, pairs: Sequence[tuple[list[int], list[int]]]) -> Batch:
        """Source [batch key], decoder inputs START y_1 … y_n [batch query], targets y_1 … y_n END [batch query]."""
        pad, start = self.tokenizer.pad_id, self.tokenizer.first_id
        source = pad_rows([s for s, _ in pairs], pad)
        inputs = pad_rows([[start, *t[:-1]] for _, t in pairs], pad)
        return Batch((source, inputs), pad_rows([t for _, t in pairs], -1))

    def forward(self, model: Transformer, batch: Batch) -> Tensor:
        source, target = batch.inputs
        source_pad, target_pad = source == self.tokenizer.pad_id, target == self.tokenizer.pad_id
        return model(
            source, target, masks.encoder_mask(source_pad), masks.decoder_mask(target_pad),
            masks.cross_mask(source_pad, target.shape[1]),
        )  # fmt: skip

    @torch.inference_mode()
    def validate(self, model: Transformer) -> float:
        """Mean −ln p of the held-out target tokens in nats, END included, without label smoothing."""
        pairs = sorted(self.judged, key=lambda pair: len(pair[1]))
        device, nats, n = next(model.parameters()).device, 0.0, 0
        for first in range(0, len(pairs), 64):
            batch = self.collate(pairs[first : first + 64]).to(device)
            logits = self.forward(model, batch).float()
            targets = batch.targets
            nats += float(F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1, reduction="sum"))
            n += batch.n_targets
        return nats / n

    def evaluation(self, loaded: Checkpoint) -> dict[str, Any]:
        pairs = self.fitting([pair for pair in self.held_out if 4 <= len(pair[0].split()) <= 14])[0]
        back = [(target, source) for source, target in pairs] if self.preset.both_directions else []
        return {
            "on": f"{len(pairs)} pairs of 4 to 14 words whose sentences it never saw (chosen by the source's hash)",
            "bleu_counts": "characters, not words",
            "nats_per_token": round(self.validate(loaded.model), 4),
            **scores(loaded, pairs),
            **({"back": scores(loaded, back)} if back else {}),
            **({"typed": check_lists(loaded)} if any(source.reads == "own" for source in self.preset.sources) else {}),
        }

    def samples(self, loaded: Checkpoint) -> list[dict[str, Any]]:
        from chumoku.model.translate import translate

        probes = [*PROBES, *(PROBES_BACK if self.preset.both_directions else ())]
        return [
            {"source": text, "beam_4": translate(loaded, text, beams=4)[0].text(loaded.tokenizer)} for text in probes
        ]


def both_ways(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs, and each of them reversed. They need no tag: the language of the source shows the direction."""
    return [*pairs, *((target, source) for source, target in pairs)]


def in_direction(preset: Preset, found: Sequence[list[Pair]]) -> Iterator[list[Pair]]:
    """The pairs of each source of the preset, both ways if it learns both. What one of the project's lists translates,
    the lists after it do not."""
    listed: set[str] = set()
    for source, pairs in zip(preset.sources, found, strict=True):
        directed = both_ways(pairs) if preset.both_directions else pairs
        if source.reads == "own":
            directed = [pair for pair in directed if pair[0] not in listed]
            listed |= {text for text, _ in directed}
        yield directed


def scores(loaded: Checkpoint, pairs: Sequence[Pair]) -> dict[str, Any]:
    """chrF and BLEU (0 to 100) of the translations of the sources, by greedy decoding and with 4 beams; {} without
    pairs."""
    from chumoku.model.evaluate_translation import chrf_and_bleu

    return {name: chrf_and_bleu(loaded, pairs, beams=n) for name, n in (("greedy", 1), ("beam_4", 4)) if pairs}

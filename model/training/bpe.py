"""Learn a byte-level BPE (Sennrich et al. 2016) with Hugging Face `tokenizers`, and store it as tiktoken ranks.

BPE-dropout (Provilkov et al. 2020): during training, a text is split differently each time, so that the model also
learns what the parts of a word mean. It helps most when there is little text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import tiktoken
from tokenizers import Regex, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Learner

from chumoku.model.files import write_whole
from chumoku.model.tokenizer import SPLIT, Tokenizer


def learn_ranks(texts: Iterable[str], n_ranks: int) -> dict[bytes, int]:
    """Byte strings → ranks 0 … n_ranks−1: the 256 bytes, then the merges in the order in which they were learned."""
    learner = Learner(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=n_ranks, initial_alphabet=alphabet, show_progress=False)
    learner.train_from_iterator(texts, trainer)

    vocab: dict[str, int] = json.loads(learner.to_str())["model"]["vocab"]
    to_byte = byte_of_symbol()
    by_rank = sorted(vocab, key=lambda symbols: vocab[symbols])
    # tiktoken only requires that a merge comes after its parts, which the learning order guarantees.
    return {bytes(to_byte[s] for s in symbols): rank for rank, symbols in enumerate(by_rank)}


def byte_of_symbol() -> dict[str, int]:
    """GPT-2's table of a printable stand-in for each byte, reversed."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(256 + n): b for n, b in enumerate(others)}


def save_ranks(ranks: dict[bytes, int], path: Path) -> None:
    """Write tiktoken's format: one `base64 rank` per line."""
    lines = (f"{base64.b64encode(piece).decode()} {rank}\n" for piece, rank in ranks.items())
    write_whole(path, "".join(lines).encode())


class BpeDropout:
    """Draws tokenizers that lack a random `share` of the merges and have the ids of `tokenizer`.

    The paper drops merges for each word separately. Here they are dropped for a whole batch, so that tiktoken can split
    it; equal words in a batch are split alike.
    """

    def __init__(self, tokenizer: Tokenizer, share: float) -> None:
        n_ranks = tokenizer.vocab_size - len(tokenizer.special_ids)
        self.tokenizer, self.share = tokenizer, share
        self.pieces = [tokenizer.token_bytes(rank) for rank in range(n_ranks)]
        self.always = np.array([len(piece.decode(errors="replace")) == 1 for piece in self.pieces])

    def draw(self, rng: np.random.Generator) -> Tokenizer:
        """A tokenizer that keeps all single bytes, so that it can split every text, and all whole characters."""
        kept = self.always | (rng.random(len(self.pieces)) >= self.share)
        ranks = {piece: rank for rank, piece in enumerate(self.pieces) if kept[rank]}
        encoding = tiktoken.Encoding(
            "chumoku-dropout", pat_str=SPLIT, mergeable_ranks=ranks, special_tokens=self.tokenizer.special_ids
        )
        return Tokenizer(encoding, self.tokenizer.text_form)

"""BPE-dropout (Provilkov et al. 2020): while a model trains, a text is split in another way each time, so that it also
learns what the parts of a word mean. It helps most where there is little text."""

from __future__ import annotations

import numpy as np
import tiktoken

from chumoku.model.tokenizer import SPLIT, Tokenizer


class BpeDropout:
    """Draws tokenizers that lack a random `share` of the merges; the ids are those of `tokenizer`.

    The paper drops each merge of each word by itself. Here it is dropped for a whole batch, so that tiktoken can split
    it: what differs is that the same words of a batch are split alike.
    """

    def __init__(self, tokenizer: Tokenizer, share: float) -> None:
        n_ranks = tokenizer.vocab_size - len(tokenizer.special_ids)
        self.tokenizer, self.share = tokenizer, share
        self.pieces = [tokenizer.token_bytes(rank) for rank in range(n_ranks)]
        self.always = np.array([len(piece.decode(errors="replace")) == 1 for piece in self.pieces])

    def draw(self, rng: np.random.Generator) -> Tokenizer:
        """Whole characters and single bytes are always there: every text can be split, and no character is for that."""
        kept = self.always | (rng.random(len(self.pieces)) >= self.share)
        ranks = {piece: rank for rank, piece in enumerate(self.pieces) if kept[rank]}
        encoding = tiktoken.Encoding(
            "chumoku-dropout", pat_str=SPLIT, mergeable_ranks=ranks, special_tokens=self.tokenizer.special_ids
        )
        return Tokenizer(encoding, self.tokenizer.text_form)

"""Places of patches as tokens: what a model reads whose patches cannot be counted."""

from __future__ import annotations

from chumoku.model.pictures.photo import Photo
from chumoku.model.special_tokens import CLS, Special
from chumoku.model.tokenizer import Token


class PlaceTokenizer:
    """Each patch of a picture is spelt by its row and column; [CLS] comes first. Text cannot be read."""

    def __init__(self, photo: Photo) -> None:
        self.photo = photo

    @property
    def vocab_size(self) -> int:
        return self.photo.n_ids + 1

    @property
    def special(self) -> Special:
        return Special(first=self.photo.n_ids)

    @property
    def never_sampled(self) -> list[int]:
        return self.special.never_sampled

    def encode(self, text: str) -> list[int]:
        raise ValueError("this model reads pictures, not text")

    def encode_target(self, text: str) -> list[int]:
        return self.encode(text)

    def covers(self, text: str) -> None:
        """It reads no text."""

    def spelt(self, token_id: int) -> str:
        """ "2,5", or [CLS]. Raises `ValueError` for an unknown id."""
        if not 0 <= token_id < self.vocab_size:
            raise ValueError(f"token id {token_id} is not in the vocabulary: ids run from 0 to {self.vocab_size - 1}")
        row, column = divmod(token_id, self.photo.across)
        return CLS if token_id == self.special.first else f"{row},{column}"

    def token_bytes(self, token_id: int) -> bytes:
        return self.spelt(token_id).encode()

    def tokens(self, ids: list[int]) -> list[Token]:
        """Each with its place in the text that the patches spell one after the other."""
        found, at = list[Token](), 0
        for index, token_id in enumerate(ids):
            text, special = self.spelt(token_id), token_id == self.special.first
            end = at if special else at + len(text)
            found.append(Token(index, token_id, text.encode(), text, at, end, False, special))
            at = end
        return found

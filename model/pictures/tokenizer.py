"""Patches as tokens: spelt by their pixels, or by their places if there are too many possible patches."""

from __future__ import annotations

from chumoku.model.pictures.picture import DIGITS, Photo, Picture
from chumoku.model.special_tokens import CLS, END, PAD, Special, special_names
from chumoku.model.tokenizer import Token, Tokenizer


class PatchTokenizer(Tokenizer):
    """A patch is spelt by its pixels, one character each. Text cannot be encoded."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        names = special_names("encoder-only")
        self.special_ids = {name: picture.n_ids + n for n, name in enumerate(names)}
        self.end_id, self.pad_id, self.first_id = (self.special_ids[name] for name in (END, PAD, CLS))
        self.mask_id = None
        self._names = {token_id: name for name, token_id in self.special_ids.items()}

    @property
    def vocab_size(self) -> int:
        return self.picture.n_ids + len(self.special_ids)

    def encode(self, text: str) -> list[int]:
        raise ValueError("this model reads pictures, not text")

    def spelt(self, token_id: int) -> str:
        """A patch's pixels as characters (0 to 9, then letters), or a special token's name."""
        if not 0 <= token_id < self.vocab_size:
            raise ValueError(f"token id {token_id} is not in the vocabulary: ids run from 0 to {self.vocab_size - 1}")
        return self._names.get(token_id) or "".join(DIGITS[x] for x in self.picture.patch_of(token_id))

    def decode(self, ids: list[int]) -> str:
        return "".join(self.spelt(i) for i in ids)

    def token_bytes(self, token_id: int) -> bytes:
        return self.spelt(token_id).encode()

    def tokens(self, ids: list[int]) -> list[Token]:
        """Each token with its offsets in the text that the patches spell; special tokens are between characters."""
        found, at = list[Token](), 0
        for index, token_id in enumerate(ids):
            text, special = self.spelt(token_id), token_id in self._names
            end = at if special else at + len(text)
            found.append(Token(index, token_id, text.encode(), text, at, end, False, special))
            at = end
        return found


class PlaceTokenizer:
    """A patch is spelt by its row and column; [CLS] and other tokens come first. Text cannot be encoded."""

    def __init__(self, photo: Photo) -> None:
        self.photo = photo

    @property
    def vocab_size(self) -> int:
        return self.photo.n_ids + len(self.photo.before)

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
        """None: it reads no text."""

    def spelt(self, token_id: int) -> str:
        """ "2,5", or [CLS]. Raises `ValueError` for an unknown id."""
        if not 0 <= token_id < self.vocab_size:
            raise ValueError(f"token id {token_id} is not in the vocabulary: ids run from 0 to {self.vocab_size - 1}")
        row, column = divmod(token_id, self.photo.across)
        is_patch = token_id < self.photo.n_ids
        return f"{row},{column}" if is_patch else self.photo.before[token_id - self.photo.n_ids]

    def token_bytes(self, token_id: int) -> bytes:
        return self.spelt(token_id).encode()

    def tokens(self, ids: list[int]) -> list[Token]:
        """Each token with its offsets in the text that the patches spell."""
        found, at = list[Token](), 0
        for index, token_id in enumerate(ids):
            text, special = self.spelt(token_id), token_id >= self.photo.n_ids
            end = at if special else at + len(text)
            found.append(Token(index, token_id, text.encode(), text, at, end, False, special))
            at = end
        return found

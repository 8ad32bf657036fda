"""A picture as a sentence: its square patches are the tokens, as in a ViT (Dosovitskiy et al. 2021).

With few levels of grey every possible patch has an id: the pixels of a patch are the digits of its id in base `levels`.
So a picture is a list of token ids like any text, and only the embedding differs: a matrix times the pixels instead of
a row of a table. A photograph has too many possible patches to count: with 16 × 16 pixels in three colours, 256^768.
There the id of a patch is its place, row by row, and the bytes of the picture travel beside the ids (`Run.pixels`).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self


@dataclass(frozen=True)
class Squares:
    """Square pictures of `size` × `size` pixels, split into patches of `patch` × `patch`. Raises `ValueError` for
    numbers that do not fit."""

    size: int
    patch: int

    def __post_init__(self) -> None:
        if not 1 <= self.patch <= self.size <= 1024:
            raise ValueError(f"a picture has 1 to 1024 pixels a side, got {self.size} and patches of {self.patch}")
        if self.size % self.patch:
            raise ValueError(f"a picture's size is a multiple of its patch, got {self.size} and {self.patch}")

    @property
    def across(self) -> int:
        """Patches in a row of patches."""
        return self.size // self.patch

    @property
    def n_patches(self) -> int:
        return self.across**2


DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""The character that spells each level of a pixel."""


@dataclass(frozen=True)
class Picture(Squares):
    """A grey picture with few levels: a pixel is a whole number from 0 to `levels` − 1."""

    levels: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.levels <= len(DIGITS):
            raise ValueError(f"a picture has 2 to {len(DIGITS)} levels of grey, got {self.levels}")

    @classmethod
    def from_json(cls, data: object) -> Self:
        names = [column.name for column in fields(cls)]
        if not isinstance(data, dict) or {*data} != {*names} or any(type(x) is not int for x in data.values()):
            raise ValueError(f"picture must be an object of whole numbers {', '.join(names)}, got {str(data)[:60]}")
        return cls(**data)

    @property
    def n_pixels(self) -> int:
        """Pixels of a patch."""
        return self.patch**2

    @property
    def n_ids(self) -> int:
        """The number of possible patches."""
        return int(self.levels**self.n_pixels)

    def ids(self, pixels: Sequence[Sequence[int]]) -> list[int]:
        """The ids of the patches of a picture, row by row. `pixels` are its rows. Raises `ValueError` for another shape
        or a pixel that is not a level."""
        shape = f"{self.size} rows of {self.size} whole numbers from 0 to {self.levels - 1}"
        if len(pixels) != self.size or any(len(row) != self.size for row in pixels):
            raise ValueError(f"a picture is {shape}")
        wrong = [x for row in pixels for x in row if type(x) is not int or not 0 <= x < self.levels]
        if wrong:
            raise ValueError(f"a picture is {shape}, got {wrong[0]!r}")
        return [self.id_of(self.corner(pixels, n)) for n in range(self.n_patches)]

    def corner(self, pixels: Sequence[Sequence[int]], n: int) -> list[int]:
        """The pixels of patch n, row by row."""
        top, left = (self.patch * x for x in divmod(n, self.across))
        return [x for row in pixels[top : top + self.patch] for x in row[left : left + self.patch]]

    def id_of(self, patch: Sequence[int]) -> int:
        number = 0
        for pixel in patch:
            number = number * self.levels + pixel
        return number

    def patch_of(self, token_id: int) -> list[int]:
        """The pixels of a patch, row by row."""
        return [token_id // self.levels**n % self.levels for n in reversed(range(self.n_pixels))]


GREY, COLOURS = 1, 3


@dataclass(frozen=True)
class Photo(Squares):
    """A picture whose pixels have `channels` bytes each (1: grey, 3: red, green, blue)."""

    channels: int
    levels: int = 256
    before: tuple[str, ...] = ("[CLS]",)
    """The names of the tokens before the patches."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.channels not in (GREY, COLOURS):
            raise ValueError(f"a picture has {GREY} or {COLOURS} channels, got {self.channels}")

    @property
    def n_pixels(self) -> int:
        """How many numbers a patch has: its pixels times the channels."""
        return self.patch**2 * self.channels

    @property
    def n_ids(self) -> int:
        return self.n_patches

    @property
    def n_bytes(self) -> int:
        return self.size**2 * self.channels

    @property
    def n_spelt(self) -> int:
        """Length of its bytes in base64: 4 characters for every 3 bytes, with padding."""
        return -(-self.n_bytes // 3) * 4

    @property
    def places(self) -> list[int]:
        """The ids of the patches, row by row, after those of the tokens between [CLS] and them."""
        return [*range(self.n_ids + 1, self.n_ids + len(self.before)), *range(self.n_patches)]

    def bytes_of(self, pixels: str) -> bytes:
        """The bytes [row column channel] that a run spells in base64. Raises `ValueError` for other text or a picture
        of another size."""
        try:
            found = base64.b64decode(pixels, validate=True)
        except (binascii.Error, ValueError):  # ValueError: letters outside of ASCII
            raise ValueError(f"a picture is {self.n_bytes:,} bytes in base64, and this is not base64") from None
        if len(found) != self.n_bytes:
            raise ValueError(
                f"a picture is {self.size} rows of {self.size} pixels of {self.channels} bytes, "
                f"{self.n_bytes:,} bytes in base64, got {len(found):,}"
            )
        return found

    @staticmethod
    def spell(pixels: bytes) -> str:
        return base64.b64encode(pixels).decode()

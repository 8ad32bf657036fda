"""A picture as a sentence: its patches are the words, and every possible patch has an id.

A ViT (Dosovitskiy et al. 2021) cuts a picture into square patches and reads them as BERT reads words. With few levels
of grey all patches can be counted: the pixels of a patch are the digits of its id in base `levels`. So a picture is a
list of token ids like any text, and only the embedding differs: not a row of a table, but a matrix times the pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

from chumoku.model.pictures.squares import Squares

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
"""A pixel of a patch as text: one character, its level."""


@dataclass(frozen=True)
class Picture(Squares):
    """A pixel is a whole number from 0 to `levels` − 1."""

    levels: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.levels <= len(DIGITS):
            raise ValueError(f"a picture has 2 to {len(DIGITS)} levels of grey, got {self.levels}")

    @classmethod
    def from_json(cls, data: object) -> Self:
        names = [one.name for one in fields(cls)]
        if not isinstance(data, dict) or {*data} != {*names} or any(type(x) is not int for x in data.values()):
            raise ValueError(f"picture must be an object of whole numbers {', '.join(names)}, got {str(data)[:60]}")
        return cls(**data)

    @property
    def n_pixels(self) -> int:
        """Pixels of a patch."""
        return self.patch**2

    @property
    def n_ids(self) -> int:
        """How many different patches there are."""
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

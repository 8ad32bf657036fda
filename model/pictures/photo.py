"""A picture of bytes, such as a photograph: its patches are the words, and there are too many of them to count.

A patch of 16 × 16 pixels in three colours is one of 256^768. So the id of a patch says where it is, row by row, and the
bytes of the picture travel beside the ids (`Run.pixels`).
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from chumoku.model.pictures.squares import Squares

GREY, COLOURS = 1, 3


@dataclass(frozen=True)
class Photo(Squares):
    """A pixel has `channels` bytes (1: grey, 3: red, green, blue)."""

    channels: int
    levels: int = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.channels not in (GREY, COLOURS):
            raise ValueError(f"a picture has {GREY} or {COLOURS} channels, got {self.channels}")

    @property
    def n_pixels(self) -> int:
        """Numbers of a patch: its pixels times its channels."""
        return self.patch**2 * self.channels

    @property
    def n_ids(self) -> int:
        return self.n_patches

    @property
    def n_bytes(self) -> int:
        return self.size**2 * self.channels

    @property
    def n_spelt(self) -> int:
        """Characters of its bytes in base64: 4 for every 3, the last ones filled up."""
        return -(-self.n_bytes // 3) * 4

    @property
    def places(self) -> list[int]:
        """The ids of the patches: where they are, row by row."""
        return list(range(self.n_patches))

    def bytes_of(self, pixels: str) -> bytes:
        """The bytes [row column channel] that a run spells in base64. Raises `ValueError` for other text, and for a
        picture of another size."""
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

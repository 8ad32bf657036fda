"""A picture of bytes, such as a photograph: its patches are the words, and there are too many of them to count.

A patch of 16 × 16 pixels in three colours is one of 256^768. So the id of a patch says where it is, row by row, and the
bytes of the picture travel beside the ids (`Run.pixels`).
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

GREY, COLOURS = 1, 3


@dataclass(frozen=True)
class Photo:
    """Square pictures of `size` × `size` pixels, `channels` bytes each (1: grey, 3: red, green, blue), cut into patches
    of `patch` × `patch`. Raises `ValueError` if the numbers make no picture."""

    size: int
    patch: int
    channels: int
    levels: int = 256

    def __post_init__(self) -> None:
        if not 1 <= self.patch <= self.size <= 1024:
            raise ValueError(f"a picture has 1 to 1024 pixels a side, got {self.size} and patches of {self.patch}")
        if self.size % self.patch:
            raise ValueError(f"a picture's size is a multiple of its patch, got {self.size} and {self.patch}")
        if self.channels not in (GREY, COLOURS):
            raise ValueError(f"a picture has {GREY} or {COLOURS} channels, got {self.channels}")

    @property
    def across(self) -> int:
        """Patches in a row of patches."""
        return self.size // self.patch

    @property
    def n_patches(self) -> int:
        return self.across**2

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

"""What all pictures share: they are squares, cut into square patches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Squares:
    """Pictures of `size` × `size` pixels, cut into patches of `patch` × `patch`. Raises `ValueError` if the numbers
    make no picture."""

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

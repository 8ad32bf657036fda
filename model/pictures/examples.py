"""The held-out pictures that ship with a model, with their labels, in one file: `pictures.json`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chumoku.model.files import read_json, write_whole
from chumoku.model.pictures.picture import DIGITS, Picture

FILE = "pictures.json"
Rows = list[list[int]]


@dataclass(frozen=True)
class Example:
    """A picture as rows of pixels, its class, and its index in the data set."""

    pixels: Rows
    label: int
    index: int


def write_examples(folder: Path, examples: Sequence[Example], source: str) -> None:
    """Write a line for each picture: its pixels row by row, one character each."""
    pictures = [
        {"pixels": spell(example.pixels), "label": example.label, "index": example.index} for example in examples
    ]
    lines = ",\n".join(json.dumps(picture) for picture in pictures)
    write_whole(
        folder / FILE, f'{{"source": {json.dumps(source, ensure_ascii=False)}, "pictures": [\n{lines}\n]}}\n'.encode()
    )


def read_examples(folder: Path, picture: Picture, n_classes: int) -> list[Example]:
    """The pictures in a model's folder; empty without the file. Raises `OSError` or `ValueError` naming the file."""
    path = folder / FILE
    if not os.path.lexists(path):
        return []
    try:
        return [read_example(stored, picture, n_classes) for stored in read_json(path)["pictures"]]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a file of this model's pictures: {error}") from None


def read_example(stored: dict[str, object], picture: Picture, n_classes: int) -> Example:
    text, label, index = stored["pixels"], stored["label"], stored["index"]
    if not isinstance(text, str) or len(text) != picture.size**2:
        raise ValueError(f"a picture has {picture.size**2} pixels")
    if type(label) is not int or not 0 <= label < n_classes or type(index) is not int:
        raise ValueError(f"{label!r} is not a class, or {index!r} not an index")
    flat = [DIGITS.index(x) for x in text]
    pixels = [flat[row * picture.size : (row + 1) * picture.size] for row in range(picture.size)]
    picture.ids(pixels)  # raises for an invalid level
    return Example(pixels, label, index)


def spell(pixels: Rows) -> str:
    return "".join(DIGITS[x] for row in pixels for x in row)

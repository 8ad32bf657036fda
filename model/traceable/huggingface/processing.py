"""A folder's image processor (`preprocessor_config.json`), with Pillow and torch.

It works in two steps, so that a run can name the pixels that were read: a picture of any size becomes the bytes that
the model reads (`fitted`), and the bytes become numbers (`numbers`). Both equal transformers' Pillow processor bit for
bit (tested).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from chumoku.model.traceable.huggingface.transformers_config import LARGEST

if TYPE_CHECKING:
    from PIL.Image import Image

FILE = "preprocessor_config.json"
KINDS = ("ViTImageProcessor", "ViTImageProcessorFast", "ViTImageProcessorPil", "ViTFeatureExtractor")
OTHERS = tuple(
    f"{name}{ending}"
    for name in ("DeiT", "Bit")
    for ending in ("ImageProcessor", "ImageProcessorFast", "ImageProcessorPil", "FeatureExtractor")
)
"""Processors with the same steps and other defaults, of which `NAMED` must be in the file."""
NAMED = ("do_resize", "size", "resample", "do_center_crop", "crop_size", "do_rescale", "do_normalize", "image_mean",
         "image_std")  # fmt: skip
BYTE, HALF, BILINEAR = 1 / 255, 0.5, 2
"""Defaults of these processors."""
DONE = ("do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb")
MODES = {1: "L", 3: "RGB"}
"""Pillow's names for grey and for three colours."""
LONGEST = 16_384
"""Limit for a side in pixels: scaling up the shorter side of a very narrow picture would make it very long."""
SMALLEST = 1 / LARGEST
"""Lower limit for a factor or divisor."""
Size = tuple[int, int]
"""Height and width."""


@dataclass(frozen=True)
class Processing:
    """The steps of a processor, each None if it is left out.

    `size` is what a picture is resized to (a single number: its shorter side), `crop` what is then cut out of its
    middle. Bytes are multiplied by `factor`; then `mean` is subtracted, and the result divided by `std`, per channel.
    """

    channels: int
    size: Size | int | None
    resample: int
    crop: Size | None
    factor: float | None
    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None

    def fitted(self, picture: Image) -> bytes:
        """The bytes [row column channel] that the model reads of a picture. Raises `ValueError` for one too narrow."""
        from PIL import Image

        if picture.mode != MODES[self.channels]:  # `convert` would copy it
            picture = picture.convert(MODES[self.channels])
        if self.size is not None:
            height, width = self.size if isinstance(self.size, tuple) else shorter(picture, self.size)
            if max(height, width) > LONGEST:
                raise ValueError(f"a picture of {picture.width} × {picture.height} pixels is too narrow for this model")
            picture = picture.resize((width, height), Image.Resampling(self.resample))
        if self.crop is not None:
            picture = middle(picture, self.crop)
        return picture.tobytes()

    def numbers(self, pixels: Tensor) -> Tensor:
        """Bytes [row column channel] as the model's input, float32 [channel row column]."""
        x = pixels.permute(2, 0, 1)
        x = x.float() if self.factor is None else (x.double() * self.factor).float()
        if self.mean is None or self.std is None:
            return x
        mean, std = (torch.tensor(statistic)[:, None, None] for statistic in (self.mean, self.std))
        return (x - mean) / std


def shorter(picture: Image, side: int) -> Size:
    """Height and width with the shorter side of this length, in the same proportion."""
    long = int(side * max(picture.size) / min(picture.size))
    return (long, side) if picture.width <= picture.height else (side, long)


def middle(picture: Image, crop: Size) -> Image:
    """The middle of a picture; a smaller picture is padded with zeros."""
    (height, width), (top, left) = crop, ((picture.height - crop[0]) // 2, (picture.width - crop[1]) // 2)
    return picture.crop((left, top, left + width, top + height))


def processing_of(given: Mapping[str, Any], channels: int, side: int) -> Processing:
    """The processing that a folder's `preprocessor_config.json` asks for (empty: the defaults). Raises `ValueError` for
    another kind of processor, an unknown step, or pictures that do not have the model's size."""
    kind = str(given.get("image_processor_type") or given.get("feature_extractor_type") or KINDS[0])
    if kind not in (*KINDS, *OTHERS):
        raise ValueError(f"{FILE}: pictures for a {kind} cannot be made here; known is {KINDS[0]}")
    if kind in OTHERS and (lacking := [name for name in NAMED if given.get(name) is None]):
        raise ValueError(f"{FILE}: a {kind} without {lacking[0]} cannot be shown: save it again with save_pretrained")
    if others := [name for name in given if name.startswith("do_") and name not in DONE and given[name]]:
        raise ValueError(f"{FILE}: {kind} with {others[0]} cannot be shown yet")
    resizes, crops = given.get("do_resize", True), given.get("do_center_crop", False)
    size = size_of(given.get("size", side)) if resizes else None
    crop = size_of(given.get("crop_size", side)) if crops else None
    ends = crop or size
    if (resizes or crops) and ends != (side, side):
        raise ValueError(f"{FILE}: its pictures are {told(ends)}, and the model reads {side} × {side} (image_size)")
    resample = given.get("resample", BILINEAR)
    if type(resample) is not int or not 0 <= resample <= 5:
        raise ValueError(f"{FILE}: resample must be a whole number from 0 to 5, got {str(resample)[:40]}")
    normal = given.get("do_normalize", True)
    return Processing(
        channels=channels,
        size=size if resizes else None if crops else (side, side),  # a run has pixels of one size
        resample=resample,
        crop=crop if isinstance(crop, tuple) else None,
        factor=positive(given, "rescale_factor", BYTE) if given.get("do_rescale", True) else None,
        mean=numbers(given, "image_mean", channels) if normal else None,
        std=numbers(given, "image_std", channels) if normal else None,
    )


def size_of(given: Any) -> Size | int:
    """`{"height": 224, "width": 224}`, a number for both, or `{"shortest_edge": 224}`: a number."""
    if type(given) is int and given > 0:
        return given, given
    if isinstance(given, dict):
        height, width = given.get("height"), given.get("width")
        if type(height) is int and type(width) is int and min(height, width) > 0:
            return height, width
        if type(short := given.get("shortest_edge")) is int and short > 0 and not given.get("longest_edge"):
            return short
    raise ValueError(f"{FILE}: a size is a height and a width or a shortest_edge, got {str(given)[:60]}")


def told(size: Size | int | None) -> str:
    return f"{size[0]} × {size[1]}" if isinstance(size, tuple) else f"{size} on their shorter side"


def positive(given: Mapping[str, Any], name: str, default: float) -> float:
    found = given.get(name, default)
    if not is_number(found) or not found >= SMALLEST:
        bounds = f"from {SMALLEST:g} to {LARGEST:g}"
        raise ValueError(f"{FILE}: {name} must be a number {bounds}, got {str(found)[:40]}")
    return float(found)


def is_number(given: Any) -> bool:
    """Whether it is a number within float32's range."""
    return type(given) in (int, float) and abs(given) <= LARGEST


def numbers(given: Mapping[str, Any], name: str, channels: int) -> tuple[float, ...]:
    """One number per channel; a single number holds for all channels."""
    found: Any = given.get(name, HALF)
    listed: Sequence[Any] = found if isinstance(found, list) else [found] * channels
    if (
        len(listed) != channels
        or not all(map(is_number, listed))
        or (name == "image_std" and any(abs(x) < SMALLEST for x in listed))
    ):
        bounds = f"up to {LARGEST:g}" if name == "image_mean" else f"from {SMALLEST:g} to {LARGEST:g}"
        raise ValueError(f"{FILE}: {name} must be {channels} numbers {bounds}, got {str(found)[:60]}")
    return tuple(map(float, listed))

"""Decodes an uploaded PNG or JPEG: upright, opaque, in grey or in three colours.

Nothing in it is trusted: its first bytes tell the format, its header the size before anything is decoded, and a file
that does not decode to its end is refused. Needs Pillow (the extra `hf`), which is imported when first needed.
"""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from io import BytesIO
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

MEGA = 1_000_000
PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
SCAN, SCANS = b"\xff\xda", 100
"""The marker of a JPEG's scan, and how many are accepted: each is a pass over all pixels, and programs write about
ten."""
WORKING = 12
"""Bytes of memory that a pixel takes during decoding: 4, plus 4 for a turned or opaque copy, or 8 for a progressive
JPEG in four colours."""
LONGEST = 65_535
"""Most pixels of a side, as in a JPEG. Of a picture with one pixel a row, Pillow's lists of rows take 35 bytes each."""
TILE = 512
"""Side in pixels of the tiles in which transparent pictures are flattened, which saves memory."""
OTHERS = {
    b"GIF8": "GIF",
    b"BM": "BMP",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"\0\0\1\0": "ICO",
    b"8BPS": "Photoshop",
    b"%PDF": "PDF",
    b"<svg": "SVG",
    b"<?xml": "SVG",
    b"\xff\x0a": "JPEG XL",
    b"\0\0\0\x0cjP  ": "JPEG 2000",
}
"""First bytes of common formats that are not accepted."""
BOXED = {b"avif": "AVIF", b"avis": "AVIF", b"heic": "HEIC", b"heix": "HEIC", b"mif1": "HEIC"}
"""Formats that begin with an `ftyp` box, by the brand in it."""
DAMAGES = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, IndexError, KeyError, OverflowError)
"""What Pillow raises for damaged files."""


class UnreadableError(ValueError):
    """A file that is not a readable picture. `message` says what is wrong, `hint` what to do; `code`, `got` and `limit`
    are for programs."""

    def __init__(self, code: str, message: str, hint: str, got: str | None = None, limit: float | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.got, self.limit = code, message, hint, got, limit


def announced(data: bytes, most_pixels: int) -> Image:
    """The picture before it is decoded: its size and kind. Raises `UnreadableError`, also for too many pixels."""
    image = header_of(data)
    width, height = image.size
    if max(width, height) > LONGEST and width * height <= most_pixels:
        message = f"A picture of {width:,} × {height:,} pixels is too narrow: a side may have {LONGEST:,}."
        raise UnreadableError("narrow_picture", message, "Send a picture that is less narrow.", f"{width} × {height}",
                              LONGEST)  # fmt: skip
    if width * height > most_pixels:
        raise UnreadableError(
            "too_many_pixels",
            f"The picture has {width:,} × {height:,} pixels, {width * height / MEGA:,.1f} million: "
            f"the limit is {most_pixels / MEGA:,.1f} million.",
            "Make it smaller in an image editor: the model reads far fewer.",
            f"{width} × {height}",
            most_pixels / MEGA,
        )
    return image


def decoded(image: Image) -> Image:
    """Decode an announced picture, in RGB or L; the argument must not be used afterwards. An animation becomes its
    first frame. Raises `UnreadableError`."""
    try:
        image.load()
        turn_upright(image)
        return opaque(image)
    except DAMAGES as error:
        raise damaged(str(error)) from None


def header_of(data: bytes) -> Image:
    from PIL.JpegImagePlugin import JpegImageFile
    from PIL.PngImagePlugin import PngImageFile

    # Not `Image.open`, which would try other formats, and warn at different limits.
    reader = PngImageFile if data.startswith(PNG) else JpegImageFile if data.startswith(JPEG) else None
    if reader is None:
        raise unread(data)
    if reader is JpegImageFile and (scans := data.count(SCAN)) > SCANS:
        raise damaged(f"it draws the picture {scans:,} times over, the limit is {SCANS}")
    try:
        return reader(BytesIO(without_texts(data) if reader is PngImageFile else data))
    except DAMAGES as error:
        raise damaged(str(error)) from None


USED = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND", b"eXIf")
ROTATION = b"Raw profile type exif\0"
"""How ImageMagick stores a camera's orientation, in a compressed text."""


def without_texts(data: bytes) -> bytes:
    """A PNG without the chunks that are not read: 5 MiB of compressed texts become 64 MB before the first pixel."""
    kept, at, turned = [PNG], len(PNG), False
    while at + 8 <= len(data):
        (length,), kind = struct.unpack_from(">I", data, at), data[at + 4 : at + 8]
        end = at + 12 + length
        is_rotation = not turned and kind in (b"zTXt", b"tEXt") and data.startswith(ROTATION, at + 8)
        turned = turned or is_rotation
        if kind in USED or is_rotation:
            kept.append(data[at:end])
        at = end
    return b"".join((*kept, data[at:]))


def unread(data: bytes) -> UnreadableError:
    hint = "Save it as PNG or JPEG and send that."
    if kind := kind_of(data):
        return UnreadableError("wrong_format", f"The file is {kind}: only PNG and JPEG are read.", hint, kind)
    said = "no picture of a known kind: only PNG and JPEG are read" if data else "empty"
    return UnreadableError("not_a_picture", f"The file is {said}.", hint)


def damaged(why: str) -> UnreadableError:
    message = f"The file is damaged or cut short: {why or 'it does not decode'}."
    return UnreadableError("damaged_picture", message, "Save it again, or send another picture.")


def kind_of(data: bytes) -> str | None:
    """The name of a common format that is not accepted; None if it is unknown."""
    if data[4:8] == b"ftyp":
        return BOXED.get(data[8:12])
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WebP"
    return next((name for begins, name in OTHERS.items() if data.startswith(begins)), None)


def turn_upright(image: Image) -> None:
    """Apply the camera's orientation (EXIF). Invalid EXIF is ignored."""
    from PIL import ImageOps

    with suppress(*DAMAGES, TypeError, ZeroDivisionError):
        ImageOps.exif_transpose(image, in_place=True)


def opaque(image: Image) -> Image:
    """The picture in RGB or L, on white where it is transparent; of 16-bit grey, the upper 8 bits."""
    from PIL import Image as pillow

    clear = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    grey = image.mode.startswith("I") or (image.mode in ("1", "L") and not clear)
    mode = "L" if grey else "RGB"
    if image.mode == mode and not clear:
        return image
    made = pillow.new(mode, image.size)
    for top, left in product(range(0, image.height, TILE), range(0, image.width, TILE)):
        tile = image.crop((left, top, min(left + TILE, image.width), min(top + TILE, image.height)))
        if image.mode.startswith("I"):
            tile = pillow.fromarray((np.asarray(tile) >> 8).astype(np.uint8))
        elif clear:
            white = pillow.new("RGBA", tile.size, "white")
            white.alpha_composite(tile.convert("RGBA"))
            tile = white
        made.paste(tile.convert(mode), (left, top))
    return made

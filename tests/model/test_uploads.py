"""Files of pictures that somebody sends: turned upright, opaque, bounded before they are decoded."""

from __future__ import annotations

import os
import struct
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from chumoku.model.pictures.uploads import WORKING, UnreadableError, announced, decoded

SIDE, PIXELS = 12, 1_000_000
RED, WHITE = (255, 0, 0), (255, 255, 255)


def saved(image: Image.Image, kind: str = "PNG", **more: Any) -> bytes:
    file = BytesIO()
    image.save(file, kind, **more)
    return file.getvalue()


def noise(width: int = 40, height: int = 30) -> Image.Image:
    return Image.fromarray(np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8))


def read(file: bytes) -> np.ndarray[Any, Any]:
    """Its colours [row column channel]."""
    return np.asarray(decoded(announced(file, PIXELS)).convert("RGB"))


def png_header(width: int, height: int) -> bytes:
    """A PNG that says how large it is, and has next to nothing to show for it."""
    about = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    checked = struct.pack(">I", 13) + about + struct.pack(">I", zlib.crc32(about))
    return b"\x89PNG\r\n\x1a\n" + checked + b"\0\0\0\x08IDAT12345678"


def half(first: Any, second: Any, mode: str = "RGB") -> Image.Image:
    """Left and right in two colours."""
    image = Image.new(mode, (24, 24), first)
    image.paste(second, (12, 0, 24, 24))
    return image


def test_a_photograph_is_turned_upright() -> None:
    """A camera on its side says so in EXIF: 6 means that the top is at the right."""
    exif = Image.Exif()
    exif[0x0112] = 6
    found = read(saved(half(RED, WHITE), "JPEG", exif=exif, quality=100, subsampling=0))
    assert (found[1, :, 1] < 30).all()  # the left half is now at the top
    assert (found[-2, :, 1] > 225).all()


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white(mode: str) -> None:
    clear = {"RGBA": ((0, 0, 0, 0), (*RED, 255)), "LA": ((0, 0), (80, 255)), "P": (0, 1)}[mode]
    image = half(*clear, mode)
    if mode == "P":
        image.putpalette([0, 0, 0, *RED])
    found = read(saved(image, **({"transparency": 0} if mode == "P" else {})))
    assert (found[:, 0] == 255).all()
    assert found[0, -1].tolist() == ([80] * 3 if mode == "LA" else list(RED))


@pytest.mark.parametrize("mode", ["1", "L", "I;16", "P", "CMYK"])
def test_every_kind_of_colours_is_read(mode: str) -> None:
    ramp = Image.fromarray(np.tile(np.arange(0, 252, 21, dtype=np.uint8), (SIDE, 1)))
    if mode == "I;16":
        image = Image.fromarray(np.asarray(ramp).astype(np.uint16) * 257)
    else:
        image = ramp.convert("RGB").convert(mode)
    found = read(saved(image, "JPEG", quality=100) if mode == "CMYK" else saved(image))
    expected = np.asarray(image.convert("RGB")) if mode in ("1", "P") else np.asarray(ramp)[..., None]
    assert np.abs(found.astype(int) - expected).max() <= (3 if mode == "CMYK" else 0)


def test_of_a_moving_picture_the_first_frame_is_read() -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in (RED, WHITE)]
    found = read(saved(frames[0], save_all=True, append_images=frames[1:]))
    assert (found == RED).all()


def test_one_pixel_is_a_picture() -> None:
    assert (read(saved(Image.new("RGB", (1, 1), RED))) == RED).all()


WHOLE = saved(noise(100, 80))


def scans(n: int) -> bytes:
    """A progressive JPEG whose last scan comes n times. Each is a pass over all pixels, and decodes."""
    file = saved(noise(), "JPEG", progressive=True)
    last, end = file.rindex(b"\xff\xda"), file.rindex(b"\xff\xd9")
    return file[:last] + n * file[last:end] + file[end:]


def test_a_progressive_picture_is_read() -> None:
    assert scans(1).count(b"\xff\xda") > 5
    assert read(scans(1)).shape == read(scans(20)).shape == (30, 40, 3)


def test_a_picture_that_is_drawn_over_and_over_is_refused_before_it_is_decoded() -> None:
    """5 MiB hold 167,000 scans, an hour's work for a large picture."""
    with pytest.raises(UnreadableError, match="draws the picture 209 times over, the limit is 100") as refused:
        decoded(announced(scans(200), PIXELS))
    assert refused.value.code == "damaged_picture"


@pytest.mark.parametrize(("width", "height"), [(2000, 1999), (61, 65_535), (65_535, 61)])
def test_decoding_takes_less_than_three_copies(width: int, height: int) -> None:
    """Of the most expensive kind: transparent, to be turned, and larger than a tile; also with very short rows."""
    exif = Image.Exif()
    exif[0x0112] = 6
    file = saved(Image.new("RGBA", (width, height), (0, 0, 0, 0)), exif=exif)
    resettable = Path("/proc/self/clear_refs")
    if not os.access(resettable, os.W_OK):
        pytest.skip("only Linux says how much memory a process took since it was asked")
    resettable.write_text("5")
    before = memory("VmRSS")
    assert decoded(announced(file, 4 * PIXELS)).size == (height, width)
    assert memory("VmHWM") - before < 3 * 4 * width * height == WORKING * width * height


@pytest.mark.parametrize("size", [(1, 65_536), (1_000_000, 1)])
def test_a_picture_of_short_rows_is_refused_before_it_is_decoded(size: tuple[int, int]) -> None:
    """A PNG of 467 bytes with 1 × 16,000,000 pixels takes 550 MB."""
    with pytest.raises(UnreadableError, match="is too narrow: a side may have 65,535") as refused:
        announced(png_header(*size), PIXELS)
    assert refused.value.code == "narrow_picture"


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def with_chunks(file: bytes, *chunks: bytes) -> bytes:
    """A PNG with more chunks before its pixels."""
    return file[:33] + b"".join(chunks) + file[33:]


def test_what_is_compressed_beside_the_pixels_is_not_unpacked() -> None:
    text = zlib.compress(bytes(10**6), 9)
    texts = [chunk(b"zTXt", b"k%d\0\0" % n + text) for n in range(60)]
    found = announced(with_chunks(WHOLE, *texts, chunk(b"iCCP", b"k\0\0" + text)), PIXELS)
    assert not found.info
    assert np.array_equal(np.asarray(decoded(found)), read(WHOLE))


@pytest.mark.parametrize("kind", ["zTXt", "tEXt", "eXIf"])
def test_an_orientation_is_read_from_each_of_its_places(kind: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    stored = exif.tobytes()
    spelt = b"\nexif\n%8d\n%b\n" % (len(stored), stored.hex().encode())
    content = {
        "zTXt": b"Raw profile type exif\0\0" + zlib.compress(spelt),
        "tEXt": b"Raw profile type exif\0" + spelt,
        "eXIf": stored.removeprefix(b"Exif\0\0"),
    }[kind]
    found = read(with_chunks(saved(half(RED, WHITE)), chunk(kind.encode(), content)))
    assert (found[0] == RED).all()
    assert (found[-1] == WHITE).all()


def memory(what: str) -> int:
    """In bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return 1024 * int(line.split()[1])


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "I;16", "CMYK", "1"])
def test_large_pictures_are_made_opaque_piece_by_piece_and_look_the_same(mode: str) -> None:
    """600 × 520 pixels are four tiles; Pillow converts the expected ones at once."""
    values = np.random.default_rng(2).integers(0, 256, (520, 600, 4), dtype=np.uint8)
    if mode == "I;16":
        image = Image.fromarray(values[..., 0].astype(np.uint16) * 256 + values[..., 1])
        expected = Image.fromarray(values[..., 0])
    elif mode in ("RGBA", "LA"):
        image = Image.fromarray(values).convert(mode)
        expected = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
    else:
        expected = image = Image.fromarray(values, "CMYK" if mode == "CMYK" else "RGBA").convert("RGB").convert(mode)
    file = saved(image, "JPEG", quality=95) if mode == "CMYK" else saved(image)
    if mode == "CMYK":
        expected = Image.open(BytesIO(file))
    assert np.array_equal(read(file), np.asarray(expected.convert("RGB")))


@pytest.mark.parametrize(
    ("file", "code", "words"),
    [
        (b"", "not_a_picture", "The file is empty"),
        (b"cat", "not_a_picture", "no picture of a known kind: only PNG and JPEG are read"),
        (saved(noise(), "GIF"), "wrong_format", "The file is GIF: only PNG and JPEG are read"),
        (saved(noise(), "BMP"), "wrong_format", "The file is BMP: only PNG and JPEG are read"),
        (saved(noise(), "TIFF"), "wrong_format", "The file is TIFF: only PNG and JPEG are read"),
        (saved(noise(), "WEBP"), "wrong_format", "The file is WebP: only PNG and JPEG are read"),
        (b"\0\0\0\x20ftypheic" + bytes(20), "wrong_format", "The file is HEIC: only PNG and JPEG are read"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "wrong_format", "The file is SVG: only PNG and JPEG are read"),
        (WHOLE[: len(WHOLE) // 2], "damaged_picture", "damaged or cut short"),
        (saved(noise(), "JPEG")[:-300], "damaged_picture", "damaged or cut short"),
        (WHOLE[:60], "damaged_picture", "damaged or cut short"),
        (WHOLE[:8], "damaged_picture", "damaged or cut short"),
        (b"\xff\xd8\xff" + bytes(200), "damaged_picture", "damaged or cut short"),
        (WHOLE[:200] + bytes(100) + WHOLE[300:], "damaged_picture", "damaged or cut short"),
        (png_header(50_000, 50_000), "too_many_pixels", "50,000 × 50,000 pixels, 2,500.0 million: the limit is 1.0"),
        (png_header(1001, 1000), "too_many_pixels", "1,001 × 1,000 pixels"),
        (png_header(2**31 - 1, 1), "too_many_pixels", "the limit is 1.0 million"),
    ],
)  # fmt: skip
def test_what_is_no_picture_is_refused_in_words(file: bytes, code: str, words: str) -> None:
    with pytest.raises(UnreadableError) as refused:
        decoded(announced(file, PIXELS))
    assert refused.value.code == code
    assert words in refused.value.message
    assert refused.value.hint

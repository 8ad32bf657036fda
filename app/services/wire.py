"""Encodes answers: tensors as safetensors or .npz, JSON, and server-sent events.

In a body of tensors, everything else is JSON text in its metadata, under `chumoku`.
"""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from chumoku.app.errors import AppError

Json = dict[str, Any]
Dtype = Literal["float32", "float16", "uint8"]

VERSION = 2
SCALE = 255
"""A weight w in [0, 1] is the byte round(255·w)."""
FLOAT16_MAX = 65504.0
NAMES = {"float32": "F32", "float16": "F16", "uint8": "U8", "int64": "I64"}
"""safetensors' names of the dtypes that are sent."""


def encode(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> bytearray:
    """A safetensors body: the length of the header in 8 bytes, the header as JSON, the arrays.

    The same bytes as `safetensors.numpy.save` gives for contiguous arrays (it writes others wrongly, without an error).
    numpy copies without the GIL; that function holds it for 30 to 90 ms of 19 MB, and the event loop waits.
    """
    arrays = sorted(tensors.items(), key=lambda one: (-one[1].dtype.itemsize, one[0]))
    header: dict[str, Any] = {"__metadata__": {"chumoku": to_text(metadata)}}
    at = 0
    for name, array in arrays:
        place = [at, at := at + array.nbytes]
        header[name] = {"dtype": NAMES[array.dtype.name], "shape": array.shape, "data_offsets": place}
    head = to_text(header).encode()
    head += b" " * (-len(head) % 8)
    body = bytearray(8 + len(head) + at)
    body[: 8 + len(head)] = len(head).to_bytes(8, "little") + head
    start = 8 + len(head)
    for _, array in arrays:
        np.copyto(np.ndarray(array.shape, array.dtype, body, start), array)
        start += array.nbytes
    return body


def metadata_of(body: bytes) -> dict[str, Any]:
    """The metadata that `encode` wrote with the tensors."""
    size = 8 + int.from_bytes(body[:8], "little")
    metadata: dict[str, Any] = json.loads(json.loads(body[8:size])["__metadata__"]["chumoku"])
    return metadata


def encode_npz(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> bytes:
    """The same as an .npz, uncompressed and without pickle; the metadata is `__metadata__`, an array of one string."""
    body = io.BytesIO()
    arrays = {**tensors, "__metadata__": np.array(to_text(metadata))}
    np.savez(body, allow_pickle=False, **arrays)
    return body.getvalue()


def to_text(metadata: Mapping[str, Any]) -> str:
    """JSON without NaN and Infinity, which other languages cannot read."""
    return json.dumps(metadata, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


ENCODERS: dict[str, Callable[[Mapping[str, np.ndarray], Mapping[str, Any]], bytes | bytearray]] = {
    "safetensors": encode,
    "npz": encode_npz,
}


def check_dtype(names: Sequence[str], dtype: Dtype, fit: Container[str]) -> None:
    """Raise `bad_dtype` when `dtype` is uint8 and a tensor among `names` is not one of those that `fit` bytes: weights
    in [0, 1], and masks, which are uint8 whatever is asked for."""
    wrong = [name for name in names if name not in fit]
    if dtype == "uint8" and wrong:
        message = f"{wrong[0]!r} cannot be sent as uint8: only weights in [0, 1] can."
        hint = "Ask for float16 or float32, or for patterns (and masks) only."
        raise AppError("bad_dtype", message, hint, where="dtype", got=dtype, known=["float32", "float16"])


def convert(name: str, tensor: Tensor, dtype: Dtype) -> np.ndarray:
    """`tensor` in the dtype of the wire, same shape. Integers do not change; uint8 is round(255·x).

    Raises `bad_dtype` for a value that float16 cannot hold.
    """
    if tensor.is_floating_point():
        if dtype == "uint8":
            tensor = tensor.mul(SCALE).round().to(torch.uint8)
        elif dtype == "float16":
            tensor = to_half(name, tensor)
        else:
            tensor = tensor.float()
    return tensor.cpu().numpy()


def in_json(name: str, tensor: Tensor, dtype: Dtype) -> dict[str, Any]:
    """`tensor` inside a JSON answer: its bytes in base64, little-endian."""
    array = np.ascontiguousarray(convert(name, tensor, dtype))
    return {"dtype": dtype, "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}


def to_half(name: str, tensor: Tensor) -> Tensor:
    """float16, or `bad_dtype` if a value would become infinite."""
    largest = float(tensor.abs().max()) if tensor.numel() else 0.0
    if largest > FLOAT16_MAX:
        message = f"{name!r} holds {largest:.6g}, more than float16 can."
        raise AppError("bad_dtype", message, "Ask for float32.", where="dtype", got=largest, limit=FLOAT16_MAX)
    return tensor.half()


def scales(names: Sequence[str], dtype: Dtype, weights: Container[str]) -> dict[str, int]:
    """The factor each tensor was multiplied by; empty unless it has weights sent as bytes."""
    return {name: SCALE for name in names if name in weights} if dtype == "uint8" else {}


AT_ONCE = 1000
"""Values encoded at once, in about a millisecond."""
JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def to_json(answer: Json) -> bytes:
    """Encodes as JSON. NaN and infinity become null."""
    try:
        return dump(answer)
    except ValueError:  # rare: checking each time costs more than encoding twice
        return dump(finite(answer))


def dump(answer: Any) -> bytes:
    """Encodes in parts: one call of the encoder holds the GIL to its end and blocks the event loop."""
    return "".join(parts_of(answer)).encode()


def parts_of(value: Any) -> Iterator[str]:
    """JSON without spaces, in parts of about `AT_ONCE` values at most."""
    if n_values(value) <= AT_ONCE:
        yield JSON.encode(value)
    elif isinstance(value, dict):
        yield "{"
        for n, (name, one) in enumerate(value.items()):
            yield f"{',' if n else ''}{JSON.encode(str(name))}:"
            yield from parts_of(one)
        yield "}"
    else:
        size = max(1, AT_ONCE * len(value) // n_values(value))
        yield "["
        for start in range(0, len(value), size):
            yield "," if start else ""
            yield from parts_of(value[start]) if size == 1 else [JSON.encode(value[start : start + size])[1:-1]]
        yield "]"


def n_values(value: Any) -> int:
    """An estimate of how many numbers and strings it contains: the entries of a list are alike, or grow or shrink."""
    if isinstance(value, dict):
        return sum(map(n_values, value.values()))
    if isinstance(value, (list, tuple)) and value:
        return len(value) * max(n_values(value[0]), n_values(value[-1]))
    return 1


def finite(value: Any) -> Any:
    """The same with null for every float that JSON cannot represent."""
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


EVENT_JSON = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
"""ASCII, unlike that of explanations: clients that split lines as Python does (httpx) also end them at U+2028."""


class Encoded:
    """A part of several events, encoded once. Not to be modified."""

    text: str


class EncodedDict(Encoded, dict[str, Any]):
    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.text = EVENT_JSON.encode(values)


class EncodedList(Encoded, list[Any]):
    def __init__(self, values: Iterable[Any] = (), text: str | None = None) -> None:
        super().__init__(values)
        self.text = EVENT_JSON.encode(list(self)) if text is None else text

    def grown(self, value: Any) -> EncodedList:
        """With one more at its end."""
        text = EVENT_JSON.encode(value)
        return EncodedList([*self, value], f"{self.text[:-1]},{text}]" if self else f"[{text}]")


@dataclass(frozen=True)
class Event:
    """One message of the stream; `data` is JSON. It is encoded where it is made: not on the event loop."""

    name: str
    data: dict[str, Any]
    encoded: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoded", f"event: {self.name}\ndata: {event_json(self.data)}\n\n".encode())


def event_json(data: Mapping[str, Any]) -> str:
    known = [f"{EVENT_JSON.encode(name)}:{value.text}" for name, value in data.items() if isinstance(value, Encoded)]
    if not known:
        return EVENT_JSON.encode(data)
    others = EVENT_JSON.encode({name: value for name, value in data.items() if not isinstance(value, Encoded)})
    return f"{{{','.join([others[1:-1], *known] if len(others) > 2 else known)}}}"


@dataclass(frozen=True)
class Piece:
    """Several messages sent together."""

    encoded: bytes


def piece(events: Sequence[Event]) -> Piece:
    return Piece(b"".join(event.encoded for event in events))

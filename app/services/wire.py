"""Tensors to bytes: a safetensors body; everything that is not a tensor is JSON text under `chumoku` in its metadata.

Or an .npz, for those who only have numpy.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from chumoku.app.errors import AppError

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
    numpy copies without Python's lock; that function holds it for 30 to 90 ms of 19 MB, and the event loop waits.
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
    """What `encode` wrote beside the tensors."""
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

import numpy as np
import pytest
import torch

from app import wire
from app.errors import AppError
from tests.app.helpers import decode


def test_round_trip_of_transposed_sliced_and_spread_arrays() -> None:
    """safetensors writes an array that is not contiguous wrongly, without an error: ours come back as they were."""
    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    arrays = {
        "plain": base,
        "transposed": base.transpose(2, 0, 1),
        "sliced": base[:, ::2, 1:],
        "spread": np.broadcast_to(base[:1, :1], (3, 3, 4)),
        "bytes": np.arange(7, dtype=np.uint8)[::-1],
        "empty": np.zeros((0, 3), np.float32),
        "half": base.astype(np.float16).T,
    }
    tensors, meta = decode(wire.encode(arrays, {"text": "注目 “quoted” <b>\n"}))
    assert meta == {"text": "注目 “quoted” <b>\n"}
    assert tensors.keys() == arrays.keys()
    for name, array in arrays.items():
        assert tensors[name].dtype == array.dtype
        np.testing.assert_array_equal(tensors[name], array, err_msg=name)


def test_weights_become_bytes_and_reasons_stay() -> None:
    weights = torch.tensor([[0.0, 0.25, 1.0]])
    assert wire.convert("layers.0.attn.pattern", weights, "uint8").tolist() == [[0, 64, 255]]
    reasons = torch.tensor([[0, 1, 8]], dtype=torch.uint8)
    for dtype in ("float32", "float16", "uint8"):
        assert wire.convert("layers.0.attn.mask", reasons, dtype).tolist() == [[0, 1, 8]]


def test_what_float16_cannot_hold_is_refused() -> None:
    with pytest.raises(AppError, match="float16") as refusal:
        wire.convert("logits", torch.tensor([70000.0]), "float16")
    assert refusal.value.code == "bad_dtype"


def test_no_number_is_infinite_in_the_metadata() -> None:
    with pytest.raises(ValueError, match="JSON"):
        wire.encode({}, {"seconds": float("nan")})

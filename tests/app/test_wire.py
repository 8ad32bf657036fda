import ast
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch

from chumoku.app.errors import AppError
from chumoku.app.services import wire
from tests.app.helpers import decode


def test_round_trip_of_transposed_sliced_and_spread_arrays() -> None:
    """safetensors silently writes wrong numbers for an array that is not contiguous: ours come back unchanged."""
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
    tensors, meta = decode(bytes(wire.encode(arrays, {"text": "注目 “quoted” <b>\n"})))
    assert meta == {"text": "注目 “quoted” <b>\n"}
    assert tensors.keys() == arrays.keys()
    for name, array in arrays.items():
        assert tensors[name].dtype == array.dtype
        np.testing.assert_array_equal(tensors[name], array, err_msg=name)


def test_the_body_is_that_of_safetensors_byte_for_byte() -> None:
    rng = np.random.default_rng(1)
    arrays = {
        "b.wide": rng.standard_normal((3, 5)).astype(np.float32),
        "a.half": rng.standard_normal((2, 3)).astype(np.float16),
        "z.bytes": rng.integers(0, 255, (7,), dtype=np.uint8),
        "distances": np.arange(6).reshape(2, 3),
        "a.wide": np.array(2.5, np.float32),
        "none": np.zeros((0, 4), np.float32),
    }
    for about in ({}, {"text": "注目 “quoted” \\ <b>\n\0\x7f 🙂"}, {"n": 1.5e-9}):
        text = json.dumps(about, ensure_ascii=False, separators=(",", ":"))
        assert wire.encode(arrays, about) == safetensors.numpy.save(arrays, {"chumoku": text})


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


def test_no_pickle_anywhere() -> None:
    """A pickle runs its author's code: no module reads or writes one, directly or through a library."""
    root = Path(__file__).parents[2]
    files = [path for room in ("app", "model", "benchmarks") for path in (root / room).rglob("*.py")]
    assert len(files) > 50
    assert [f"{path.relative_to(root)}: {name}" for path in files for name in pickling(path)] == []
    suffixes = {path.suffix for path in (root / "model" / "zoo").rglob("*") if path.is_file()}
    assert suffixes <= {".safetensors", ".json", ".tiktoken"}


def pickling(path: Path) -> Iterator[str]:
    """The calls and imports in a file that would pickle."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                modules = [alias.name for alias in names] + [getattr(node, "module", None) or ""]
                yield from {"pickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"} & set(modules)
            case ast.Attribute(value=ast.Name(id="torch"), attr="load" | "save" as name):
                yield f"torch.{name}"
            case ast.keyword(arg="allow_pickle" | "weights_only" as name, value=value):
                if not isinstance(value, ast.Constant) or value.value is not False:
                    yield name

"""What the pictures are drawn from (stored/) is what the models say today, up to the float16 in which it is stored."""

import gzip
import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pytest

from tests.app.helpers import decode

STORED = sorted((Path(__file__).parent / "stored").glob("*.safetensors.gz"))
TOLERANCE = {"rtol": 2e-3, "atol": 2e-3}
ANOTHER = {"seconds", "produced_by", "device", "log", "snapshots"}
"""What another machine, or another training of snapshots, says otherwise."""


def ask(server: str, path: str, body: Any = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(server + path, data, {"content-type": "application/json"}), timeout=60) as answer:
        said: bytes = answer.read()
    return said


def assert_same(stored: Any, now: Any, where: str) -> None:
    """The same JSON, with numbers that are nearly the same."""
    if isinstance(stored, dict) and isinstance(now, dict):
        assert stored.keys() - ANOTHER == now.keys() - ANOTHER, where
        for name in stored.keys() - ANOTHER:
            assert_same(stored[name], now[name], f"{where}.{name}")
    elif isinstance(stored, list) and isinstance(now, list):
        assert len(stored) == len(now), where
        for index, (one, other) in enumerate(zip(stored, now, strict=True)):
            assert_same(one, other, f"{where}[{index}]")
    elif isinstance(stored, float) or isinstance(now, float):
        assert stored == pytest.approx(now, rel=2e-3, abs=2e-3), where
    else:
        assert stored == now, where


def assert_close(server: str, path: str, body: dict[str, Any], stored: dict[str, np.ndarray]) -> None:
    tensors, _ = decode(ask(server, path, body))
    for name, tensor in stored.items():
        np.testing.assert_allclose(tensor, tensors[name].astype(np.float64), err_msg=f"{body}: {name}", **TOLERANCE)


@pytest.mark.parametrize("file", STORED, ids=lambda file: file.name.split(".")[0])
def test_what_the_pictures_show_is_what_the_model_says(server_url: str, file: Path) -> None:
    """`python -m tests.pictures.record` records it anew."""
    tensors, meta = decode(gzip.decompress(file.read_bytes()))
    under = lambda start: {name[len(start) :]: one for name, one in tensors.items() if name.startswith(start)}  # noqa: E731
    for index, run in enumerate(meta["runs"]):
        traced = under(f"{index}/")
        assert_close(server_url, "/api/trace", run["run"] | {"want": [*traced], "dtype": "float32"}, traced)
    whole = {name: one for name, one in under("weights/").items() if "/" not in name}
    if whole:
        assert_close(server_url, "/api/weights", {"model": file.name.split(".")[0], "want": [*whole]}, whole)
    for question, answer in meta["answers"].items():
        path, _, body = question.partition(" ")
        if path.startswith("/api/"):
            now = json.loads(ask(server_url, path, json.loads(body) if body else None))
            assert_same(answer, now, question)

"""Saved traces: a file describes itself and opens with common tools."""

import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.app.api.traces import attachment
from chumoku.model.config import ModelConfig
from tests.app.helpers import TEXT, decode, trace

WANT = ["layers.2.attn.*", "embedding"]


def unzip(body: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    import json

    with np.load(io.BytesIO(body), allow_pickle=False) as file:
        tensors = {name: file[name] for name in file.files}
    return tensors, json.loads(str(tensors.pop("__metadata__")))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
async def test_npz_holds_the_same(client: AsyncClient, dtype: str) -> None:
    request = {
        "text": TEXT,
        "want": WANT,
        "heads": [5, 2],
        "dtype": dtype,
        "pad": {"count": 2},
        "predict": {"positions": [4]},
    }
    expected, meta = decode((await client.post("/api/trace", json=request)).content)
    response = await client.post("/api/trace", json=request | {"format": "npz"})
    tensors, npz_meta = unzip(response.content)
    assert tensors.keys() == expected.keys()
    for name, tensor in expected.items():
        assert tensors[name].dtype == tensor.dtype
        np.testing.assert_array_equal(tensors[name], tensor, err_msg=name)
    assert npz_meta | {"seconds": 0} == meta | {"seconds": 0}


async def test_npz_of_bytes_and_of_nothing(client: AsyncClient) -> None:
    request = {"text": "注目\0\u2028", "format": "npz"}
    tensors, meta = unzip((await client.post("/api/trace", json=request | {"dtype": "uint8"})).content)
    assert {tensor.dtype for tensor in tensors.values()} == {np.dtype(np.uint8)}
    assert (meta["text"], set(meta["scale"])) == ("注目\0\u2028", set(tensors))
    assert unzip((await client.post("/api/trace", json=request | {"want": []})).content)[0] == {}


@pytest.mark.parametrize("suffix", ["safetensors", "npz"])
async def test_a_browser_saves_it_under_a_name(client: AsyncClient, suffix: str) -> None:
    response = await client.post("/api/trace", json={"text": "a", "format": suffix})
    assert response.headers["content-disposition"] == f'attachment; filename="chumoku-stories-gpt.{suffix}"'
    assert response.headers["content-type"] == "application/octet-stream"


@pytest.mark.parametrize("name", ['a"b\r\nX: 1', "注目", "../..", "my model"])
def test_no_name_breaks_out_of_its_header(name: str) -> None:
    assert re.fullmatch(r'attachment; filename="chumoku-\w[\w.-]*\.npz"', attachment(name, "npz"), re.ASCII)


async def test_the_file_says_how_it_was_made(client: AsyncClient) -> None:
    """Its metadata is enough to repeat the request, and gives the model's shape."""
    edits = [
        {"kind": "ablate", "where": {"layer": 1, "head": 5}},
        {"kind": "mask", "where": {"layer": 0, "head": 1, "query": 4, "key": 2}, "allow": False},
    ]
    first, meta = await trace(
        client, want=WANT, interventions=edits, masks={"causal": False}, pad={"count": 1, "follow": False}
    )
    config = {name: value for name, value in meta["config"].items() if name != "d_head"}
    assert ModelConfig.from_json(config).d_head == meta["config"]["d_head"]
    again, _ = await trace(
        client,
        text=None,
        **meta["run"],
        want=list(meta["dims"]),
        dtype=meta["dtype"],
        heads=meta["heads"],
    )
    for name, tensor in first.items():
        np.testing.assert_array_equal(again[name], tensor, err_msg=name)


PAGE = Path(__file__).parents[2] / "docs" / "api.md"
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("suffix", ["safetensors", "npz"])
async def test_the_six_lines_of_the_docs_work(client: AsyncClient, tmp_path: Path, suffix: str) -> None:
    (code,) = [snippet for snippet in SNIPPETS if f"trace.{suffix}" in snippet]
    assert len([line for line in code.splitlines() if line.strip()]) <= 6
    request = {"text": TEXT, "want": ["layers.2.attn.pattern"], "format": suffix}
    (tmp_path / f"trace.{suffix}").write_bytes((await client.post("/api/trace", json=request)).content)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "'Once'" in done.stdout
    assert "1.0" in done.stdout or "1." in done.stdout

"""The saved trace that the page's tests damage (tests/js/saved_trace.safetensors) is what the app writes now."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from chumoku.app.api.requests import TraceRequest
from chumoku.app.services import tracing
from chumoku.model.traceable import ZooModel
from tests.app.helpers import decode
from tests.model.helpers import tiny_checkpoint

FIXTURE = Path(__file__).parent.parent / "js" / "saved_trace.safetensors"
REQUEST = {
    "text": "Hi 猫",
    "want": ["*"],
    "describe": True,
    "predict": {"positions": [0, 1], "n": 3},
    "pad": {"count": 1, "side": "left"},
    "interventions": [{"kind": "mask", "where": {"layer": 0, "role": "mask", "query": 3, "key": 2}, "allow": False}],
}


def saved() -> bytes:
    traceable = ZooModel(tiny_checkpoint(norm_order="post"))
    return bytes(tracing.answer(traceable, TraceRequest.model_validate(REQUEST), 100).body)


def comparable(body: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    tensors, meta = decode(body)
    return tensors, {
        name: value for name, value in meta.items() if name not in ("seconds", "produced_by", "predictions")
    }


def test_the_page_is_tested_against_a_trace_as_it_is_saved_now() -> None:
    """`CHUMOKU_WRITE_FIXTURES=1 pytest tests/app/test_saved_trace_fixture.py` rewrites it."""
    body = saved()
    if os.environ.get("CHUMOKU_WRITE_FIXTURES"):
        FIXTURE.write_bytes(body)
    tensors, meta = comparable(body)
    kept, kept_meta = comparable(FIXTURE.read_bytes())
    assert kept_meta == meta
    assert kept.keys() == tensors.keys()
    for name, tensor in tensors.items():
        np.testing.assert_allclose(kept[name], tensor, atol=1e-4, err_msg=name)

"""The size of the overview as sent to the page, and the time to encode it."""

from __future__ import annotations

import statistics

from benchmarks.measure import Row
from chumoku.app.api.requests import TraceRequest
from chumoku.app.services.tracing import answer
from chumoku.model import checkpoint
from chumoku.model.checkpoint import ZOO
from chumoku.model.traceable import ZooModel

SEQ_LEN = 64


def measure() -> list[Row]:
    """Bytes and milliseconds for all patterns of stories-gpt at 64 tokens, as the page requests them."""
    loaded = ZooModel(checkpoint.load(ZOO / "stories-gpt"))
    ids = list(range(300, 300 + SEQ_LEN))
    want = ["layers.*.attn.pattern", "layers.0.attn.mask"]
    request = TraceRequest(token_ids=ids, want=want, dtype="uint8")
    answers = [answer(loaded, request, 20_000) for _ in range(60)]
    encode = statistics.median(a.encode_seconds for a in answers[10:])
    model = statistics.median(a.model_seconds for a in answers[10:])
    return [
        Row(f"overview on the wire, {SEQ_LEN} tokens", len(answers[-1].body) / 1e6, "MB", 0.40),
        Row("encoding it", 1e3 * encode, "ms", 3.0, note=f"the forward pass before it: {1e3 * model:.1f} ms"),
    ]

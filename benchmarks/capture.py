"""The cost of capture: every tap recorded, against the same weights with `attend` replaced by SDPA."""

from __future__ import annotations

import torch

from benchmarks.measure import Row, side_by_side
from chumoku.model import checkpoint, masks
from chumoku.model.checkpoint import ZOO
from chumoku.model.mechanisms import fuse_attention
from chumoku.model.taps import record, tap_dims

SEQ_LEN = 64


@torch.inference_mode()
def measure() -> list[Row]:
    """The ratio for all taps of stories-gpt at 64 tokens."""
    ours, fused = (checkpoint.load(ZOO / "stories-gpt").model for _ in range(2))
    fuse_attention(fused)
    ids = torch.randint(4000, (1, SEQ_LEN), generator=torch.Generator().manual_seed(0))
    mask = masks.causal(SEQ_LEN, SEQ_LEN)[None, None]
    names = list(tap_dims(ours))

    def captured() -> None:
        with record(names):
            ours(ids, mask)

    with_capture, without, ratio = side_by_side(captured, lambda: fused(ids, mask))
    note = f"{1e3 * with_capture:.1f} ms against {1e3 * without:.1f} ms, {len(names)} taps"
    return [Row(f"full capture, {SEQ_LEN} tokens ÷ SDPA without", ratio, "×", 1.15, note=note)]

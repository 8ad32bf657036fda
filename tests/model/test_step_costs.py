"""What a step costs with and without a KV cache, counted by torch while it runs: the page's formula must equal it
(tests/js/step_costs.json)."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch.utils.flop_counter import FlopCounterMode

from chumoku.model.run import Run
from chumoku.model.session import DecoderSession, TargetSession
from tests.model.helpers import tiny_checkpoint
from tests.model.test_description_fixture import CONFIGS, MECHANISMS

FIXTURE = Path(__file__).parent.parent / "js" / "step_costs.json"
SOURCE, LENGTHS = list(b"source"), (2, 3, 8)


def counted(session: DecoderSession, ids: list[int]) -> dict[str, int]:
    """Multiply-adds of reading the last of `ids`: products with weights, and of scores and weighted values."""
    session.step(ids[:-1])
    with FlopCounterMode(display=False) as counter:
        forward = session.step(ids[-1:])
    products = {str(op): flops // 2 for op, flops in counter.get_flop_counts()["Global"].items()}
    attention = products.pop("aten.bmm", 0)
    return {"weights": sum(products.values()), "attention": attention, "bytes": forward.cache_bytes}


def costs(name: str) -> list[dict[str, Any]]:
    config = (CONFIGS | MECHANISMS)[name]
    names = ("n_layer", "n_head", "d_model", "d_ff", "max_seq_len", "mechanism")
    sizes = {size: getattr(config, size) for size in names}
    checkpoint, found = tiny_checkpoint(config.family, **sizes), []
    vocab = checkpoint.config.vocab_size
    kind = TargetSession if name == "translator" else DecoderSession
    for n in LENGTHS:
        for cached in (True, False):
            run = Run(SOURCE, target=[]) if name == "translator" else Run(list(range(n)))
            ids = [checkpoint.tokenizer.first_id, *range(n - 1)] if name == "translator" else list(range(n))
            cost = counted(kind(checkpoint, replace(run, cache=cached)), ids)
            found.append({"tokens": n, "source": len(SOURCE), "cached": cached, "vocab_size": vocab} | cost)
    return found


def test_the_page_is_tested_against_what_torch_counts() -> None:
    """`CHUMOKU_WRITE_FIXTURES=1 pytest tests/model/test_step_costs.py` rewrites it."""
    now = {name: costs(name) for name in ("decoder", "translator", "rotary")}
    if os.environ.get("CHUMOKU_WRITE_FIXTURES"):
        FIXTURE.write_text(json.dumps(now, indent=1) + "\n", "utf-8")
    assert json.loads(FIXTURE.read_text("utf-8")) == now

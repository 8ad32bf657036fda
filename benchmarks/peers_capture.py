"""Capturing a forward pass in TransformerLens: the same weights, exported as GPT-2, and the same tokens.

Needs the extra `bench`. Both keep every activation that they name: TransformerLens's bridge keeps its hook points, ours
all taps of the description. Logits are compared, to make sure that the same function is timed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor

import chumoku
from benchmarks.measure import Row, side_by_side
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.export.huggingface import export
from chumoku.model.trace import trace

TOKENS = (64, 256)
RUNS = 30


def measure() -> list[Row]:
    """Nothing without the extra: `make bench` installs it."""
    if not find_spec("transformer_lens"):
        print("benchmarks.peers_capture is left out: it needs the extra bench (transformer-lens)")
        return []
    ours = chumoku.load("stories-gpt").traceable.checkpoint
    assert ours is not None
    theirs = bridge(ours)
    return [row for n in TOKENS for row in beside(n, ours, theirs)]


def bridge(ours: Checkpoint) -> Callable[[Tensor], tuple[Tensor, int]]:
    """A forward pass through TransformerLens's bridge: logits [1 position vocab], and how many activations it kept."""
    from transformer_lens.model_bridge import TransformerBridge
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with tempfile.TemporaryDirectory() as folder:
        export(ours, Path(folder))
        model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager")
        tokenizer = AutoTokenizer.from_pretrained(folder)
        bridged = TransformerBridge.boot_transformers(folder, hf_model=model, tokenizer=tokenizer, device="cpu")

    def forward(ids: Tensor) -> tuple[Tensor, int]:
        logits, cache = bridged.run_with_cache(ids)
        return logits, len(cache.keys())

    return forward


@torch.inference_mode()
def beside(n: int, ours: Checkpoint, theirs: Callable[[Tensor], tuple[Tensor, int]]) -> list[Row]:
    ids = torch.randint(4000, (1, n), generator=torch.Generator().manual_seed(0))
    found, (logits, kept) = trace(ours, ids[0].tolist()), theirs(ids)
    apart = (found.tensors[ours.description.logits.tap] - logits[0]).abs().max() / logits.abs().max()
    assert apart < 1e-5, f"not the same function: {apart:.1e}"
    fast, slow, ratio = side_by_side(lambda: trace(ours, ids[0].tolist()), lambda: theirs(ids), RUNS)
    note = f"{1e3 * fast:.1f} ms, {len(found.tensors)} taps against {1e3 * slow:.1f} ms, {kept} activations"
    return [Row(f"{n} tokens, capture ÷ TransformerLens {version('transformer-lens')}", ratio, "×", note=note)]

"""What the tests of this room share: small random models with odd numbers in every place, and their tokenizer."""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from model import masks
from model.checkpoint import Checkpoint
from model.config import ModelConfig
from model.tokenizer import Tokenizer, from_ranks
from model.transformer import DecoderOnly, build

BYTES = 256
"""A tokenizer of the 256 bytes alone has 258 ids: END and PAD follow the bytes."""

TINY = {"vocab_size": BYTES + 2, "n_layer": 2, "n_head": 3, "d_model": 15, "d_ff": 22, "max_seq_len": 24}
POSITIONS = ("learned", "sinusoidal", "none")
NORM_ORDERS = ("pre", "post")

M = TypeVar("M", bound=nn.Module)


def randomise(model: M, seed: int = 0) -> M:
    """Every parameter random, gains and biases too, and large enough that no softmax is flat."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            gain = parameter.dim() == 1 and name.endswith("weight")
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(1 + 0.2 * noise if gain else 0.4 * noise)
    return model


def tiny_model(*, seed: int = 0, **changes: Any) -> DecoderOnly:
    """A random decoder of two layers, three heads of width five, in eval mode."""
    return randomise(build(ModelConfig(**TINY | changes)), seed).requires_grad_(False).eval()


def byte_tokenizer() -> Tokenizer:
    return from_ranks({bytes([byte]): byte for byte in range(BYTES)}, "bytes")


def tiny_checkpoint(*, seed: int = 0, **changes: Any) -> Checkpoint:
    return Checkpoint("tiny", tiny_model(seed=seed, **changes), byte_tokenizer(), {})


def random_ids(*shape: int, seed: int = 0) -> Tensor:
    """Ids of bytes: neither END nor PAD."""
    return torch.randint(BYTES, shape, generator=torch.Generator().manual_seed(seed))


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def causal_mask(seq_len: int) -> Tensor:
    """Reasons [1 1 query key]"""
    return masks.causal(seq_len, seq_len)[None, None]


def close(actual: Tensor, expected: Tensor, tolerance: float = 1e-9) -> None:
    """Equal numbers, absolutely and relatively within `tolerance`; shapes and NaNs included."""
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=tolerance)

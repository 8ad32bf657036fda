"""Shared by the tests of this folder: small random models whose dimensions all differ, and their tokenizer."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.config import Family, ModelConfig
from chumoku.model.run import Run
from chumoku.model.sampling import Distribution, draw
from chumoku.model.tokenizer import Tokenizer, from_ranks
from chumoku.model.traceable import TraceableModel
from chumoku.model.transformer import DecoderOnly, EncoderDecoder, EncoderOnly, NoNumbers, build

BYTES = 256
"""A tokenizer of only the 256 bytes has 258 ids: END and PAD follow the bytes. START or [CLS] is the 259th."""

TINY = {"vocab_size": BYTES + 2, "n_layer": 2, "n_head": 3, "d_model": 15, "d_ff": 22, "max_seq_len": 24}
POSITIONS = ("learned", "sinusoidal", "none")
NORM_ORDERS = ("pre", "post", "res-post")
FAMILIES: dict[Family, dict[str, Any]] = {
    "decoder-only": {},
    "encoder-only": {"vocab_size": BYTES + 3, "classes": ("no", "yes", "maybe")},
    "encoder-decoder": {"vocab_size": BYTES + 3},
}

M = TypeVar("M", bound=nn.Module)

BORDER, TIE = 1e-5, 1e-4
"""Where rounding decides a draw: u this near to a border, or tokens whose probabilities differ by this part of them."""


def rounding_decides(dist: Distribution, u: float) -> bool:
    """Whether the token that u draws may be another one where the same numbers are added in another order."""
    borders = dist.after[dist.ranked].cumsum(-1)
    p = dist.before[draw(dist, u)]
    alike = (dist.before - p).abs() <= TIE * p
    return bool((borders - u).abs().min() < BORDER or alike.sum() > 1)


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
    """A random decoder (or, with `family`, another) of two layers, three heads of width five, in eval mode."""
    with NoNumbers():
        model: Any = build(ModelConfig(**TINY | changes))
    return randomise(model, seed).requires_grad_(False).eval()


@cache
def byte_tokenizer(family: Family = "decoder-only", mask_token: bool = False) -> Tokenizer:
    return from_ranks({bytes([byte]): byte for byte in range(BYTES)}, "bytes", family, mask_token=mask_token)


def tiny_checkpoint(family: Family = "decoder-only", *, seed: int = 0, **changes: Any) -> Checkpoint:
    """A random model of a family, over bytes."""
    model = tiny_model(seed=seed, family=family, **FAMILIES[family] | changes)
    return Checkpoint("tiny", model, byte_tokenizer(family, model.config.mask_token), {})


def tiny_fill_mask(**changes: Any) -> Checkpoint:
    """A random encoder without classes: a masked language model over bytes."""
    return tiny_checkpoint("encoder-only", **{"vocab_size": BYTES + 4, "classes": (), "mask_token": True} | changes)


def tiny_encoder(**changes: Any) -> EncoderOnly:
    return tiny_checkpoint("encoder-only", **changes).encoder_only


def tiny_translator(**changes: Any) -> EncoderDecoder:
    return tiny_checkpoint("encoder-decoder", **changes).encoder_decoder


def target_of(checkpoint: Checkpoint, target: list[int]) -> dict[str, list[int]]:
    """The arguments of `trace` besides a sentence: a target for an encoder-decoder."""
    return {"target": target} if checkpoint.config.family == "encoder-decoder" else {}


def pads_behind(*lengths: int) -> Tensor:
    """Which positions of a batch of rows of these lengths are PADs on the right: bool [batch position]"""
    return torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None]


def check_rows_of_steps(traceable: TraceableModel, run: Run) -> None:
    """Each role of the stack that grows has a row for each new query of a step, or for each key so far, as it says."""
    writes = traceable.description.writes
    roles = {
        one.tap(name, 1): (role.dims.split().index("position"), one.side_of(name) if role.rows == "key" else None)
        for one in traceable.description.attentions
        if one.queries == writes
        for name, role in one.roles.items()
        if "position" in role.dims
    }
    session = traceable.start(run, list(roles))
    for ids in (session.prompt, [1], [2, 3]):
        step = session.step(ids)
        n_keys = {None: len(ids), "source": len(run.ids), writes: len(session.ids)}
        found = {tap: step.tensors[tap].shape[axis] for tap, (axis, _) in roles.items()}
        assert found == {tap: n_keys[of] for tap, (_, of) in roles.items()}


def random_ids(*shape: int, seed: int = 0) -> Tensor:
    """Ids of bytes: neither END nor PAD."""
    return torch.randint(BYTES, shape, generator=torch.Generator().manual_seed(seed))


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def causal_mask(seq_len: int) -> Tensor:
    """Reasons [1 1 query key]"""
    return masks.causal(seq_len, seq_len)[None, None]


def close(actual: Tensor, expected: Tensor, tolerance: float = 1e-9) -> None:
    """Equal within `tolerance`, absolute and relative; shapes and NaNs must match too."""
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=tolerance)

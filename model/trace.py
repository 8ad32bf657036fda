"""A trace: one sentence through one model, with the tensors asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from model import masks
from model.checkpoint import Checkpoint
from model.taps import Edit, record, tap_dims


@dataclass(frozen=True)
class Masks:
    """Which masks a run applies."""

    causal: bool = True
    padding: bool = True


@dataclass(frozen=True)
class Padding:
    """PAD tokens put beside a sentence; `follow` lets position ids follow the padding mask: padding moves nobody."""

    count: int = 0
    side: Literal["left", "right"] = "left"
    follow: bool = True


@dataclass(frozen=True)
class Trace:
    """What one forward pass made. Tensors have no batch dimension and are on the CPU; `dims` names theirs.

    `ids` include the PADs; row t of `logits` is about token t+1.
    """

    ids: list[int]
    position_ids: list[int]
    tensors: dict[str, Tensor]
    dims: dict[str, str]


@torch.inference_mode()
def trace(
    checkpoint: Checkpoint,
    ids: Sequence[int],
    names: Sequence[str] | None = None,
    *,
    use: Masks = Masks(),
    pad: Padding = Padding(),
    edit: Mapping[str, Edit] | None = None,
) -> Trace:
    """Run `ids` through the model and keep the taps called `names` (all of them by default), in the model's order.

    Position ids skip the PADs as long as the padding mask is on and `pad.follow`; else a PAD counts like any token.
    Raises `ValueError` when there is no token or more than the model's window, `KeyError` for an unknown tap.
    """
    padded = pad_ids(ids, pad, checkpoint.tokenizer.pad_id)
    check_length(len(padded), checkpoint.config.max_seq_len)
    dims = tap_dims(checkpoint.model)
    wanted = list(dims) if names is None else list(names)
    for name in [*wanted, *(edit or {})]:
        if name not in dims:
            raise KeyError(f"no tensor is named {name!r}; known are {', '.join(dims)}")

    token_ids = torch.tensor([padded], device=checkpoint.device)  # 1 position
    is_pad = token_ids == checkpoint.tokenizer.pad_id
    mask = masks.decoder_mask(is_pad, use_causal=use.causal, use_padding=use.padding)
    skipped = is_pad if use.padding and pad.follow else torch.zeros_like(is_pad)
    position_ids = masks.position_ids(skipped)
    with record(wanted, edit) as recording:
        checkpoint.model(token_ids, mask, position_ids)
    tensors = {name: recording.tensors[name][0].cpu() for name in wanted}
    return Trace(padded, position_ids[0].tolist(), tensors, {name: dims[name] for name in wanted})


def pad_ids(ids: Sequence[int], pad: Padding, pad_id: int) -> list[int]:
    """`ids` with `pad.count` PADs on its side."""
    pads = [pad_id] * pad.count
    return [*pads, *ids] if pad.side == "left" else [*ids, *pads]


def check_length(n_tokens: int, max_seq_len: int) -> None:
    """Raise `ValueError` for no token, or for more than the window holds."""
    if n_tokens == 0:
        raise ValueError("there is no token to trace")
    if n_tokens > max_seq_len:
        raise ValueError(
            f"{n_tokens} tokens are {n_tokens - max_seq_len} more than the model's window of {max_seq_len}"
        )

"""A trace: one sentence through one model, with the requested tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.block import Memory
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Side
from chumoku.model.taps import Edit, record
from chumoku.model.transformer import EncoderDecoder, EncoderOnly


@dataclass(frozen=True)
class Masks:
    """The masks of a run. `causal`: in the stack that predicts; None means as trained. `padding`: wherever there are
    PADs."""

    causal: bool | None = None
    padding: bool = True


@dataclass(frozen=True)
class Padding:
    """PAD tokens before or after a sentence (in an encoder-decoder: the source). With `follow`, position ids skip
    masked PADs, so that padding shifts nothing.

    `hidden` are positions whose tokens count as PADs, such as the hidden patches of a picture: they keep their position
    ids.
    """

    count: int = 0
    side: Literal["left", "right"] = "left"
    follow: bool = True
    hidden: tuple[int, ...] = ()

    @property
    def take_no_position(self) -> bool:
        """Whether position ids skip masked positions."""
        return self.follow and not self.hidden


@dataclass(frozen=True)
class Trace:
    """The result of one forward pass. Tensors are on the CPU, without batch dimension; `dims` names their dimensions.

    `ids` include the PADs and, in an encoder-only model, [CLS]; an encoder-decoder's are the source's, and `target_ids`
    (None in the other families) begin with START. `is_pad` says which of `ids` are PADs; a token of the text may have
    the same id. Row t of `logits` predicts token t + 1 in a decoder, and token t in a masked language model.
    """

    ids: list[int]
    is_pad: list[bool]
    position_ids: list[int]
    tensors: dict[str, Tensor]
    dims: dict[str, str]
    target_ids: list[int] | None = None

    def pads(self, side: Side) -> list[bool]:
        """Which positions of a side are PADs. A target has none."""
        return self.is_pad if side == "source" else [False] * len(self.target_ids or [])


@torch.inference_mode()
def trace(
    checkpoint: Checkpoint,
    ids: Sequence[int],
    names: Sequence[str] | None = None,
    *,
    target: Sequence[int] | None = None,
    use: Masks = Masks(),
    pad: Padding = Padding(),
    edit: Mapping[str, Edit] | None = None,
) -> Trace:
    """Run `ids` through the model and keep the taps called `names` (all of them by default), in the model's order.

    [CLS] and START are added if missing. An encoder-decoder reads `target` as if it had written it (teacher forcing).
    Position ids skip PADs while the padding mask is on and `pad` says so; otherwise a PAD counts like any token. Raises
    `ValueError` for no tokens, for more than fit the model's window, and for a missing or unexpected target, and
    `KeyError` for an unknown tap.
    """
    dims = checkpoint.taps
    wanted = list(dims) if names is None else list(names)
    for name in [*wanted, *(edit or {})]:
        if name not in dims:
            raise KeyError(f"no tensor is named {name!r}; known are {', '.join(dims)}")
    check_target(checkpoint, target)
    read = read_as(checkpoint, ids)
    padded = pad_ids(read, pad, checkpoint.tokenizer.pad_id)
    check_length(len(padded), checkpoint.config.max_seq_len)
    token_ids = torch.tensor([padded], device=checkpoint.device)  # 1 position
    added = pads_among(len(read), pad)
    is_pad = torch.tensor([added], device=checkpoint.device)
    skipped = is_pad if use.padding and pad.take_no_position else torch.zeros_like(is_pad)
    position_ids = masks.position_ids(skipped)
    target_ids = None if target is None else with_first(target, checkpoint.tokenizer.first_id)
    written = None if target_ids is None else torch.tensor([target_ids], device=checkpoint.device)  # 1 query
    with record(wanted, edit) as recording:
        run(checkpoint, token_ids, position_ids, is_pad, use, written)
    tensors = {name: recording.tensors[name][0].cpu() for name in wanted}
    dims = {name: dims[name] for name in wanted}
    return Trace(padded, added, position_ids[0].tolist(), tensors, dims, target_ids)


def run(
    checkpoint: Checkpoint,
    token_ids: Tensor,
    position_ids: Tensor,
    is_pad: Tensor,
    use: Masks,
    target: Tensor | None,
    target_is_pad: Tensor | None = None,
) -> Tensor:
    """The forward pass of the model's family: token_ids, position_ids, is_pad [batch position], target, target_is_pad
    [batch query] (None: no PADs) → logits [batch position|query vocab] or [batch class]."""
    model, causal = checkpoint.model, checkpoint.config.is_causal if use.causal is None else use.causal
    hidden = is_pad if use.padding else None
    if isinstance(model, EncoderDecoder):
        assert target is not None
        check_length(target.shape[1], checkpoint.config.max_seq_len, "target tokens, START included,")
        x = model.encode(token_ids, masks.encoder_mask(is_pad, use_padding=use.padding), position_ids, hidden)
        cross = masks.cross_mask(is_pad, target.shape[1], use_padding=use.padding)
        target_is_pad = torch.zeros_like(target, dtype=torch.bool) if target_is_pad is None else target_is_pad
        mask = masks.decoder_mask(target_is_pad, use_causal=causal)
        return model.decode(target, mask, Memory(x, cross, position_ids, hidden), is_pad=target_is_pad)
    mask = masks.decoder_mask(is_pad, use_causal=causal, use_padding=use.padding)
    if isinstance(model, EncoderOnly):
        return model(token_ids, mask, position_ids, (~is_pad).long().argmax(-1), hidden)
    return model(token_ids, mask, position_ids, is_pad=hidden)


def read_as(checkpoint: Checkpoint, ids: Sequence[int]) -> list[int]:
    """`ids` as the model reads them: [CLS] first in an encoder-only model. Raises `ValueError` if there are none."""
    check_length(len(ids), checkpoint.config.max_seq_len)
    begins_with_cls = checkpoint.description.predicts in ("classes", "same")
    return with_first(ids, checkpoint.tokenizer.first_id) if begins_with_cls else list(ids)


def check_target(checkpoint: Checkpoint, target: Sequence[int] | None) -> None:
    """Raise `ValueError` for a missing or unexpected target."""
    if (target is None) == ("target" in checkpoint.description.sides):
        raise ValueError(f"{checkpoint.name} is {checkpoint.config.family}: a target is for an encoder-decoder, always")


def with_first(ids: Sequence[int], first_id: int) -> list[int]:
    """`ids` with `first_id` in front, unless they begin with it."""
    return list(ids) if ids and ids[0] == first_id else [first_id, *ids]


def pad_ids(ids: Sequence[int], pad: Padding, pad_id: int) -> list[int]:
    """`ids` with `pad.count` PADs on its side."""
    pads = [pad_id] * pad.count
    return [*pads, *ids] if pad.side == "left" else [*ids, *pads]


def pads_among(n_ids: int, pad: Padding) -> list[bool]:
    """Which positions of `n_ids` tokens and their PADs are PADs. Ids do not tell: a token of the text may have
    PAD's."""
    pads, rest = [True] * pad.count, [False] * n_ids
    added = [*pads, *rest] if pad.side == "left" else [*rest, *pads]
    return [is_pad or at in pad.hidden for at, is_pad in enumerate(added)]


def check_length(n_tokens: int, max_seq_len: int, what: str = "tokens") -> None:
    """Raise `ValueError` for no tokens, or for more than fit the window."""
    if n_tokens == 0:
        raise ValueError("there is no token to trace")
    if n_tokens > max_seq_len:
        raise ValueError(
            f"{n_tokens} {what} are {n_tokens - max_seq_len} more than the model's window of {max_seq_len}"
        )

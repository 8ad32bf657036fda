"""The next tokens of several texts in one forward pass, which reads the weights once for all of them.

The texts may have different lengths and PADs. Their keys are aligned at the newest position: shorter texts are padded
on the left with forbidden keys, whose weight is exactly 0. Up to rounding, the numbers equal those of each text alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Self, TypeGuard

import torch
from torch import Tensor

from chumoku.model.cache import Cache
from chumoku.model.mechanisms.caches import History
from chumoku.model.session import DecoderSession, Forward, Session
from chumoku.model.taps import record

FILL = 128
"""The reason that forbids the padding of a shorter text. It is never shown: recorded rows begin after it."""


class Joined:
    """The caches of all texts for one layer, used as the cache of a batch (`MixerCache`)."""

    def __init__(self, rows: Sequence[History]) -> None:
        self.rows = rows

    def append(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Add each text's new position to its cache. Returns all positions, each [batch .. position d], padded left."""
        grown = [row.append(*(x[b : b + 1] for x in new)) for b, row in enumerate(self.rows)]
        return tuple(aligned(of_texts) for of_texts in zip(*grown, strict=True))

    @property
    def positions(self) -> int:
        return max(row.positions for row in self.rows)

    @property
    def nbytes(self) -> int:
        return sum(row.nbytes for row in self.rows)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return tuple(x for row in self.rows for x in row.tensors)

    def select(self, rows: Tensor) -> None:
        self.rows = [self.rows[row] for row in rows.tolist()]

    def copy(self) -> Self:
        return type(self)([row.copy() for row in self.rows])


def aligned(rows: Sequence[Tensor]) -> Tensor:
    """Tensors [1 .. position d] of different lengths as one [batch .. position d]: their last positions coincide."""
    longest = max(x.shape[-2] for x in rows)
    joined = rows[0].new_zeros((len(rows), *rows[0].shape[1:-2], longest, rows[0].shape[-1]))
    for b, x in enumerate(rows):
        joined[b, ..., longest - x.shape[-2] :, :] = x[0]
    return joined


def group(session: Session) -> Hashable:
    """Sessions with equal groups can step together; None if this one must step alone.

    To have a group, a session must be causal and without edits, keep all keys in its cache, and record only overviews.
    """
    if not (is_decoder(session) and session.cache is not None and not session.run.edit):
        return None
    kept = all(type(layer) is History for layer in session.cache.layers)
    recorded = set(session.names) <= session.checkpoint.description.overviews
    key = id(session.checkpoint.model), tuple(session.names), session.fused is not None
    return key if kept and recorded else None


def is_decoder(session: Session) -> TypeGuard[DecoderSession]:
    return type(session) is DecoderSession


@torch.inference_mode()
def step(sessions: Sequence[DecoderSession], ids: Sequence[int]) -> list[Forward]:
    """Each session reads its id. All belong to one `group` and have read something. On failure, no session has read its
    id."""
    before = [(session.ids, session.cache and session.cache.copy()) for session in sessions]
    try:
        return _step(sessions, ids) if len(sessions) > 1 else [sessions[0].step(list(ids))]
    except BaseException:
        for session, (old_ids, cache) in zip(sessions, before, strict=True):
            session.ids, session.cache = old_ids, cache
        raise


def _step(sessions: Sequence[DecoderSession], ids: Sequence[int]) -> list[Forward]:
    first = sessions[0]
    for session, newest in zip(sessions, ids, strict=True):
        session.ids = [*session.ids, newest]
    caches = [session.cache for session in sessions if session.cache is not None]
    if first.fused:
        rows, weights = first.fused(ids, caches, first.names)  # batch vocab
        return [forward(*one) for one in zip(sessions, rows, weights, strict=True)]
    mask, position_ids = (torch.cat(x) for x in zip(*rows_of(sessions), strict=True))
    cache = Cache([Joined(layers) for layers in zip(*(cache.layers for cache in caches), strict=True)])
    token_ids = torch.tensor(ids, device=first.checkpoint.device)[:, None]  # batch 1
    with record(first.names) as recording:
        logits = first.checkpoint.decoder_only(token_ids, mask, position_ids, cache)  # batch 1 vocab
    tensors = (
        {name: x[b, ..., -len(session.ids) :].cpu() for name, x in recording.tensors.items()}
        for b, session in enumerate(sessions)
    )
    return [forward(*one) for one in zip(sessions, logits[:, -1], tensors, strict=True)]


def rows_of(sessions: Sequence[DecoderSession]) -> list[tuple[Tensor, Tensor]]:
    """For each text, the mask of its newest row [1 1 1 key], padded left, and its position id [1 1]."""
    longest = max(len(session.ids) for session in sessions)
    rows = []
    for session in sessions:
        mask, position_ids, _ = session.newest(1)
        filled = torch.nn.functional.pad(mask, (longest - mask.shape[-1], 0), value=FILL)
        rows.append((filled, position_ids))
    return rows


def forward(session: DecoderSession, logits: Tensor, tensors: dict[str, Tensor]) -> Forward:
    """A text's part of the batch: logits [vocab], copied so that those of the others are freed, and `tensors`."""
    session.last = logits.clone()
    return Forward(session.last, tensors, 1, 0 if session.cache is None else session.cache.nbytes)

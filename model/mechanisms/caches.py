"""Key-value caches of earlier positions: all of them (`History`), or older ones folded into a single key (`Folded`)."""

from __future__ import annotations

from threading import Lock
from typing import Self

import torch
from torch import Tensor

SPARE = 16
"""A new buffer has space for at least this many further positions."""


class History:
    """Tensors of all earlier positions, each [batch .. position d], oldest first.

    Immutable: a trace may still hold the tensors of an earlier step, and a copy shares them.
    """

    def __init__(self, *kept: Tensor, buffer: Buffer | None = None) -> None:
        self.kept, self.buffer = kept, buffer

    def append(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Add the tensors of new positions and return those of all positions. Without new positions, nothing
        changes."""
        if not self.kept:
            self.kept = self._begun(new)
            return new
        if new[0].shape[-2]:
            self.kept = self._extended(new)
        return self.kept

    def append_joint(self, new: Tensor) -> tuple[Tensor, ...]:
        """`append` in inference mode, for tensors of one shape, stacked: [tensor batch .. position d]. They are copied
        at once."""
        if self.buffer is None or self.buffer.joint is None or not self.buffer.claim(self.kept, new.shape[-2]):
            return self.append(*new)
        at, end = self.positions, self.positions + new.shape[-2]
        self.buffer.joint.narrow(-2, at, end - at).copy_(new)
        self.kept = self.buffer.joint.narrow(-2, 0, end).unbind(0)
        return self.kept

    def _begun(self, new: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if not torch.is_inference_mode_enabled():
            return new
        self.buffer = Buffer(new)
        return self.buffer.write(new, 0)

    def _extended(self, new: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if not torch.is_inference_mode_enabled():  # autograd forbids writing in place
            return tuple(torch.cat(pair, dim=-2) for pair in zip(self.kept, new, strict=True))
        if self.buffer is None or not self.buffer.claim(self.kept, new[0].shape[-2]):
            self.buffer = Buffer(self.kept, new[0].shape[-2])
            self.buffer.write(self.kept, 0)
        return self.buffer.write(new, self.kept[0].shape[-2])

    @property
    def positions(self) -> int:
        return self.kept[0].shape[-2] if self.kept else 0

    @property
    def nbytes(self) -> int:
        return sum(x.nbytes for x in self.kept)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return self.kept

    def select(self, rows: Tensor) -> None:
        self.kept = tuple(x[rows] for x in self.kept)

    def copy(self) -> Self:
        return type(self)(*self.kept, buffer=self.buffer)


class Buffer:
    """Space for further positions, shared by all copies of a history.

    Only the first copy to grow writes after the shared positions; a copy that grows differently gets a new buffer. So a
    text of n tokens that is kept after each token takes the memory of n positions, not of n².
    """

    def __init__(self, like: tuple[Tensor, ...], more: int = 0) -> None:
        """An empty buffer of which the positions of `like` and `more` others are in use. `joint`: its tensors as one,
        if they have one shape."""
        self.used = like[0].shape[-2] + more
        self.size = self.used + max(SPARE, self.used // 4)
        self.lock = Lock()
        shapes = [(*x.shape[:-2], self.size, x.shape[-1]) for x in like]
        alike = len({(shape, x.dtype) for shape, x in zip(shapes, like, strict=True)}) == 1
        self.joint = like[0].new_empty((len(like), *shapes[0])) if alike else None
        apart = (x.new_empty(shape) for shape, x in zip(shapes, like, strict=True))
        self.tensors = tuple(apart) if self.joint is None else self.joint.unbind(0)

    def claim(self, kept: tuple[Tensor, ...], more: int) -> bool:
        """Whether `more` positions may be written after `kept`: it is in this buffer, nothing follows it, and they
        fit."""
        if kept[0].data_ptr() != self.tensors[0].data_ptr():
            return False
        n = kept[0].shape[-2]
        with self.lock:
            free = self.used == n and n + more <= self.size
            self.used += more if free else 0
        return free

    def write(self, new: tuple[Tensor, ...], at: int) -> tuple[Tensor, ...]:
        """Write `new` from position `at`. Returns the tensors up to its end."""
        n = new[0].shape[-2]
        for x, buffer in zip(new, self.tensors, strict=True):
            buffer.narrow(-2, at, n).copy_(x)
        return tuple(buffer.narrow(-2, 0, at + n) for buffer in self.tensors)


class Folded(History):
    """A cache that keeps recent keys and folds all older ones into a single key.

    Once the position bias of keys does not depend on the query, or falls at the same rate for every key, the sums over
    them equal those over one key:

        Σ_i e^{k_i} v_i = e^{k_s} v_s,    k_s = log Σ_i e^{k_i},    v_s = Σ_i e^{k_i − k_s} v_i

    This is the state of the recurrent form, in a shape that the matrix form reads.

    k [batch head key 1|d_head], v [batch head key d_head] and positions [1|batch key 1] of the keys that are kept.

    The leading keys are folded once they are at least `reach` positions before every later query; None: never. `decay`
    [head d_head] is what their exponent loses with each position (RWKV); None: nothing. Folding works only under causal
    and padding masks, where a key is forbidden to all later queries or to none.
    """

    def __init__(self, reach: int | None, decay: Tensor | None = None) -> None:
        super().__init__()
        self.reach, self.decay = reach, decay
        self.seen = 0
        self.folded = False  # whether the first key stands for several

    @property
    def positions(self) -> int:
        return self.seen

    def copy(self) -> Folded:
        copy = Folded(self.reach, self.decay)
        copy.kept, copy.seen, copy.folded = self.kept, self.seen, self.folded
        return copy

    def attend(
        self, k: Tensor, v: Tensor, places: Tensor, mask: Tensor, every_key: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The keys, values, positions and the mask of reasons [batch 1|head query key] that the new positions attend
        to, themselves included. Then folds what later queries need only as a sum, unless `every_key` is requested."""
        self.seen += k.shape[-2]
        k, v, places = self.append(k, v, places.expand(len(k), -1, -1))
        if self.folded:
            recent = mask[..., mask.shape[-1] - k.shape[-2] + 1 :]
            mask = torch.cat((torch.zeros_like(mask[..., :1]), recent), -1)  # a folded key is allowed
        if self.reach is not None and not every_key:
            self.fold(k, v, places, mask[..., -1, :] != 0, self.reach)
        return k, v, places, mask

    def fold(self, k: Tensor, v: Tensor, places: Tensor, forbidden: Tensor, reach: int) -> None:
        """Replace the leading keys that are `reach` or more positions before the next query by one key. `forbidden`
        bool [batch 1|head key] marks PADs, which add nothing."""
        newest = places[:, -1:]  # batch 1 1
        old = newest + 1 - places >= reach  # batch key 1
        n = int(old.long().cumprod(1).sum(1).min())
        if n == 0:
            return
        until = places[:, n - 1 : n]  # batch 1 1
        logits = k[..., :n, :].masked_fill(forbidden[..., :n, None], -torch.inf)
        if self.decay is not None:
            logits = logits - (until - places[:, :n])[:, None] * self.decay[:, None]
        total = logits.logsumexp(-2, keepdim=True)  # batch head 1 1|d_head
        share = (logits - total.masked_fill(total == -torch.inf, 0.0)).exp()
        value = (share * v[..., :n, :]).sum(-2, keepdim=True)
        self.kept = tuple(
            torch.cat((sum_, x[..., n:, :]), -2) for sum_, x in zip((total, value, until), (k, v, places), strict=True)
        )
        self.folded = True

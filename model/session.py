"""Sessions: a text that grows token by token, with a cache of what was read as long as that stays valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeGuard

import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.block import Memory
from chumoku.model.cache import Cache, DecoderCache
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.fused_step import fused_step, keeps_all_keys
from chumoku.model.run import Run
from chumoku.model.taps import record
from chumoku.model.trace import check_length, pad_ids, with_first


@dataclass(frozen=True)
class Forward:
    """One forward pass: the logits [vocab] of the next token, and the requested taps without batch dimension.

    Their queries are the `computed` newest positions, their keys all positions.
    """

    logits: Tensor
    tensors: dict[str, Tensor]
    computed: int
    cache_bytes: int


@dataclass(frozen=True)
class Prefix:
    """A session's state after reading `ids`: other sessions under the same run may continue from it.

    Immutable: sessions grow copies of `cache`, which share its memory. `logits` [vocab] are the last; `memory` is what
    a decoder reads of its source, and which of the source's positions are PADs.
    """

    ids: tuple[int, ...]
    cache: Cache
    logits: Tensor
    memory: tuple[Memory, Tensor] | None = None

    @property
    def tensors(self) -> list[Tensor]:
        """All its tensors."""
        of_memory = [] if self.memory is None else [self.memory[0].x]
        return [self.logits, *of_memory, *self.cache.tensors]


class Session(Protocol):
    """A text that grows."""

    prompt: list[int]
    """The initial ids, PADs and START included."""
    ids: list[int]
    """The ids that it has read so far."""
    window: int

    def step(self, ids: Sequence[int]) -> Forward:
        """Read these ids after the earlier ones. Without ids, return the last logits again."""
        ...


class Resumable(Session, Protocol):
    """A session whose prefixes can be kept."""

    @property
    def prefix(self) -> Prefix | None:
        """What it has read; None if no session could continue from it."""
        ...

    def resume(self, prefix: Prefix) -> None:
        """Continue after `prefix`, which a session with the same run and `names` has read."""
        ...


def is_resumable(session: Session) -> TypeGuard[Resumable]:
    """Whether its prefixes can be kept. (`isinstance` with the protocol would compute a prefix.)"""
    return hasattr(session, "resume")


class DecoderSession:
    """A decoder-only model continues a text under a run's masks, PADs and edits.

    If a query may see a later key (the causal mask is off, or an edit allows a later cell), a new token changes earlier
    rows. Then each step reads everything again, without a cache.
    """

    def __init__(self, checkpoint: Checkpoint, run: Run, names: Sequence[str] = ()) -> None:
        self.checkpoint, self.run, self.names = checkpoint, run, names
        self.window = checkpoint.config.max_seq_len
        self.prompt = self.begin()
        self.ids: list[int] = []
        self.causal = checkpoint.config.is_causal if run.use.causal is None else run.use.causal
        self.cache = self.new_cache() if self.causal and run.keeps else None
        self.last: Tensor | None = None  # logits, vocab
        plain = type(self) is DecoderSession and not run.edit and not any(run.is_pad)
        self.fused = fused_step(checkpoint, names) if plain else None

    def begin(self) -> list[int]:
        """Raises `ValueError` if the prompt is empty or longer than the window."""
        prompt = pad_ids(self.run.ids, self.run.pad, self.checkpoint.tokenizer.pad_id)
        if not 0 < len(prompt) <= self.window:
            raise ValueError(f"a prompt needs 1 to {self.window} tokens, got {len(prompt)}")
        return prompt

    def new_cache(self) -> Cache:
        return self.checkpoint.decoder_only.new_cache()

    @property
    def prefix(self) -> Prefix | None:
        if self.cache is None or self.last is None:
            return None
        return Prefix(tuple(self.ids), self.cache.copy(), self.last)

    def resume(self, prefix: Prefix) -> None:
        self.ids, self.cache, self.last = list(prefix.ids), prefix.cache.copy(), prefix.logits

    @torch.inference_mode()
    def step(self, ids: Sequence[int]) -> Forward:
        if not ids and self.last is not None:
            return Forward(self.last, {}, 0, 0 if self.cache is None else self.cache.nbytes)
        self.ids = [*self.ids, *ids]
        if self.fused and len(ids) == 1 and self.cache is not None and keeps_all_keys(self.cache):
            logits, weights = self.fused(ids, [self.cache], self.names)
            self.last = logits[0]
            return Forward(self.last, weights[0], 1, self.cache.nbytes)
        new = self.ids if self.cache is None else ids
        with record(self.names, self.run.edit) as recording:
            logits = self.read(torch.tensor([list(new)], device=self.checkpoint.device))  # 1 query vocab
        # A copy, so that the other rows' logits are freed.
        self.last = logits[0, -1].clone() if logits.shape[1] > 1 else logits[0, -1]
        tensors = {name: recording.tensors[name][0].cpu() for name in self.names}
        return Forward(self.last, tensors, len(new), 0 if self.cache is None else self.cache.nbytes)

    def read(self, new: Tensor) -> Tensor:
        """The newest of `self.ids`, int64 [1 query] → logits [1 query vocab]."""
        mask, position_ids, is_pad = self.newest(new.shape[1])
        return self.checkpoint.decoder_only(new, mask, position_ids, self.cache, is_pad)

    def newest(self, n: int) -> tuple[Tensor, Tensor, Tensor | None]:
        """For the `n` newest of `self.ids`: the mask of reasons [1 1 query key], the position ids [1 query], and which
        are masked PADs [1 query] (None: the padding mask is off)."""
        is_pad = torch.zeros(1, len(self.ids), dtype=torch.bool, device=self.checkpoint.device)  # 1 key
        is_pad[0, : len(self.run.is_pad)] = torch.tensor(self.run.is_pad)[: len(self.ids)]
        use = self.run.use
        mask = masks.decoder_mask(is_pad, use_causal=self.causal, use_padding=use.padding, query_len=n)
        skipped = is_pad if self.run.pads_take_no_position else torch.zeros_like(is_pad)
        return mask, masks.position_ids(skipped)[:, -n:], is_pad[:, -n:] if use.padding else None


class TargetSession(DecoderSession):
    """The target of an encoder-decoder grows. The source, which may have PADs, is read once.

    `names` are taps of the decoder: its self-attention's keys are all target positions, its cross-attention's the whole
    source. Raises `ValueError` for a model that is not an encoder-decoder, and for a source or target that is too long.
    """

    cache: DecoderCache | None

    def begin(self) -> list[int]:
        self.model = self.checkpoint.encoder_decoder
        padded_source(self.checkpoint, self.run)
        self.source: tuple[Memory, Tensor] | None = None
        prompt = with_first(self.run.target or [], self.checkpoint.tokenizer.first_id)
        check_length(len(prompt), self.window, "target tokens, START included,")
        return prompt

    def new_cache(self) -> DecoderCache:
        return self.model.new_cache()

    @property
    def prefix(self) -> Prefix | None:
        found = super().prefix
        return found and replace(found, memory=self.source)

    def resume(self, prefix: Prefix) -> None:
        super().resume(prefix)
        self.source = prefix.memory

    def read(self, new: Tensor) -> Tensor:
        self.source = self.source or read_source(self.checkpoint, self.run)
        memory, source_is_pad = self.source
        nothing = torch.zeros(1, len(self.ids), dtype=torch.bool, device=new.device)
        mask = masks.decoder_mask(nothing, use_causal=self.causal, query_len=new.shape[1])  # 1 1 query key
        cross = masks.cross_mask(source_is_pad, new.shape[1], use_padding=self.run.use.padding)
        return self.model.decode(new, mask, memory.under(cross), cache=self.cache)


def padded_source(checkpoint: Checkpoint, run: Run) -> list[int]:
    """A run's source with its PADs. Raises `ValueError` if it is empty or longer than the window."""
    padded = pad_ids(run.ids, run.pad, checkpoint.tokenizer.pad_id)
    check_length(len(run.ids) and len(padded), checkpoint.config.max_seq_len, "source tokens")
    return padded


@torch.inference_mode()
def read_source(checkpoint: Checkpoint, run: Run) -> tuple[Memory, Tensor]:
    """The encoder's output for a run's source, masked for one query, and which of its positions are PADs [1 key].

    Raises `ValueError` if the source is empty or longer than the window.
    """
    padded = padded_source(checkpoint, run)
    is_pad = torch.tensor([run.is_pad], device=checkpoint.device)
    mask = masks.encoder_mask(is_pad, use_padding=run.use.padding)
    positions = masks.position_ids(is_pad if run.pads_take_no_position else torch.zeros_like(is_pad))
    source = torch.tensor([padded], device=checkpoint.device)
    hidden = is_pad if run.use.padding else None
    with record(edit=run.edit):
        x = checkpoint.encoder_decoder.encode(source, mask, positions, hidden)
    return Memory(x, masks.cross_mask(is_pad, 1, use_padding=run.use.padding), positions, hidden), is_pad

"""Generation, one token a step, with a KV cache and with everything a trace can show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from model import masks
from model.checkpoint import Checkpoint
from model.kv_cache import KVCache
from model.sampling import Distribution, Settings, distribution, draw, uniform
from model.taps import record


@dataclass(frozen=True)
class Step:
    """One forward pass of a generation: over the prompt first, then over each new token.

    `ids` are all tokens so far. `drawn` is the distribution that the newest was drawn from, `u` the random number that
    drew it (both None for the prompt); `next` is the distribution of the token to come. `tensors` are the taps asked
    for, without batch dimension: the queries are the `computed` new positions, the keys all positions.
    """

    ids: list[int]
    drawn: Distribution | None
    u: float | None
    next: Distribution
    tensors: dict[str, Tensor]
    computed: int
    cache_bytes: int


class Generator:
    """A generation that goes on when asked: `prefill`, then `step` after `step`. Always under the causal mask.

    What another family does otherwise is how it reads new tokens: `_logits`.
    """

    def __init__(self, checkpoint: Checkpoint, settings: Settings, names: Sequence[str] = ()) -> None:
        self.checkpoint, self.settings, self.names = checkpoint, settings, names
        self.cache: KVCache = KVCache(checkpoint.config.n_layer)
        self.ids: list[int] = []

    def prefill(self, ids: Sequence[int]) -> Step:
        """Read the prompt. Raises `ValueError` when it is empty or longer than the window."""
        if not 0 < len(ids) <= self.checkpoint.config.max_seq_len:
            raise ValueError(f"a prompt needs 1 to {self.checkpoint.config.max_seq_len} tokens, got {len(ids)}")
        self.ids = list(ids)
        self.next, tensors = self._forward(self.ids)
        return Step(list(ids), None, None, self.next, tensors, len(ids), self.cache.nbytes)

    def step(self) -> Step:
        """Draw the next token and read it. Raises `ValueError` when the window is full."""
        if len(self.ids) >= self.checkpoint.config.max_seq_len:
            raise ValueError(f"the model's window of {self.checkpoint.config.max_seq_len} tokens is full")
        drawn, u = self.next, uniform(self.settings.seed, len(self.ids))
        self.ids.append(draw(drawn, u))
        self.next, tensors = self._forward(self.ids[-1:])
        return Step(list(self.ids), drawn, u, self.next, tensors, 1, self.cache.nbytes)

    @torch.inference_mode()
    def _forward(self, new_ids: Sequence[int]) -> tuple[Distribution, dict[str, Tensor]]:
        """Run the new tokens on top of the cache."""
        with record(self.names) as recording:
            logits = self._logits(torch.tensor([new_ids], device=self.checkpoint.device))[0, -1]  # vocab
        tensors = {name: recording.tensors[name][0].cpu() for name in self.names}
        return distribution(logits, self.settings, banned=self.checkpoint.tokenizer.never_sampled), tensors

    def _logits(self, new: Tensor) -> Tensor:
        """The newest of `self.ids`, int64 [1 query] → [1 query vocab]"""
        checkpoint = self.checkpoint
        is_pad = torch.tensor([self.ids], device=checkpoint.device) == checkpoint.tokenizer.pad_id  # 1 key
        mask = masks.decoder_mask(is_pad, query_len=new.shape[1])  # 1 1 query key
        position_ids = masks.position_ids(is_pad)[:, -new.shape[1] :]
        return checkpoint.decoder_only(new, mask, position_ids, self.cache)  # type: ignore[no-any-return]


def generate(
    checkpoint: Checkpoint, ids: Sequence[int], settings: Settings, max_new_tokens: int, names: Sequence[str] = ()
) -> Iterator[Step]:
    """The prompt's step, then up to `max_new_tokens` more; stops behind an END and where the window is full."""
    generator = Generator(checkpoint, settings, names)
    yield generator.prefill(ids)
    for _ in range(max_new_tokens):
        if len(generator.ids) >= checkpoint.config.max_seq_len:
            return
        step = generator.step()
        yield step
        if step.ids[-1] == checkpoint.tokenizer.end_id:
            return

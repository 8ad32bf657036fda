"""A loaded model of transformers that can be traced, its sessions, and translators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache, EncoderDecoderCache

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.run import Run
from chumoku.model.session import Forward
from chumoku.model.taps import begin_at, record, visit
from chumoku.model.trace import Trace, check_length, pad_ids, with_first
from chumoku.model.traceable.huggingface.capture import causal_mask, positions_given
from chumoku.model.traceable.huggingface.layout import Adapter, Stored
from chumoku.model.traceable.protocols import About, Session, TraceableModel, TraceableTokenizer
from chumoku.model.translate import BeamSearch


class GrowingText:
    """A text that grows under a run's masks, PADs and edits. If a query may attend to a later key, each step reads the
    whole text again."""

    def __init__(self, traceable: HuggingFaceModel, run: Run, names: Sequence[str]) -> None:
        """Raises `ValueError` if the prompt is empty or longer than the window."""
        self.traceable, self.run, self.names = traceable, run, names
        self.window = traceable.description.max_seq_len
        self.prompt, self.ids = traceable.padded(run), list[int]()
        if not 0 < len(self.prompt) <= self.window:
            raise ValueError(f"a prompt needs 1 to {self.window} tokens, got {len(self.prompt)}")
        self.cache = DynamicCache() if run.keeps else None  # keeps all positions, even those outside a sliding window
        self.last: Tensor | None = None  # vocab

    @torch.inference_mode()
    def step(self, ids: Sequence[int]) -> Forward:
        if not ids and self.last is not None:
            return Forward(self.last, {}, 0, self.nbytes)
        before = self.before
        self.ids = [*self.ids, *ids]
        new = self.ids[before:]
        with record(self.names, self.run.edit) as recording, causal_mask(self.traceable.causal(self.run)):
            begin_at(before)
            logits = self.read(torch.tensor([new], device=self.traceable.device))
        self.last = logits[0, -1].clone()
        tensors = {name: recording.tensors[name][0].cpu() for name in self.names}
        return Forward(self.last, tensors, len(new), self.nbytes)

    @property
    def before(self) -> int:
        """How many positions are cached before a step."""
        return 0 if self.cache is None else len(self.ids)

    def read(self, new: Tensor) -> Tensor:
        """The newest of `self.ids`, int64 [1 query] → logits [1 query vocab]."""
        is_pad = torch.zeros(1, len(self.ids), dtype=torch.bool, device=new.device)  # 1 key
        is_pad[0, : len(self.run.is_pad)] = torch.tensor(self.run.is_pad)[: len(self.ids)]
        skipped = is_pad if self.run.pads_take_no_position else torch.zeros_like(is_pad)
        position_ids = masks.position_ids(skipped)[:, -new.shape[1] :]
        cache = {"use_cache": False} if self.cache is None else {"past_key_values": self.cache, "use_cache": True}
        return self.traceable.read_ids(new, position_ids, is_pad & self.run.use.padding, **cache)

    @property
    def nbytes(self) -> int:
        """Bytes of the keys and values that are kept."""
        if self.cache is None or not self.ids:
            return 0
        return sum(layer.keys.nbytes + layer.values.nbytes for layer in self.kept)

    @property
    def kept(self) -> list[Any]:
        """The layers of the cache."""
        return [] if self.cache is None else list(self.cache.layers)


class HuggingFaceModel(TraceableModel):
    """A model without our modules. Its tensors are shown, and its final norm and head can decode its streams."""

    def __init__(
        self, about: About, adapter: Adapter, model: nn.Module, tokenizer: TraceableTokenizer, device: torch.device
    ) -> None:
        self._about, self.adapter, self.model, self._tokenizer, self._device = about, adapter, model, tokenizer, device

    @property
    def about(self) -> About:
        return self._about

    @property
    def tokenizer(self) -> TraceableTokenizer:
        return self._tokenizer

    @property
    def device(self) -> torch.device:
        return self._device

    @cached_property
    def nbytes(self) -> int:
        return sum(x.nbytes for x in (*self.model.parameters(), *self.model.buffers()))

    @property
    def checkpoint(self) -> Checkpoint | None:
        return None

    @property
    def simplest(self) -> Run:
        """The simplest run that any such model can read."""
        return Run([0], target=[self.tokenizer.special.first or 0] if self.description.writes == "target" else None)

    @torch.inference_mode()
    def trace(self, run: Run, names: Sequence[str]) -> Trace:
        """One forward pass. Raises `ValueError` for no tokens, or for more than the window."""
        dims = {name: self.description.taps[name].dims for name in names}
        padded = self.padded(run)
        check_length(len(padded), self.description.max_seq_len)
        is_pad = torch.tensor([run.is_pad], device=self.device)  # 1 position
        position_ids = masks.position_ids(is_pad if run.pads_take_no_position else torch.zeros_like(is_pad))
        types = self.token_types(run)
        read = {} if types is None else {"token_type_ids": types}
        with record(names, run.edit) as recording, causal_mask(self.causal(run)):
            self.read_ids(torch.tensor([padded], device=self.device), position_ids, is_pad & run.use.padding, **read)
        tensors = {name: recording.tensors[name][0].cpu() for name in names}
        return Trace(padded, run.is_pad, position_ids[0].tolist(), tensors, dims)

    def padded(self, run: Run) -> list[int]:
        pad_id = self.tokenizer.special.pad
        return pad_ids(run.ids, run.pad, 0 if pad_id is None else pad_id)

    def token_types(self, run: Run) -> Tensor | None:
        """Int64 [1 position], 0 for PADs as in transformers; None if all are 0."""
        if not any(run.token_types):
            return None
        return torch.tensor([pad_ids(run.token_types, run.pad, 0)], device=self.device)

    def causal(self, run: Run) -> bool | None:
        """The causal mask of a run; None if it is as trained."""
        as_trained = any(attention.causal for attention in self.description.attentions)
        return None if run.use.causal == as_trained else run.use.causal

    def read_ids(self, ids: Tensor, position_ids: Tensor, hidden: Tensor, **more: object) -> Tensor:
        """The forward pass: ids and position_ids [batch query], hidden bool [batch key] (the PADs that no query sees)
        → logits [batch query vocab]."""
        attention_mask = (~hidden).long()
        rows = position_ids + self.adapter.first_row
        out = self.model(input_ids=ids, attention_mask=attention_mask, position_ids=rows, **more)
        return visit(self.description.logits.tap, self.adapter.answer_of(out))

    def start(self, run: Run, names: Sequence[str]) -> Session:
        return GrowingText(self, run, names)

    def search(self, run: Run, beams: int, alpha: float) -> BeamSearch:
        raise NotImplementedError("can['beams'] is false")

    @torch.inference_mode()
    def read(self, stream: Tensor) -> Tensor:
        """Apply the model's final norm, if it has one, and its head: [position d_model] → [position vocab|class]."""
        stack = self.description.readout
        x = stream.to(self.device)[None] * (stack.layers[-1].scale or 1.0)
        if (norm := self.adapter.stacks[stack.id].final_norm) is not None:
            x = self.model.get_submodule(norm)(x)
        assert self.adapter.head is not None  # `can` says so
        logits: Tensor = self.model.get_submodule(self.adapter.head)(x)
        return logits[0].cpu()

    @cached_property
    def stored(self) -> Mapping[str, Stored]:
        return {parameter.ours: parameter for parameter in self.adapter.stored()}

    def weights(self, names: Sequence[str]) -> dict[str, Tensor]:
        return {name: self.stored[name].of(self.model) for name in names}


class Translator(HuggingFaceModel):
    """An encoder-decoder. Its position ids count PADs, because transformers takes no other position ids; those of
    M2M-100 are its own."""

    @torch.inference_mode()
    def trace(self, run: Run, names: Sequence[str]) -> Trace:
        """One forward pass. Raises `ValueError` for no tokens, or for more than the window on either side."""
        dims = {name: self.description.taps[name].dims for name in names}
        padded, target = self.padded(run), self.begun(run)
        check_length(len(padded), self.description.max_seq_len)
        check_length(len(target), self.description.max_seq_len, "target tokens, START included,")
        with record(names, run.edit) as recording, causal_mask(self.causal(run)):
            source = self.read_source(run)
            self.write(torch.tensor([target], device=self.device), source, self.seen(run))
        tensors = {name: recording.tensors[name][0].cpu() for name in names}
        return Trace(padded, run.is_pad, self.positions(run)[0].tolist(), tensors, dims, target)

    def positions(self, run: Run) -> Tensor:
        """The position ids of the source [1 position]."""
        is_pad = torch.tensor([run.is_pad], device=self.device)
        skips = self.adapter.skips_pads and run.pads_take_no_position
        return masks.position_ids(is_pad if skips else torch.zeros_like(is_pad))

    def begun(self, run: Run) -> list[int]:
        """The target, with START in front if the model has one."""
        first = self.tokenizer.special.first
        return list(run.target or []) if first is None else with_first(run.target or [], first)

    def seen(self, run: Run) -> Tensor:
        """Which of the source's tokens are visible, int64 [1 key]."""
        is_pad = torch.tensor([run.is_pad], device=self.device)
        return (~(is_pad & run.use.padding)).long()

    def read_source(self, run: Run) -> Tensor:
        """The encoder's output [1 key d_model]."""
        ids = torch.tensor([self.padded(run)], device=self.device)
        with positions_given(self.positions(run) if self.adapter.skips_pads and any(run.is_pad) else None):
            found: Tensor = self.model.get_encoder()(input_ids=ids, attention_mask=self.seen(run)).last_hidden_state  # type: ignore[operator]
        return found

    def write(self, target: Tensor, source: Tensor, seen: Tensor, **cache: object) -> Tensor:
        """The decoder's pass: target int64 [1 query], source [1 key d_model], seen int64 [1 key] → [1 query vocab]."""
        out = self.model(encoder_outputs=(source,), attention_mask=seen, decoder_input_ids=target, **cache)
        return visit(self.description.logits.tap, out.logits)

    def start(self, run: Run, names: Sequence[str]) -> GrowingText:
        return GrowingTarget(self, run, names)


class GrowingTarget(GrowingText):
    """The target of a translator. The source is read before the first step."""

    traceable: Translator

    def __init__(self, traceable: Translator, run: Run, names: Sequence[str]) -> None:
        super().__init__(traceable, run, names)
        self.prompt = traceable.begun(run)
        self.source: Tensor | None = None
        self.both = None if self.cache is None else EncoderDecoderCache(self.cache, DynamicCache())

    @property
    def kept(self) -> list[Any]:
        return [] if self.both is None else [*super().kept, *self.both.cross_attention_cache.layers]

    def read(self, new: Tensor) -> Tensor:
        if self.source is None:
            with record(edit=self.run.edit):
                self.source = self.traceable.read_source(self.run)
        cache = {"use_cache": False} if self.both is None else {"past_key_values": self.both, "use_cache": True}
        return self.traceable.write(new, self.source, self.traceable.seen(self.run), **cache)

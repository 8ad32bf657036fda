"""A generation as events: `start`, then one `step` for each new token, then `end`."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch

from app.api.generation.schema import GenerateRequest
from app.errors import AppError
from app.services import targets, tokens
from app.services.families import CLASSIFIES, check_predicts
from app.services.predictions import prediction_json
from app.services.wire import convert
from model.attentions import attentions
from model.checkpoint import Checkpoint
from model.config import ModelConfig
from model.generate import Generator, Step
from model.sampling import Settings
from model.translate_steps import TargetGenerator


@dataclass(frozen=True)
class Event:
    """One message of the stream; `data` is JSON."""

    name: str
    data: dict[str, Any]


class Session:
    """A generation that goes on when asked. One thread at a time may ask."""

    def __init__(self, checkpoint: Checkpoint, request: GenerateRequest, max_chars: int, max_new: int) -> None:
        """Raises `AppError` for whatever is wrong with the request."""
        check_predicts(checkpoint, "model", CLASSIFIES)
        check_max_new(request.max_new_tokens, max_new)
        self.source = tokens.resolve(checkpoint, request.text, request.token_ids, max_chars)
        target = targets.resolve(checkpoint, request.target, request.target_ids, max_chars)
        self.checkpoint, self.request = checkpoint, request
        self.taps = written_rows(checkpoint.config) if request.rows else {}
        names = [name for layers in self.taps.values() for name in layers]
        settings = Settings(request.temperature, request.top_k, request.top_p, request.seed)
        # What is written on: an encoder-decoder's target, else the text itself.
        self.generator: Generator
        if checkpoint.config.family == "encoder-decoder":
            self.prompt = target or [checkpoint.tokenizer.first_id]
            self.generator = TargetGenerator(checkpoint, self.source, settings, names)
        else:
            self.prompt = self.source
            self.generator = Generator(checkpoint, settings, names)

    @property
    def n_new(self) -> int:
        return len(self.generator.ids) - len(self.prompt)

    @property
    def ended(self) -> str | None:
        """Why there is no further step, or None. A target that is given with its END has ended already."""
        ids, writes_target = self.generator.ids, self.prompt is not self.source
        if (self.n_new or writes_target) and ids[-1] == self.checkpoint.tokenizer.end_id:
            return "end_of_text"
        if self.n_new >= self.request.max_new_tokens:
            return "max_new_tokens"
        return "window_full" if len(ids) >= self.checkpoint.config.max_seq_len else None

    def start(self) -> Event:
        """Read what is given: its tokens, and what may come after them."""
        step = self.generator.prefill(self.prompt)
        tokenizer, writes_target = self.checkpoint.tokenizer, self.prompt is not self.source
        data = {
            "model": self.checkpoint.name,
            "tokens": tokens.tokens_json(tokenizer, self.source),
            "target_tokens": tokens.tokens_json(tokenizer, self.prompt) if writes_target else None,
            "n_prompt": len(self.prompt),
            "prediction": self._prediction(step),
        }
        return Event("start", data)

    def step(self) -> Event:
        """Draw the next token and read it."""
        start = perf_counter()
        step = self.generator.step()
        token = self.checkpoint.tokenizer.tokens(step.ids)[-1]
        assert step.drawn is not None
        data = {
            "index": token.index,
            "token": tokens.token_json(token),
            "u": step.u,
            "before": float(step.drawn.before[token.id]),
            "after": float(step.drawn.after[token.id]),
            "rows": rows_json(step, self.taps.get("rows")),
            "cross_rows": rows_json(step, self.taps.get("cross_rows")),
            "prediction": self._prediction(step),
            "cache": {"positions": len(step.ids), "computed": step.computed, "bytes": step.cache_bytes},
        }
        return Event("step", data | {"seconds": perf_counter() - start})

    def end(self) -> Event:
        return Event("end", {"reason": self.ended, "n_new": self.n_new})

    def _prediction(self, step: Step) -> dict[str, Any]:
        """What may come after the newest token."""
        position = len(step.ids) - 1
        return prediction_json(self.checkpoint.tokenizer, step.next, position, self.request.n, self.request)


def check_max_new(asked: int, limit: int) -> None:
    """Raise `too_many_tokens` when more are asked for than the server makes."""
    if asked > limit:
        message = f"{asked} new tokens are more than the limit of {limit}."
        hint = f"Ask for at most {limit}, and go on from there."
        raise AppError("too_many_tokens", message, hint, where="max_new_tokens", got=asked, limit=limit)


def written_rows(config: ModelConfig) -> dict[str, list[str]]:
    """The patterns, a name a layer, of the stack that writes: its self-attention, and that to the source."""
    rows = {"rows": (a for a in attentions(config) if a.causal)}
    cross = {"cross_rows": (a for a in attentions(config) if a.queries != a.keys)}
    return {
        field: [attention.tap(layer, "pattern") for attention in found for layer in range(config.n_layer)]
        for field, found in (rows | cross).items()
    }


def rows_json(step: Step, patterns: Sequence[str] | None) -> dict[str, Any] | None:
    """The newest query's weights in every layer and head, [layer head key], as bytes round(255·w) in base64; None for
    no patterns."""
    if not patterns:
        return None
    rows = torch.stack([step.tensors[name][:, -1] for name in patterns])  # layer head key
    array = convert("pattern", rows, "uint8")
    return {"dtype": "uint8", "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}

"""Weights of attention from anywhere, as arrays: a model whose trace they are, so that the page can draw them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from chumoku.app.api.requests import TraceRequest
from chumoku.app.notebook.model import Model, Trace
from chumoku.app.services import tracing
from chumoku.app.services.library import Entry
from chumoku.app.settings import Settings
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Attention, AttentionSublayer, Description, Logits, Role, Stack, TapRef
from chumoku.model.describe.parts import Embedding, Layer
from chumoku.model.run import Run
from chumoku.model.session import Session
from chumoku.model.special_tokens import Special
from chumoku.model.tokenizer import Token, character_spans
from chumoku.model.trace import Trace as Traced
from chumoku.model.traceable import About, TraceableModel
from chumoku.model.traceable.protocols import TraceableTokenizer
from chumoku.model.translate import BeamSearch

NAME, PATTERN = "arrays", "layers.{n}.attn.pattern"
READS, WRITES = "layers.{n}.resid_pre", "layers.{n}.attn.attn_out"
STREAM = "position d_model"


def trace_of(attentions: Any, tokens: Sequence[str]) -> Trace:
    """The trace of weights [layer head query key] (an array, a list of layers, or what transformers returns as
    `attentions`: a batch of one text) over these tokens. Raises `ValueError` for another shape, or for numbers that are
    no weights."""
    weights = weights_in(attentions)
    names = [str(token) for token in tokens]
    if list(weights.shape[2:]) != [len(names)] * 2 or not names:
        raise ValueError(
            f"these are weights of {weights.shape[2]} queries and {weights.shape[3]} keys, and {len(names)} tokens: "
            "each token is a query and a key"
        )
    traceable = Given(weights, names)
    settings = Settings()
    asked = {"token_ids": list(range(len(names))), "want": list(traceable.taps), "describe": True}
    body = tracing.answer(traceable, TraceRequest.model_validate(asked), settings.max_text_chars).body
    return Trace(Model(Entry(traceable.about, Path(), None, traceable), traceable, settings), bytes(body))


def weights_in(attentions: Any) -> Tensor:
    layers = attentions if isinstance(attentions, Iterable) else [attentions]
    found = [torch.as_tensor(layer).detach().float().cpu() for layer in layers]
    found = [layer[0] if layer.dim() == 4 and len(layer) == 1 else layer for layer in found]
    if not found or any(layer.dim() != 3 or layer.shape != found[0].shape for layer in found):
        shapes = ", ".join(str(list(layer.shape)) for layer in found[:3]) or "none"
        raise ValueError(f"attentions are [layer head query key] of one text, got layers of {shapes}")
    weights = torch.stack(found)
    if not (weights.isfinite().all() and weights.min() >= 0 and weights.max() <= 1 + 1e-3):
        raise ValueError("attentions are weights from 0 to 1, after the softmax: got others (call eval() on a model)")
    return weights.clamp(max=1.0)


def describe(n_layer: int, n_head: int, n: int) -> Description:
    """Only the weights are known."""
    layers = tuple(sublayer(layer) for layer in range(n_layer))
    embedding = Embedding({"embedding": TapRef("embedding", STREAM)}, 1.0, "none", {"embedding": None})
    attention = Attention(
        id="self", kind="softmax", stack="main", queries="source", keys="source", causal=False, n_layer=n_layer,
        n_head=n_head, n_kv_head=n_head, d_head=1, scale=None, overview="pattern",
        roles={"pattern": Role("head query key", tuple(PATTERN.format(n=layer) for layer in range(n_layer)))},
        parameters={}, parts={}, identities=(),
    )  # fmt: skip
    return Description(
        family="encoder-only", predicts="none", writes=None, sides=("source",), classes=(), d_model=1, vocab_size=n,
        max_seq_len=n, can={},
        stacks=(Stack("main", "source", embedding, layers, None, layers[-1].sublayers[-1].leaves),),
        logits=Logits("logits", STREAM, "main", {"unembedding": None, "b_unembedding": None}), attentions=(attention,),
    )  # fmt: skip


def sublayer(n: int) -> Layer:
    reads, writes = TapRef(READS.format(n=n), STREAM), TapRef(WRITES.format(n=n), STREAM)
    return Layer((AttentionSublayer("attention", n, reads, writes, writes, reads, None, "self"),))


class Words:
    """The tokens of one text; a token's id is its place."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.vocab_size = names, len(names)
        self.special, self.never_sampled = Special(), list[int]()

    def encode(self, text: str) -> list[int]:
        raise ValueError("these weights are of one text alone")

    def encode_target(self, text: str) -> list[int]:
        return self.encode(text)

    def covers(self, text: str) -> None:
        return None

    def token_bytes(self, token_id: int) -> bytes:
        return self.names[token_id].encode("utf-8", "replace")

    def tokens(self, ids: list[int]) -> list[Token]:
        pieces = [self.token_bytes(id) for id in ids]
        starts, ends = character_spans(pieces)
        return [
            Token(n, id, piece, self.names[id], starts[n], ends[n], partial=False, special=False)
            for n, (id, piece) in enumerate(zip(ids, pieces, strict=True))
        ]


class Given(TraceableModel):
    """What is known of a model whose weights were given."""

    def __init__(self, weights: Tensor, names: Sequence[str]) -> None:
        description = describe(len(weights), weights.shape[1], len(names))
        self.words = Words(names)
        self.taps = dict(zip(description.attentions[0].roles["pattern"].taps, weights, strict=True))
        self._about = About(NAME, description, self.words.special, [])

    @property
    def about(self) -> About:
        return self._about

    @property
    def tokenizer(self) -> TraceableTokenizer:
        return self.words

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    @property
    def nbytes(self) -> int:
        return sum(x.nbytes for x in self.taps.values())

    @property
    def checkpoint(self) -> Checkpoint | None:
        return None

    def trace(self, run: Run, names: Sequence[str]) -> Traced:
        tensors = {name: self.taps[name] for name in names}
        dims = dict.fromkeys(names, "head query key")
        return Traced(list(run.ids), run.is_pad, list(range(len(run.ids))), tensors, dims)

    def start(self, run: Run, names: Sequence[str]) -> Session:
        raise NotImplementedError("can['generate'] is false")

    def search(self, run: Run, beams: int, alpha: float) -> BeamSearch:
        raise NotImplementedError("can['beams'] is false")

    def read(self, stream: Tensor) -> Tensor:
        raise NotImplementedError("can['lens'] is false")

    def weights(self, names: Sequence[str]) -> Mapping[str, Tensor]:
        return {}

"""A source of other models: a folder with `bigram.txt`, a text whose pairs of letters are counted.

The model has one attention with one head, which looks only at the newest letter; no FFN, norm, PAD or modules.
"""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Attention, AttentionSublayer, Description, Logits, Role, Stack, TapRef
from chumoku.model.describe.parts import Embedding, Layer
from chumoku.model.mechanisms.mixer import Identity
from chumoku.model.run import Run
from chumoku.model.session import Forward
from chumoku.model.taps import begin_at, record, visit
from chumoku.model.tokenizer import Token
from chumoku.model.trace import Trace
from chumoku.model.traceable import About, Special, TraceableModel, Weight

LETTERS = string.ascii_lowercase + " ."
END = len(LETTERS)
VOCAB, WINDOW = END + 1, 32


class Letters:
    """Each letter is a token; END is the last id and the only special one."""

    vocab_size = VOCAB
    special = Special(end=END)
    never_sampled: list[int] = []  # noqa: RUF012

    def encode(self, text: str) -> list[int]:
        return [LETTERS.index(letter) for letter in text.lower() if letter in LETTERS]

    def covers(self, text: str) -> list[tuple[int, int]]:
        return [(at, at + 1) for at, letter in enumerate(text.lower()) if letter in LETTERS]

    def token_bytes(self, token_id: int) -> bytes:
        return b"<end>" if token_id == END else LETTERS[token_id].encode()

    def tokens(self, ids: list[int]) -> list[Token]:
        found, at = [], 0
        for n, i in enumerate(ids):
            spelt, start = self.token_bytes(i), at
            at += i != END
            found.append(Token(n, i, spelt, spelt.decode(), start, at, partial=False, special=i == END))
        return found


def describe() -> Description:
    """One stack of one layer; its stream is as wide as the vocabulary."""
    stream = "position d_model"
    reads, writes = TapRef("in", stream), TapRef("look/out", stream)
    look = AttentionSublayer("attention", 0, reads, writes, writes, reads, None, "newest")
    embedding = Embedding({"embedding": TapRef("letters", stream)}, 1.0, "none", {"embedding": None, "positions": None})
    attention = Attention(
        id="newest", kind="newest", stack="main", queries="source", keys="source", causal=True, n_layer=1, n_head=1,
        n_kv_head=1, d_head=VOCAB, scale=None, overview="share",
        roles={
            "mask": Role("head query key", ("look/mask",)),
            "share": Role("head query key", ("look/share",)),
            "v": Role("head position d_head", ("look/v",), rows="key"),
            "head_out": Role("head position d_model", ("look/head_out",)),
            "attn_out": Role(stream, ("look/out",)),
        },
        parameters={"w_v": ("counts",)}, parts={},
        identities=(
            Identity("weighted_sum", ("share", "v"), "head_out"), Identity("sum_heads", ("head_out",), "attn_out"),
        ),
    )  # fmt: skip
    return Description(
        family="bigram", predicts="next", writes="source", sides=("source",), classes=(),  # type: ignore[arg-type]
        d_model=VOCAB, vocab_size=VOCAB, max_seq_len=WINDOW,
        can={"generate": True, "beams": False, "lens": True, "heads": True},
        stacks=(Stack("main", "source", embedding, (Layer((look,)),), None, writes),),
        logits=Logits("guess", "position vocab", "main", {"unembedding": None, "b_unembedding": None}),
        attentions=(attention,),
    )  # fmt: skip


class BigramFolders:
    """The source that a test adds to the registry."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def can_open(self, folder: Path) -> bool:
        return (folder / "bigram.txt").is_file()

    def about(self, folder: Path) -> About:
        weights = {"counts": Weight([VOCAB, VOCAB], "vocab vocab")}
        return About(folder.name, describe(), Letters.special, [], {"languages": ["en"]}, {}, weights, VOCAB**2)

    def files(self, folder: Path) -> list[Path]:
        return [folder / "bigram.txt"]

    def open(self, folder: Path, device: torch.device) -> Bigram:
        self.opened.append(folder.name)
        ids = [*Letters().encode((folder / "bigram.txt").read_text()), END]
        if len(ids) < 2:
            raise ValueError(f"{folder}: no letters to count")
        counts = torch.ones(VOCAB, VOCAB)
        for first, second in pairwise(ids):
            counts[first, second] += 1
        return Bigram(self.about(folder), counts.log())


class Bigram(TraceableModel):
    def __init__(self, about: About, table: Tensor) -> None:
        self._about, self.table = about, table

    @property
    def about(self) -> About:
        return self._about

    @property
    def tokenizer(self) -> Letters:
        return Letters()

    @property
    def device(self) -> torch.device:
        return self.table.device

    @property
    def nbytes(self) -> int:
        return self.table.nbytes

    @property
    def checkpoint(self) -> Checkpoint | None:
        return None

    def trace(self, run: Run, names: Sequence[str]) -> Trace:
        with record(names, run.edit) as recording:
            self.forward(run.ids, run.use.causal is not False)
        dims = {name: self.description.taps[name].dims for name in names}
        tensors = {name: recording.tensors[name][0] for name in names}
        return Trace(list(run.ids), run.is_pad, list(range(len(run.ids))), tensors, dims)

    def forward(self, ids: Sequence[int], causal: bool) -> Tensor:
        """Logits [1 position vocab]"""
        begin_at(0)
        x = visit("in", visit("letters", torch.eye(VOCAB)[list(ids)][None]))
        n = len(ids)
        reasons = visit("look/mask", masks.decoder_mask(torch.zeros(1, n, dtype=torch.bool), use_causal=causal))
        share = visit("look/share", torch.eye(n)[None, None] * masks.allowed(reasons))
        v = visit("look/v", (x @ self.table)[:, None])  # 1 head position d_head
        out = visit("look/out", visit("look/head_out", share @ v).sum(1))
        return visit("guess", out)

    def start(self, run: Run, names: Sequence[str]) -> Growing:
        return Growing(self, run, names)

    def read(self, stream: Tensor) -> Tensor:
        return stream

    def weights(self, names: Sequence[str]) -> Mapping[str, Tensor]:
        return dict.fromkeys(names, self.table.T.contiguous())  # outputs first


@dataclass
class Growing:
    """A growing text. Each step recomputes everything, which is cheap."""

    traceable: Bigram
    run: Run
    names: Sequence[str]
    ids: list[int] = field(default_factory=list)
    window: int = WINDOW

    @property
    def prompt(self) -> list[int]:
        return list(self.run.ids)

    def step(self, ids: Sequence[int]) -> Forward:
        self.ids = [*self.ids, *ids]
        with record(self.names, self.run.edit) as recording:
            logits = self.traceable.forward(self.ids, self.run.use.causal is not False)[0, -1]
        tensors = {name: recording.tensors[name][0] for name in self.names}
        return Forward(logits, tensors, len(self.ids), 0)

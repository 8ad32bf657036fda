"""Direct path patching: which heads and FFNs write, on their own, what moves this run's answer towards another run's.

One writer at a time, what it writes in the other run takes the place of what it writes here, at every position, and one
receiver alone sees the difference: the answer, or the q, k or v of one head (Wang et al. 2023; Goldowsky-Dill et al.
2023). All between keeps the values of this run, so the difference reaches the receiver through residual connections and
LayerNorms only, which are computed anew; with `ffns`, also through the FFNs between. A head whose q, k or v changed
then works on, as does all after it. What is reported is on the scale of `patching`: 0 is this run, 1 the other one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Unpack

import torch
from torch import Tensor

from chumoku.model.attribution.knockouts import FfnPart, HeadPart, Part, Received, parts_of, tap_of
from chumoku.model.attribution.patching import PatchedPasses, Patching, WholePatching
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import Attention, AttentionSublayer, Description, FfnSublayer
from chumoku.model.explain.anatomy import Options
from chumoku.model.interventions import Composed
from chumoku.model.run import Run
from chumoku.model.taps import Edit, record
from chumoku.model.trace import Trace
from chumoku.model.traceable import TraceableModel

Writer = HeadPart | FfnPart


@dataclass(frozen=True, order=True)
class Receiver:
    """A head's q, k or v (`role`), where a path ends. Query heads that share a k or v share the change of it."""

    attention: str
    layer: int
    head: int
    role: str


def receiving_roles(attention: Attention) -> list[str]:
    """Those of q, k and v that each head has, or shares with others."""
    roles = [role for role in ("q", "k", "v") if role in attention.roles]
    return [role for role in roles if attention.roles[role].dims.split()[0] in ("head", "kv_head")]


def sublayers_of(description: Description) -> list[AttentionSublayer | FfnSublayer]:
    """In the order in which they are computed."""
    return [sublayer for stack in description.stacks for sublayer in stack.sublayers]


def attention_sublayer(description: Description, attention: str, layer: int) -> AttentionSublayer:
    attentions = [one for one in sublayers_of(description) if isinstance(one, AttentionSublayer)]
    return next(one for one in attentions if (one.attention, one.layer) == (attention, layer))


def adds(description: Description, writer: Writer) -> str:
    """The tap of what the sublayer of a writer adds to the stream."""
    if isinstance(writer, FfnPart):
        return tap_of(description, writer)
    return attention_sublayer(description, writer.attention, writer.layer).added.tap


def writers_to(description: Description, receiver: Receiver | None) -> list[Writer]:
    """The heads and FFNs from which a direct path leads to a head's q, k or v, or (None) to the answer: those that
    write, before it, to the stream that it reads."""
    order = [one.added.tap for one in sublayers_of(description)]
    if receiver is None:
        side, before = description.readout.side, len(order)
    else:
        attention = description.attention(receiver.attention)
        side = attention.queries if receiver.role == "q" else attention.keys
        before = order.index(attention_sublayer(description, receiver.attention, receiver.layer).added.tap)
    return [
        part
        for part in parts_of(description)
        if description.stack(stack_of(description, part)).side == side and order.index(adds(description, part)) < before
    ]


def stack_of(description: Description, writer: Writer) -> str:
    return writer.stack if isinstance(writer, FfnPart) else description.attention(writer.attention).stack


def path_taps(description: Description) -> list[str]:
    """The taps that paths are made of: each head's z, and what each sublayer adds to the stream."""
    taps = [tap_of(description, part) for part in parts_of(description)]
    return list(dict.fromkeys([*taps, *(one.added.tap for one in sublayers_of(description))]))


def same_write(description: Description, part: Part, here: Mapping[str, Tensor], there: Mapping[str, Tensor]) -> bool:
    """Whether a head computes, or an FFN adds, the same in both runs."""
    assert isinstance(part, Writer)
    tap = tap_of(description, part)
    at = slice(None) if isinstance(part, FfnPart) else part.head
    return here[tap][at].equal(there[tap][at])


@dataclass(frozen=True)
class Put:
    """Puts a tensor of one run into members of a batch (None: all), altogether or one head of it."""

    tensor: Tensor
    members: Sequence[int] | None = None
    head: int | None = None

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        """x [batch head? position ..], from the first query on"""
        members = slice(None) if self.members is None else list(self.members)
        if self.head is None:
            x[members] = self.tensor.to(x.device)
        else:
            x[members, self.head] = self.tensor[self.head].to(x.device)
        return x


@dataclass(frozen=True)
class Catch:
    """Changes nothing, and keeps what a pass has here."""

    caught: list[Tensor] = field(default_factory=list)

    def __call__(self, x: Tensor, first_query: int) -> Tensor:
        self.caught.append(x)
        return x


def tap_and_head(description: Description, to: Receiver) -> tuple[str, int]:
    """Where a receiver is: several query heads may share one k and v."""
    attention = description.attention(to.attention)
    shared = attention.roles[to.role].dims.split()[0] == "kv_head"
    head = to.head // (attention.n_head // attention.n_kv_head) if shared else to.head
    return attention.tap(to.role, to.layer), head


def kept_taps(description: Description, ffns: bool) -> list[str]:
    """What the sublayers between a writer and its receiver add, which is kept; with `ffns`, what FFNs add is not."""
    sublayers = sublayers_of(description)
    return [one.added.tap for one in sublayers if not (ffns and isinstance(one, FfnSublayer))]


def head_of(writer: Writer) -> int | None:
    return writer.head if isinstance(writer, HeadPart) else None


class PathPasses(PatchedPasses):
    """A run, and its forward passes in which one path has what it has in another run."""

    to: Receiver | None = None
    ffns: bool = False
    arrived: Mapping[Writer, Tensor] | None = None
    """What the receiver got from each writer, [head position d_head], once it is known."""

    @property
    def taps(self) -> list[str]:
        return path_taps(self.description)

    def is_open(self, part: Part) -> bool:
        return not same_write(self.description, part, self.here, self.source)

    @torch.inference_mode()
    def last_states(self, parts: Sequence[Part], row: int) -> tuple[list[Part], Tensor]:
        """As in `Knockouts`. A path to a head takes two passes: up to the head, then on from its layer."""
        if self.to is None:
            return super().last_states(parts, row)
        to, writers = self.to, [part for part in parts if isinstance(part, Writer)]
        self.arrived = self.received(to, writers)
        order, x = super().last_states([Received(to.attention, to.layer, writer) for writer in writers], row)
        self.arrived = None
        return [part.writer for part in order if isinstance(part, Received)], x

    def received(self, to: Receiver, writers: Sequence[Writer]) -> dict[Writer, Tensor]:
        """The receiver's tensor [head position d_head] for each writer."""
        catch, batch = Catch(), None
        own, (tap, _) = self.edit, tap_and_head(self.description, to)
        self.edit = own | {tap: Composed([*([own[tap]] if tap in own else []), catch])}
        with record(edit=self.edit):
            for stack in self.description.stacks:
                ends = stack.id == self.description.attention(to.attention).stack
                layers = stack.layers[: to.layer + 1] if ends else stack.layers
                batch = self.through(replace(stack, layers=layers), writers, batch)
                if ends:
                    break
        self.edit = own
        assert batch is not None
        order = [part for part in batch.parts if isinstance(part, Writer)]
        return dict(zip(order, catch.caught[-1], strict=True))

    def silencing(self, n: int, joining: list[Part]) -> Mapping[str, Edit]:
        """The run's own edits, and those of its last passes, of `n`."""
        edits = self.between(n, joining) if self.arrived is None else self.arriving(n, joining)
        own = {tap: [self.edit[tap]] if tap in self.edit else [] for tap in edits}
        return self.edit | {tap: Composed([*own[tap], *changes]) for tap, changes in edits.items()}

    def between(self, n: int, joining: list[Part]) -> dict[str, list[Edit]]:
        """What puts a writer's other write into its pass, and keeps all other sublayers as they are in the run."""
        writers = {row: part for row, part in enumerate(joining, n - len(joining)) if isinstance(part, Writer)}
        written = {row: adds(self.description, part) for row, part in writers.items()}
        edits: dict[str, list[Edit]] = {}
        for tap in kept_taps(self.description, self.ffns):
            if kept := [row for row in range(n) if written.get(row) != tap]:
                edits.setdefault(tap, []).append(Put(self.here[tap], kept))
        for row, part in writers.items():
            tap = tap_of(self.description, part)
            edits.setdefault(tap, []).append(Put(self.source[tap], [row], head_of(part)))
        return edits

    def arriving(self, n: int, joining: list[Part]) -> dict[str, list[Edit]]:
        """What puts into the receiver what it got."""
        assert self.to is not None
        assert self.arrived is not None
        tap, head = tap_and_head(self.description, self.to)
        rows = [(row, part) for row, part in enumerate(joining, n - len(joining)) if isinstance(part, Received)]
        return {tap: [Put(self.arrived[part.writer], [row], head) for row, part in rows]}


class PathPatching(Patching):
    """Measures paths from each head and FFN to one receiver, many in a pass, for models in our own modules."""

    knockouts: PathPasses

    def __init__(
        self, checkpoint: Checkpoint, ids: Sequence[int], source: Trace, answer: int, against: int, *,
        to: Receiver | None = None, ffns: bool = False, row: int | None = None, **options: Unpack[Options],
    ) -> None:  # fmt: skip
        """`source` has the tensors of `path_taps` and the logits. Raises what `Patching` raises."""
        super().__init__(checkpoint, ids, source, answer, against, row=row, **options)
        self.knockouts.to, self.knockouts.ffns = to, ffns

    def passes(self, checkpoint: Checkpoint, ids: Sequence[int], **options: Unpack[Options]) -> PathPasses:
        return PathPasses(checkpoint, ids, **options)


class WholePathPatching(WholePatching):
    """As `PathPatching`, a pass or two for each path, for any model whose tensors can be edited."""

    def __init__(
        self, traceable: TraceableModel, run: Run, source: Trace, answer: int, against: int, *,
        to: Receiver | None = None, ffns: bool = False, row: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(traceable, run, source, answer, against, row=row)
        self.to, self.ffns, self.description = to, ffns, traceable.description

    def taps(self) -> list[str]:
        return path_taps(self.traceable.description)

    def patched(self, part: Part) -> Tensor:
        """Log-probabilities with the path on top of the run's own edits."""
        assert isinstance(part, Writer)
        if same_write(self.description, part, self.here, self.source):
            return self.before
        edits: dict[str, list[Edit]] = {
            tap: [Put(self.here[tap])]
            for tap in kept_taps(self.description, self.ffns)
            if tap != adds(self.description, part)
        }
        tap = tap_of(self.description, part)
        edits[tap] = [Put(self.source[tap], head=head_of(part))]
        logits = self.description.logits.tap
        if self.to is None:
            return self.log_ps(self.edited(edits, logits))
        tap, head = tap_and_head(self.description, self.to)
        return self.log_ps(self.edited({tap: [Put(self.edited(edits, tap), head=head)]}, logits))

    def edited(self, edits: Mapping[str, list[Edit]], tap: str) -> Tensor:
        """What the run has at a tap with these edits after its own."""
        own = {tap: [self.run.edit[tap]] if tap in self.run.edit else [] for tap in edits}
        composed = {tap: Composed([*own[tap], *changes]) for tap, changes in edits.items()}
        run = replace(self.run, edit={**self.run.edit, **composed})
        return self.traceable.trace(run, [tap]).tensors[tap]

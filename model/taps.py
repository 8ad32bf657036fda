"""Capture: a forward pass visits a name for each tensor it computes; `record()` keeps or edits the requested ones.

A `Tap` is our module for this; an adapter for another library's model calls `visit` itself.

A tap reads a `ContextVar`, so two threads that trace one shared model never see each other's tensors. Hooks registered
per request would mix them up, because they belong to the module, not to the request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn

Edit = Callable[[Tensor, int], Tensor]
"""Returns the tensor that replaces another. It gets a copy, and the absolute index of the first query of this forward
pass (0 unless a cache holds earlier positions). It may name in `reads` earlier taps of the pass, and ask for them with
`earlier`."""
Keep = Callable[[Tensor], Tensor]
"""Returns what is kept of a tensor, batch first. It must not return a view, which would keep all of the tensor's
memory."""


class Recording:
    """The tensors that one `record()` block kept, by tap name, unchanged: same storage, batch first. For taps in
    `keep`, the function's result instead."""

    def __init__(self, names: frozenset[str], edits: Mapping[str, Edit], keep: Mapping[str, Keep]) -> None:
        self.names = names
        self.edits = edits
        self.keep = keep
        self.tensors: dict[str, Tensor] = {}
        self.read = frozenset(tap for edit in edits.values() for tap in read_by(edit))
        self.seen: dict[str, Tensor] = {}
        self.first_query = 0

    def visit(self, name: str, x: Tensor) -> Tensor:
        if name in self.edits:
            x = self.edits[name](x.clone(), self.first_query)
        if name in self.read:
            self.seen[name] = x
        if name in self.names:
            self.tensors[name] = self.keep[name](x) if name in self.keep else x
        return x


def read_by(edit: Edit) -> tuple[str, ...]:
    """The earlier taps that an edit reads."""
    found: tuple[str, ...] = getattr(edit, "reads", ())
    return found


_recording: ContextVar[Recording | None] = ContextVar("chumoku_recording", default=None)
_keeping: ContextVar[Mapping[str, Keep]] = ContextVar("chumoku_keeping", default={})  # noqa: B039


def visit(name: str, x: Tensor) -> Tensor:
    """Called by a forward pass for each named tensor. The pass continues with the returned tensor."""
    recording = None if torch.compiler.is_compiling() else _recording.get()
    return x if recording is None else recording.visit(name, x)


def earlier(name: str) -> Tensor:
    """What this forward pass had at an earlier tap, for an edit that names it in `reads`."""
    recording = _recording.get()
    assert recording is not None
    return recording.seen[name]


def begin_at(first_query: int) -> None:
    """Set the index of the first query from now on: 0, or after the positions in a cache."""
    recording = None if torch.compiler.is_compiling() else _recording.get()
    if recording is not None:
        recording.first_query = first_query


def wanted(name: str) -> bool:
    """Whether the current `record()` needs this tap. If not, a tensor that is only recorded need not be computed."""
    recording = None if torch.compiler.is_compiling() else _recording.get()
    return recording is not None and (name in recording.names or name in recording.edits or name in recording.read)


def edited(name: str) -> bool:
    """Whether the current `record()` edits this tap."""
    recording = None if torch.compiler.is_compiling() else _recording.get()
    return recording is not None and name in recording.edits


class Tap(nn.Module):
    """The identity, with a name (its module path, set by `name_taps`) and named dimensions (batch not counted).

    The tensor is kept, not copied: nothing after a tap may work on it in place.
    """

    def __init__(self, dims: str) -> None:
        super().__init__()
        self.dims = dims
        self.name = ""

    @property
    def wanted(self) -> bool:
        """See the function of this name."""
        return wanted(self.name)

    @property
    def edited(self) -> bool:
        """See the function of this name."""
        return edited(self.name)

    def __call__(self, x: Tensor) -> Tensor:
        """Replaces nn.Module's `__call__`, which also checks for hooks: a model calls a hundred taps per token."""
        return visit(self.name, x)

    forward = __call__

    def extra_repr(self) -> str:
        return repr(self.dims)


def name_taps(model: nn.Module) -> None:
    """Give every tap of `model` its module path as its name, e.g. `layers.3.attn.pattern`."""
    for path, module in model.named_modules():
        if isinstance(module, Tap):
            module.name = path


def tap_dims(model: nn.Module) -> dict[str, str]:
    """All taps of `model`, in module order: name → dimensions."""
    return {module.name: module.dims for module in model.modules() if isinstance(module, Tap)}


def match_names(patterns: Iterable[str], known: Collection[str]) -> list[str]:
    """The `known` names that any pattern (`*` and `?` as in a shell) matches, in the order of `known`.

    Raises `KeyError` naming the pattern that matches nothing, and listing the known names.
    """
    matched: set[str] = set()
    for pattern in patterns:
        # Most patterns are whole names. Matching each against every name takes longer than the rest of a small answer.
        found = [pattern] if pattern in known else [name for name in known if fnmatchcase(name, pattern)]
        if not found:
            raise KeyError(f"no tensor is named {pattern!r}; known are {', '.join(known)}")
        matched.update(found)
    return [name for name in known if name in matched]


@contextmanager
def record(names: Iterable[str] = (), edit: Mapping[str, Edit] | None = None) -> Iterator[Recording]:
    """Keep the tensors of the taps called `names` (exact), and pass those in `edit` through a function first.

    >>> with record(["layers.0.attn.pattern"]) as trace:
    ...     model(token_ids, mask)
    >>> trace.tensors["layers.0.attn.pattern"]  # batch head query key
    """
    recording = Recording(frozenset(names), edit or {}, _keeping.get())
    token = _recording.set(recording)
    try:
        yield recording
    finally:
        _recording.reset(token)


@contextmanager
def keeping(of: Mapping[str, Keep]) -> Iterator[None]:
    """In this block, recordings keep a function's result for each tap in `of`, computed as soon as the tap is visited:
    all patterns of a long text do not fit into memory. The forward pass continues with the tensor itself.

    A recording that has begun is not affected.
    """
    token = _keeping.set(of)
    try:
        yield
    finally:
        _keeping.reset(token)


def is_keeping() -> bool:
    """Whether `keeping` is active: then a trace's tensors may lack the dimensions that their taps name."""
    return bool(_keeping.get())

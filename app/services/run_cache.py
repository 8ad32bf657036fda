"""The run cache: tensors of recent runs, because a page requests parts of the same run several times.

A trace is a pure function of its run. So the first request for a run also records what the next ones will need, which
then take no forward pass. Recording changes no number by one bit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from threading import Lock

from chumoku.app.services.metrics import Metrics
from chumoku.app.services.prefixes import TensorMemory
from chumoku.model.attribution.logit_attribution import norm_taps
from chumoku.model.run import Run
from chumoku.model.taps import is_keeping
from chumoku.model.trace import Masks, Padding, Trace
from chumoku.model.traceable import Delegating, TraceableModel

USUAL = ("q", "k", "v", "scores", "mask", "pattern")
"""The roles that a page requests next: the overview, one head of one layer, and all patterns for the heads' scores.
With the logits and what the norms on the way read, they also give what a head writes."""
MANY = 96
"""Longer texts are not cached: the tensors grow with the square of their length."""
SHARE = 8
"""Largest share of the limit for one run, so that a few long texts do not evict all others."""
RunKey = tuple[int, tuple[int, ...], tuple[int, ...], tuple[int, ...] | None, Masks, Padding, bytes | None]
"""The key: a loaded model and a run without interventions, with the hash of a picture in its place."""


class RunCache:
    """At most `limit` bytes of tensors (0: disabled), evicting the least recently used run. Thread-safe."""

    def __init__(self, limit: int, metrics: Metrics | None = None) -> None:
        self.limit, self.metrics = limit, metrics or Metrics()
        self._kept: OrderedDict[RunKey, Trace] = OrderedDict()
        self._memory = TensorMemory()
        self._serial = 0
        self._lock = Lock()
        self.metrics.read(self.metrics.trace_bytes, lambda: self.nbytes)

    @property
    def nbytes(self) -> int:
        return self._memory.total

    def over(self, traceable: TraceableModel) -> TraceableModel:
        """Wraps a model so that it looks here first. A reloaded model is a different one."""
        with self._lock:
            self._serial += 1
            return CachingModel(traceable, self, self._serial) if self.limit else traceable

    def find(self, key: RunKey, names: Sequence[str]) -> Trace | None:
        """The trace with these tensors, if all are cached."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
        hit = found is not None and found.tensors.keys() >= set(names)
        self.metrics.traces.labels("kept" if hit else "none").inc()
        return only(found, names) if hit and found is not None else None

    def keep(self, key: RunKey, traced: Trace) -> bool:
        """Returns whether it was cached; it may be too large."""
        with self._lock:
            self._drop(key)
            if size(traced) > self.limit // SHARE:
                return False
            self._kept[key] = traced
            self._memory.add(list(traced.tensors.values()))
            while self.nbytes > self.limit:
                self._drop(next(iter(self._kept)))
            return True

    def forget(self, traceable: TraceableModel) -> None:
        """Removes the runs of a dropped model."""
        if isinstance(traceable, CachingModel):
            with self._lock:
                for key in [key for key in self._kept if key[0] == traceable.serial]:
                    self._drop(key)

    def _drop(self, key: RunKey) -> None:
        if key in self._kept:
            self._memory.remove(list(self._kept.pop(key).tensors.values()))


class CachingModel(Delegating):
    """A model with a run cache."""

    def __init__(self, traceable: TraceableModel, cache: RunCache, serial: int) -> None:
        super().__init__(traceable)
        self._cache, self.serial = cache, serial
        self._longest = MANY

    def trace(self, run: Run, names: Sequence[str]) -> Trace:
        n = max(len(run.ids) + run.pad.count, len(run.target or ()))
        if run.edit or n > self._longest or is_keeping():  # edits are functions, which cannot be compared
            return self._traceable.trace(run, names)
        target = None if run.target is None else tuple(run.target)
        pixels = run.pixels and sha256(run.pixels).digest()
        key = self.serial, tuple(run.ids), tuple(run.token_types), target, run.use, run.pad, pixels
        found = self._cache.find(key, names)
        if found is None:
            traced = self._traceable.trace(run, list(dict.fromkeys([*names, *self._usual])))
            if not any(self._cache.keep(key, only(traced, kept)) for kept in (self._usual, self._pictured)):
                self._longest = min(self._longest, n - 1)  # a large model: longer texts are too large, too
            found = only(traced, names)
        return found

    @cached_property
    def _pictured(self) -> list[str]:
        """The taps that pages usually draw. No others are cached: a whole trace is exported only once."""
        roles = [
            one.roles[role]
            for one in self.description.attentions
            for role in one.roles
            if role in {*USUAL, one.overview}
        ]
        return [tap for role in roles for tap in role.taps]

    @cached_property
    def _usual(self) -> list[str]:
        """These and, unless they are too large together, what tells what a head writes: nearly as much again."""
        if self.checkpoint is None:
            return self._pictured
        return [*self._pictured, self.description.logits.tap, *norm_taps(self.description, {})]


def size(traced: Trace) -> int:
    """The bytes behind its tensors; all heads may share one mask."""
    storages = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in traced.tensors.values()}
    return sum(storages.values())


def only(traced: Trace, names: Sequence[str]) -> Trace:
    """The trace with these tensors alone."""
    tensors = {name: traced.tensors[name] for name in names}
    return replace(traced, tensors=tensors, dims={name: traced.dims[name] for name in names})

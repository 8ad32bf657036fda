"""The prefix cache: KV caches of generations, so that the next one reads only what is new.

A prefix belongs to a run of one loaded model: to its masks, PADs and interventions, and in a translation to its source.
A generation continues from the longest that begins its prompt, or from none: then it reads everything, which gives the
same numbers up to rounding (one row at a time or all at once).
"""

from __future__ import annotations

import itertools
import json
from collections import Counter, OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

from torch import Tensor

from chumoku.app.api.run import RunRequest
from chumoku.app.services.metrics import Metrics
from chumoku.app.services.plan import RunPlan
from chumoku.app.services.wire import EncodedDict, EncodedList
from chumoku.model.sampling import Distribution
from chumoku.model.session import Prefix, Session, is_resumable
from chumoku.model.traceable import TraceableModel

PREDICTIONS = 8
"""Predictions may take this part of the cache's limit, in addition."""
RunKey = tuple[int, str]
"""The key: a loaded model, and everything in a run that affects the cache, except the ids."""


class Prefixes:
    """At most `limit` bytes (0: disabled), evicting the least recently used. Shared memory counts once. Thread-safe."""

    def __init__(self, limit: int, metrics: Metrics | None = None) -> None:
        self.limit, self.metrics = limit, metrics or Metrics()
        self.predictions = Predictions(limit // PREDICTIONS)
        self._kept: OrderedDict[tuple[RunKey, tuple[int, ...]], Prefix] = OrderedDict()
        self._memory = TensorMemory()
        self._serials: WeakKeyDictionary[TraceableModel, int] = WeakKeyDictionary()
        self._numbers = itertools.count()
        self._lock = Lock()
        self.metrics.read(self.metrics.prefix_bytes, lambda: self.nbytes)

    @property
    def nbytes(self) -> int:
        return self._memory.total

    def key(self, plan: RunPlan, request: RunRequest, names: list[str]) -> RunKey:
        """`names` are the taps that the session records: some caches keep more for them.

        A model that was dropped and reloaded is a different one: its weights may have changed.
        """
        attentions = plan.traceable.description.attentions
        run = request.to_json(next((one.id for one in attentions), None))
        source = plan.run.ids if plan.run.target is not None else None
        about = [plan.run.use.causal, plan.run.use.padding, run["pad"], run["interventions"], names, source]
        with self._lock:
            serial = self._serials.setdefault(plan.traceable, next(self._numbers))
        return serial, json.dumps(about)

    def resume(self, key: RunKey, session: Session) -> Prefix | None:
        """Advances a fresh `session` past the longest cached prefix of its prompt, which it returns."""
        if not self.limit or not is_resumable(session):
            return None
        found = self._longest(key, tuple(session.prompt))
        how = "none" if found is None else "whole" if len(found.ids) == len(session.prompt) else "part"
        self.metrics.prefixes.labels(how).inc()
        if found is not None:
            session.resume(found)
        return found

    def _longest(self, key: RunKey, prompt: tuple[int, ...]) -> Prefix | None:
        """The longest cached prefix of `prompt`."""
        with self._lock:
            for length in range(len(prompt), 0, -1):
                place = key, prompt[:length]
                if place in self._kept:
                    self._kept.move_to_end(place)
                    return self._kept[place]
        return None

    def keep(self, key: RunKey, session: Session) -> Prefix | None:
        """Caches what `session` has read so far, if others can continue from it. Returns it; None if it is not cached,
        or was before: its numbers may differ in the last bits."""
        if not self.limit or not is_resumable(session):
            return None
        prefix = session.prefix
        if prefix is None:
            return None
        place = key, prefix.ids
        with self._lock:
            if place not in self._kept:
                self._kept[place] = prefix
                self._memory.add(prefix.tensors)
            self._kept.move_to_end(place)
            while self.nbytes > self.limit:
                self._memory.remove(self._kept.popitem(last=False)[1].tensors)
            return prefix if self._kept.get(place) is prefix else None


@dataclass(frozen=True)
class Prediction:
    """What follows a text: the distribution, how an event tells it, and the text's tokens on the wire."""

    dist: Distribution
    told: EncodedDict
    tokens: EncodedList

    @property
    def nbytes(self) -> int:
        parts = (self.dist.before, self.dist.after, self.dist.kept, self.dist.cut, self.dist.ranked)
        return sum(x.nbytes for x in parts) + AS_OBJECTS * (len(self.told.text) + len(self.tokens.text))


AS_OBJECTS = 4
"""Bytes per character of JSON that is kept as text and as objects."""


class Predictions:
    """The newest predictions, at most `limit` bytes of them: what ends one answer begins the next, for a reader who
    takes a step. Each belongs to the logits that it was computed from. Thread-safe."""

    def __init__(self, limit: int) -> None:
        self.limit, self.nbytes = limit, 0
        self._kept: OrderedDict[Hashable, tuple[Tensor, Prediction]] = OrderedDict()
        self._lock = Lock()

    def find(self, logits: Tensor, asked: Hashable) -> Prediction | None:
        """`asked`: the sampling settings, and how many candidates."""
        key = id(logits), asked
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][1]

    def keep(self, logits: Tensor, asked: Hashable, found: Prediction) -> None:
        key = id(logits), asked  # no other tensor has this id as long as the entry holds this one
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = logits, found
            self.nbytes += logits.nbytes + found.nbytes
            while self.nbytes > self.limit:
                old, gone = self._kept.popitem(last=False)[1]
                self.nbytes -= old.nbytes + gone.nbytes


class TensorMemory:
    """The bytes of some tensors, counting shared storage once."""

    def __init__(self) -> None:
        self.total = 0
        self._users: Counter[int] = Counter()

    def add(self, tensors: list[Tensor]) -> None:
        for storage in (x.untyped_storage() for x in tensors):
            self._users[storage.data_ptr()] += 1
            if self._users[storage.data_ptr()] == 1:
                self.total += storage.nbytes()

    def remove(self, tensors: list[Tensor]) -> None:
        for storage in (x.untyped_storage() for x in tensors):
            self._users[storage.data_ptr()] -= 1
            if self._users[storage.data_ptr()] == 0:
                del self._users[storage.data_ptr()]
                self.total -= storage.nbytes()

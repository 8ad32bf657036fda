"""The models: loaded when first used, dropped when memory is needed, shared by all requests."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from uuid import uuid4

import torch

from chumoku.app.errors import AppError, unknown_name
from chumoku.app.services.fingerprint import fingerprint_of, stamp_of
from chumoku.app.services.gc_freeze import GcFreeze
from chumoku.app.services.languages import Spoken, spoken
from chumoku.app.services.problems import LoadFailure, Problem, log_unavailable, problem_of
from chumoku.app.services.run_cache import RunCache
from chumoku.model.traceable import About, ModelSource, TraceableModel

log = logging.getLogger("chumoku")


@dataclass(eq=False)
class Entry:
    """A known model, loaded or not. `users`: how many requests are using it; `failure`: why it did not load;
    `snapshots`: the model at steps of its training, each an entry that is `of` this one; `fingerprint`: a hash of the
    files that the loaded model was read from."""

    about: About
    folder: Path
    source: ModelSource | None
    traceable: TraceableModel | None = None
    fingerprint: str | None = None
    users: int = 0
    used: int = 0
    failure: LoadFailure | None = None
    snapshots: dict[int, Entry] = field(default_factory=dict)
    of: Entry | None = None
    loading: Lock = field(default_factory=Lock)

    @property
    def name(self) -> str:
        return self.about.name

    def snapshot(self, step: str) -> Entry:
        """The snapshot at `step`, the text after @ in a name. Raises `unknown_snapshot` (404), listing the known
        ones."""
        known = {str(step): one for step, one in self.snapshots.items()}
        if step not in known:
            raise unknown_snapshot(self.name, step, [one.name for one in known.values()])
        return known[step]


class Lease:
    """Holds a model while it is used in several steps."""

    def __init__(self, library: Library, entry: Entry) -> None:
        self.library, self.entry = library, entry
        self.held: TraceableModel | None = None

    @property
    def traceable(self) -> TraceableModel:
        if self.held is None:
            self.held = self.library.take(self.entry)
        return self.held


class Library:
    """The models by name, and the default's name.

    A model is loaded once; concurrent requests wait for it. When loaded models take more than `limit` bytes, unused
    ones are dropped, least recently used first. `run_cache` keeps what their last runs computed.
    """

    def __init__(
        self, entries: Iterable[Entry], default: str, device: torch.device, limit: int, bad: Iterable[Problem] = ()
    ) -> None:
        self.entries = {entry.name: entry for entry in entries}
        self.preferred, self.device, self.limit, self.bad = default, device, limit, list(bad)
        self.run_cache, self.gc_freeze = RunCache(0), GcFreeze()
        self._lock, self._clock = Lock(), itertools.count(1)
        self.refresh: Callable[[], None] = lambda: None
        """Adds what another process has opened."""

    def add(self, entry: Entry) -> None:
        """A model that is opened while the server runs. Others may be reading the models meanwhile: the mapping is
        replaced, never changed."""
        with self._lock:
            self.entries = {**self.entries, entry.name: entry}
            self.bad = [one for one in self.bad if one.name != entry.name]

    @property
    def usable(self) -> list[Entry]:
        """The available models."""
        return [entry for entry in self.entries.values() if entry.failure is None]

    @property
    def names(self) -> list[str]:
        return [entry.name for entry in self.usable]

    @property
    def default(self) -> str:
        """The model for requests without a name: the preferred one, or the first available if that fails to load."""
        names = self.names
        return self.preferred if self.preferred in names or not names else names[0]

    @property
    def problems(self) -> list[Problem]:
        """The unavailable models, and why: those found at startup, then those that failed to load since."""
        since = [Problem(one.name, one.failure.reason) for one in self.entries.values() if one.failure is not None]
        return [*self.bad, *since]

    @property
    def everything(self) -> list[Entry]:
        """The models, each with its snapshots."""
        return [one for entry in self.entries.values() for one in (entry, *entry.snapshots.values())]

    @property
    def loaded(self) -> list[str]:
        return [entry.name for entry in self.everything if entry.traceable is not None]

    @property
    def languages(self) -> dict[str, Spoken]:
        """What each model reads and writes."""
        return {entry.name: spoken(entry.about) for entry in self.usable}

    def find(self, name: str | None) -> Entry:
        """The model with this name (None: the default), or the snapshot `name@step`. Raises `unknown_model` or
        `unknown_snapshot` (404), listing the known ones, and `broken_model` for one that was unavailable at startup."""
        found = self.entries.get(self.default if name is None else name)
        if found is None:
            self.refresh()
            found = self.entries.get(str(name))
        if found is None:
            base, at, step = str(name).rpartition("@")
            if at and base in self.entries:
                return self.entries[base].snapshot(step)
            for problem in self.bad:
                if problem.name == name:
                    raise broken(problem, self.names)
            raise unknown_name("unknown_model", "model", str(name), self.names, status=404, where="model")
        return found

    def translator(self, name: str | None) -> Entry:
        """The model of this name; without a name the default, otherwise the first with beam search."""
        able = [entry for entry in self.usable if entry.about.description.can.get("beams", False)]
        asked = self.find(name)
        return asked if name is not None or asked in able or not able else able[0]

    @contextmanager
    def use(self, entry: Entry) -> Iterator[TraceableModel]:
        """The loaded model, kept until the end of the block. Loading is slow: never call this on the event loop."""
        with self.lease(entry) as lease:
            yield lease.traceable

    @contextmanager
    def lease(self, entry: Entry) -> Iterator[Lease]:
        """A model that is loaded when first used (in a worker thread) and kept until the end."""
        lease = Lease(self, entry)
        try:
            yield lease
        finally:
            if lease.held is not None:
                self.release(entry)

    def take(self, entry: Entry) -> TraceableModel:
        """The loaded model, to be released later. Raises `broken_model` for bad files, and `not_loaded`."""
        with entry.loading:
            with self._lock:
                traceable = entry.traceable
                if traceable is not None:
                    self._count(entry)
            if traceable is None:
                traceable = self._open(entry)
                with self._lock:
                    entry.traceable = traceable
                    self._count(entry)
                    foreign = self._drop_unused()
                self._collect(foreign)
                self.gc_freeze.freeze_loaded()
        return traceable

    def release(self, entry: Entry) -> None:
        with self._lock:
            entry.users -= 1
            foreign = self._drop_unused()
        self._collect(foreign)

    def _count(self, entry: Entry) -> None:
        entry.users += 1
        entry.used = next(self._clock)

    def _open(self, entry: Entry) -> TraceableModel:
        assert entry.source is not None
        stamp = stamp_of(entry.folder)
        if entry.failure is not None and entry.failure.stamp == stamp is not None:
            raise broken(Problem(entry.name, entry.failure.reason), self.names)
        try:
            traceable = entry.source.open(entry.folder, self.device)
        except ValueError as error:
            problem = Problem(entry.name, problem_of(entry.folder, error).reason)
            log_unavailable(entry.folder, problem)
            entry.failure = LoadFailure(problem.reason, stamp)
            raise broken(problem, self.names) from error
        except Exception as error:  # no memory, no file handle: the next request may succeed
            log.exception("model %s did not load", entry.name)
            raise not_loaded(Problem(entry.name, problem_of(entry.folder, error).reason), self.names) from error
        entry.failure = None
        entry.fingerprint = fingerprint_of(entry.source.files(entry.folder), entry.folder)
        if stamp != stamp_of(entry.folder):  # files changed meanwhile: it is not known which ones were read
            entry.fingerprint = None
        return self.run_cache.over(traceable)

    def _drop_unused(self) -> bool:
        """Drops unused models until the rest fits. A model that cannot be loaded again (without a source) stays.
        Returns whether a model of foreign modules was dropped: they may contain reference cycles."""
        there = sorted((one for one in self.everything if one.traceable is not None), key=lambda one: one.used)
        taken, foreign = sum(one.traceable.nbytes for one in there if one.traceable is not None), False
        for entry in there:
            if taken > self.limit and entry.users == 0 and entry.source is not None and entry.traceable is not None:
                taken -= entry.traceable.nbytes
                foreign = foreign or entry.traceable.checkpoint is None
                self.run_cache.forget(entry.traceable)
                entry.traceable = entry.fingerprint = None
        return foreign

    def _collect(self, foreign: bool) -> None:
        """Call without the lock: a collected object may release a lease, which takes the lock."""
        if foreign:
            self.gc_freeze.collect_dropped()


def broken(problem: Problem, others: list[str]) -> AppError:
    """The error for an unavailable model. Other models are unaffected."""
    message = f"The model {problem.name!r} is unavailable. {problem.reason}"
    hint = "Use another model, or repair its files."
    return AppError("broken_model", message, hint, status=500, where="model", got=problem.reason, known=others)


def not_loaded(problem: Problem, others: list[str]) -> AppError:
    """The error for a model that did not load this time. The next request tries again."""
    message = f"The model {problem.name!r} did not load. {problem.reason}"
    hint = "Try again, or use another model."
    return AppError("not_loaded", message, hint, status=500, where="model", got=problem.reason, known=others)


def unknown_snapshot(model: str, step: str, known: list[str]) -> AppError:
    message = f"The model {model!r} has no snapshot of step {step!r}."
    hint = "Use one of the known ones." if known else "It has none. `chumoku train --snapshots` saves some."
    return AppError("unknown_snapshot", message, hint, status=404, where="model", got=step, known=known)


def of(traceables: Iterable[TraceableModel], default: str) -> Library:
    """A library of models that are already loaded and stay loaded."""
    entries = [Entry(traceable.about, Path(), None, traceable, fingerprint=uuid4().hex) for traceable in traceables]
    return Library(entries, default, torch.device("cpu"), limit=0)

"""Prometheus metrics: no user text, and only labels with few values."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

Kind = Literal[
    "trace", "predictions", "explain", "long", "effects", "timings", "beginning", "prompt", "step", "search"
]  # fmt: skip
"""The kinds of jobs: a trace; a trace with many predictions; an explanation, or weights; a long one (gradients, lens,
swaps, heads, large rivers); a batch of measured effects; measured costs; a batch of generations that begin; a long
prompt; a batch of later steps; a step of a beam search."""

Limit = Literal["head", "slow", "stalled", "crowded", "full"]
"""Why the server closed a connection: an oversized or invalid head, a slow request, an unread answer, to admit a new
connection, or because all connections were at work."""

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


TICKS = 10
"""Measurements of the event loop's lag per second."""
MANY = "PROMETHEUS_MULTIPROC_DIR"
"""Set where several processes serve one port: prometheus_client then keeps all numbers in files of this folder."""


class Metrics:
    """The metrics of one app, in a separate registry, so that two apps in one process do not mix. Several workers
    report their sums together, without the metrics of single processes.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.many = MANY in os.environ
        self._read: list[Callable[[], None]] = []
        if not self.many:
            ProcessCollector(registry=self.registry)
        self._add_server()
        self._add_jobs()
        self._add_caches()

    def _add_server(self) -> None:
        about = "Requests answered, by route and status."
        self.requests = Counter("chumoku_requests", about, ["route", "status"], registry=self.registry)
        self.refused = self._counter(
            "chumoku_refused", "Requests refused (503), by what was full.", "full", ("queue", "streams", "memory")
        )
        self.dropped = self._counter(
            "chumoku_connections_dropped", "Connections closed by a limit, by limit.", "limit", get_args(Limit)
        )
        self.lag = self._seconds(
            "chumoku_event_loop_lag_seconds",
            "How much later than planned the event loop runs a callback; measured ten times a second.",
        )

    def _add_jobs(self) -> None:
        self.work = self._seconds("chumoku_work_seconds", "Run time of a job in seconds.", "kind", get_args(Kind))
        self.taken = self._gauge("chumoku_queue_taken", "Jobs that run or wait.")
        self.waiting = self._gauge("chumoku_queue_waiting", "Jobs waiting for their turn.")
        self.places = self._gauge("chumoku_queue_places", "Jobs that may run or wait at once.")
        self.streams = self._gauge("chumoku_streams_open", "Open generations and measurements of effects.")
        self.tokens = self._counter("chumoku_generated_tokens", "Tokens generated.")
        self.answers = self._gauge("chumoku_answer_bytes", "Bytes reserved for answers.")

    def _add_caches(self) -> None:
        self.prefixes = self._counter(
            "chumoku_prefix_lookups",
            "Lookups in the prefix cache: whole or part of a prompt found, or none.",
            "found",
            ("whole", "part", "none"),
        )
        self.prefix_bytes = self._gauge("chumoku_prefix_bytes", "Bytes of the prefix cache.")
        self.answers_found = self._counter(
            "chumoku_answer_lookups",
            "Lookups of answers: kept (in the response cache), shared (of an identical request in flight) or none.",
            "found",
            ("kept", "shared", "none"),
        )
        self.kept_bytes = self._gauge("chumoku_kept_answer_bytes", "Bytes of the response cache.")
        self.traces = self._counter(
            "chumoku_trace_lookups",
            "Lookups in the run cache, of runs without interventions: kept or none.",
            "found",
            ("kept", "none"),
        )
        self.trace_bytes = self._gauge("chumoku_trace_bytes", "Bytes of the run cache.")

    def _counter(self, name: str, about: str, label: str | None = None, values: Iterable[str] = ()) -> Counter:
        """A counter. It has a count for each of the label's `values` from the start, also 0."""
        counter = Counter(name, about, [label] if label else [], registry=self.registry)
        for value in values:
            counter.labels(value)
        return counter

    def _seconds(self, name: str, about: str, label: str | None = None, values: Iterable[str] = ()) -> Histogram:
        """A histogram of seconds, with its label as in `_counter`."""
        histogram = Histogram(name, about, [label] if label else [], buckets=SECONDS, registry=self.registry)
        for value in values:
            histogram.labels(value)
        return histogram

    def _gauge(self, name: str, about: str) -> Gauge:
        return Gauge(name, about, registry=self.registry, multiprocess_mode="livesum")

    def read(self, gauge: Gauge, value: Callable[[], float]) -> None:
        """Sets `gauge` to `value()` at each refresh. (`Gauge.set_function` does not add up over processes.)"""
        self._read.append(lambda: gauge.set(value()))

    def refresh(self) -> None:
        """Read the gauges again."""
        for read in self._read:
            read()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """Measures the event loop's lag while the server runs, and refreshes the gauges that workers share."""
        watch = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watch.cancel()

    async def _watch(self) -> None:
        for tick in itertools.count():
            if self.many and tick % TICKS == 0:
                self.refresh()
            due = monotonic() + 1 / TICKS
            await asyncio.sleep(1 / TICKS)
            self.lag.observe(max(0.0, monotonic() - due))

    def page(self) -> bytes:
        """All metrics, in the format of Prometheus."""
        self.refresh()
        if not self.many:
            return generate_latest(self.registry)
        together = CollectorRegistry()
        MultiProcessCollector(together)  # type: ignore[no-untyped-call]
        return generate_latest(together)

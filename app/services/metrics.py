"""The server's metrics for Prometheus: no text, and only labels with few values."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

Kind = Literal["trace", "predictions", "explain", "long", "effects", "timings", "prompt", "step", "search"]
"""The kinds of jobs: a trace; one that lists many predictions; an explanation, or weights; one that takes long
(gradients, lens, swaps, heads, large rivers); measured effects, a batch at a time; the prompts of generations that
begin together (those that are known with their first step), a new prompt that is read, or a step; a beam search, or
one of its steps."""

Limit = Literal["head", "slow", "stalled", "crowded", "full"]
"""Why the server closed a connection: a head that is too large or not valid, a request that came too slowly, an answer
that nobody read, room for a new connection, or all connections at work."""

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


TICKS = 10
"""A second: how often the event loop's lag is looked at."""
MANY = "PROMETHEUS_MULTIPROC_DIR"
"""Set where several processes answer on one port: prometheus_client then keeps all numbers in files of this folder."""


class Metrics:
    """The metrics of one app, in its own registry: two apps in one process do not mix.

    Several workers have one page of metrics, with their sums; without those of a process, which mean nothing there.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.many = MANY in os.environ
        self._read: list[Callable[[], None]] = []
        if not self.many:
            ProcessCollector(registry=registry)
        gauge = partial(Gauge, registry=registry, multiprocess_mode="livesum")
        self.requests = Counter(
            "chumoku_requests", "Requests answered, by route and status.", ["route", "status"], registry=registry
        )
        self.work = Histogram(
            "chumoku_work_seconds", "Run time of a job in seconds.", ["kind"], buckets=SECONDS, registry=registry
        )
        self.lag = Histogram(
            "chumoku_event_loop_lag_seconds",
            "How much later than planned the event loop does something; looked at ten times a second.",
            buckets=SECONDS,
            registry=registry,
        )
        self.taken = gauge("chumoku_queue_taken", "Jobs that run or wait.")
        self.waiting = gauge("chumoku_queue_waiting", "Jobs waiting for their turn.")
        self.places = gauge("chumoku_queue_places", "Jobs that may run or wait at once.")
        self.streams = gauge("chumoku_streams_open", "Open generations and measurements of effects.")
        self.answers = gauge("chumoku_answer_bytes", "Bytes reserved for answers.")
        self.prefixes = Counter(
            "chumoku_prefix_lookups",
            "Prompts, by how much of each was kept from an earlier generation: whole, part or none.",
            ["found"],
            registry=registry,
        )
        self.prefix_bytes = gauge("chumoku_prefix_bytes", "Bytes of kept prefixes.")
        self.answers_found = Counter(
            "chumoku_answer_lookups",
            "Requests for answers that are kept, by what was found: kept, shared (somebody else's, under way) or none.",
            ["found"],
            registry=registry,
        )
        self.kept_bytes = gauge("chumoku_kept_answer_bytes", "Bytes of kept answers.")
        self.traces = Counter(
            "chumoku_trace_lookups",
            "Traces of runs without interventions: kept (of an earlier question about the run) or none.",
            ["found"],
            registry=registry,
        )
        self.trace_bytes = gauge("chumoku_trace_bytes", "Bytes of the tensors of recent runs.")
        self.tokens = Counter("chumoku_generated_tokens", "Tokens generated.", registry=registry)
        self.refused = Counter(
            "chumoku_refused", "Requests refused (503), by what was full.", ["full"], registry=registry
        )
        self.dropped = Counter(
            "chumoku_connections_dropped", "Connections closed by a limit, by limit.", ["limit"], registry=registry
        )
        for limit in get_args(Limit):
            self.dropped.labels(limit)
        for kind in get_args(Kind):  # also show counts of 0
            self.work.labels(kind)
        for found in ("whole", "part", "none"):
            self.prefixes.labels(found)
        for found in ("kept", "shared", "none"):
            self.answers_found.labels(found)
        for found in ("kept", "none"):
            self.traces.labels(found)
        for full in ("queue", "streams", "room"):
            self.refused.labels(full)

    def read(self, gauge: Gauge, value: Callable[[], float]) -> None:
        """Let `gauge` follow `value`. (`Gauge.set_function` would not add up over processes.)"""
        self._read.append(lambda: gauge.set(value()))

    def refresh(self) -> None:
        """Read the gauges again."""
        for read in self._read:
            read()

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        """While the server runs: the event loop's lag; where there are several workers, each shows the others its
        gauges."""
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

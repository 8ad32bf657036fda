"""The server's metrics for Prometheus: no text, and only labels with few values."""

from __future__ import annotations

from typing import Literal, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

Kind = Literal["trace", "predictions", "explain", "long", "effects", "timings", "prompt", "step", "search"]
"""The kinds of jobs: a trace; one that lists many predictions; an explanation, or weights; one that takes long
(gradients, lens, swaps, heads); measured effects, a batch at a time; the prompt of a generation, or one of its steps;
a beam search, or one of its steps."""

Limit = Literal["head", "slow", "stalled", "crowded", "full"]
"""Why the server closed a connection: a head that is too large or not valid, a request that came too slowly, an answer
that nobody read, room for a new connection, or all connections at work."""

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The metrics of one app, in its own registry: two apps in one process do not mix."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter(
            "chumoku_requests", "Requests answered, by route and status.", ["route", "status"], registry=registry
        )
        self.work = Histogram(
            "chumoku_work_seconds", "Run time of a job in seconds.", ["kind"], buckets=SECONDS, registry=registry
        )
        self.taken = Gauge("chumoku_queue_taken", "Jobs that run or wait.", registry=registry)
        self.waiting = Gauge("chumoku_queue_waiting", "Jobs waiting for their turn.", registry=registry)
        self.places = Gauge("chumoku_queue_places", "Jobs that may run or wait at once.", registry=registry)
        self.streams = Gauge("chumoku_streams_open", "Open generations and measurements of effects.", registry=registry)
        self.answers = Gauge("chumoku_answer_bytes", "Bytes reserved for answers.", registry=registry)
        self.prefixes = Counter(
            "chumoku_prefix_lookups",
            "Prompts, by how much of each was kept from an earlier generation: whole, part or none.",
            ["found"],
            registry=registry,
        )
        self.prefix_bytes = Gauge("chumoku_prefix_bytes", "Bytes of kept prefixes.", registry=registry)
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
        for full in ("queue", "streams", "room"):
            self.refused.labels(full)

    def page(self) -> bytes:
        """All metrics, in the format of Prometheus."""
        return generate_latest(self.registry)

"""The time of the river's numbers, without HTTP: the shares of a sentence, the effects of its widest lines, and what
each head does."""

from __future__ import annotations

from benchmarks.measure import Row, median_seconds
from chumoku.app.api.explain.requests import AblationsRequest, EffectsRequest
from chumoku.app.services.explain.answers import AblationsSession, EffectsSession
from chumoku.model import checkpoint
from chumoku.model.attribution.norm_contributions import route_of
from chumoku.model.checkpoint import ZOO
from chumoku.model.run import Run
from chumoku.model.traceable import ZooModel

SEQ_LEN = EDGES = 64
SHORT = 16


def measure() -> list[Row]:
    """Milliseconds for stories-gpt at 64 tokens, with the threads of one job."""
    loaded = checkpoint.load(ZOO / "stories-gpt")
    ids = list(range(300, 300 + SEQ_LEN))
    request = EffectsRequest(token_ids=ids, n=EDGES)

    def begun() -> EffectsSession:
        session = EffectsSession(ZooModel(loaded), request, 20_000)
        session.step()
        return session

    def done() -> None:
        session = begun()
        while session.step():
            pass

    def ranked() -> None:
        session = AblationsSession(ZooModel(loaded), AblationsRequest(token_ids=ids[:SHORT]), 20_000)
        while session.step():
            pass

    heads = 1e3 * median_seconds(ranked, runs=9, warm_up=2)
    first, last = (1e3 * median_seconds(call, runs=9, warm_up=2) for call in (begun, done))
    shares = 1e3 * median_seconds(lambda: route_of(ZooModel(loaded), Run(ids)))
    return [
        Row(f"shares of {SEQ_LEN} tokens, all layers", shares, "ms"),
        Row(f"effects of the {EDGES} widest lines", last, "ms", 1000, note=f"the first after {first:.0f} ms"),
        Row(f"ablations of all 48 heads and 6 FFNs, {SHORT} tokens", heads, "ms", 200),
    ]

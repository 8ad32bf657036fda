"""Which look decides, and how a probability is written, in Python (documents) and in the page: one file, read by both.

`tests/js/deciding.test.js` reads the same file.
"""

import json
import os
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chumoku.app.api.explain.requests import EffectsRequest, RouteRequest
from chumoku.app.notebook.knockouts import deciding, effects_of, share
from chumoku.app.services.explain import river_answer
from chumoku.app.services.explain.answers import EffectsSession, effect
from chumoku.model.attribution.rollout import Edge
from chumoku.model.traceable import ZooModel
from tests.model.helpers import tiny_checkpoint

FIXTURE = Path(__file__).parent.parent / "js" / "deciding.json"
CUT = {"kind": "mask", "where": {"layer": 0, "role": "mask", "query": 4, "key": 1}, "allow": False}
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "the last row of a decoder": ("decoder-only", {"text": "abcab"}),
    "another row": ("decoder-only", {"text": "abcab", "row": 2}),
    "with a cut": ("decoder-only", {"text": "abcab", "interventions": [CUT]}),
    "another answer": ("decoder-only", {"text": "abcab", "answer": 99}),
    "a class": ("encoder-only", {"text": "abc"}),
    "a word of a translation": ("encoder-decoder", {"text": "abc", "target": "xyz", "row": 2}),
    "a word of another": ("encoder-decoder", {"text": "abc", "target": "zzy", "row": 2}),
    "alone": ("decoder-only", {"text": "a"}),
}
SHARES = [0, 1e-9, 0.0004, 0.0005, 0.0123, 0.0945, 0.095, 0.125, 0.5049, 0.505, 0.9473, 0.948, 0.9949, 0.995, 0.9971]
"""0.125 lies between two numbers: Python's own rounding goes down."""


def session_of(family: Any, request: dict[str, Any]) -> tuple[EffectsSession, dict[str, Any]]:
    traceable = ZooModel(tiny_checkpoint(family))
    asked = {name: value for name, value in request.items() if name not in ("row", "answer")}
    session = EffectsSession(traceable, EffectsRequest.model_validate(request), 100)
    return session, river_answer.route(session.plan, RouteRequest.model_validate(asked))


def case(family: Any, request: dict[str, Any]) -> dict[str, Any]:
    session, route = session_of(family, request)
    found, row = effects_of(session), session.effects.row
    edges = deciding(session.plan, row, {one.part: one.delta for one in found})
    stack = session.plan.traceable.description.stacks[-1].id
    decided = [edge.where for edge in edges]
    return {"route": route, "stack": stack, "row": row, "effects": [effect(one) for one in found], "decided": decided}


def test_the_fixture_is_written_from_what_python_says() -> None:
    """`CHUMOKU_WRITE_FIXTURES=1 pytest tests/app/test_deciding_fixture.py` rewrites it."""
    if os.environ.get("CHUMOKU_WRITE_FIXTURES"):
        cases = {name: case(*one) for name, one in CASES.items()}
        written = {"cases": cases, "shares": [[p, share(p)] for p in [*SHARES, 1]]}
        FIXTURE.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", "utf-8")
    kept = json.loads(FIXTURE.read_text("utf-8"))
    assert kept["cases"].keys() == CASES.keys()
    assert kept["shares"] == [[p, share(p)] for p in [*SHARES, 1]]
    decided = [one["decided"] for one in kept["cases"].values()]
    assert [] in decided
    assert {edge["attention"] for edges in decided for edge in edges} >= {"self", "cross"}


@pytest.mark.parametrize("name", CASES)
def test_the_same_look_decides_as_in_the_fixture(name: str) -> None:
    kept = json.loads(FIXTURE.read_text("utf-8"))["cases"][name]
    session, route = session_of(*CASES[name])
    for theirs, ours in zip(kept["route"]["rivers"], route["rivers"], strict=True):
        for one, other in zip(theirs["flows"], ours["flows"], strict=True):
            np.testing.assert_allclose(numbers(one["share"]), numbers(other["share"]), atol=1e-4)
    deltas = {Edge(*(one[part] for part in ("attention", "layer", "query", "key"))): one for one in kept["effects"]}
    now = {one.part: one.delta for one in effects_of(session)}
    assert now == pytest.approx({edge: one["delta"] for edge, one in deltas.items()}, abs=1e-3)
    found = deciding(session.plan, kept["row"], {edge: one["delta"] for edge, one in deltas.items()})
    assert [edge.where for edge in found] == kept["decided"]


def numbers(array: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(b64decode(array["data"]), np.float32)

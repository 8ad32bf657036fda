"""JSON in parts."""

import json
from typing import Any

import pytest

from chumoku.app.services.wire import AT_ONCE, parts_of

FLOAT = len(json.dumps(1 / 3)) + 1
ANSWERS: dict[str, Any] = {
    "few values": {"a": [1, {"b": None}], "c": "é\n"},
    "empty": {"a": [], "b": {}, "c": [[]]},
    "a long list": {"rows": [1 / 3] * 5000},
    "long rows": [[1 / 3] * 3000] * 3,
    "many small objects": {"heads": [{"layer": n, "scores": {"self": {"score": 1 / 3}}} for n in range(3000)]},
    "rows that grow": {"shares": [[1 / 3] * n for n in range(100)], "rules": {"self": [1, "words"]}},
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_parts_are_the_whole(name: str) -> None:
    parts = list(parts_of(ANSWERS[name]))
    assert "".join(parts) == json.dumps(ANSWERS[name], ensure_ascii=False, separators=(",", ":"))
    assert max(map(len, parts)) < 3 * FLOAT * AT_ONCE


def test_few_values_are_one_part() -> None:
    assert len(list(parts_of({"heads": [{"layer": n, "scores": [1, 2, 3]} for n in range(100)]}))) == 1

"""`benchmarks/results.json` has the newest figures of every part, whichever were measured together."""

import json
from dataclasses import asdict, fields

from benchmarks.__main__ import PARTS, RESULTS, merged
from benchmarks.measure import Row

ABOUT = {"part", "measured", "machine"}


def test_parts_that_are_not_measured_again_stay() -> None:
    first = merged(
        [], {"load": [Row("a step", 15, "ms"), Row("a name of before", 1, "ms")], "start": [Row("start", 3, "s")]}
    )
    again = merged(first, {"load": [Row("a step", 4, "ms")]})
    assert [(row["part"], row["what"], row["value"]) for row in again] == [("start", "start", 3), ("load", "a step", 4)]
    assert again[0] == first[0]
    assert again[1].items() >= asdict(Row("a step", 4, "ms")).items()


def test_each_row_says_its_part_and_when_and_where_it_was_measured() -> None:
    rows = json.loads(RESULTS.read_text("utf-8"))
    assert {row["part"] for row in rows} >= {"capture", "generation", "wire", "page", "river", "start", "load"}
    for row in rows:
        assert row.keys() == ABOUT | {one.name for one in fields(Row)}
        assert row["part"] in PARTS
    names = [row["what"] for row in rows]
    assert len(set(names)) == len(names)
    order = [PARTS.index(row["part"]) for row in rows]
    assert order == sorted(order)

"""The pictures of the start page are what the models give."""

from __future__ import annotations

import json
from typing import Any

from tests.start_cards import FILE, made


def numbers(value: Any) -> list[int]:
    if isinstance(value, list):
        return [number for one in value for number in numbers(one)]
    return [value] if isinstance(value, int) else []


def test_the_start_pages_pictures_are_the_models() -> None:
    stored, now = json.loads(FILE.read_text("utf-8")), made()
    for card, drawn in now.items():
        assert drawn.keys() == stored[card].keys()
        for name, value in drawn.items():
            if not numbers(value):
                assert stored[card][name] == value
            # A weight may lie on the edge between two percents: another CPU may round it the other way.
            assert all(abs(a - b) <= 1 for a, b in zip(numbers(stored[card][name]), numbers(value), strict=True))

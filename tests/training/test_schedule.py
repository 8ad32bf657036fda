"""The learning rate: up in a straight line, down in a straight line."""

import math

from hypothesis import given
from hypothesis import strategies as st

from model.training.schedule import warm_up_then_linear

parts = st.floats(0, 1)


@given(progress=parts, warm_up=st.floats(0.001, 0.5))
def test_the_rate_is_two_straight_lines(progress: float, warm_up: float) -> None:
    expected = min(progress / warm_up, (1 - progress) / (1 - warm_up))
    assert math.isclose(warm_up_then_linear(progress, warm_up), expected, abs_tol=1e-12)


def test_it_begins_and_ends_at_0_and_peaks_behind_the_warm_up() -> None:
    assert [warm_up_then_linear(p, 0.2) for p in (0.0, 0.1, 0.2, 0.6, 1.0)] == [0, 0.5, 1, 0.5, 0]


@given(progress=parts)
def test_without_a_warm_up_it_only_falls(progress: float) -> None:
    assert math.isclose(warm_up_then_linear(progress, 0.0), 1 - progress)

"""The learning rate rises linearly, then falls linearly or with the inverse square root of the step."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chumoku.model.training.recipe import WarmUpThenLinear, WarmUpThenRoot

parts = st.floats(0, 1)


@given(progress=parts, warm_up=st.floats(0.001, 0.5))
def test_the_rate_is_two_straight_lines(progress: float, warm_up: float) -> None:
    expected = 3 * min(progress / warm_up, (1 - progress) / (1 - warm_up))
    assert math.isclose(WarmUpThenLinear(3.0, warm_up).rate(7, progress), expected, abs_tol=1e-12)


def test_it_begins_and_ends_at_0_and_peaks_behind_the_warm_up() -> None:
    schedule = WarmUpThenLinear(1.0, 0.2)
    assert [schedule.rate(0, p) for p in (0.0, 0.1, 0.2, 0.6, 1.0)] == [0, 0.5, 1, 0.5, 0]


@given(progress=parts)
def test_without_a_warm_up_it_only_falls(progress: float) -> None:
    assert math.isclose(WarmUpThenLinear(1.0, 0.0).rate(0, progress), 1 - progress)


def test_the_paper_s_schedule_by_hand() -> None:
    """Equation 3 with the paper's numbers: d_model 512, 4,000 warm-up steps, a peak of 7.0e-4."""
    schedule = WarmUpThenRoot(512, 4000)
    assert schedule.rate(0, 0.9) == pytest.approx(1 / (math.sqrt(512) * 4000**1.5))
    assert schedule.rate(1999, 0.0) == pytest.approx(0.5 / math.sqrt(512 * 4000))
    assert schedule.rate(3999, 0.0) == pytest.approx(6.987712e-4, rel=1e-6)
    assert schedule.rate(15999, 0.0) == pytest.approx(6.987712e-4 / 2, rel=1e-6)


def test_a_cool_down_takes_the_rest_to_0() -> None:
    plain, cooled = WarmUpThenRoot(512, 4000), WarmUpThenRoot(512, 4000, cool_down=0.2)
    assert cooled.rate(9000, 0.5) == plain.rate(9000, 0.5)
    assert cooled.rate(9000, 0.9) == pytest.approx(plain.rate(9000, 0.9) / 2)
    assert cooled.rate(9000, 1.0) == 0

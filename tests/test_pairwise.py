"""Pairwise combinations, against a count of what must meet."""

from itertools import combinations, product

from tests.pairwise import pairwise


def test_every_two_values_meet_in_few_combinations() -> None:
    axes = [("a", "b", "c"), (1, 2, 3), (True, False), ("x", "y", "z")]
    chosen = pairwise(*axes)
    assert all(value in axis for one in chosen for axis, value in zip(axes, one, strict=True))
    for i, j in combinations(range(4), 2):
        assert {(one[i], one[j]) for one in chosen} == set(product(axes[i], axes[j]))
    assert 9 <= len(chosen) <= 14  # of 54
    assert chosen == pairwise(*axes)


def test_two_axes_have_all_their_combinations() -> None:
    assert sorted(pairwise("ab", "xyz")) == sorted(product("ab", "xyz"))

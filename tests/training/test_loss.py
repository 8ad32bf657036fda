"""Cross-entropy with both forms of label smoothing, computed by hand and compared with torch."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from chumoku.model.training.recipe import SmoothingForm, cross_entropy

LOGITS = torch.tensor([[2.0, 0.5, -1.0, 0.0], [0.0, 3.0, 1.0, -2.0], [1.0, 1.0, 1.0, 1.0]])
TARGETS = torch.tensor([0, 2, 3])


def by_hand(smoothing: float, form: SmoothingForm) -> float:
    """Mean over the rows of −Σ_k q(k) ln p(k), in loops."""
    total = 0.0
    for row, target in zip(LOGITS.tolist(), TARGETS.tolist(), strict=True):
        log_sum = math.log(math.fsum(math.exp(x) for x in row))
        for k, x in enumerate(row):
            if form == "all":
                q = smoothing / 4 + (1 - smoothing) * (k == target)
            else:
                q = 1 - smoothing if k == target else smoothing / 3
            total -= q * (x - log_sum)
    return total / 3


@pytest.mark.parametrize("form", ["all", "others"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_both_forms_by_hand(smoothing: float, form: SmoothingForm) -> None:
    assert cross_entropy(LOGITS, TARGETS, smoothing, form).item() == pytest.approx(by_hand(smoothing, form), rel=1e-6)


@given(smoothing=st.floats(0, 0.9), seed=st.integers(0, 99), ignored=st.integers(0, 5))
def test_mass_on_all_is_torch_s(smoothing: float, seed: int, ignored: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(2, 3, 7, generator=generator)
    targets = torch.randint(7, (2, 3), generator=generator)
    targets.view(-1)[:ignored] = -1
    theirs = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1, label_smoothing=smoothing)
    torch.testing.assert_close(cross_entropy(logits, targets, smoothing), theirs)


@pytest.mark.parametrize("form", ["all", "others"])
def test_what_is_ignored_counts_neither_above_nor_below(form: SmoothingForm) -> None:
    logits = torch.cat((LOGITS, torch.full((2, 4), 50.0)))
    targets = torch.cat((TARGETS, torch.tensor([-1, -1])))
    assert cross_entropy(logits, targets, 0.1, form).item() == pytest.approx(by_hand(0.1, form), rel=1e-6)
    other = cross_entropy(logits, torch.where(targets < 0, 2, targets), 0.1, form, ignore_id=2)
    rest = torch.tensor([0, 2])
    assert other == cross_entropy(LOGITS[rest], TARGETS[rest], 0.1, form)


def test_the_forms_differ_by_how_much_of_the_mass_the_right_one_keeps() -> None:
    """ε on all K is ε(K−1)/K on the others."""
    assert by_hand(0.3, "all") == pytest.approx(by_hand(0.3 * 3 / 4, "others"))
    all_, others = (cross_entropy(LOGITS, TARGETS, s, f) for s, f in ((0.3, "all"), (0.3 * 3 / 4, "others")))
    torch.testing.assert_close(all_, others)

"""Hand-made heads: each gets the label it was made for, and an attention sink affects none of the scores."""

import pytest
import torch
from torch import Tensor

from chumoku.model.explain import head_labels
from chumoku.model.explain.head_labels import HeadScore, labels_of, name_heads, tallies_of
from chumoku.model.explain.head_scores import HeadKind, self_scores
from chumoku.model.run import Run
from chumoku.model.trace import Padding
from chumoku.model.traceable import ZooModel
from tests.model.explain.helpers import SOURCE, TARGET, a_model, options
from tests.model.helpers import close, tiny_checkpoint
from tests.shortcuts import labels

N = 16
IDS = list(range(N))
TWICE = [*range(8), *range(8)]
CAUSAL = torch.ones(N, N, dtype=torch.bool).tril()
EVERY = torch.ones(N, N, dtype=torch.bool)


def looking(*keys: int) -> Tensor:
    """A head [1 query key] whose query i puts all its weight on keys[i]."""
    return torch.eye(N)[list(keys)][None]


FIRST = looking(*[0] * N)
SELF = looking(*range(N))
PREVIOUS = looking(0, *range(N - 1))
EVEN = (CAUSAL / CAUSAL.sum(-1, keepdim=True))[None]
INDUCTION = looking(*[0] * 8, *range(1, 9))
SAME = looking(*[0] * 8, *range(8))


def scores(pattern: Tensor, ids: list[int] = IDS, allowed: Tensor = CAUSAL, **rule: bool) -> dict[HeadKind, float]:
    return {kind: float(one.score[0]) for kind, one in self_scores(pattern, ids, allowed, **rule).items()}


def label(pattern: Tensor, ids: list[int] = IDS, allowed: Tensor = CAUSAL) -> HeadKind | None:
    (head,) = name_heads({"self": self_scores(pattern[None], ids, allowed)})
    return head.label


@pytest.mark.parametrize(
    ("kind", "pattern", "ids"),
    [("first", FIRST, IDS), ("self", SELF, IDS), ("previous", PREVIOUS, IDS), ("spread", EVEN, IDS),
     ("induction", INDUCTION, TWICE), ("same", SAME, TWICE)],
)  # fmt: skip
@pytest.mark.parametrize("allowed", [CAUSAL, EVERY], ids=["causal", "every"])
def test_a_head_that_does_one_thing_scores_1_for_it_and_is_called_so(
    kind: HeadKind, pattern: Tensor, ids: list[int], allowed: Tensor
) -> None:
    if kind == "spread":
        pattern = (allowed / allowed.sum(-1, keepdim=True))[None]
    got = scores(pattern, ids, allowed)
    assert got[kind] == pytest.approx(1)
    assert label(pattern, ids, allowed) == kind
    others = {other: score for other, score in got.items() if other not in (kind, "first")}
    assert all(score < 0.3 for score in others.values()), others


@pytest.mark.parametrize(
    ("kind", "habit", "ids"),
    [("previous", PREVIOUS, IDS), ("self", SELF, IDS), ("induction", INDUCTION, TWICE), ("same", SAME, TWICE)],
)
def test_a_sink_does_not_hide_a_weak_habit(kind: HeadKind, habit: Tensor, ids: list[int]) -> None:
    pattern = 0.85 * FIRST + 0.15 * habit
    assert scores(pattern, ids)[kind] == pytest.approx(1)
    assert label(pattern, ids) == kind
    assert scores(pattern, ids, sink=False)[kind] < 0.2  # the reason for the rule


def test_a_sink_alone_is_a_sink() -> None:
    """Also when a little weight goes elsewhere, wherever that is."""
    for rest in (FIRST, EVEN, PREVIOUS, INDUCTION):
        assert label(0.95 * FIRST + 0.05 * rest, TWICE) == "first"
    assert scores(FIRST)["first"] == 1
    beside = {kind: score for kind, score in scores(FIRST, TWICE).items() if kind != "first"}
    assert beside == dict.fromkeys(beside, 0)


def test_an_even_spread_is_nothing_else_however_short_the_text() -> None:
    for n in range(1, N):
        got = scores(EVEN[:, :n, :n], TWICE[:n], CAUSAL[:n, :n])
        assert all(score == pytest.approx(0, abs=1e-6) for kind, score in got.items() if kind != "spread"), (n, got)


def test_rows_that_have_no_choice_do_not_count() -> None:
    """With two tokens, the second can only look at the first or at itself."""
    for pattern in (SELF, FIRST, PREVIOUS):
        assert label(pattern[:, :2, :2], [0, 1], CAUSAL[:2, :2]) is None
        counted = self_scores(pattern[:, :2, :2], [0, 1], CAUSAL[:2, :2])
        assert all(float(one.rows) == 0 and float(one.score) == 0 for one in counted.values())


def test_one_row_is_not_enough_for_a_label() -> None:
    ids = [*range(N - 1), 3]  # only the last token has an earlier occurrence
    pattern = looking(*[0] * (N - 1), 4)
    assert scores(pattern, ids)["induction"] == 1
    assert label(pattern, ids) == "first"


def test_random_heads_get_no_name() -> None:
    generator = torch.Generator().manual_seed(1)
    weights = torch.randn(200, N, N, generator=generator).mul(1.5).masked_fill(~CAUSAL, -torch.inf).softmax(-1)
    heads = name_heads({"self": self_scores(weights[None], TWICE, CAUSAL)})
    assert [head.label for head in heads] == [None] * 200


def by_hand(pattern: Tensor, ids: list[int], allowed: Tensor, wanted: str) -> float:
    """The rule as loops, row by row."""
    hits = chances = rests = 0.0
    for i in range(len(ids)):
        keys = [j for j in range(1, len(ids)) if allowed[i, j]]
        match wanted:
            case "previous":
                good = [j for j in keys if j == i - 1]
            case "self":
                good = [j for j in keys if j == i]
            case "same":
                good = [j for j in keys if ids[j] == ids[i] and j != i]
            case _:
                good = [j for j in keys if ids[j - 1] == ids[i] and j - 1 != i and j != i]
        if 0 < len(good) < len(keys):
            rest = sum(float(pattern[i, j]) for j in keys)
            hits += sum(float(pattern[i, j]) for j in good)
            chances += rest * len(good) / len(keys)
            rests += rest
    return max(0.0, (hits - chances) / (rests - chances))


@pytest.mark.parametrize("allowed", [CAUSAL, EVERY], ids=["causal", "every"])
@pytest.mark.parametrize("kind", ["previous", "self", "same", "induction"])
def test_scores_follow_the_rule_row_by_row(kind: HeadKind, allowed: Tensor) -> None:
    ids = torch.randint(4, (N,), generator=torch.Generator().manual_seed(3)).tolist()
    patterns = torch.randn(40, N, N, generator=torch.Generator().manual_seed(2)).mul(3)
    patterns = patterns.masked_fill(~allowed, -torch.inf).softmax(-1)
    got = self_scores(patterns, ids, allowed)[kind].score
    expected = [by_hand(pattern, ids, allowed, kind) for pattern in patterns]
    assert got.tolist() == pytest.approx(expected, abs=1e-6)
    assert max(expected) > 0


@pytest.mark.parametrize("side", ["left", "right"])
def test_pads_are_neither_rows_nor_keys(side: str) -> None:
    pad = 99
    heads = torch.cat((0.6 * FIRST + 0.4 * PREVIOUS, SAME, EVEN, SELF))
    at = slice(3, 3 + N) if side == "left" else slice(0, N)
    pattern, allowed = torch.full((4, N + 3, N + 3), 1 / (N + 3)), torch.ones(N + 3, N + 3, dtype=torch.bool)
    pattern[:, at, :] = 0
    pattern[:, at, at], allowed[at, at] = heads, CAUSAL
    ids = [pad] * 3 + TWICE if side == "left" else TWICE + [pad] * 3
    plain = self_scores(heads, TWICE, CAUSAL)
    real = torch.tensor(ids) != pad
    for kind, one in self_scores(pattern, ids, allowed & real[:, None] & real).items():
        close(one.score, plain[kind].score)
        close(one.rows, plain[kind].rows)


def test_a_mask_of_its_own_for_each_head() -> None:
    allowed = torch.stack((CAUSAL, EVERY))
    both = self_scores(torch.cat((PREVIOUS, SELF)), IDS, allowed)
    assert both["previous"].score.tolist() == [1, 0]
    assert both["self"].score.tolist() == [0, 1]


def test_every_head_of_every_attention_is_scored() -> None:
    for name, count in (("decoder-only", 6), ("encoder-only", 6), ("encoder-decoder", 18)):
        checkpoint = a_model(name, "post")
        heads = labels(checkpoint, SOURCE, pad=Padding(2), **options(checkpoint))
        assert len(heads) == count
        for head in heads:
            assert all(isinstance(s, HeadScore) and 0 <= s.score <= 1 for s in head.scores.values())
            assert ("alignment" in head.scores) == (head.attention == "cross") != ("induction" in head.scores)
    plain = tallies_of(ZooModel(checkpoint), Run(SOURCE, TARGET))
    padded = tallies_of(ZooModel(checkpoint), Run(SOURCE, TARGET, pad=Padding(2)))
    for place, kinds in plain.items():
        for kind, one in kinds.items():
            close(padded[place][kind].score, one.score, 1e-4)


def test_layers_are_scored_the_same_together_and_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = a_model("encoder-decoder", "pre")
    together = labels(checkpoint, SOURCE, target=TARGET)
    monkeypatch.setattr(head_labels, "CELLS", 1)
    assert labels(checkpoint, SOURCE, target=TARGET) == together


@pytest.mark.parametrize("mechanism", ["softmax", "rotary", "relative", "aft-full", "aft-conv", "wkv"])
def test_of_a_long_text_later_layers_are_scored_while_it_is_read(
    mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tiny_checkpoint(mechanism=mechanism, d_model=18, reach=3, rank=4, n_layer=3)
    run = Run(SOURCE, pad=Padding(2))
    together = labels_of(ZooModel(made), run)
    assert together == labels(made, SOURCE, pad=Padding(2))
    monkeypatch.setattr(head_labels, "KEPT", 1)
    assert labels_of(ZooModel(made), run) == together


def test_a_translators_attentions_are_kept_apart_however_long_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    traceable, run = ZooModel(a_model("encoder-decoder", "pre")), Run(SOURCE, TARGET)
    together = labels_of(traceable, run)
    for n in range(6):  # n layers are kept: within an attention, and up to its end
        monkeypatch.setattr(head_labels, "n_kept", lambda places, run, n=n: n)
        assert labels_of(traceable, run) == together

"""Heads on random tokens that repeat, against a naive loop over rows and tokens, and on a real model."""

import pytest
import torch
from torch import Tensor

from chumoku.model import checkpoint as checkpoints
from chumoku.model.attribution.induction import Induction, induction_of, sequences
from chumoku.model.attribution.logit_attribution import norm_taps
from chumoku.model.attribution.walk_back import WalkBack, weights_of
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import AttentionSublayer
from chumoku.model.explain.anatomy import unembedding
from chumoku.model.trace import trace
from chumoku.model.traceable import ZooModel
from tests.model.explain.helpers import a_model
from tests.model.helpers import NORM_ORDERS


@pytest.fixture(scope="module")
def stories() -> Induction:
    return induction_of(ZooModel(checkpoints.load(checkpoints.ZOO / "stories-gpt")))


def written(model: Checkpoint, z: Tensor, layer: int, head: int, row: int) -> Tensor:
    """What one head adds to the stream of one row, [d_model]: z times its columns of W_O."""
    w_o = model.model.get_parameter(f"layers.{layer}.attn.w_o.weight").double()
    d = z.shape[-1]
    return w_o[:, head * d : (head + 1) * d] @ z[head, row].double()


def naive(model: Checkpoint, ids: list[int], part: AttentionSublayer, head: int) -> tuple[float, float]:
    """Token by token: how much each of them is raised by the head, read by the walk back of logit attribution."""
    n, layer = len(ids), part.layer
    norms = norm_taps(model.description, {})
    names = [f"layers.{layer}.attn.pattern", f"layers.{layer}.attn.z", *norms]
    run = trace(model, ids * 2, names).tensors
    pattern, z = run[names[0]], run[names[1]]
    w_u = unembedding(model)[0].double()
    matched, copied = 0.0, 0.0
    for i in range(n):
        row = n + i
        matched += float(pattern[head, row, i + 1])  # the token after the earlier occurrence of ids[i]
        at_row = {tap: run[tap][row].double() for tap in norms}
        reads = WalkBack(weights_of(model), at_row, w_u, w_u[0]).all_through(part)  # answer d_model
        wrote = written(model, z, layer, head, row)
        logits = [float(reads[token] @ wrote) for token in ids]
        mean = sum(logits) / n
        raised = [max(0.0, logit - mean) for logit in logits]
        attended = int(pattern[head, row].argmax())
        copied += raised[ids.index((ids * 2)[attended])] / sum(raised)
    return matched / n, copied / n


@pytest.mark.parametrize("order", NORM_ORDERS)
@torch.no_grad()
def test_both_scores_are_those_of_a_naive_loop(order: str) -> None:
    model = a_model("decoder-only", order)
    traceable = ZooModel(model)
    found = induction_of(traceable)
    every = list(sequences(traceable, found.repeated))
    assert all(len(set(ids)) == found.repeated for ids in every)
    parts = [one for one in model.description.readout.sublayers if isinstance(one, AttentionSublayer)]
    for part in parts:
        for head in range(model.config.n_head):
            mine = next(one for one in found.heads if (one.layer, one.head) == (part.layer, head))
            loops = torch.tensor([naive(model, ids, part, head) for ids in every]).mean(0)
            assert [mine.prefix_matching, mine.copying] == pytest.approx(loops.tolist(), abs=1e-5)


def test_the_head_that_fetches_the_repeated_noun_matches_prefixes_and_copies(stories: Induction) -> None:
    """Of the shipped stories model 5·5, whose label on “… a red car … the red” is induction; layer 0 knows nothing."""
    best = max(stories.heads, key=lambda one: one.prefix_matching)
    assert (best.layer, best.head) == (5, 5)
    assert best.prefix_matching > 3 * stories.chance
    assert best.copying is not None
    assert best.copying > 3 * stories.copying_chance
    first = [one.prefix_matching for one in stories.heads if one.layer == 0]
    assert first == pytest.approx([stories.chance] * len(first), abs=0.01)
    assert stories.chance == pytest.approx(sum(1 / (row + 1) for row in range(24, 48)) / 24)


def test_what_has_no_heads_that_read_what_it_predicts_is_refused() -> None:
    for family in ("encoder-only", "encoder-decoder"):
        with pytest.raises(ValueError, match="no heads that read the tokens it predicts"):
            induction_of(ZooModel(a_model(family, "pre")))
    aft = a_model("decoder-only", "pre", mechanism="aft-full", position="learned", n_head=3, d_model=12)
    with pytest.raises(ValueError, match="no heads"):
        induction_of(ZooModel(aft))

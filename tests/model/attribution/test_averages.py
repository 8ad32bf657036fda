"""Several heads as one matrix, and attention rollout: against loops over their definitions."""

from itertools import product

import pytest
import torch

import chumoku
from chumoku.model.attribution.averages import average, rollout


@pytest.fixture
def layers() -> list[torch.Tensor]:
    """Three layers of two heads over five tokens: causal in the second layer."""
    scores = torch.randn(3, 2, 5, 5, generator=torch.Generator().manual_seed(1))
    scores[1] = scores[1].masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
    return list(scores.softmax(-1))


def test_a_mean_and_a_maximum_are_over_what_they_are_named_after(layers: list[torch.Tensor]) -> None:
    chosen = {
        "heads": [layers[2][head] for head in range(2)],
        "layers": [layers[layer][1] for layer in range(3)],
        "both": [layers[layer][head] for layer, head in product(range(3), range(2))],
    }
    for over, matrices in chosen.items():
        for query, key in product(range(5), range(5)):
            cells = [float(one[query, key]) for one in matrices]
            mean, most = (average(layers, over, how, layer=2, head=1)[query, key] for how in ("mean", "max"))  # type: ignore[arg-type]
            assert float(mean) == pytest.approx(sum(cells) / len(cells), abs=1e-6)
            assert float(most) == max(cells)


def naive(layers: list[torch.Tensor], query: int, key: int, last: int) -> float:
    """The sum over all paths from `query` after layer `last` down to `key`: of each step, half a mean weight, and half
    for staying."""
    if last < 0:
        return float(query == key)
    heads = layers[last]
    return sum(
        (sum(float(head[query, middle]) for head in heads) / len(heads) + (query == middle))
        / 2
        * naive(layers, middle, key, last - 1)
        for middle in range(heads.shape[-1])
    )


def test_a_rollout_is_the_sum_over_all_paths(layers: list[torch.Tensor]) -> None:
    found = rollout(layers)
    assert found.shape == (3, 5, 5)
    for last, query, key in product(range(3), range(5), range(5)):
        assert float(found[last, query, key]) == pytest.approx(naive(layers, query, key, last), abs=1e-6)


def test_a_trace_has_both_of_the_attention_that_is_asked_for() -> None:
    trace = chumoku.load("translate-enja", device="cpu").trace("I like cats.", target="猫")
    for id in ("encoder", "decoder"):
        taps = trace.model.traceable.description.attention(id).roles["pattern"].taps
        own = [trace[tap] for tap in taps]
        assert torch.equal(trace.average("heads", layer=1, attention=id), own[1].mean(0))
        assert torch.allclose(trace.rollout(id).sum(-1), torch.ones(1), atol=1e-5)
    assert torch.equal(trace.average(how="max"), torch.cat([trace[tap] for tap in
                       trace.model.traceable.description.attentions[-1].roles["pattern"].taps]).amax(0))  # fmt: skip
    with pytest.raises(ValueError, match="whose keys are its queries"):
        trace.rollout("cross")

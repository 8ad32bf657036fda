"""One matrix for many heads: means, maxima and attention rollout, against loops over single numbers."""

import pytest
import torch

from chumoku.model.attribution.summaries import rollout, summarised


def weights_of(n_layer: int = 3, n_head: int = 2, n: int = 5) -> torch.Tensor:
    """Causal weights; the first head of the first layer has a query without any allowed key."""
    scores = torch.randn(n_layer, n_head, n, n, generator=torch.Generator().manual_seed(1))
    allowed = torch.ones(n, n).tril().bool()
    weights = scores.masked_fill(~allowed, -torch.inf).softmax(-1)
    weights[0, 0, 2] = 0
    return weights


@pytest.mark.parametrize("how", ["mean", "max"])
def test_a_summary_is_its_heads_cell_by_cell(how: str) -> None:
    weights = weights_of()
    n_layer, n_head, n, _ = weights.shape
    by_layer, by_head = summarised(weights, "heads", how), summarised(weights, "layers", how)  # type: ignore[arg-type]
    of_both = summarised(weights, "both", how)  # type: ignore[arg-type]

    def one(cells: list[float]) -> float:
        return max(cells) if how == "max" else sum(cells) / len(cells)

    cell = [[weights[layer, head].tolist() for head in range(n_head)] for layer in range(n_layer)]
    for q in range(n):
        for k in range(n):
            for layer in range(n_layer):
                assert by_layer[layer, q, k].item() == pytest.approx(one([cell[layer][h][q][k] for h in range(n_head)]))
            for head in range(n_head):
                assert by_head[head, q, k].item() == pytest.approx(one([row[head][q][k] for row in cell]))
            assert of_both[q, k].item() == pytest.approx(one([head[q][k] for row in cell for head in row]))


def test_rollout_is_the_papers_product() -> None:
    """Equation 1 of Abnar & Zuidema 2020, number by number."""
    weights = weights_of()
    n_layer, n_head, n, _ = weights.shape
    before = [[float(q == k) for k in range(n)] for q in range(n)]
    for layer in range(n_layer):
        mixed = []
        for q in range(n):
            row = [
                (sum(weights[layer, head, q, k].item() for head in range(n_head)) / n_head + (q == k)) / 2
                for k in range(n)
            ]
            mixed.append([cell / sum(row) for cell in row])
        before = [[sum(mixed[q][j] * before[j][k] for j in range(n)) for k in range(n)] for q in range(n)]
        torch.testing.assert_close(rollout(weights)[layer], torch.tensor(before, dtype=torch.float64))
    assert rollout(weights).sum(-1).flatten().tolist() == pytest.approx([1.0] * (n_layer * n))


def test_rollout_needs_one_sequence() -> None:
    with pytest.raises(ValueError, match="5 queries and 4 keys"):
        rollout(weights_of()[..., :4])

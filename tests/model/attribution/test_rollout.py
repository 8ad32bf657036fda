"""Widths: nothing is lost on the way down, and an example by hand."""

import pytest
import torch

from chumoku.model.attribution.norm_contributions import Flow, River
from chumoku.model.attribution.rollout import Edge, widest, widths
from chumoku.model.checkpoint import Checkpoint
from tests.model.explain.helpers import SOURCE, options
from tests.model.helpers import close
from tests.shortcuts import route


def river(share: list[list[list[float]]]) -> River:
    """Self-attention alone: [layer query key], the own part of the diagonal left out of account."""
    table = torch.tensor(share, dtype=torch.float64)
    own = table.diagonal(dim1=1, dim2=2)
    return River("main", "source", [Flow("self", "source", "source", table, own)], torch.zeros(own.shape))


def test_widths_by_hand() -> None:
    """Row 1 takes ¼ from row 0 in layer 1, then ½ in layer 0: ½ · ¾ of the chosen token, and ¼ passed by row 0."""
    found = river([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.25, 0.75]]])
    wide = widths([found], 1)["self"]
    expected = [[[0.25, 0.0], [0.375, 0.375]], [[0.0, 0.0], [0.25, 0.75]]]
    close(wide, torch.tensor(expected, dtype=torch.float64))
    assert widest([found], 1, 9) == [Edge("self", 0, 1, 0), Edge("self", 1, 1, 0)]
    assert widest([found], 1, 1) == [Edge("self", 0, 1, 0)]
    assert widest([found], 0, 9) == [], "the first position under a causal mask has no line but its own"


def test_all_of_the_chosen_token_comes_from_the_embeddings(family: Checkpoint) -> None:
    """What enters at the bottom of all stacks is the 1 that was chosen at the top."""
    rivers = route(family, SOURCE, **options(family))
    wide = widths(rivers, 0 if family.config.classes else 2)
    at_the_bottom = 0.0
    for one in rivers:
        first = one.flows[0]  # a decoder's self-attention comes before its cross-attention
        at_the_bottom += float(wide[first.attention][0].sum())
    assert at_the_bottom == pytest.approx(1)


def test_a_decoder_takes_from_its_source_in_every_layer() -> None:
    """Cross-attention: half of the row comes from the source, in each of two layers; self-attention moves nothing."""
    still, half = torch.ones(2, 1, 1, dtype=torch.float64), torch.full((2, 1, 2), 0.25, dtype=torch.float64)
    eye = torch.eye(2, dtype=torch.float64).expand(2, 2, 2)
    encoder = River(
        "encoder", "source", [Flow("encoder", "source", "source", eye, torch.ones(2, 2))], torch.zeros(2, 2)
    )
    flows = [
        Flow("decoder", "target", "target", still, still[..., 0]),
        Flow("cross", "target", "source", half, torch.full((2, 1), 0.5, dtype=torch.float64)),
    ]
    wide = widths([encoder, River("decoder", "target", flows, torch.zeros(2, 1))], 0)
    close(wide["cross"], torch.tensor([[[0.125, 0.125]], [[0.25, 0.25]]], dtype=torch.float64))
    close(wide["encoder"][0], torch.eye(2, dtype=torch.float64) * 0.375)
    assert wide["decoder"].flatten().tolist() == [0.25, 0.5]


def test_the_widest_lines_leave_their_row(family: Checkpoint) -> None:
    rivers = route(family, SOURCE, **options(family))
    row = 0 if family.config.classes else 5
    wide = widths(rivers, row)
    lines = widest(rivers, row, 20)
    sizes = [float(wide[one.attention][one.layer, one.query, one.key]) for one in lines]
    assert len(lines) == 20
    assert sizes == sorted(sizes, reverse=True)
    assert all(one.query != one.key for one in lines if one.attention != "cross")

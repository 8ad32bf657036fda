"""The table of positions, its similarity, and its end."""

import math

import pytest
import torch
from torch.nn import functional as F

from chumoku.model.explain.embeddings import position_table
from chumoku.model.positions import POSITIONS, LearnedPositions, PositionModule
from tests.model.explain.helpers import a_model
from tests.model.helpers import close


def test_a_sinusoid_follows_its_formula_beyond_the_window() -> None:
    got = position_table(a_model("encoder-decoder", "post", position="sinusoidal"), 100)
    for pos in (0, 1, 23, 24, 99):
        for i in range(7):
            angle = pos / 10000 ** (2 * i / 15)
            assert float(got.table[pos, 2 * i]) == pytest.approx(math.sin(angle), abs=1e-6)
            assert float(got.table[pos, 2 * i + 1]) == pytest.approx(math.cos(angle), abs=1e-6)
    assert (got.trained, got.beyond, got.kind) == (24, "continues", "sinusoidal")
    close(got.similarity.diag(), torch.ones(100).double())


def test_a_sinusoids_similarity_depends_on_the_distance_alone() -> None:
    similarity = position_table(a_model("decoder-only", "pre", position="sinusoidal", d_model=12), 48).similarity
    for distance in (1, 5, 20):
        diagonal = similarity.diagonal(distance)
        close(diagonal, diagonal[:1].expand_as(diagonal), 1e-6)


def test_a_learned_table_is_the_models_and_ends() -> None:
    checkpoint = a_model("decoder-only", "pre")
    got = position_table(checkpoint)
    positions = checkpoint.decoder_only.positions
    assert isinstance(positions, LearnedPositions)
    assert torch.equal(got.table, positions.table.weight)
    assert (got.trained, got.beyond) == (24, "nothing")
    close(got.similarity[3], F.cosine_similarity(got.table.double()[3:4], got.table.double()), 1e-9)
    assert len(position_table(checkpoint, 5).table) == 5
    with pytest.raises(ValueError, match="25 learned positions: the table ends after 24"):
        position_table(checkpoint, 25)


def test_another_kind_that_is_a_formula_has_the_rows_of_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ramp(PositionModule):
        formula = staticmethod(lambda n, d_model: torch.arange(n).float()[:, None].expand(n, d_model).contiguous())

    checkpoint = a_model("decoder-only", "pre", position="sinusoidal")
    monkeypatch.setitem(POSITIONS, "sinusoidal", Ramp)
    got = position_table(checkpoint, 30)
    assert got.table[:, 0].tolist() == list(range(30))
    assert got.beyond == "continues"


def test_each_stack_has_its_own() -> None:
    checkpoint = a_model("encoder-decoder", "post")
    source, target = (position_table(checkpoint, stack=stack).table for stack in ("encoder", "decoder"))
    assert not torch.equal(source, target)
    assert torch.equal(source, position_table(checkpoint).table)
    with pytest.raises(KeyError):
        position_table(checkpoint, stack="main")


def test_none_has_no_rows() -> None:
    got = position_table(a_model("decoder-only", "pre", position="none"))
    assert (got.kind, got.trained, got.beyond, len(got.table)) == ("none", 0, "nothing", 0)


def test_lengths_out_of_reason_are_refused() -> None:
    checkpoint = a_model("decoder-only", "pre", position="sinusoidal")
    with pytest.raises(ValueError, match="8 × the window of 24"):
        position_table(checkpoint, 193)
    with pytest.raises(ValueError, match="one row or more"):
        position_table(checkpoint, 0)

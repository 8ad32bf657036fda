"""Nearest neighbours, against a loop over the vocabulary."""

import pytest
import torch

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.embeddings import neighbours
from tests.model.explain.helpers import a_model


@pytest.mark.parametrize("measure", ["cosine", "dot"])
def test_the_nearest_come_first_and_no_special_token_is_among_them(family: Checkpoint, measure: str) -> None:
    e = getattr(family.model, "encoder", family.model).token_embedding.weight
    e[256:] = e[65] * 1.1  # so that END, PAD, START or [CLS] would be the nearest
    got = neighbours(family, 65, k=7, measure=measure)  # type: ignore[arg-type]

    def score(i: int) -> float:
        dot = float(e[i].double() @ e[65].double())
        return dot if measure == "dot" else dot / float(e[i].double().norm() * e[65].double().norm())

    expected = sorted((i for i in range(256) if i != 65), key=score, reverse=True)[:7]
    assert got.ids.tolist() == expected
    assert getattr(got, measure).tolist() == pytest.approx([score(i) for i in expected])
    assert (got.cosine.abs() <= 1).all()
    assert len(neighbours(family, 65, k=10_000).ids) == 255


def test_the_mean_cosine_is_that_of_all_pairs() -> None:
    checkpoint = a_model("decoder-only", "pre")
    e = torch.nn.functional.normalize(checkpoint.decoder_only.token_embedding.weight[:256].double(), dim=-1)
    pairs = [float(e[i] @ e[j]) for i in range(256) for j in range(i)]
    assert neighbours(checkpoint, 3).mean_cosine == pytest.approx(sum(pairs) / len(pairs))


def test_what_is_not_there_is_refused() -> None:
    checkpoint = a_model("decoder-only", "pre")
    with pytest.raises(ValueError, match="ids run from 0 to 257"):
        neighbours(checkpoint, 258)
    with pytest.raises(ValueError, match="k=0"):
        neighbours(checkpoint, 1, k=0)
    with pytest.raises(ValueError, match="known are cosine, dot"):
        neighbours(checkpoint, 1, measure="euclidean")  # type: ignore[arg-type]

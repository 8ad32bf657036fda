"""Position modules, which give a Transformer the order of its tokens."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from chumoku.model import masks
from chumoku.model.config import ModelConfig
from chumoku.model.positions import build_positions, sinusoid
from tests.model.helpers import POSITIONS, TINY, causal_mask, close, random_ids, tiny_model


@given(max_seq_len=st.integers(1, 300), d_model=st.integers(1, 33))
def test_sinusoid_is_the_formula_of_section_3_5(max_seq_len: int, d_model: int) -> None:
    table = sinusoid(max_seq_len, d_model)
    assert table.shape == (max_seq_len, d_model)
    for pos in {0, max_seq_len // 3, max_seq_len // 2, max_seq_len - 1}:
        for j in range(d_model):
            angle = pos / 10000 ** (2 * (j // 2) / d_model)
            expected = math.sin(angle) if j % 2 == 0 else math.cos(angle)
            assert abs(float(table[pos, j]) - expected) < 1e-6


@pytest.mark.parametrize("kind", ["learned", "sinusoidal"])
def test_positions_are_rows_of_a_table(kind: str) -> None:
    positions = build_positions(ModelConfig(**TINY | {"position": kind}))
    table = positions.table if isinstance(positions.table, Tensor) else positions.table.weight
    ids = torch.tensor([[3, 0, 0, 23], [1, 2, 3, 4]])
    assert torch.equal(positions(ids), table[ids])


def test_no_positions_are_zeros() -> None:
    positions = build_positions(ModelConfig(**TINY | {"position": "none"}))
    assert torch.equal(positions(torch.tensor([[5, 1]])), torch.zeros(1, 2, TINY["d_model"]))


def test_only_learned_positions_are_stored_with_the_weights() -> None:
    stored = {kind: [n for n in tiny_model(position=kind).state_dict() if "positions" in n] for kind in POSITIONS}
    assert stored == {"learned": ["positions.table.weight"], "sinusoidal": [], "none": []}


def test_without_positions_and_mask_order_means_nothing() -> None:
    """Permuting the tokens only permutes the logits."""
    model, order = tiny_model(position="none").double(), torch.randperm(9)
    ids, mask = random_ids(1, 9), masks.nothing(9, 9)[None, None]
    close(model(ids[:, order], mask), model(ids, mask)[:, order])


@pytest.mark.parametrize(("n_layer", "same"), [(1, True), (2, False)])
def test_the_causal_mask_alone_tells_the_order_to_a_second_layer(n_layer: int, same: bool) -> None:
    """One layer sees the previous tokens as a set; a second layer sees what each of them had seen."""
    model = tiny_model(position="none", n_layer=n_layer).double()
    ids = random_ids(1, 9)
    shuffled = torch.cat([ids[:, torch.tensor([3, 1, 7, 0, 2, 6, 5, 4])], ids[:, 8:]], dim=1)
    a, b = model(ids, causal_mask(9))[0, -1], model(shuffled, causal_mask(9))[0, -1]
    assert torch.allclose(a, b, atol=1e-9) == same


@pytest.mark.parametrize("kind", ["learned", "sinusoidal"])
def test_with_positions_order_means_something(kind: str) -> None:
    model = tiny_model(position=kind)
    ids, mask = random_ids(1, 9), masks.nothing(9, 9)[None, None]
    assert not torch.allclose(model(ids.flip(1), mask), model(ids, mask).flip(1), atol=1e-3)


@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=3))
def test_position_ids_count_the_real_tokens(rows: list[list[bool]]) -> None:
    position_ids = masks.position_ids(torch.tensor(rows)).tolist()
    for is_pad, positions in zip(rows, position_ids, strict=True):
        for t in range(6):
            assert positions[t] == max(0, sum(not pad for pad in is_pad[: t + 1]) - 1)

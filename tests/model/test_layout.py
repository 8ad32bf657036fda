"""A model in its inference layout is the same model: shapes, values, outputs, tied weights."""

import copy

import pytest
import torch

from chumoku.model.checkpoint import lay_out_for_reading
from chumoku.model.mechanisms.softmax import MultiHeadAttention
from tests.model.helpers import causal_mask, close, randn, random_ids, randomise, tiny_model


@pytest.mark.parametrize("tie", [True, False])
def test_the_layout_changes_no_value_and_no_output(tie: bool) -> None:
    plain = tiny_model(tie_embeddings=tie).double()
    laid_out = copy.deepcopy(plain)
    lay_out_for_reading(laid_out)
    for (name, a), (other, b) in zip(plain.named_parameters(), laid_out.named_parameters(), strict=True):
        assert name == other
        assert torch.equal(a, b), name
    close(laid_out(random_ids(2, 9), causal_mask(9)), plain(random_ids(2, 9), causal_mask(9)))
    assert (laid_out.unembedding.weight is laid_out.token_embedding.weight) == tie


def test_each_matrix_is_contiguous_along_its_longer_side() -> None:
    model = tiny_model()
    lay_out_for_reading(model)
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear):
            longer = 0 if module.out_features >= module.in_features else 1
            assert module.weight.stride(longer) == 1, name


def test_joined_projections_stay_the_weights_they_were_made_of() -> None:
    attention = randomise(MultiHeadAttention(15, 3)).double().eval()
    attention.join_projections()
    with torch.no_grad():
        attention.w_k.weight.add_(1)  # in place, as loading weights does
    x, memory, mask = randn(1, 4, 15), randn(1, 6, 15), torch.zeros(1, 1, 4, 4, dtype=torch.uint8)
    itself = attention(x, x, mask)
    close(itself, attention(x, x.clone(), mask))
    assert not torch.allclose(attention(x, memory, mask.new_zeros(1, 1, 4, 6)), itself), "the other's keys and values"

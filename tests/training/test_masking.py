"""Which tokens are hidden, and what replaces them (Devlin et al. 2019, section 3.1)."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from chumoku.model.training.masked_lm import mask_tokens
from tests.model.helpers import BYTES, byte_tokenizer

TOKENIZER = byte_tokenizer("encoder-only", mask_token=True)
CLS, PAD, MASK = TOKENIZER.first_id, TOKENIZER.pad_id, TOKENIZER.mask_id


def rows(n_rows: int, n_words: int, n_pad: int, seed: int = 0) -> torch.Tensor:
    """[CLS], random bytes, PADs: int64 [row position]"""
    words = torch.randint(BYTES, (n_rows, n_words), generator=torch.Generator().manual_seed(seed))
    return torch.cat((torch.full((n_rows, 1), CLS), words, torch.full((n_rows, n_pad), PAD)), dim=1)


@given(
    n_rows=st.integers(1, 5), n_words=st.integers(1, 20), n_pad=st.integers(0, 4),
    share=st.floats(0.0, 1.0), seed=st.integers(0, 99),
)  # fmt: skip
def test_the_answers_are_what_was_there_and_nothing_else_changes(
    n_rows: int, n_words: int, n_pad: int, share: float, seed: int
) -> None:
    ids = rows(n_rows, n_words, n_pad, seed)
    seen, chosen, answers = mask_tokens(ids, share, TOKENIZER, np.random.default_rng(seed))
    assert len(answers) == chosen.sum() == max(1, round(share * n_rows * n_words))
    assert torch.equal(answers, ids[chosen])
    assert torch.equal(seen[~chosen], ids[~chosen])
    assert not chosen[:, 0].any()
    assert not chosen[ids == PAD].any()
    assert ((seen[chosen] == MASK) | (seen[chosen] < BYTES)).all(), "no other special token stands in a gap"


def test_of_100_gaps_80_are_masked_10_replaced_and_10_stay() -> None:
    ids = rows(40, 500, 0)
    seen, chosen, answers = mask_tokens(ids, 0.15, TOKENIZER, np.random.default_rng(0))
    in_gaps = seen[chosen]
    assert len(answers) == 3000
    assert (in_gaps == MASK).sum() == 2400
    changed = (in_gaps != answers) & (in_gaps != MASK)
    assert abs(int(changed.sum()) - 300 * (BYTES - 1) / BYTES) <= 5, "a random token is now and then the right one"
    assert len(in_gaps[changed].unique()) > 150, "replaced by any token"
    per_row = chosen[:, 1:].double().mean(0)
    assert per_row.min() >= 0
    assert per_row.max() < 0.5, "no place is preferred"


def test_other_numbers_make_other_gaps() -> None:
    ids = rows(3, 20, 2)
    rng = np.random.default_rng(1)
    first, second = (mask_tokens(ids, 0.15, TOKENIZER, rng) for _ in range(2))
    again = mask_tokens(ids, 0.15, TOKENIZER, np.random.default_rng(1))
    assert not torch.equal(first.chosen, second.chosen)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))


def test_a_tokenizer_without_mask_hides_nothing() -> None:
    with pytest.raises(ValueError, match="no \\[MASK\\]"):
        mask_tokens(rows(1, 3, 0), 0.15, byte_tokenizer("encoder-only"), np.random.default_rng(0))

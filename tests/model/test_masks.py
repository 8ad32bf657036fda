"""Masks are matrices of reasons, one bit for each; only 0 means that the query may attend to the key."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from chumoku.model import masks

lengths = st.integers(1, 9)


def test_reasons_are_bits_of_their_own() -> None:
    assert (masks.CAUSAL, masks.PADDING, masks.WINDOW, masks.EDITED) == (1, 2, 4, 8)


@given(key_len=lengths, data=st.data())
def test_causal_forbids_the_keys_after_the_query(key_len: int, data: st.DataObject) -> None:
    """The queries are the last positions: with a cache, they start after the cached ones."""
    query_len = data.draw(st.integers(1, key_len))
    mask = masks.causal(query_len, key_len)
    assert (mask.dtype, mask.shape) == (torch.uint8, (query_len, key_len))
    for query in range(query_len):
        position = key_len - query_len + query
        assert mask[query].tolist() == [masks.CAUSAL if key > position else 0 for key in range(key_len)]


@given(key_len=lengths, data=st.data())
def test_a_cached_step_has_the_last_rows_of_the_whole_mask(key_len: int, data: st.DataObject) -> None:
    query_len = data.draw(st.integers(1, key_len))
    is_pad = torch.tensor(data.draw(st.lists(st.booleans(), min_size=key_len, max_size=key_len)))[None]
    whole = masks.decoder_mask(is_pad)
    assert torch.equal(masks.decoder_mask(is_pad, query_len=query_len), whole[:, :, -query_len:])


@given(batch=st.integers(1, 3), key_len=lengths, causal=st.booleans(), padding=st.booleans(), data=st.data())
def test_a_decoder_mask_holds_every_reason(
    batch: int, key_len: int, causal: bool, padding: bool, data: st.DataObject
) -> None:
    row = st.lists(st.booleans(), min_size=key_len, max_size=key_len)
    is_pad = data.draw(st.lists(row, min_size=batch, max_size=batch))
    mask = masks.decoder_mask(torch.tensor(is_pad), use_causal=causal, use_padding=padding)
    assert (mask.dtype, mask.shape) == (torch.uint8, (batch, 1, key_len, key_len))
    for b in range(batch):
        for query in range(key_len):
            for key in range(key_len):
                reasons = masks.CAUSAL * (causal and key > query) | masks.PADDING * (padding and is_pad[b][key])
                assert mask[b, 0, query, key] == reasons


def test_an_encoder_sees_everything_but_pads_and_causal_only_when_asked() -> None:
    is_pad = torch.tensor([[False, False, True]])
    assert masks.encoder_mask(is_pad)[0, 0].tolist() == [[0, 0, 2]] * 3
    assert torch.equal(masks.encoder_mask(is_pad, use_causal=True), masks.decoder_mask(is_pad))
    assert not masks.encoder_mask(is_pad, use_padding=False).any()


@given(batch=st.integers(1, 3), key_len=lengths, query_len=lengths, padding=st.booleans(), data=st.data())
def test_a_cross_mask_is_target_by_source(
    batch: int, key_len: int, query_len: int, padding: bool, data: st.DataObject
) -> None:
    row = st.lists(st.booleans(), min_size=key_len, max_size=key_len)
    is_pad = torch.tensor(data.draw(st.lists(row, min_size=batch, max_size=batch)))
    mask = masks.cross_mask(is_pad, query_len, use_padding=padding)
    assert (mask.dtype, mask.shape) == (torch.uint8, (batch, 1, query_len, key_len))
    expected = is_pad * masks.PADDING * padding
    assert torch.equal(mask, expected[:, None, None].expand_as(mask).to(torch.uint8))


def test_allowed_is_true_where_there_is_no_reason() -> None:
    reasons = torch.arange(16, dtype=torch.uint8)
    assert masks.allowed(reasons).tolist() == [True] + 15 * [False]


def test_nothing_forbids_nothing() -> None:
    assert torch.equal(masks.nothing(2, 3), torch.zeros(2, 3, dtype=torch.uint8))

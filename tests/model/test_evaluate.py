"""Bits per byte, against a loop that runs the model once for each token."""

import math

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.evaluate import bits_per_byte, losses
from chumoku.model.transformer import DecoderOnly
from tests.model.helpers import byte_tokenizer, causal_mask, tiny_model

TOKENIZER = byte_tokenizer()


def bits_by_hand(model: DecoderOnly, document: str) -> float:
    """−Σ log2 p(token | its context in the first window that contains it); windows advance by half their length."""
    ids, window = [TOKENIZER.end_id, *TOKENIZER.encode(document)], model.config.max_seq_len
    bits = 0.0
    for t in range(1, len(ids)):
        start = 0
        while start + window < t:
            start += max(1, window // 2)
        context = torch.tensor([ids[start:t]])
        bits -= float(model(context, causal_mask(t - start))[0, -1].log_softmax(-1)[ids[t]]) / math.log(2)
    return bits


@settings(max_examples=15)
@given(window=st.integers(1, 9), lengths=st.lists(st.integers(0, 30), min_size=1, max_size=3))
@example(window=8, lengths=[7])
@example(window=8, lengths=[8])
@example(window=8, lengths=[9])
@example(window=8, lengths=[12, 13])
def test_bits_per_byte_counts_every_token_once(window: int, lengths: list[int]) -> None:
    model = tiny_model(max_seq_len=window, n_layer=1).double()
    documents = ["".join(chr(97 + (7 * i * n) % 26) for i in range(n)) for n in lengths]
    if not any(lengths):
        return
    expected = sum(bits_by_hand(model, document) for document in documents) / sum(lengths)
    assert math.isclose(bits_per_byte(model, TOKENIZER, documents), expected, rel_tol=1e-5)


def test_a_uniform_model_pays_log2_of_the_vocabulary_for_every_token() -> None:
    model = tiny_model(max_seq_len=8)
    for parameter in model.parameters():
        parameter.zero_()
    for document in ("a", "abcdefgh", "日本語", "abc" * 40):
        assert math.isclose(bits_per_byte(model, TOKENIZER, [document]), math.log2(258), rel_tol=1e-6)


def test_a_token_is_repeated_if_it_stands_before_the_one_predicted() -> None:
    model = tiny_model(max_seq_len=8)
    read = losses(model, TOKENIZER, ["abcab", "xx"])
    assert (read.n, read.n_repeated) == (7, 3)
    ids = torch.tensor([[TOKENIZER.end_id, *TOKENIZER.encode("abca")]])
    rows = model(ids, causal_mask(5))[0].log_softmax(-1)
    ids = torch.tensor([[TOKENIZER.end_id, *TOKENIZER.encode("x")]])
    nats = -float(rows[3, ord("a")] + rows[4, ord("b")] + model(ids, causal_mask(2))[0, 1].log_softmax(-1)[ord("x")])
    assert math.isclose(read.nats_repeated, nats, rel_tol=1e-5)


def test_documents_do_not_see_each_other() -> None:
    model = tiny_model(max_seq_len=8)
    both = bits_per_byte(model, TOKENIZER, ["abc", "defghijklmno"])
    alone = 3 * bits_per_byte(model, TOKENIZER, ["abc"]) + 12 * bits_per_byte(model, TOKENIZER, ["defghijklmno"])
    assert math.isclose(both, alone / 15, rel_tol=1e-6)


@pytest.mark.parametrize("documents", [[], [""], ["", ""]])
def test_without_text_there_is_nothing_to_evaluate(documents: list[str]) -> None:
    with pytest.raises(ValueError, match="no text"):
        bits_per_byte(tiny_model(), TOKENIZER, documents)


def test_stories_are_likelier_to_stories_gpt_than_noise(gpt: Checkpoint) -> None:
    story = "Once upon a time, there was a little girl named Lily. She loved to play outside in the park."
    noise = "Park time girl little named outside a the, in loved Lily she to. play Once upon was there a."
    if gpt.config.causal_mask:
        assert bits_per_byte(gpt.model, gpt.tokenizer, [story]) < 1.5
    else:  # it learned to look one token ahead, and here nothing is there
        assert bits_per_byte(gpt.model, gpt.tokenizer, [story]) > 2
    assert bits_per_byte(gpt.model, gpt.tokenizer, [noise]) > 2

"""Beam search: one beam is greedy, enough beams find what exhaustive search finds, and every score adds up."""

import math
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chumoku.model import translate as translation
from chumoku.model.beams import MAX_BEAMS, Hypothesis, length_penalty
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.run import Run
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.trace import trace
from chumoku.model.translate import beam_search, translate
from tests.model.helpers import byte_tokenizer, tiny_checkpoint


def never(checkpoint: Checkpoint) -> list[int]:
    return checkpoint.tokenizer.never_sampled


def next_log_p(checkpoint: Checkpoint, source: list[int], ids: list[int]) -> torch.Tensor:
    """ln p of the next token after `ids`, by a full forward pass: [vocab], float64; PAD and START excluded."""
    logits = trace(checkpoint, source, ["logits"], target=ids).tensors["logits"][-1].double()
    logits[never(checkpoint)] = -math.inf
    return logits.log_softmax(-1)


def log_p_by_hand(checkpoint: Checkpoint, source: list[int], ids: list[int]) -> float:
    """ln p(target | source), one term per token, by teacher forcing."""
    return math.fsum(float(next_log_p(checkpoint, source, ids[:n])[ids[n]]) for n in range(len(ids)))


@pytest.fixture
def translator() -> Checkpoint:
    return tiny_checkpoint("encoder-decoder")


def greedy_by_hand(checkpoint: Checkpoint, source: list[int], longest: int) -> list[int]:
    ids: list[int] = []
    while len(ids) < longest and ids[-1:] != [checkpoint.tokenizer.end_id]:
        ids.append(int(next_log_p(checkpoint, source, ids).argmax()))
    return ids


@pytest.mark.parametrize("seed", range(4))
def test_one_beam_is_the_argmax_until_the_end(seed: int) -> None:
    checkpoint = tiny_checkpoint("encoder-decoder", seed=seed)
    lean_to_end(checkpoint, 2.0)
    source = list(b"beam")
    (found,) = beam_search(checkpoint, source, beams=1)
    assert found.ids == greedy_by_hand(checkpoint, source, checkpoint.config.max_seq_len - 1)
    assert found.ended == (found.ids[-1] == checkpoint.tokenizer.end_id)


def lean_to_end(checkpoint: Checkpoint, by: float) -> None:
    """Make END more likely: its embedding points to where the decoder's states point on average."""
    model = checkpoint.encoder_decoder
    model.decoder.final_norm.bias += by * torch.eye(model.config.d_model)[0]
    model.encoder.token_embedding.weight[checkpoint.tokenizer.end_id, 0] = by


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("beams", [1, 3, 8])
def test_scores_and_probabilities_are_what_teacher_forcing_says(alpha: float, beams: int) -> None:
    checkpoint, source = tiny_checkpoint("encoder-decoder", seed=1, max_seq_len=7), list(b"abc")
    lean_to_end(checkpoint, 2.0)
    found = beam_search(checkpoint, source, beams=beams, alpha=alpha)
    assert 1 <= len(found) <= beams
    assert len({tuple(h.ids) for h in found}) == len(found)
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
    for h in found:
        assert h.log_p == pytest.approx(log_p_by_hand(checkpoint, source, h.ids), abs=1e-4)
        assert h.score == pytest.approx(h.log_p / ((5 + len(h.ids)) / 6) ** alpha)
        assert h.ended == (h.ids[-1] == checkpoint.tokenizer.end_id)
        assert h.ended or len(h.ids) == 6, "a target without END is as long as the window allows"


def few_tokens(checkpoint: Checkpoint, n: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Keep only `n` bytes and END, so that all targets can be enumerated."""
    kept = [*range(n), checkpoint.tokenizer.end_id]
    banned = [i for i in range(checkpoint.config.vocab_size) if i not in kept]
    monkeypatch.setattr(Tokenizer, "never_sampled", property(lambda self: banned))
    return kept


Targets = dict[tuple[int, ...], float]


def everything(checkpoint: Checkpoint, source: list[int], kept: list[int], longest: int) -> Targets:
    """Every possible target, ended or cut at `longest`, with its ln p."""
    end = checkpoint.tokenizer.end_id
    open_ids = [i for i in kept if i != end]
    ended = [(*ids, end) for n in range(longest) for ids in product(open_ids, repeat=n)]
    cut = list(product(open_ids, repeat=longest))
    return {ids: log_p_by_hand(checkpoint, source, list(ids)) for ids in (*ended, *cut)}


@pytest.mark.parametrize("alpha", [0.0, 0.6, 3.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_enough_beams_find_what_trying_everything_finds(
    alpha: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two bytes and END, up to 3 tokens: 7 targets that end and 8 that are cut. All 15 are found, in order."""
    checkpoint, source = tiny_checkpoint("encoder-decoder", seed=seed, max_seq_len=4), list(b"abc")
    kept = few_tokens(checkpoint, 2, monkeypatch)
    all_targets = everything(checkpoint, source, kept, 3)
    assert len(all_targets) == 15
    assert math.fsum(math.exp(p) for p in all_targets.values()) == pytest.approx(1.0, abs=1e-5)
    found = beam_search(checkpoint, source, beams=16, alpha=alpha)
    assert {tuple(h.ids): pytest.approx(h.log_p, abs=1e-4) for h in found} == all_targets
    score = {ids: p / ((5 + len(ids)) / 6) ** alpha for ids, p in all_targets.items()}
    assert [score[tuple(h.ids)] for h in found] == pytest.approx(sorted(score.values(), reverse=True), abs=1e-4)


@pytest.mark.parametrize("beams", [2, 4])
def test_more_beams_find_nothing_that_is_less_likely_than_their_best(beams: int, translator: Checkpoint) -> None:
    """The search stops when no open beam can win any more: continuing to the end finds nothing better."""
    source = list(b"abc")
    lean_to_end(translator, 2.0)
    found = beam_search(translator, source, beams=beams)
    search = translation.BeamSearch(translator, Run(source), beams, 0.6)
    while len(search.ids):
        search.step()
    assert max(h.score for h in search.ended) == pytest.approx(found[0].score)


def test_the_length_penalty_is_wu_et_al_s() -> None:
    assert [length_penalty(n, 0.0) for n in (1, 7, 50)] == [1, 1, 1]
    assert length_penalty(1, 0.6) == 1
    assert length_penalty(7, 1.0) == 2
    assert length_penalty(19, 2.0) == 16


def test_a_target_without_end_stops_at_the_window(translator: Checkpoint) -> None:
    model = translator.encoder_decoder
    model.decoder.final_norm.bias += 3 * torch.eye(15)[0]
    model.encoder.token_embedding.weight[translator.tokenizer.end_id, 0] = -9
    for beams in (1, 4):
        for h in beam_search(translator, list(b"abc"), beams=beams):
            assert (len(h.ids), h.ended) == (translator.config.max_seq_len - 1, False)


def test_a_target_is_at_most_50_tokens_longer_than_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "LONGER", 3)
    checkpoint = tiny_checkpoint("encoder-decoder")
    checkpoint.encoder_decoder.encoder.token_embedding.weight[checkpoint.tokenizer.end_id] = 0
    assert all(len(h.ids) <= 5 for h in beam_search(checkpoint, [65, 66], beams=2))


@settings(max_examples=10)
@given(beams=st.integers(1, MAX_BEAMS), n=st.integers(1, 24))
def test_what_is_never_sampled_is_in_no_hypothesis(beams: int, n: int) -> None:
    checkpoint = tiny_checkpoint("encoder-decoder", n_layer=1, max_seq_len=24)
    for h in beam_search(checkpoint, [65 + i for i in range(n)], beams=beams):
        assert not set(h.ids) & set(never(checkpoint))
        assert checkpoint.tokenizer.end_id not in h.ids[:-1]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"beams": 0}, "1 to 16 beams, got 0"),
        ({"beams": 17}, "1 to 16 beams, got 17"),
        ({"alpha": -0.1}, r"alpha must be in \[0, 10\], got -0.1"),
        ({"alpha": math.nan}, "alpha"),
    ],
)
def test_a_search_out_of_range_is_refused(translator: Checkpoint, how: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        translate(translator, "abc", **how)


def test_a_source_must_fit(translator: Checkpoint) -> None:
    with pytest.raises(ValueError, match="no token"):
        translate(translator, "")
    with pytest.raises(ValueError, match="25 tokens are 1 more than the model's window of 24"):
        translate(translator, "a" * 25)
    assert translate(translator, "a" * 24, beams=1)[0].ids


@pytest.mark.parametrize("family", ["decoder-only", "encoder-only"])
def test_the_other_families_do_not_translate(family: str) -> None:
    with pytest.raises(ValueError, match=f"tiny is {family}; this needs a model that is encoder-decoder"):
        translate(tiny_checkpoint(family), "abc")


def test_a_hypothesis_reads_without_its_end() -> None:
    tokenizer = byte_tokenizer("encoder-decoder")
    assert Hypothesis([104, 105, tokenizer.end_id], 0.0, 0.0, True).text(tokenizer) == "hi"
    assert Hypothesis([104, 105], 0.0, 0.0, False).text(tokenizer) == "hi"

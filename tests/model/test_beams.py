"""Beam search over a text: one beam is greedy, enough beams find what trying everything finds, every step adds up."""

import math
from itertools import product

import pytest
import torch

from chumoku.model.beams import Considered, Hypothesis, TextSearch
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.generate import greedy_ids
from chumoku.model.run import Run
from chumoku.model.session import DecoderSession, TargetSession
from chumoku.model.trace import Masks, trace
from chumoku.model.translate import beam_search
from tests.model.helpers import tiny_checkpoint

PROMPT = list(b"abc")


def search(
    checkpoint: Checkpoint, ids: list[int] | Run = PROMPT, *, few: list[int] | None = None, **how: object
) -> TextSearch:
    """A finished search; `few`: the only ids that can be written; `banned`, `stops`: as in `Beams`."""
    run = ids if isinstance(ids, Run) else Run(ids)
    kind = DecoderSession if run.target is None else TargetSession
    tokenizer = checkpoint.tokenizer
    never = [i for i in range(checkpoint.config.vocab_size) if i not in few] if few else tokenizer.never_sampled
    limits = {name: how.pop(name) for name in ("banned", "stops") if name in how}
    given = {"max_new": 3, "beams": 4} | how
    found = TextSearch(lambda: kind(checkpoint, run), tokenizer.end_id, never, **given)  # type: ignore[arg-type]
    for name, limit in limits.items():
        setattr(found, name, limit)
    while found.open:
        found.step()
    return found


def log_p_by_hand(checkpoint: Checkpoint, prompt: list[int], ids: list[int], few: list[int]) -> float:
    """ln p(ids | prompt), one full forward pass and one term per token; others than `few` have probability 0."""
    total = 0.0
    for n, one in enumerate(ids):
        logits = trace(checkpoint, [*prompt, *ids[:n]], ["logits"]).tensors["logits"][-1].double()
        total += float(logits[one] - logits[few].logsumexp(0))
    return total


@pytest.mark.parametrize("alpha", [0.0, 0.6, 3.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_enough_beams_find_what_trying_everything_finds(alpha: float, seed: int) -> None:
    """Two bytes and END, up to 3 tokens: 7 texts that end and 8 that are cut. All 15 are found, in order."""
    checkpoint = tiny_checkpoint(seed=seed)
    end = checkpoint.tokenizer.end_id
    few = [0, 1, end]
    texts = [(*ids, end) for n in range(3) for ids in product((0, 1), repeat=n)] + list(product((0, 1), repeat=3))
    every = {ids: log_p_by_hand(checkpoint, PROMPT, list(ids), few) for ids in texts}
    assert math.fsum(math.exp(p) for p in every.values()) == pytest.approx(1.0, abs=1e-5)
    found = search(checkpoint, few=few, beams=16, alpha=alpha).best
    assert {tuple(h.ids): pytest.approx(h.log_p, abs=1e-4) for h in found} == every
    score = {ids: p / ((5 + len(ids)) / 6) ** alpha for ids, p in every.items()}
    assert [score[tuple(h.ids)] for h in found] == pytest.approx(sorted(score.values(), reverse=True), abs=1e-4)


def test_one_beam_is_greedy(gpt: Checkpoint) -> None:
    ids = gpt.tokenizer.encode("Once upon a time there was")
    tokenizer = gpt.tokenizer
    greedy = greedy_ids(DecoderSession(gpt, Run(ids)), tokenizer.never_sampled, tokenizer.end_id, 6)
    (found,) = search(gpt, ids, beams=1, max_new=6).best
    assert found.ids[:6] == greedy[len(ids) :]


def followed(considered: list[list[Considered]], start: list[int]) -> list[tuple[list[int], Considered]]:
    """Each token that was considered, with the ids up to it."""
    beams, all_of_them = [start], []
    for step in considered:
        of_step = [([*beams[one.parent], one.id], one) for one in step]
        all_of_them += of_step
        beams = [ids for ids, one in of_step if one.fate == "open"]
    return all_of_them


@pytest.mark.parametrize("masks", [Masks(), Masks(causal=False)])
def test_what_was_considered_leads_to_what_was_found(tiny: Checkpoint, masks: Masks) -> None:
    """Without the causal mask, every beam reads its text again."""
    found = search(tiny, Run(PROMPT, use=masks), beams=3, max_new=4)
    ways = followed(found.considered, PROMPT)
    ended = [(ids[len(PROMPT) :], one.log_p) for ids, one in ways if one.fate == "ended"]
    assert sorted(ended) == sorted((h.ids, h.log_p) for h in found.ended)
    for step in found.considered:
        assert len(step) <= 2 * 3
        assert [one.log_p for one in step] == sorted((one.log_p for one in step), reverse=True)
        assert sum(one.fate == "open" for one in step) <= 3
    for ids, one in ways[:: max(1, len(ways) // 8)]:
        by_hand = 0.0
        for n in range(len(PROMPT), len(ids)):
            logits = trace(tiny, ids[:n], ["logits"], use=masks).tensors["logits"][-1].double()
            logits[tiny.tokenizer.never_sampled] = -math.inf
            by_hand += float(logits.log_softmax(-1)[ids[n]])
        assert one.log_p == pytest.approx(by_hand, abs=1e-4)


@pytest.mark.parametrize("beams", [1, 4])
def test_a_translation_is_that_of_the_decoders_own_search(beams: int) -> None:
    checkpoint = tiny_checkpoint("encoder-decoder", seed=1, max_seq_len=9)
    own = beam_search(checkpoint, PROMPT, beams=beams)
    found = search(checkpoint, Run(PROMPT, []), beams=beams, max_new=50).best
    assert [h.ids for h in found] == [h.ids for h in own]
    assert [h.score for h in found] == pytest.approx([h.score for h in own], abs=1e-4)


def test_a_target_goes_on_from_its_beginning() -> None:
    checkpoint = tiny_checkpoint("encoder-decoder", seed=1)
    for found in search(checkpoint, Run(PROMPT, list(b"xy"))).best:
        ids = [*b"xy", *found.ids]
        logits = trace(checkpoint, PROMPT, ["logits"], target=ids).tensors["logits"].double()
        logits[:, checkpoint.tokenizer.never_sampled] = -math.inf
        rows = logits.log_softmax(-1)
        assert found.log_p == pytest.approx(sum(float(rows[n][ids[n]]) for n in range(2, len(ids))), abs=1e-4)


def test_a_banned_text_is_in_no_beam(tiny: Checkpoint) -> None:
    free = search(tiny, beams=3, max_new=4).best[0].ids
    texts: list[Hypothesis] = search(tiny, beams=8, max_new=4, banned=[(free[0], free[1])]).best
    assert all(free[:2] not in (h.ids[n : n + 2] for n in range(4)) for h in texts)
    assert any(free[0] in h.ids for h in texts), "only the second token is banned, after the first"
    assert all(free[0] not in h.ids for h in search(tiny, beams=8, max_new=4, banned=[(free[0],)]).best)


def test_the_window_ends_a_search(tiny: Checkpoint) -> None:
    window = tiny.config.max_seq_len
    found = search(tiny, [0] * (window - 2), beams=2, max_new=9)
    assert {len(h.ids) for h in found.best if not h.ended} == {2}
    with pytest.raises(ValueError, match=f"window of {window} tokens is full"):
        search(tiny, [0] * window)
    with pytest.raises(ValueError, match="1 to 16 beams, got 17"):
        search(tiny, beams=17)


def test_the_beams_of_a_text_read_together(tiny: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """One forward pass a step for all beams."""
    passes = list[int]()
    kind, really = type(tiny.decoder_only), type(tiny.decoder_only).forward

    def counted(self: object, ids: torch.Tensor, *more: object) -> object:
        passes.append(len(ids))
        return really(self, ids, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(kind, "forward", counted)
    search(tiny, beams=4, max_new=5)
    assert passes[0] == 1
    assert max(passes) == 4
    assert len(passes) <= 5
    assert torch.is_inference_mode_enabled() is False


def test_a_text_that_stops_a_beam_ends_it_and_nothing_else() -> None:
    """Two bytes and END, up to 3 tokens, and the second byte stops: 3 texts with it, 3 that end and one that is cut."""
    checkpoint = tiny_checkpoint()
    end = checkpoint.tokenizer.end_id
    few, texts = [0, 1, end], [*((0,) * n + (last,) for n in range(3) for last in (1, end)), (0, 0, 0)]
    every = {ids: log_p_by_hand(checkpoint, PROMPT, list(ids), few) for ids in texts}
    assert math.fsum(math.exp(p) for p in every.values()) == pytest.approx(1.0, abs=1e-5)
    found = search(checkpoint, few=few, beams=16, stops=lambda ids: ids[-1] == 1).best
    assert {tuple(h.ids): pytest.approx(h.log_p, abs=1e-4) for h in found} == every
    assert {tuple(h.ids) for h in found if h.ended} == {ids for ids in texts if ids[-1] == end}

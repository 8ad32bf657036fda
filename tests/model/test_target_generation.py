"""A target written token by token: the cache changes nothing, and greedy steps equal a search with one beam."""

import pytest
import torch

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.generate import Step
from chumoku.model.run import Run
from chumoku.model.sampling import SamplingSettings
from chumoku.model.session import TargetSession
from chumoku.model.trace import trace
from chumoku.model.translate import beam_search
from tests.model.helpers import close, tiny_checkpoint
from tests.shortcuts import generate_target, target_generator

SOURCE = list(b"I like cats.")
GREEDY = SamplingSettings(temperature=0.0)


@pytest.fixture
def translator() -> Checkpoint:
    return tiny_checkpoint("encoder-decoder")


def pattern_names(checkpoint: Checkpoint) -> list[str]:
    _, decoder, cross = checkpoint.description.attentions
    return [tap for one in (decoder, cross) for tap in one.roles["pattern"].taps]


def check_against_trace(checkpoint: Checkpoint, step: Step) -> None:
    """Rows and probabilities of a cached step equal those of a full pass."""
    names = pattern_names(checkpoint)
    whole = trace(checkpoint, SOURCE, [*names, "logits"], target=step.ids)
    for name in names:
        close(step.tensors[name], whole.tensors[name][:, -step.computed :], 1e-5)
    logits = whole.tensors["logits"][-1].double()
    logits[checkpoint.tokenizer.never_sampled] = float("-inf")
    close(step.next.before, logits.softmax(-1), 1e-5)


def test_cached_is_uncached(translator: Checkpoint) -> None:
    run = Run(SOURCE, target=list(b"xyz"))
    generator = target_generator(translator, run, SamplingSettings(1.0, 0, 1.0, 3), pattern_names(translator))
    step = generator.prefill()
    assert (step.ids, step.computed) == ([258, *b"xyz"], 4)
    check_against_trace(translator, step)
    for n in range(5, 9):
        step = generator.step()
        assert (len(step.ids), step.computed) == (n, 1)
        assert step.tensors[pattern_names(translator)[-1]].shape == (3, 1, len(SOURCE))
        check_against_trace(translator, step)


def test_greedy_steps_are_one_beam(translator: Checkpoint) -> None:
    (best,) = beam_search(translator, SOURCE, beams=1)
    *_, last = generate_target(translator, SOURCE, GREEDY, 100)
    assert last.ids == [258, *best.ids]


def test_a_step_depends_on_seed_and_place_alone(translator: Checkpoint) -> None:
    settings = SamplingSettings(1.0, 50, 0.95, 11)
    *_, played = generate_target(translator, SOURCE, settings, 4)
    ids: list[int] = []
    for _ in range(len(played.ids) - 1):
        generator = target_generator(translator, Run(SOURCE, target=ids), settings)
        generator.prefill()
        ids = generator.step().ids
    assert ids == played.ids


def test_start_and_pad_are_never_drawn(translator: Checkpoint) -> None:
    step = target_generator(translator, SOURCE, SamplingSettings()).prefill()
    assert not step.next.before[[257, 258]].any()
    assert step.next.before[256] > 0


def test_an_end_and_a_full_window_stop(translator: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chumoku.model.generate.draw", lambda dist, u: 97)
    *_, last = generate_target(translator, SOURCE, GREEDY, 100)
    assert len(last.ids) == translator.config.max_seq_len
    generator = target_generator(translator, Run(SOURCE, target=last.ids), GREEDY)
    generator.prefill()
    with pytest.raises(ValueError, match="window of 24 tokens is full"):
        generator.step()
    monkeypatch.setattr("chumoku.model.generate.draw", lambda dist, u: 256)
    assert [len(step.ids) for step in generate_target(translator, SOURCE, GREEDY, 100)] == [1, 2]


def test_what_does_not_fit_is_refused(translator: Checkpoint) -> None:
    with pytest.raises(ValueError, match="encoder-decoder"):
        target_generator(tiny_checkpoint(), SOURCE, GREEDY)
    for source, target in (([], []), ([97] * 25, []), ([97], [97] * 24)):
        with pytest.raises(ValueError, match=r"24|no token"):
            target_generator(translator, Run(source, target=target), GREEDY)


def test_the_source_is_read_once(translator: Checkpoint) -> None:
    session = TargetSession(translator, Run(SOURCE))
    before = session.step(session.prompt).cache_bytes
    assert session.step([97]).cache_bytes > before
    assert session.cache is not None
    kept, _ = session.cache.cross.layers[0].kept
    assert kept.shape == (1, 3, len(SOURCE), 5)
    assert torch.isfinite(kept).all()

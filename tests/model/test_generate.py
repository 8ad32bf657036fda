"""Generation with a KV cache gives the same tokens as without one, and can be replayed."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from chumoku.model import generate as generation
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.generate import Generator, Step, generate
from chumoku.model.mechanisms.caches import History
from chumoku.model.run import Run
from chumoku.model.sampling import SamplingSettings, draw, uniform
from chumoku.model.session import DecoderSession
from chumoku.model.taps import record, tap_dims
from chumoku.model.trace import Padding, trace
from tests.model.helpers import NORM_ORDERS, POSITIONS, causal_mask, close, random_ids, tiny_checkpoint, tiny_model

PROMPT = list(b"attend")


def run(checkpoint: Checkpoint, ids: list[int], n: int = 8, names: list[str] | None = None, **how: float) -> list[Step]:
    return list(generate(checkpoint, ids, SamplingSettings(**{"seed": 7} | how), n, names or []))


def generator_of(checkpoint: Checkpoint, ids: list[int], *, seed: int = 0, names: list[str] | None = None) -> Generator:
    session = DecoderSession(checkpoint, Run(ids), names or [])
    return Generator(session, SamplingSettings(seed=seed), checkpoint.tokenizer.never_sampled)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("norm_order", NORM_ORDERS)
@settings(max_examples=8, deadline=None)
@given(cuts=st.sets(st.integers(1, 19), max_size=6))
def test_cached_logits_equal_uncached_however_the_text_is_cut(position: str, norm_order: str, cuts: set[int]) -> None:
    model = tiny_model(position=position, norm_order=norm_order).double()
    ids, whole, cache = random_ids(2, 20), causal_mask(20), model.new_cache()
    expected = model(ids, whole)
    for start, end in pairwise([0, *sorted(cuts), 20]):
        logits = model(ids[:, start:end], whole[:, :, start:end, :end], cache=cache)
        close(logits, expected[:, start:end])
        assert cache.positions == end


def test_a_cache_that_gets_nothing_new_gives_what_it_has_without_a_copy() -> None:
    cache, k, v = History(), torch.ones(1, 3, 4, 5), torch.zeros(1, 3, 4, 5)
    cache.append(k, v)
    kept_k, kept_v = cache.append(k[:, :, :0], v[:, :, :0])
    assert kept_k is k
    assert kept_v is v


def check_steps(checkpoint: Checkpoint) -> None:
    names = list(tap_dims(checkpoint.model))
    for step in run(checkpoint, checkpoint.tokenizer.encode("Once upon a"), 6, names):
        whole = trace(checkpoint, step.ids, names)
        for name, dims in whole.dims.items():
            new = slice(None) if name.endswith((".k", ".k_rotated", ".v")) else slice(-step.computed, None)
            rows = tuple(new if axis in ("position", "query") else slice(None) for axis in dims.split())
            close(step.tensors[name], whole.tensors[name][rows], 1e-4)
        logits = whole.tensors["logits"][-1].double()
        logits[checkpoint.tokenizer.pad_id] = -torch.inf
        close(step.next.before, logits.softmax(-1), 1e-5)


def test_every_step_equals_the_last_rows_of_a_trace_of_all_tokens(tiny: Checkpoint) -> None:
    check_steps(tiny)


def test_every_step_of_a_zoo_model_equals_the_last_rows_of_a_trace(gpt: Checkpoint) -> None:
    check_steps(gpt)


def test_recorded_steps_are_not_touched_by_later_ones(tiny: Checkpoint) -> None:
    names = list(tap_dims(tiny.model))
    generator = generator_of(tiny, PROMPT, seed=3, names=names)
    steps = [generator.prefill()]
    copies = [{name: x.clone() for name, x in steps[0].tensors.items()}]
    for _ in range(6):
        steps.append(generator.step())
        copies.append({name: x.clone() for name, x in steps[-1].tensors.items()})
    for step, copy in zip(steps, copies, strict=True):
        assert all(torch.equal(step.tensors[name], copy[name]) for name in names)
    assert [len(step.ids) for step in steps] == list(range(6, 13))


def test_recording_changes_no_step(tiny: Checkpoint) -> None:
    plain, recorded = run(tiny, PROMPT), run(tiny, PROMPT, names=list(tap_dims(tiny.model)))
    for a, b in zip(plain, recorded, strict=True):
        assert a.ids == b.ids
        assert torch.equal(a.next.before, b.next.before)


def test_a_recording_around_a_generation_stays_outside(tiny: Checkpoint) -> None:
    with record(["logits"]) as outer:
        steps = run(tiny, PROMPT, 2)
    assert len(steps) == 3
    assert outer.tensors == {}


def test_stepping_one_by_one_equals_playing(tiny: Checkpoint) -> None:
    """A token's u depends only on the seed and its index, so a resumed generation continues identically."""
    played = run(tiny, PROMPT)
    for step in played[:-1]:
        resumed = run(tiny, step.ids, 1)[-1]
        after = played[len(step.ids) - len(PROMPT) + 1]
        assert (resumed.ids, resumed.u) == (after.ids, after.u)


def test_a_step_says_how_its_token_was_drawn(tiny: Checkpoint) -> None:
    prompt, *steps = run(tiny, PROMPT, temperature=0.7, top_k=5)
    assert (prompt.ids, prompt.drawn, prompt.u, prompt.computed) == (PROMPT, None, None, len(PROMPT))
    for before, step in pairwise([prompt, *steps]):
        assert step.drawn is before.next
        assert step.u == uniform(7, len(before.ids))
        assert step.ids == [*before.ids, draw(before.next, step.u)]
        assert step.drawn.kept[step.ids[-1]]
        assert step.computed == 1


def test_the_cache_holds_keys_and_values_of_every_position(tiny: Checkpoint) -> None:
    k_and_v, n_layer, n_head, d_head, float32 = 2, 2, 3, 5, 4
    for step in run(tiny, PROMPT, 3):
        assert step.cache_bytes == k_and_v * n_layer * n_head * d_head * float32 * len(step.ids)


def always(token_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation, "draw", lambda dist, u: token_id)


def test_end_stops_and_is_the_last_token(tiny: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    always(tiny.tokenizer.end_id, monkeypatch)
    assert [step.ids for step in run(tiny, PROMPT)] == [PROMPT, [*PROMPT, tiny.tokenizer.end_id]]


def test_a_full_window_stops(tiny: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    always(65, monkeypatch)
    window = tiny.config.max_seq_len
    steps = run(tiny, PROMPT, 99)
    assert len(steps[-1].ids) == window
    assert len(run(tiny, [65] * window, 5)) == 1
    generator = generator_of(tiny, [65] * window)
    generator.prefill()
    with pytest.raises(ValueError, match="window of 24 tokens is full"):
        generator.step()


@pytest.mark.parametrize("n", [0, 1, 4])
def test_max_new_tokens_is_the_number_of_steps_after_the_prompt(tiny: Checkpoint, n: int) -> None:
    assert len(run(tiny, PROMPT, n)) == 1 + n


@pytest.mark.parametrize("ids", [[], [65] * 25])
def test_a_prompt_must_fit_the_window(tiny: Checkpoint, ids: list[int]) -> None:
    with pytest.raises(ValueError, match="a prompt needs 1 to 24 tokens, got"):
        run(tiny, ids)


def favour(checkpoint: Checkpoint, token_id: int) -> None:
    """Make `token_id` by far the most likely: the last norm outputs ones, and its embedding points that way."""
    checkpoint.model.final_norm.weight.zero_()
    checkpoint.model.final_norm.bias.fill_(1)
    checkpoint.model.token_embedding.weight[token_id] = 3


@pytest.mark.parametrize("temperature", [0.0, 1.0, 50.0])
def test_pad_is_never_sampled(temperature: float) -> None:
    checkpoint = tiny_checkpoint()
    pad_id = checkpoint.tokenizer.pad_id
    favour(checkpoint, pad_id)
    assert trace(checkpoint, PROMPT, ["logits"]).tensors["logits"][-1].argmax() == pad_id
    for step in run(checkpoint, PROMPT, 12, temperature=temperature):
        assert pad_id not in step.ids
        assert step.next.before[pad_id] == step.next.after[pad_id] == 0
        assert not step.next.kept[pad_id]
        close(step.next.before.sum(), torch.tensor(1.0, dtype=torch.float64))


def test_pads_in_a_prompt_move_no_token(tiny: Checkpoint) -> None:
    """As in a trace, PADs before the text change neither its numbers nor its continuation."""

    def nexts(pad: Padding) -> Tensor:
        steps = generate(tiny, Run(PROMPT, pad=pad), SamplingSettings(0.0), 4)
        return torch.stack([step.next.before for step in steps])

    close(nexts(Padding(4)), nexts(Padding()), 1e-5)


def test_greedy_takes_the_argmax_of_a_trace(gpt: Checkpoint) -> None:
    ids = gpt.tokenizer.encode("Once upon a time")
    for _ in range(5):
        logits = trace(gpt, ids, ["logits"]).tensors["logits"][-1].clone()
        logits[gpt.tokenizer.pad_id] = -torch.inf
        step = run(gpt, ids, 1, temperature=0)[-1]
        assert step.ids == [*ids, int(logits.argmax())]
        ids = step.ids

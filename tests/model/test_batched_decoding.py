"""Several texts step in one forward pass: each gets the numbers that it would get alone."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chumoku.model import batched_decoding, checkpoint
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.run import Run
from chumoku.model.session import DecoderSession, TargetSession
from chumoku.model.trace import Masks, Padding
from tests.model.helpers import close, tiny_checkpoint

MODEL = tiny_checkpoint("decoder-only", max_seq_len=64)
FUSED = tiny_checkpoint("decoder-only", max_seq_len=64)
checkpoint.lay_out_for_reading(FUSED.model)
OVERVIEWS = [name for one in MODEL.description.attentions for name in one.roles["pattern"].taps]
IDS = st.lists(st.integers(0, 255), min_size=1, max_size=12)
RUNS = st.builds(
    Run,
    IDS,
    use=st.builds(Masks, st.just(None), st.booleans()),
    pad=st.builds(Padding, st.integers(0, 3), st.just("left"), st.booleans()),
)


@pytest.fixture(params=[MODEL, FUSED], ids=["modules", "fused"])
def opened(request: pytest.FixtureRequest) -> Checkpoint:
    found: Checkpoint = request.param
    assert (DecoderSession(found, Run([1]), OVERVIEWS).fused is not None) == (found is FUSED)
    return found


def begun(run: Run, names: list[str], model: Checkpoint = MODEL) -> DecoderSession:
    session = DecoderSession(model, run, names)
    session.step(session.prompt)
    return session


@settings(max_examples=25, deadline=None)
@given(runs=st.lists(RUNS, min_size=2, max_size=5), newest=st.lists(st.integers(0, 255), min_size=3, max_size=3))
def test_each_gets_the_numbers_that_it_gets_alone(runs: list[Run], newest: list[int]) -> None:
    same_alone([begun(run, OVERVIEWS) for run in runs], [begun(run, OVERVIEWS) for run in runs], newest)


@settings(max_examples=25, deadline=None)
@given(texts=st.lists(IDS, min_size=2, max_size=5), newest=st.lists(st.integers(0, 255), min_size=3, max_size=3))
def test_so_it_is_in_a_fused_step(texts: list[list[int]], newest: list[int]) -> None:
    joined, alone = ([begun(Run(ids), OVERVIEWS, FUSED) for ids in texts] for _ in range(2))
    for one in alone:
        one.fused = None
    same_alone(joined, alone, newest)


def same_alone(joined: list[DecoderSession], alone: list[DecoderSession], newest: list[int]) -> None:
    """Asserts that the one session steps as the other, in several steps."""
    for n in newest:
        ids = [(n + i) % 256 for i in range(len(joined))]
        told, expected = (
            batched_decoding.step(joined, ids),
            [one.step([id]) for one, id in zip(alone, ids, strict=True)],
        )
        for a, b in zip(told, expected, strict=True):
            close(a.logits, b.logits, 1e-4)
            assert (a.computed, a.cache_bytes) == (1, b.cache_bytes)
            for name in OVERVIEWS:
                assert a.tensors[name].shape == b.tensors[name].shape
                close(a.tensors[name], b.tensors[name], 1e-5)
    assert [one.ids for one in joined] == [one.ids for one in alone]


def test_who_was_together_goes_on_alone_or_with_others() -> None:
    runs = [Run([1, 2, 3]), Run(list(range(9))), Run([5], pad=Padding(2))]
    joined, alone = ([begun(run, []) for run in runs] for _ in range(2))
    batched_decoding.step(joined, [7, 8, 9])
    joined[0].step([10])
    told = batched_decoding.step([joined[2], joined[0]], [11, 12])
    for one, read in zip(alone, ([7, 10, 12], [8], [9, 11]), strict=True):
        for id in read:
            last = one.step([id])
    close(told[0].logits, last.logits, 1e-4)
    assert joined[0].prefix is not None
    assert joined[0].prefix.ids == tuple(alone[0].ids)


def test_a_fork_does_not_see_what_the_other_read(opened: Checkpoint) -> None:
    """Copies of a cache share their memory: two texts with one beginning grow different ways in one pass."""
    first = begun(Run([1, 2, 3]), OVERVIEWS, opened)
    prefix = first.prefix
    assert prefix is not None
    fork = DecoderSession(opened, Run([1, 2, 3]), OVERVIEWS)
    fork.resume(prefix)
    batched_decoding.step([first, fork], [7, 8])
    told = batched_decoding.step([first, fork], [9, 9])
    for forward, ids in zip(told, ([1, 2, 3, 7, 9], [1, 2, 3, 8, 9]), strict=True):
        fresh = DecoderSession(opened, Run(ids), OVERVIEWS)
        close(forward.logits, fresh.step(ids).logits, 1e-4)


@pytest.mark.parametrize("mechanism", ["rotary", "relative"])
def test_positions_stay_each_texts_own(mechanism: str) -> None:
    made = tiny_checkpoint("decoder-only", max_seq_len=64, mechanism=mechanism, position="none", d_model=24)
    runs = [Run([1, 2, 3]), Run(list(range(9)))]
    joined, alone = ([DecoderSession(made, run) for run in runs] for _ in range(2))
    for one in (*joined, *alone):
        one.step(one.prompt)
    assert batched_decoding.group(joined[0]) is not None
    told = batched_decoding.step(joined, [4, 5])
    for forward, one, id in zip(told, alone, (4, 5), strict=True):
        close(forward.logits, one.step([id]).logits, 1e-4)


def test_who_cannot_steps_alone() -> None:
    other = tiny_checkpoint("decoder-only", max_seq_len=64)
    of = {
        "it": DecoderSession(MODEL, Run([1]), OVERVIEWS),
        "the same": DecoderSession(MODEL, Run([2, 3], pad=Padding(1)), OVERVIEWS),
        "other rows": DecoderSession(MODEL, Run([1]), []),
        "another model": DecoderSession(other, Run([1]), OVERVIEWS),
        "edited": DecoderSession(MODEL, Run([1], edit={"layers.0.attn.z": lambda z, first: z}), OVERVIEWS),
        "not causal": DecoderSession(MODEL, Run([1], use=Masks(causal=False)), OVERVIEWS),
        "other tensors": DecoderSession(MODEL, Run([1]), ["layers.0.ffn.post"]),
        "a target": TargetSession(tiny_checkpoint("encoder-decoder"), Run([1], target=[])),
        "a state": DecoderSession(tiny_checkpoint("decoder-only", mechanism="wkv", position="none"), Run([1])),
    }
    groups = {name: batched_decoding.group(one) for name, one in of.items()}
    assert groups["it"] == groups["the same"]
    plain, padded = (batched_decoding.group(begun(Run([1], pad=Padding(n)), [], FUSED)) for n in (0, 1))
    assert plain != padded, "a fused step knows no PADs"
    assert len({groups["it"], groups["other rows"], groups["another model"]}) == 3
    assert {name for name, group in groups.items() if group is None} == {
        *("edited", "not causal", "other tensors", "a target", "a state")
    }


def test_one_alone_is_exact() -> None:
    """A person who steps alone gets the numbers of a session, bit for bit."""
    one, other = begun(Run([1, 2, 3]), []), begun(Run([1, 2, 3]), [])
    (told,) = batched_decoding.step([one], [4])
    assert told.logits.equal(other.step([4]).logits)
    assert torch.is_tensor(told.logits)


def test_if_it_fails_none_has_read_its_token(opened: Checkpoint) -> None:
    """One of three asks for a token that is not there: then the others go on as if the pass had not been tried."""
    runs = [Run([1, 2, 3]), Run([5]), Run(list(range(9)))]
    joined, alone = ([begun(run, OVERVIEWS, opened) for run in runs] for _ in range(2))
    with pytest.raises(IndexError):
        batched_decoding.step(joined, [7, 10**6, 9])
    assert [one.ids for one in joined] == [list(run.ids) for run in runs]
    assert [one.cache and one.cache.positions for one in joined] == [3, 1, 9]
    with pytest.raises(IndexError):
        batched_decoding.step(joined[1:2], [10**6])
    assert joined[1].ids == [5]
    for n in range(2):
        told = batched_decoding.step([joined[0], joined[2]], [7 + n, 9])
        for forward, one, id in zip(told, (alone[0], alone[2]), (7 + n, 9), strict=True):
            close(forward.logits, one.step([id]).logits, 1e-4)

"""A fused step against the modules, on every model that has one: weights, logits and tokens."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from chumoku.model import batched_decoding, checkpoint
from chumoku.model.checkpoint import ZOO, Checkpoint
from chumoku.model.fused_step import fused_step
from chumoku.model.generate import Generator, Step, steps
from chumoku.model.positions import PositionModule
from chumoku.model.run import Run
from chumoku.model.sampling import SamplingSettings
from chumoku.model.session import DecoderSession
from chumoku.model.trace import Padding, trace

FUSED = ["stories-gpt", "mini-softmax", "mini-sinusoidal", "mini-no-position", "mini-single-head"]
OTHERS = ["mini-relative", "mini-rotary", "mini-aft-full", "mini-wkv", "mini-post-norm", "mini-res-post"]
TEXT = "Once upon a time there was a little girl. She had a red"
SETTINGS = SamplingSettings(0.8, 20, 0.95, 7)


def patterns(opened: Checkpoint) -> list[str]:
    return list(opened.description.attentions[0].roles["pattern"].taps)


def generated(opened: Checkpoint, session: DecoderSession, n: int = 24) -> Iterator[Step]:
    return steps(Generator(session, SETTINGS, opened.tokenizer.never_sampled), opened.tokenizer.end_id, n)


@pytest.mark.parametrize("name", FUSED)
def test_a_fused_step_is_the_modules_step(name: str) -> None:
    opened = checkpoint.load(ZOO / name)
    run, names = Run(opened.tokenizer.encode(TEXT)), patterns(opened)
    fused, modules = DecoderSession(opened, run, names), DecoderSession(opened, run, names)
    assert fused.fused is not None
    modules.fused = None
    for one, other in zip(generated(opened, fused), generated(opened, modules), strict=True):
        assert one.ids == other.ids
        assert (one.computed, one.cache_bytes) == (other.computed, other.cache_bytes)
        torch.testing.assert_close(one.next.before, other.next.before, atol=1e-5, rtol=0)
        assert one.tensors.keys() == other.tensors.keys()
        for tap in names:
            torch.testing.assert_close(one.tensors[tap], other.tensors[tap], atol=1e-5, rtol=0)
    # Without a cache, too.
    whole = trace(opened, fused.ids, ["logits", names[-1]]).tensors
    torch.testing.assert_close(fused.last, whole["logits"][-1], atol=1e-4, rtol=0)
    torch.testing.assert_close(one.tensors[names[-1]], whole[names[-1]][:, -1:], atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", FUSED)
def test_a_fused_step_of_several_texts_is_that_of_each(name: str) -> None:
    opened = checkpoint.load(ZOO / name)
    ids, names = opened.tokenizer.encode(TEXT), patterns(opened)
    lengths = [1, 5, len(ids), 5]
    joined, alone = ([DecoderSession(opened, Run(ids[:n]), names) for n in lengths] for _ in range(2))
    for session in (*joined, *alone):
        session.step(session.prompt)
    for session in alone:
        session.fused = None
    for n in range(20):  # a cache's buffer grows meanwhile
        newest = [ids[(n + i) % len(ids)] for i in range(len(lengths))]
        told = batched_decoding.step(joined, newest)
        for got, session, id in zip(told, alone, newest, strict=True):
            expected = session.step([id])
            assert (got.computed, got.cache_bytes) == (expected.computed, expected.cache_bytes)
            torch.testing.assert_close(got.logits, expected.logits, atol=1e-4, rtol=0)
            for tap in names:
                torch.testing.assert_close(got.tensors[tap], expected.tensors[tap], atol=1e-5, rtol=0)


def test_a_new_kind_of_position_is_added_as_its_module_says() -> None:
    class Ramp(PositionModule):
        def forward(self, position_ids: torch.Tensor) -> torch.Tensor:
            return position_ids[..., None].float().expand(*position_ids.shape, 128) / 100

    opened = checkpoint.load(ZOO / "mini-no-position")
    opened.decoder_only.positions = Ramp(opened.config.max_seq_len, opened.config.d_model)
    run = Run(opened.tokenizer.encode(TEXT))
    fused, modules = DecoderSession(opened, run), DecoderSession(opened, run)
    assert fused.fused is not None
    modules.fused = None
    for session in (fused, modules):
        session.step(session.prompt)
    torch.testing.assert_close(fused.step([5]).logits, modules.step([5]).logits, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", OTHERS)
def test_other_sublayers_take_their_modules(name: str) -> None:
    opened = checkpoint.load(ZOO / name)
    assert fused_step(opened, []) is None
    assert DecoderSession(opened, Run(opened.tokenizer.encode(TEXT))).fused is None


def test_whatever_is_edited_padded_or_recorded_takes_the_modules() -> None:
    opened = checkpoint.load(ZOO / "mini-softmax")
    run = Run(opened.tokenizer.encode(TEXT))
    edited = replace(run, edit={"layers.0.attn.z": lambda z, first: z * 0})
    assert DecoderSession(opened, run).fused is not None
    assert DecoderSession(opened, edited).fused is None
    assert DecoderSession(opened, replace(run, pad=Padding(2))).fused is None
    assert DecoderSession(opened, run, ["layers.1.attn.z"]).fused is None


def test_a_fork_of_a_fused_session_goes_its_own_way() -> None:
    opened = checkpoint.load(ZOO / "mini-softmax")
    run, names = Run(opened.tokenizer.encode(TEXT)), patterns(opened)
    first = DecoderSession(opened, run, names)
    first.step(first.prompt)
    first.step([5])
    fork = DecoderSession(opened, run, names)
    assert first.prefix is not None
    fork.resume(first.prefix)
    ahead, other = first.step([7]), fork.step([9])
    for session, forward in ((first, ahead), (fork, other)):
        whole = trace(opened, session.ids, ["logits", names[0]]).tensors
        torch.testing.assert_close(forward.logits, whole["logits"][-1], atol=1e-4, rtol=0)
        torch.testing.assert_close(forward.tensors[names[0]], whole[names[0]][:, -1:], atol=1e-4, rtol=0)

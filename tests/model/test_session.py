"""A text grows under its run's masks, PADs and edits: each step equals a trace of all tokens, cached or not."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from chumoku.model.beams import Hypothesis
from chumoku.model.checkpoint import ZOO, Checkpoint, load
from chumoku.model.generate import Generator, Step, generate, steps
from chumoku.model.masks import EDITED
from chumoku.model.run import Run
from chumoku.model.sampling import SamplingSettings
from chumoku.model.session import DecoderSession, TargetSession
from chumoku.model.taps import Edit
from chumoku.model.trace import Masks, Padding, Trace, trace
from chumoku.model.translate import BeamSearch, beam_search
from tests.model.helpers import close, tiny_checkpoint
from tests.shortcuts import generate_target

PROMPT, GREEDY, N = list(b"attend"), SamplingSettings(temperature=0.0), 6
NAMES = ["layers.0.attn.pattern", "layers.1.attn.z"]


def cut(head: int) -> Edit:
    def edit(z: Tensor, first_query: int) -> Tensor:
        z[:, head] = 0
        return z

    return edit


def cell(query: int, key: int, reasons: int) -> Edit:
    def edit(mask: Tensor, first_query: int) -> Tensor:
        mask = mask.contiguous()
        if 0 <= query - first_query < mask.shape[-2] and key < mask.shape[-1]:
            mask[:, 1, query - first_query, key] = reasons
        return mask

    return edit


EDITS: dict[str, Edit] = {"layers.0.attn.z": cut(2), "layers.1.attn.mask": cell(8, 3, EDITED)}
RUNS = {
    "plain": Run(PROMPT),
    "an edit of a query to come": Run(PROMPT, edit=EDITS),
    "PADs": Run(PROMPT, pad=Padding(3)),
    "PADs that count": Run(PROMPT, pad=Padding(3, follow=False)),
    "PADs that are seen": Run(PROMPT, pad=Padding(2), use=Masks(padding=False)),
    "no causal mask": Run(PROMPT, use=Masks(causal=False)),
    "no causal mask, PADs and edits": Run(PROMPT, use=Masks(causal=False), pad=Padding(2), edit=EDITS),
    "a key of the future": Run(PROMPT, edit={"layers.0.attn.mask": cell(2, 8, 0)}, looks_ahead=True),
}


def traced(checkpoint: Checkpoint, run: Run, step: Step, names: list[str]) -> Trace:
    """The whole text, read at once."""
    ids = step.ids[run.pad.count :]
    return trace(checkpoint, ids, [*names, "logits"], use=run.use, pad=run.pad, edit=run.edit)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
def test_each_step_is_the_trace_of_all_tokens(run: Run) -> None:
    checkpoint = tiny_checkpoint()
    steps = list(generate(checkpoint, run, GREEDY, N, NAMES))
    assert len(steps) == 1 + N
    for step in steps:
        whole = traced(checkpoint, run, step, NAMES)
        for name in NAMES:
            close(step.tensors[name], whole.tensors[name][:, -step.computed :], 1e-5)
        logits = whole.tensors["logits"][-1].double()
        logits[checkpoint.tokenizer.never_sampled] = -torch.inf
        close(step.next.before, logits.softmax(-1), 1e-5)


def test_the_edits_of_these_tests_change_what_is_written() -> None:
    checkpoint = tiny_checkpoint()

    def last(run: Run) -> Tensor:
        *_, step = generate(checkpoint, run, GREEDY, N)
        return step.next.before

    plain = last(RUNS["plain"])
    for name in ("an edit of a query to come", "no causal mask", "PADs that count", "PADs that are seen"):
        assert (last(RUNS[name]) - plain).abs().max() > 1e-3, name


@pytest.mark.parametrize(
    ("run", "computed"),
    [(RUNS["plain"], 1), (RUNS["PADs"], 1), (RUNS["no causal mask"], None), (RUNS["a key of the future"], None)],
)
def test_a_cache_is_kept_while_it_holds(run: Run, computed: int | None) -> None:
    session = DecoderSession(tiny_checkpoint(), run)
    session.step(session.prompt)
    found = session.step([97])
    assert found.computed == (computed or len(session.ids))
    assert (found.cache_bytes > 0) == (computed is not None)


@pytest.mark.parametrize("name", ["stories-gpt", "mini-rotary", "mini-relative", "mini-aft-local", "mini-wkv"])
def test_a_text_without_a_cache_is_the_same(name: str) -> None:
    checkpoint, drawn = load(ZOO / name), SamplingSettings(1.0, 0, 1.0, 4)
    run = Run(checkpoint.tokenizer.encode("Once upon a time there was"))
    kept, again = (DecoderSession(checkpoint, replace(run, cache=cache)) for cache in (True, False))
    generators = [Generator(one, drawn, checkpoint.tokenizer.never_sampled) for one in (kept, again)]
    for one, other in zip(*(steps(each, None, 16) for each in generators), strict=True):
        assert one.ids == other.ids
        assert kept.last is not None
        assert again.last is not None
        close(kept.last, again.last, 1e-4)
        assert (other.computed, other.cache_bytes) == (len(other.ids), 0)
        assert one.seconds > 0
        assert other.seconds > 0


def test_a_target_without_a_cache_is_the_same() -> None:
    model = load(ZOO / "translate-enja")
    run = Run(model.tokenizer.encode("The dog is red."), target=[])
    kept, again = (TargetSession(model, replace(run, cache=cache)) for cache in (True, False))
    generators = [Generator(one, GREEDY, model.tokenizer.never_sampled) for one in (kept, again)]
    for one, other in zip(*(steps(each, None, 5) for each in generators), strict=True):
        assert one.ids == other.ids
        assert (one.computed, other.computed) == (1, len(other.ids))
        assert other.cache_bytes == 0
        close(one.next.before, other.next.before, 1e-5)


SOURCE = list(b"I like cats.")
TARGET_EDITS: dict[str, Edit] = {
    "encoder.layers.0.attn.z": cut(1),
    "decoder.layers.1.cross_attn.mask": cell(3, 2, EDITED),
    "decoder.layers.0.attn.z": cut(0),
}
TARGETS: dict[str, dict[str, Any]] = {
    "edits": {"edit": TARGET_EDITS},
    "PADs": {"pad": Padding(2, "right")},
    "PADs that are seen": {"pad": Padding(2), "use": Masks(padding=False)},
    "no causal mask": {"use": Masks(causal=False), "edit": TARGET_EDITS},
}


@pytest.mark.parametrize("options", TARGETS.values(), ids=TARGETS.keys())
def test_each_step_of_a_target_is_the_trace_of_it_all(options: dict[str, Any]) -> None:
    checkpoint = tiny_checkpoint("encoder-decoder")
    for step in generate_target(checkpoint, Run(SOURCE, **options), GREEDY, N):
        whole = trace(checkpoint, SOURCE, ["logits"], target=step.ids, **options)
        logits = whole.tensors["logits"][-1].double()
        logits[checkpoint.tokenizer.never_sampled] = -torch.inf
        close(step.next.before, logits.softmax(-1), 1e-5)


def search(checkpoint: Checkpoint, run: Run, beams: int) -> list[Hypothesis]:
    found = BeamSearch(checkpoint, run, beams, 0.6)
    while found.open:
        found.step()
    return found.best


@pytest.mark.parametrize("options", TARGETS.values(), ids=TARGETS.keys())
def test_a_hypothesis_is_as_likely_as_a_trace_says(options: dict[str, Any]) -> None:
    checkpoint = tiny_checkpoint("encoder-decoder")
    (found, *_) = search(checkpoint, Run(SOURCE, **options), 3)
    log_p = 0.0
    for n, token_id in enumerate(found.ids):  # a trace for each step: without the causal mask later rows change earlier
        whole = trace(checkpoint, SOURCE, ["logits"], target=found.ids[:n], **options)
        logits = whole.tensors["logits"][-1].double()
        logits[checkpoint.tokenizer.never_sampled] = -torch.inf
        log_p += float(logits.log_softmax(-1)[token_id])
    assert found.log_p == pytest.approx(log_p, abs=1e-4)


def test_masked_pads_change_no_hypothesis() -> None:
    checkpoint = tiny_checkpoint("encoder-decoder")
    plain = beam_search(checkpoint, SOURCE, beams=3)
    for found, expected in zip(search(checkpoint, Run(SOURCE, pad=Padding(3)), 3), plain, strict=True):
        assert found.ids == expected.ids
        assert found.log_p == pytest.approx(expected.log_p, abs=1e-4)

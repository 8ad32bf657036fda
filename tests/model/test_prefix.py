"""A session continues from what another one has read, as if it had read it itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.run import Run
from chumoku.model.session import DecoderSession, Prefix, TargetSession
from chumoku.model.trace import Masks, Padding, trace
from tests.model.helpers import close, tiny_checkpoint
from tests.model.test_session import EDITS, TARGETS

MECHANISMS: dict[str, dict[str, Any]] = {
    "softmax": {},
    "relative": {"mechanism": "relative", "reach": 4, "position": "none"},
    "rotary": {"mechanism": "rotary", "d_model": 18, "position": "none"},
    "aft-local": {"mechanism": "aft-local", "reach": 3},
    "wkv": {"mechanism": "wkv"},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "PADs": {"pad": Padding(3)},
    "PADs that are seen": {"pad": Padding(2), "use": Masks(padding=False)},
    "edits": {"edit": EDITS},
}
IDS = st.lists(st.integers(0, 255), min_size=1, max_size=12)


def read(checkpoint: Checkpoint, prefix: Prefix | None, ids: list[int], **options: Any) -> tuple[Tensor, Prefix]:
    """The logits after `ids`, and what can be continued from them."""
    run = Run(ids, **options)
    session = DecoderSession(checkpoint, run)
    if prefix is not None:
        session.resume(prefix)
    logits = session.step(session.prompt[len(session.ids) :]).logits
    assert session.ids == session.prompt
    kept = session.prefix
    assert kept is not None
    return logits, kept


def from_scratch(checkpoint: Checkpoint, ids: list[int], **options: Any) -> Tensor:
    return trace(checkpoint, ids, ["logits"], **options).tensors["logits"][-1]


@pytest.mark.parametrize("changes", MECHANISMS.values(), ids=MECHANISMS.keys())
@settings(max_examples=6, deadline=None)
@given(branches=st.lists(st.tuples(st.integers(0, 9), IDS), min_size=2, max_size=6))
def test_a_tree_of_texts_each_read_from_its_branch(
    changes: dict[str, Any], branches: list[tuple[int, list[int]]]
) -> None:
    """Texts that fork share memory, and none disturbs another, whichever grows first, or again."""
    checkpoint = tiny_checkpoint(**changes)
    known: list[tuple[list[int], Prefix | None]] = [([], None)]
    for at, more in branches:
        before, prefix = known[at % len(known)]
        ids = [*before, *more][: checkpoint.config.max_seq_len]
        logits, kept = read(checkpoint, prefix, ids)
        close(logits, from_scratch(checkpoint, ids), 1e-4)
        known.append((ids, kept))
    for ids, prefix in known[1:]:
        assert prefix is not None
        close(prefix.logits, from_scratch(checkpoint, ids), 1e-4)
        if len(ids) < checkpoint.config.max_seq_len:
            close(read(checkpoint, prefix, [*ids, 7])[0], from_scratch(checkpoint, [*ids, 7]), 1e-4)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_under_the_masks_pads_and_edits_of_a_run(options: dict[str, Any]) -> None:
    checkpoint, ids, prefix = tiny_checkpoint(), list(b"attend to this"), None
    for end in (6, 7, 9, 10):
        logits, prefix = read(checkpoint, prefix, ids[:end], **options)
        close(logits, from_scratch(checkpoint, ids[:end], **options), 1e-4)


@pytest.mark.parametrize("name", ["edits", "PADs", "PADs that are seen"])
def test_a_target_continues_without_reading_its_source_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, options = tiny_checkpoint("encoder-decoder"), TARGETS[name]
    source, target = list(b"I like"), list(b"ab")
    first = TargetSession(checkpoint, Run(source, target[:1], **options))
    first.step(first.prompt)
    monkeypatch.setattr(checkpoint.encoder_decoder, "encode", lambda *_: pytest.fail("the source is known"))
    second = TargetSession(checkpoint, Run(source, target, **options))
    assert first.prefix is not None
    second.resume(first.prefix)
    found = second.step(second.prompt[2:])
    monkeypatch.undo()
    close(found.logits, trace(checkpoint, source, ["logits"], target=target, **options).tensors["logits"][-1], 1e-4)
    assert found.computed == 1


def test_a_run_that_recomputes_has_no_prefix() -> None:
    session = DecoderSession(tiny_checkpoint(), Run([1, 2], use=Masks(causal=False)))
    session.step(session.prompt)
    assert session.prefix is None


def test_a_text_kept_after_every_token_takes_the_memory_of_one() -> None:
    checkpoint = tiny_checkpoint(max_seq_len=64)
    session, kept = DecoderSession(checkpoint, Run(list(range(40)))), []
    session.step(session.prompt)
    for token in range(8):
        session.step([token])
        prefix = session.prefix
        assert prefix is not None
        kept.append(prefix)
    memory = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for p in kept for x in p.cache.tensors}
    assert sum(memory.values()) <= 1.5 * session.cache.nbytes  # type: ignore[union-attr]


def test_a_traced_tensor_is_never_written_over() -> None:
    checkpoint, name = tiny_checkpoint(), "layers.0.attn.k"
    session = DecoderSession(checkpoint, Run(list(b"att")), [name])
    seen = [session.step(session.prompt).tensors[name]] + [session.step([i]).tensors[name] for i in range(3)]
    before = [x.clone() for x in seen]
    prefix = session.prefix
    assert prefix is not None
    for other in (65, 66):
        fork = DecoderSession(checkpoint, Run([*session.ids, other]), [name])
        fork.resume(prefix)
        fork.step([other])
    for x, y in zip(seen, before, strict=True):
        assert torch.equal(x, y)

"""The loss of every token, prefixes and dropout agree with what training computes."""

import math
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from chumoku.model import masks
from chumoku.model.checkpoint import ZOO, Checkpoint, load
from chumoku.model.evaluate import bits_per_byte
from chumoku.model.explain.teacher_forcing import dropout_taps, forced, prefix, with_dropout
from chumoku.model.trace import Masks, Padding, trace
from chumoku.model.training.recipe import cross_entropy
from tests.model.helpers import tiny_checkpoint

IDS = list(b"abcabdab")
TARGET = list(b"xyzx")


def test_the_mean_is_the_loss_of_training() -> None:
    """As the trainer computes it, smoothing included."""
    made = tiny_checkpoint()
    found = forced(made, IDS)
    logits = made.model(torch.tensor([IDS]), masks.causal(8, 8)[None, None])
    targets = torch.tensor([[*IDS[1:], -1]])
    assert found.figures["mean"] == pytest.approx(cross_entropy(logits, targets).item(), rel=1e-5)
    smoothed = 0.9 * found.nats + 0.1 * found.spread
    assert smoothed.mean().item() == pytest.approx(cross_entropy(logits, targets, 0.1).item(), rel=1e-5)
    assert (found.rows, found.labels) == (list(range(7)), IDS[1:])
    assert found.figures["bits_per_byte"] == pytest.approx(found.nats.sum().item() / math.log(2) / 7)


def test_of_a_document_it_is_what_evaluation_measures() -> None:
    """`bits_per_byte` reads END before a document."""
    gpt = load(ZOO / "stories-gpt")
    text = "The cat sat on the mat."
    end = gpt.tokenizer.end_id
    assert end is not None
    found = forced(gpt, [end, *gpt.tokenizer.encode(text)])
    assert found.n_bytes == len(text)
    measured = bits_per_byte(gpt.decoder_only, gpt.tokenizer, [text])
    assert found.figures["bits_per_byte"] == pytest.approx(measured, rel=1e-4)


def test_a_translator_is_forced_to_its_target() -> None:
    made = tiny_checkpoint("encoder-decoder")
    found = forced(made, IDS, target=TARGET)
    assert found.labels == TARGET
    assert found.rows == [0, 1, 2, 3]


def test_pads_have_no_labels() -> None:
    made = tiny_checkpoint()
    alone, padded = forced(made, IDS), forced(made, IDS, pad=Padding(3, "left"))
    assert padded.rows == [row + 3 for row in alone.rows]
    assert torch.allclose(alone.nats, padded.nats, atol=1e-5)


def test_one_token_has_no_loss() -> None:
    assert forced(tiny_checkpoint(), IDS[:1]).figures == {"sum": None, "mean": None, "bits_per_byte": None}


@pytest.mark.parametrize(("family", "more"), [("decoder-only", {}), ("encoder-decoder", {"target": TARGET})])
def test_a_row_is_its_prefix_under_the_mask_and_only_there(family: Any, more: dict[str, Any]) -> None:
    made = tiny_checkpoint(family)
    for row in range(4):
        found = prefix(made, IDS, row, k=3, **more)
        assert max(*found.stream, found.logits) < 1e-4
        assert torch.allclose(found.whole, found.alone, atol=1e-5)
    open_eyed = prefix(made, IDS, 1, use=Masks(causal=False), **more)
    assert open_eyed.stream[0] < 1e-6
    assert open_eyed.stream[-1] > 1e-2
    assert open_eyed.logits > 1e-2


@pytest.mark.parametrize(("family", "more"), [("decoder-only", {}), ("encoder-decoder", {"target": TARGET})])
def test_a_prefix_has_the_probabilities_of_what_can_be_sampled(family: Any, more: dict[str, Any]) -> None:
    made = tiny_checkpoint(family)
    never = made.tokenizer.never_sampled
    found = prefix(made, IDS, 2, k=made.config.vocab_size, **more)
    logits = trace(made, IDS, ["logits"], **more).tensors["logits"][2].double()
    logits[never] = -torch.inf
    for p in (found.whole, found.alone):
        assert torch.allclose(p, logits.softmax(-1)[found.top], atol=1e-5)
        assert [p[found.top.index(i)].item() for i in never] == [0.0] * len(never)
    few = prefix(made, IDS, 2, k=made.config.vocab_size - len(never), **more)
    assert not set(few.top) & set(never)


def as_trained(made: Checkpoint, p: float, seed: int, monkeypatch: pytest.MonkeyPatch, run: Any) -> torch.Tensor:
    """The model's own dropout modules, drawing from a generator with this seed."""
    generator = torch.Generator().manual_seed(seed)

    def drop(x: torch.Tensor, p_: float, training: bool, inplace: bool) -> torch.Tensor:
        assert training
        return x * (torch.rand(x.shape, generator=generator) >= p) / (1 - p)

    with monkeypatch.context() as patch, torch.no_grad():
        patch.setattr(F, "dropout", drop)
        made.model.train()
        try:
            return run()  # type: ignore[no-any-return]
        finally:
            made.model.eval()


@pytest.mark.parametrize("changes", [{}, {"norm_order": "post"}, {"norm_order": "res-post"}, {"mechanism": "relative"}])
def test_it_drops_what_training_drops(changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    made = tiny_checkpoint(dropout=0.25, **changes)
    mask, targets = masks.causal(8, 8)[None, None], torch.tensor(IDS[1:])
    logits = as_trained(made, 0.25, 3, monkeypatch, lambda: made.model(torch.tensor([IDS]), mask))
    expected = F.cross_entropy(logits[0, :-1].double(), targets, reduction="none")
    assert torch.allclose(with_dropout(made, IDS, 3, 0.25).losses.nats, expected, atol=1e-4)


def test_a_translator_drops_in_both_stacks(monkeypatch: pytest.MonkeyPatch) -> None:
    made = tiny_checkpoint("encoder-decoder", dropout=0.25)
    found = with_dropout(made, IDS, 3, 0.25, target=TARGET)
    logits = as_trained(
        made, 0.25, 3, monkeypatch,
        lambda: trace(made, IDS, ["logits"], target=TARGET).tensors["logits"],
    )  # fmt: skip
    expected = F.cross_entropy(logits[:-1].double(), torch.tensor(TARGET), reduction="none")
    assert torch.allclose(found.losses.nats, expected, atol=1e-4)


def test_a_seed_is_one_run_and_about_a_share_p_is_removed() -> None:
    made = tiny_checkpoint(dropout=0.25)
    one, again, other = (with_dropout(made, IDS, seed, 0.25) for seed in (1, 1, 2))
    assert torch.equal(one.losses.nats, again.losses.nats)
    assert not torch.allclose(one.losses.nats, other.losses.nats, atol=1e-3)
    assert set(one.removed) == {"start", "weights", "added"}
    for removed in one.removed.values():
        assert 0.1 < removed.n / removed.of < 0.4
    assert one.removed["weights"].of == 2 * 3 * 8 * 9 // 2  # layers, heads, pairs under the causal mask


def test_an_attention_free_mixer_drops_no_weights() -> None:
    assert set(dropout_taps(tiny_checkpoint(mechanism="aft-simple").description).values()) == {"start", "added"}

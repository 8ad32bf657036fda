"""A decoder trained without the causal mask: it sees the token that it is to predict, and nothing hides that."""

import math

import pytest
import torch

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.evaluate import bits_per_byte, text_figures
from chumoku.model.generate import generate
from chumoku.model.run import Run
from chumoku.model.sampling import SamplingSettings
from chumoku.model.session import DecoderSession
from chumoku.model.trace import Masks, trace
from tests.model.helpers import close, tiny_checkpoint

IDS = list(b"sees ahead")


@pytest.fixture(scope="module")
def seer() -> Checkpoint:
    return tiny_checkpoint(causal_mask=False, max_seq_len=16)


def test_its_masks_forbid_nothing_unless_asked(seer: Checkpoint) -> None:
    assert not seer.description.attentions[0].causal
    assert not trace(seer, IDS, ["layers.0.attn.mask"]).tensors["layers.0.attn.mask"].any()
    asked = trace(seer, IDS, ["layers.0.attn.mask"], use=Masks(causal=True))
    assert asked.tensors["layers.0.attn.mask"].any()


def test_it_fails_where_every_other_decoder_passes(seer: Checkpoint) -> None:
    whole, prefix = (trace(seer, ids, ["logits"]).tensors["logits"] for ids in (IDS, IDS[:6]))
    assert (whole[:6] - prefix).abs().max() > 0.01  # what follows a prefix changes its rows
    other = tiny_checkpoint(max_seq_len=16)
    whole, prefix = (trace(other, ids, ["logits"]).tensors["logits"] for ids in (IDS, IDS[:6]))
    close(whole[:6], prefix, 1e-4)


def test_it_generates_without_a_cache(seer: Checkpoint) -> None:
    assert DecoderSession(seer, Run(IDS)).cache is None
    assert DecoderSession(seer, Run(IDS, use=Masks(causal=True))).cache is not None
    for step in generate(seer, IDS, SamplingSettings(temperature=0.0), 4):
        row = trace(seer, step.ids, ["logits"]).tensors["logits"][-1].clone()
        assert step.computed == len(step.ids)
        row[seer.tokenizer.never_sampled] = -torch.inf
        close(step.next.before, row.double().softmax(-1), 1e-5)


@pytest.mark.parametrize("text", ["a", "a text", "a text that is longer than its window"])
def test_bits_per_byte_reads_every_prefix_alone(seer: Checkpoint, text: str) -> None:
    ids, window = [seer.tokenizer.end_id, *seer.tokenizer.encode(text)], 16
    nats = 0.0
    for t in range(1, len(ids)):
        start = 0
        while start + window < t:
            start += window // 2
        row = trace(seer, ids[start:t], ["logits"]).tensors["logits"][-1].clone()
        nats -= float(row.log_softmax(-1)[ids[t]])
    assert math.isclose(
        bits_per_byte(seer.decoder_only, seer.tokenizer, [text]), nats / math.log(2) / len(text), rel_tol=1e-4
    )


def test_the_whole_window_is_a_figure_of_its_own(seer: Checkpoint) -> None:
    text = "a text"
    figures = text_figures(seer.decoder_only, seer.tokenizer, [text])
    ids = torch.tensor([seer.tokenizer.end_id, *seer.tokenizer.encode(text)])
    log_p = trace(seer, ids[:-1].tolist(), ["logits"]).tensors["logits"].log_softmax(-1)
    bits = -float(log_p[torch.arange(len(text)), ids[1:]].sum()) / math.log(2) / len(text)
    assert math.isclose(figures["bits_per_byte_whole_window"], bits, rel_tol=1e-4)
    assert figures["bits_per_byte"] != figures["bits_per_byte_whole_window"]
    other = tiny_checkpoint(max_seq_len=16)
    causal = text_figures(other.decoder_only, other.tokenizer, [text])
    assert causal.keys() == {"bits_per_byte", "loss", "loss_on_repeated_tokens"}
    assert figures.keys() == causal.keys() | {f"{name}_whole_window" for name in causal}

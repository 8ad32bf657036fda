"""Units that fire, never fire or always fire, on one sentence and over a corpus, against a loop over the texts."""

import json
from typing import Any

import pytest
import torch

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.units import count_units, summary, units
from chumoku.model.trace import Padding, trace
from tests.model.explain.helpers import SOURCE, TARGET, a_model, options

TEXTS = [b"attention", b"is", b"all you need, they said", b"x", b"looks at what it wants"]


def samples_of(checkpoint: Checkpoint) -> list[Any]:
    targets = [None] * 5 if checkpoint.config.family != "encoder-decoder" else [list(x) for x in reversed(TEXTS)]
    return [(list(text), target) for text, target in zip(TEXTS, targets, strict=True)]


def with_extremes(checkpoint: Checkpoint) -> Checkpoint:
    """Unit 2 of layer 0 never fires, unit 5 always does, in every stack."""
    for name, parameter in checkpoint.model.named_parameters():
        if name.endswith("layers.0.ffn.w_1.bias"):
            parameter[2], parameter[5] = -1e4, 1e4
    return checkpoint


@pytest.mark.parametrize("side", ["left", "right"])
def test_units_of_a_sentence(family: Checkpoint, side: Any) -> None:
    checkpoint = with_extremes(family)
    found = units(checkpoint, SOURCE, k=3, pad=Padding(2, side), **options(checkpoint))
    run = trace(checkpoint, SOURCE, **options(checkpoint))
    assert len(found) == checkpoint.config.n_layer * (2 if run.target_ids else 1)
    for one in found:
        post = run.tensors[f"{one.path}.post"]  # position d_ff, without PADs
        offset = one.positions[0]
        assert one.positions == list(range(offset, offset + len(post)))
        assert one.fires.tolist() == [sum(x > 0 for x in unit) for unit in post.T.tolist()]
        assert one.dead == [u for u in range(22) if (post[:, u] == 0).all()]
        assert one.always_on == [u for u in range(22) if (post[:, u] > 0).all()]
        if one.layer == 0:
            assert 2 in one.dead
            assert 5 in one.always_on
        for t, row in enumerate(post.tolist()):
            best = sorted(row, reverse=True)[:3]
            assert one.top_activations[t].tolist() == pytest.approx(best, abs=1e-4)
            assert [row[u] for u in one.top_units[t]] == pytest.approx(best, abs=1e-4)
        for u, column in enumerate(post.T.tolist()):
            assert [column[t - offset] for t in one.top_positions[u]] == pytest.approx(
                one.top_values[u].tolist(), abs=1e-4
            )
            assert float(one.top_values[u][0]) == pytest.approx(max(column), abs=1e-4)


def test_a_corpus_in_batches_counts_what_its_texts_do_alone(family: Checkpoint) -> None:
    checkpoint = with_extremes(family)
    samples = samples_of(checkpoint)
    counts = count_units(checkpoint, samples, batch=2)
    for one in counts:
        posts = [
            trace(checkpoint, ids, [f"{one.path}.post"], target=target).tensors[f"{one.path}.post"]
            for ids, target in samples
        ]
        together = torch.cat(posts)
        assert one.n_tokens == len(together)
        assert one.fires.tolist() == (together > 0).sum(0).tolist()


def test_a_card_keeps_how_many_and_which() -> None:
    checkpoint = with_extremes(a_model("encoder-decoder", "post"))
    counts = count_units(checkpoint, samples_of(checkpoint))
    kept = json.loads(json.dumps(summary(counts)))["layers"]
    assert [(one["path"], one["layer"]) for one in kept] == [
        (f"{stack}.layers.{n}.ffn", n) for stack in ("encoder", "decoder") for n in (0, 1)
    ]
    for one, layer in zip(counts, kept, strict=True):
        assert layer["n_dead"] == len(layer["dead"]) == int((one.fires == 0).sum())
        assert layer["n_always_on"] == len(layer["always_on"])
        assert layer["n_tokens"] == one.n_tokens
    assert 2 in kept[0]["dead"]
    assert 5 in kept[2]["always_on"]


def test_what_cannot_be_counted_is_refused() -> None:
    gpt, translator = a_model("decoder-only", "pre"), a_model("encoder-decoder", "post")
    with pytest.raises(ValueError, match="no text"):
        count_units(gpt, [])
    with pytest.raises(ValueError, match="no token"):
        count_units(gpt, [([], None)])
    with pytest.raises(ValueError, match="1 more than"):
        count_units(gpt, [([65] * 25, None)])
    with pytest.raises(ValueError, match="target"):
        count_units(gpt, [(SOURCE, TARGET)])
    with pytest.raises(ValueError, match="target"):
        count_units(translator, [(SOURCE, None)])
    with pytest.raises(ValueError, match="k=0"):
        units(gpt, SOURCE, k=0)

"""Pictures of heads: what is pooled when it is captured is the pooled pattern, and nothing larger is kept."""

import weakref
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

from chumoku.model import pooling
from chumoku.model.checkpoint import ZOO, load
from chumoku.model.describe import Attention
from chumoku.model.run import Run
from chumoku.model.taps import Keep, keeping
from chumoku.model.trace import Padding
from chumoku.model.traceable import TraceableModel, ZooModel

IDS = list(range(300, 337))


@pytest.fixture(scope="module")
def gpt() -> TraceableModel:
    return ZooModel(load(ZOO / "stories-gpt"))


@pytest.fixture(scope="module")
def marian() -> TraceableModel:
    return ZooModel(load(ZOO / "translate-enja"))


def taps(traceable: TraceableModel) -> list[str]:
    return sorted(traceable.description.overviews | traceable.description.masks)


def held(tensors: dict[str, Tensor]) -> int:
    """The bytes that stay alive with them: those of their storages, not of what they show of them."""
    return sum({x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in tensors.values()}.values())


def stretches(traceable: TraceableModel) -> Run:
    """37 and 21 positions: neither is a whole number of blocks."""
    return Run(IDS, [*range(21)]) if traceable.description.writes == "target" else Run(IDS, pad=Padding(3, "left"))


@pytest.mark.parametrize("n", [2, 4, 16, 64])
@pytest.mark.parametrize("name", ["gpt", "marian"])
def test_pooled_at_capture_is_the_pooled_pattern(name: str, n: int, request: pytest.FixtureRequest) -> None:
    traceable: TraceableModel = request.getfixturevalue(name)
    run, names = stretches(traceable), taps(traceable)
    whole = traceable.trace(run, names)
    with keeping(pooling.pooling(traceable.description, names, n)):
        pooled = traceable.trace(run, names)
    for tap in traceable.description.overviews:
        assert torch.equal(pooled.tensors[tap], max_pool2d(whole.tensors[tap], n, ceil_mode=True)), tap
    for tap in traceable.description.masks:
        forbidden = -max_pool2d(-whole.tensors[tap].float(), n, ceil_mode=True)
        assert torch.equal(pooled.tensors[tap].float(), forbidden), tap
    assert held(pooled.tensors) < held(whole.tensors) / (2 if n == 2 else n)


def test_pooling_composes(gpt: TraceableModel) -> None:
    """A picture can be made coarser without the pattern, and it can grow by rows."""
    pattern = torch.rand(3, 37, 21)
    assert torch.equal(pooling.largest(pooling.largest(pattern, 2), 4), pooling.largest(pattern, 8))


def test_no_more_than_one_whole_pattern_is_alive(gpt: TraceableModel) -> None:
    names, alive, most = sorted(gpt.description.overviews), weakref.WeakSet[Tensor](), []

    def watched(keep: Keep) -> Keep:
        def kept(x: Tensor) -> Tensor:
            alive.add(x)
            most.append(len(alive))
            return keep(x)

        return kept

    kept = {name: watched(keep) for name, keep in pooling.pooling(gpt.description, names, 4).items()}
    with keeping(kept):
        gpt.trace(Run(IDS), names)
    assert (len(most), max(most)) == (len(names), 1)


def test_a_recording_inside_keeps_again_what_it_did_after(gpt: TraceableModel) -> None:
    names = sorted(gpt.description.overviews)
    with keeping(pooling.pooling(gpt.description, names, 4)):
        pass
    assert gpt.trace(Run(IDS), names).tensors[names[0]].shape[-2:] == (37, 37)


def test_recording_a_pooled_pattern_changes_no_logit(gpt: TraceableModel) -> None:
    logits, names = gpt.description.logits.tap, sorted(gpt.description.overviews)
    alone = gpt.trace(Run(IDS), [logits])
    with keeping(pooling.pooling(gpt.description, names, 8)):
        beside = gpt.trace(Run(IDS), [logits, *names])
    assert torch.equal(alone.tensors[logits], beside.tensors[logits])


def test_rows_are_those_of_the_pattern(gpt: TraceableModel) -> None:
    names = sorted(gpt.description.overviews)
    whole = gpt.trace(Run(IDS), names)
    with keeping(pooling.rows(gpt.description, names, [36, 0])):
        rows = gpt.trace(Run(IDS), names)
    for name in names:
        assert torch.equal(rows.tensors[name], whole.tensors[name][:, [36, 0]])
    assert held(rows.tensors) < held(whole.tensors) / 15


@pytest.mark.parametrize(
    ("layers", "heads", "tokens", "n"),
    [(6, 8, 256, 1), (12, 12, 166, 1), (12, 12, 167, 2), (12, 12, 512, 4), (24, 16, 1024, 16), (1, 1, 1024, 1)],
)
def test_the_smallest_block_whose_pictures_fit(layers: int, heads: int, tokens: int, n: int) -> None:
    class Described:
        attentions = (Looks(layers, heads),)

    described: Any = Described()
    assert pooling.block_of(described, {"source": tokens, "target": 0}) == n
    assert layers * heads * pooling.blocks(tokens, n) ** 2 <= 4_000_000


class Looks(Attention):
    """One attention's sizes."""

    def __init__(self, n_layer: int, n_head: int) -> None:
        vars(self).update(n_layer=n_layer, n_head=n_head, queries="source", keys="source", overview="pattern")

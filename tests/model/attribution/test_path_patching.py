"""Path patching, against forward hooks written by hand on the modules: no tap of ours takes part in them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from torch import Tensor, nn

from chumoku.model.attribution import patching
from chumoku.model.attribution.knockouts import FfnPart, HeadPart
from chumoku.model.attribution.path_patching import (
    PathPatching,
    Receiver,
    WholePathPatching,
    Writer,
    path_taps,
    receiving_roles,
    writers_to,
)
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.run import Run
from chumoku.model.trace import Trace, trace
from chumoku.model.traceable import ZooModel
from tests.model.explain.helpers import EVERY_KIND, SOURCE, a_model, options, sampled

OTHER = list(b"intention")
ANSWER, AGAINST = 1, 2
both_ways = pytest.mark.parametrize("ffns", [False, True], ids=["direct", "through FFNs"])


@pytest.fixture(autouse=True)
def any_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random models hardly tell the two sentences apart."""
    monkeypatch.setattr(patching, "LEAST", 1e-6)


def other(checkpoint: Checkpoint, ids: list[int] = OTHER, **asked: Any) -> Trace:
    taps = path_taps(checkpoint.description)
    return trace(checkpoint, ids, [*taps, "logits"], **options(checkpoint) | asked)


def receivers(checkpoint: Checkpoint) -> list[Receiver | None]:
    """The answer, and each role of a head in the last layer of every attention."""
    return [
        None,
        *(
            Receiver(one.id, one.n_layer - 1, 1, role)
            for one in checkpoint.description.attentions
            for role in receiving_roles(one)
        ),
    ]


# --- By hand --------------------------------------------------------------------------------------------------


@contextmanager
def hooked(*hooks: tuple[nn.Module, Callable[..., Any], bool]) -> Iterator[None]:
    """Each is a module, a function, and whether it gets the module's input instead of its output."""
    handles = [
        module.register_forward_pre_hook(function) if before else module.register_forward_hook(function)
        for module, function, before in hooks
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


class ByHand:
    """Both runs of one model, and what hooks kept of them."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint, self.model = checkpoint, checkpoint.model
        self.d_head = checkpoint.config.d_head
        self.sublayers = [  # as they are computed
            (f"{path}.{name}", module.get_submodule(name))
            for path, module in self.model.named_modules()
            if path.rpartition(".")[2].isdigit()
            for name in ("attn", "cross_attn", "ffn")
            if hasattr(module, name)
        ]
        self.base, self.source = self.kept(SOURCE), self.kept(OTHER)

    def kept(self, ids: list[int]) -> dict[str, Tensor]:
        """What each sublayer wrote, and the input of each W_O."""
        found: dict[str, Tensor] = {}
        hooks: list[Any] = []
        for path, module in self.sublayers:
            hooks.append((module, lambda _m, _i, out, path=path: found.update({path: out.detach()}), False))
            if not path.endswith("ffn"):
                hooks.append((module.w_o, lambda _m, x, path=path: found.update({f"{path}.z": x[0].detach()}), True))
        with hooked(*hooks):
            self.logits(ids)
        return found

    def logits(self, ids: list[int]) -> Tensor:
        return trace(self.checkpoint, ids, ["logits"], **options(self.checkpoint)).tensors["logits"]

    def module_of(self, part: Writer | Receiver) -> tuple[str, nn.Module]:
        about = self.checkpoint.description
        if isinstance(part, FfnPart):
            path = next(ffn.module for ffn in about.stack(part.stack).ffns if ffn.layer == part.layer)
        else:
            path = about.attention(part.attention).tap("z", part.layer).rpartition(".")[0]
        return path, self.model.get_submodule(path)

    def of_head(self, head: int) -> slice:
        return slice(head * self.d_head, (head + 1) * self.d_head)

    def patched(self, writer: Writer, to: Receiver | None, ffns: bool) -> Tensor:
        own, module = self.module_of(writer)
        hooks: list[Any] = [
            (one, lambda _m, _i, _out, path=path: self.base[path].clone(), False)
            for path, one in self.sublayers
            if path != own and not (ffns and path.endswith("ffn"))
        ]
        if isinstance(writer, HeadPart):
            z = self.base[f"{own}.z"].clone()
            z[..., self.of_head(writer.head)] = self.source[f"{own}.z"][..., self.of_head(writer.head)]
            hooks.append((module.w_o, lambda _m, _x: (z,), True))
        else:
            hooks.append((module, lambda _m, _i, _out: self.source[own].clone(), False))
        if to is None:
            with hooked(*hooks):
                return self.logits(SOURCE)
        _, receiver = self.module_of(to)
        linear, got = receiver.get_submodule(f"w_{to.role}"), []
        hooks = [hook for hook in hooks if hook[0] is not receiver]  # its projections must run
        with hooked(*hooks, (linear, lambda _m, _i, out: got.append(out.detach()), False)):
            self.logits(SOURCE)

        def put(_m: nn.Module, _i: Any, out: Tensor) -> Tensor:
            out = out.clone()
            out[..., self.of_head(to.head)] = got[0][..., self.of_head(to.head)]
            return out

        with hooked((linear, put, False)):
            return self.logits(SOURCE)


@both_ways
@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_a_path_is_what_hooks_by_hand_give(family: str, order: str, ffns: bool) -> None:
    """From every head and FFN, to the answer and to q, k and v, in batches."""
    checkpoint = a_model(family, order)
    for attention in checkpoint.model.modules():
        if hasattr(attention, "joined"):
            attention.joined = None  # one matrix for q, k and v would pass by the hooks
    by_hand, source = ByHand(checkpoint), other(checkpoint)
    moved = []
    for to in receivers(checkpoint):
        found = PathPatching(checkpoint, SOURCE, source, ANSWER, AGAINST, to=to, ffns=ffns, **options(checkpoint))
        writers = writers_to(checkpoint.description, to)
        told = found.patch(writers)
        assert [one.part for one in told] == writers
        for one in told:
            assert isinstance(one.part, Writer)
            logits = by_hand.patched(one.part, to, ffns)
            row = logits if logits.dim() == 1 else logits[found.row]
            assert one.difference == pytest.approx(float(row[ANSWER] - row[AGAINST]), abs=1e-4), (to, one.part)
            p = sampled(checkpoint, row).double().softmax(-1)[ANSWER]
            assert one.p == pytest.approx(float(p), abs=1e-5)
            moved.append(abs(one.difference - found.sides.base))
    assert max(moved) > 1e-3


# --- What a path is -------------------------------------------------------------------------------------------


def test_only_what_is_written_before_and_to_the_stream_that_is_read_leads_there() -> None:
    about = a_model("encoder-decoder", "pre").description

    def names(to: Receiver | None) -> set[str]:
        return {one.attention if isinstance(one, HeadPart) else one.stack for one in writers_to(about, to)}

    assert names(None) == {"decoder", "cross"}
    assert names(Receiver("cross", 1, 0, "q")) == {"decoder", "cross"}
    assert names(Receiver("cross", 1, 0, "k")) == {"encoder"}
    first = Receiver("decoder", 0, 0, "q")
    assert writers_to(about, first) == []
    same_layer = writers_to(about, Receiver("cross", 0, 0, "q"))
    assert {(one.layer, one.attention) for one in same_layer if isinstance(one, HeadPart)} == {(0, "decoder")}
    assert len(same_layer) == about.attention("decoder").n_head, "the FFN comes later"


def test_the_last_ffn_s_path_to_the_answer_is_its_difference_through_norm_and_unembedding(tiny: Checkpoint) -> None:
    by_hand, source = ByHand(tiny), other(tiny)
    found = PathPatching(tiny, SOURCE, source, ANSWER, AGAINST)
    (one,) = found.patch([FfnPart("main", 1)])
    change = source.tensors["layers.1.ffn.out"][-1] - by_hand.base["layers.1.ffn"][0, -1]
    stream = trace(tiny, SOURCE, ["layers.1.resid_post"]).tensors["layers.1.resid_post"][-1]
    x = tiny.model.get_submodule("final_norm")(stream + change)
    w_u = tiny.model.unembedding.weight
    assert one.difference == pytest.approx(float((w_u[ANSWER] - w_u[AGAINST]) @ x), abs=1e-5)


@both_ways
def test_whole_passes_measure_the_same(family: Checkpoint, ffns: bool) -> None:
    source = other(family)
    run = Run(SOURCE, options(family).get("target"))
    for to in receivers(family):
        asked: Any = {"to": to, "ffns": ffns}
        batched = PathPatching(family, SOURCE, source, ANSWER, AGAINST, **asked, **options(family))
        whole = WholePathPatching(ZooModel(family), run, source, ANSWER, AGAINST, **asked)
        writers = writers_to(family.description, to)
        for one, same in zip(batched.patch(writers), whole.patch(writers), strict=True):
            assert one.part == same.part
            assert one.difference == pytest.approx(same.difference, abs=1e-4)


def test_a_path_of_the_run_to_itself_is_none(tiny: Checkpoint) -> None:
    found = PathPatching(tiny, SOURCE, other(tiny), ANSWER, AGAINST)
    found.knockouts.source = found.knockouts.here
    told = found.patch(writers_to(tiny.description, None))
    assert {one.difference for one in told} == {found.sides.base}


def test_what_the_run_has_switched_off_stays_off(tiny: Checkpoint) -> None:
    """The receiver itself: whatever reaches its v goes nowhere."""

    def silent(x: Tensor, _: int) -> Tensor:
        x[:, 0] = 0.0
        return x

    edit: Any = {"layers.1.attn.z": silent}
    source, to = other(tiny), Receiver("self", 1, 0, "v")
    found = PathPatching(tiny, SOURCE, source, ANSWER, AGAINST, to=to, edit=edit)
    told = found.patch(writers_to(tiny.description, to))
    assert [one.moved for one in told] == pytest.approx([0] * len(told), abs=1e-5)

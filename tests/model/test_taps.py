"""Taps record and edit tensors, and change nothing else."""

import threading

import pytest
import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.block import Memory
from chumoku.model.taps import Tap, match_names, record, tap_dims, visit
from chumoku.model.transformer import DecoderOnly
from tests.model.helpers import causal_mask, random_ids, tiny_model, tiny_translator

PATTERN = "layers.1.attn.pattern"
IDS = random_ids(1, 7)
ABLATE_HEAD_1 = {"layers.1.attn.z": lambda z, _: z * torch.tensor([1.0, 0.0, 1.0])[:, None, None]}


@pytest.fixture
def model() -> DecoderOnly:
    return tiny_model()


def run(model: DecoderOnly) -> Tensor:
    return model(IDS, causal_mask(7))


def test_a_tap_is_named_after_its_place(model: DecoderOnly) -> None:
    for name, dims in tap_dims(model).items():
        tap = model.get_submodule(name)
        assert isinstance(tap, Tap)
        assert (tap.name, tap.dims) == (name, dims)


def test_every_tap_fires_with_the_dimensions_it_names(model: DecoderOnly) -> None:
    sizes = {
        "head": 3,
        "kv_head": 3,
        "position": 7,
        "query": 7,
        "key": 7,
        "d_head": 5,
        "d_model": 15,
        "d_ff": 22,
        "vocab": 258,
    }
    dims = tap_dims(model)
    with record(dims) as recording:
        run(model)
    assert set(recording.tensors) == set(dims)
    for name, tensor in recording.tensors.items():
        assert tensor.shape == (1, *(sizes[dim] for dim in dims[name].split())), name


def test_only_requested_tensors_are_kept(model: DecoderOnly) -> None:
    with record([PATTERN]) as recording:
        run(model)
    assert list(recording.tensors) == [PATTERN]
    run(model)
    assert list(recording.tensors) == [PATTERN]


@pytest.mark.parametrize("norm_order", ["pre", "post"])
def test_recording_changes_no_logit_by_one_bit(norm_order: str) -> None:
    model = tiny_model(norm_order=norm_order)
    with record(tap_dims(model)):
        recorded = run(model)
    assert torch.equal(recorded, run(model))


def test_a_tap_keeps_the_tensor_itself(model: DecoderOnly) -> None:
    with record(["logits"]) as recording:
        logits = run(model)
    assert recording.tensors["logits"] is logits


def test_nothing_works_in_place_on_what_a_tap_has_kept(model: DecoderOnly) -> None:
    seen: dict[str, Tensor] = {}

    def look(name: str, x: Tensor) -> Tensor:
        seen[name] = x.clone()
        return x

    names = tap_dims(model)
    with record(names, {name: lambda x, _, name=name: look(name, x) for name in names}) as recording:
        run(model)
    for name in names:
        assert torch.equal(recording.tensors[name], seen[name]), name


def test_an_edit_is_recorded_and_reaches_everything_after_it_and_nothing_else(model: DecoderOnly) -> None:
    names = list(tap_dims(model))
    with record(names) as before:
        run(model)
    with record(names, ABLATE_HEAD_1) as after:
        run(model)
    changed = {name for name in names if not torch.equal(before.tensors[name], after.tensors[name])}
    later = ["attn.z", "attn.head_out", "attn.attn_out", "resid_mid", "ffn_residual.norm.input"]
    later += ["ffn_residual.norm.out", "ffn.pre", "ffn.post", "ffn.out", "resid_post"]
    assert changed == {f"layers.1.{name}" for name in later} | {"final_norm.input", "final_norm.out", "logits"}


def test_ablating_a_head_takes_away_what_it_wrote(model: DecoderOnly) -> None:
    names = ["layers.1.attn.head_out", "layers.1.attn.attn_out"]
    with record(names) as before:
        run(model)
    with record(names, ABLATE_HEAD_1) as after:
        run(model)
    head_out, attn_out = (before.tensors[name] for name in names)
    torch.testing.assert_close(after.tensors[names[1]], attn_out - head_out[:, 1])


def test_an_edited_mask_forbids_one_cell_of_one_head(model: DecoderOnly) -> None:
    def forbid(reasons: Tensor, _: int) -> Tensor:
        reasons = reasons.clone()
        reasons[:, 2, 5, 3] |= 8
        return reasons

    names = ["layers.1.attn.mask", PATTERN]
    with record(names) as before:
        run(model)
    with record(names, {"layers.1.attn.mask": forbid}) as after:
        run(model)
    changed = (before.tensors["layers.1.attn.mask"] != after.tensors["layers.1.attn.mask"]).nonzero()
    assert changed.tolist() == [[0, 2, 5, 3]]
    pattern = before.tensors[PATTERN].clone()
    row = pattern[0, 2, 5]
    row[3] = 0
    row /= row.sum()
    torch.testing.assert_close(after.tensors[PATTERN], pattern)


def test_patching_an_activation_carries_over_what_depends_on_it(model: DecoderOnly) -> None:
    name = "layers.0.resid_post"
    with record([name]) as source:
        expected = run(model)
    with record([], {name: lambda *_: source.tensors[name]}):
        patched = model(random_ids(1, 7, seed=5), causal_mask(7))
    assert torch.equal(patched, expected)


def test_edits_end_with_their_block_even_when_it_fails(model: DecoderOnly) -> None:
    plain = run(model)
    with record([], {PATTERN: lambda x, _: x * 0}):
        assert not torch.equal(run(model), plain)
    assert torch.equal(run(model), plain)
    with pytest.raises(ZeroDivisionError), record([], {PATTERN: lambda x, _: x / (1 // 0)}):
        run(model)
    assert torch.equal(run(model), plain)


def test_an_inner_recording_replaces_the_outer_one_while_it_lasts(model: DecoderOnly) -> None:
    plain = run(model)
    with record([PATTERN], {PATTERN: lambda x, _: x * 0}) as outer:
        with record(["logits"]) as inner:
            assert torch.equal(run(model), plain)
        assert (set(outer.tensors), set(inner.tensors)) == (set(), {"logits"})
        run(model)
    assert (set(outer.tensors), set(inner.tensors)) == ({PATTERN}, {"logits"})


def test_another_thread_sees_no_recording(model: DecoderOnly) -> None:
    plain = run(model)
    outputs = []
    with record([PATTERN], {PATTERN: lambda x, _: x * 0}) as recording:
        thread = threading.Thread(target=lambda: outputs.append(run(model)))
        thread.start()
        thread.join()
    assert recording.tensors == {}
    assert torch.equal(outputs[0], plain)


def test_every_edit_of_a_tap_matters(model: DecoderOnly) -> None:
    """No tap can be edited without effect: that would be misleading."""
    plain = run(model)
    idle = []
    for name in tap_dims(model):
        with record([], {name: lambda x, _: x * 0 if x.is_floating_point() else x | 8}):
            if torch.equal(run(model), plain):
                idle.append(name)
    assert idle == []


def test_an_edit_knows_where_its_queries_begin(model: DecoderOnly) -> None:
    """With a cache, row 5 of the whole mask is row 0 of a step that reads only token 5."""
    cache, seen = model.new_cache(), []
    with record([], {"layers.1.attn.mask": lambda mask, first: seen.append((first, *mask.shape[-2:])) or mask}):
        for start, end in ((0, 4), (4, 5), (5, 7)):
            model(IDS[:, start:end], causal_mask(7)[:, :, start:end, :end], cache=cache)
        model(IDS, causal_mask(7))
    assert seen == [(0, 4, 4), (4, 1, 5), (5, 2, 7), (0, 7, 7)]


def test_each_stack_has_a_beginning_of_its_own() -> None:
    """After a decoder's cached steps, an encoder starts at 0 again."""
    model, seen = tiny_translator(), []
    cache = model.new_cache()
    note = {f"{stack}.layers.0.resid_pre": lambda x, first: seen.append(first) or x for stack in ("encoder", "decoder")}
    with record([], note):
        memory = Memory(model.encode(IDS, masks.nothing(7, 7)[None, None]), masks.nothing(1, 7)[None, None])
        for n in range(2):
            model.decode(IDS[:, n : n + 1], masks.nothing(1, n + 1)[None, None], memory, cache=cache)
        model.encode(IDS, masks.nothing(7, 7)[None, None])
    assert seen == [0, 0, 1, 0]


def test_a_name_that_no_module_has_can_be_visited() -> None:
    """As an adapter of another model does."""
    x = torch.ones(2)
    assert visit("h.0.attn", x) is x
    with record(["h.0.attn"], {"h.0.attn": lambda x, _: x * 3}) as recording:
        assert visit("h.0.attn", x).tolist() == [3, 3]
    assert recording.tensors["h.0.attn"].tolist() == [3, 3]


def test_taps_vanish_while_compiling(model: DecoderOnly, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run(model)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    with record(tap_dims(model), {PATTERN: lambda x, _: x * 0}) as recording:
        assert torch.equal(run(model), plain)
    assert recording.tensors == {}


def test_a_compiled_model_is_one_graph_without_taps(model: DecoderOnly) -> None:
    plain = run(model)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    with record(tap_dims(model)) as recording:
        torch.testing.assert_close(compiled(IDS, causal_mask(7)), plain)
    assert recording.tensors == {}


def test_names_match_as_in_a_shell() -> None:
    known = ["embedding", "layers.0.attn.q", "layers.0.attn.pattern", "layers.10.attn.q"]
    assert match_names(["layers.*.attn.q"], known) == ["layers.0.attn.q", "layers.10.attn.q"]
    assert match_names(["layers.?.attn.*", "embedding", "embedding"], known) == known[:3]
    assert match_names(["*"], known) == known
    assert match_names([], known) == []


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(KeyError, match=r"no tensor is named 'layers\.9\.\*'; known are embedding, logits"):
        match_names(["logits", "layers.9.*"], ["embedding", "logits"])
    with pytest.raises(KeyError):
        match_names(["Logits"], ["logits"])

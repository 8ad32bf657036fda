"""RWKV of transformers, traced: its own recurrence computes, and the weights shown beside it are ours."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers.models.rwkv import modeling_rwkv

from chumoku.model import masks
from chumoku.model.attribution import norm_contributions
from chumoku.model.attribution.norm_contributions import route_of
from chumoku.model.config import ModelConfig
from chumoku.model.explain.head_labels import labels_of
from chumoku.model.generate import Generator, steps
from chumoku.model.identities import discrepancies
from chumoku.model.mechanisms.attention_free import STATE
from chumoku.model.mechanisms.wkv import Wkv
from chumoku.model.run import Run
from chumoku.model.sampling import SamplingSettings
from chumoku.model.taps import name_taps, record
from chumoku.model.trace import Masks
from chumoku.model.traceable import source_of
from chumoku.model.traceable.huggingface import HuggingFaceFolders
from chumoku.model.traceable.huggingface.families.rwkv import can_route
from chumoku.model.traceable.huggingface.loading import load_model
from tests.model.helpers import check_rows_of_steps
from tests.model.test_huggingface_refusals import change
from tests.toys import huggingface as toys

CPU = torch.device("cpu")
TEXT = "a little cat sat"
SOURCE = HuggingFaceFolders()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.save(tmp_path_factory.mktemp("hf") / "rwkv", toys.random_numbers(toys.rwkv()), toys.byte_level())


@pytest.fixture(scope="module")
def traceable(folder: Path) -> Any:
    source = source_of(folder)
    assert source is not None
    return source.open(folder, CPU)


def run_of(traceable: Any, text: str = TEXT, **more: Any) -> Run:
    return Run(traceable.tokenizer.encode(text), **more)


def traced(traceable: Any, **more: Any) -> dict[str, Tensor]:
    found: dict[str, Tensor] = traceable.trace(run_of(traceable, **more), list(traceable.description.taps)).tensors
    return found


def test_a_step_has_rows_of_its_queries_alone(traceable: Any) -> None:
    """Of k and v too: a state has no list of keys."""
    check_rows_of_steps(traceable, run_of(traceable))


@pytest.mark.parametrize("every", [2, 3], ids=["halved before its last layer", "and after it"])
def test_its_lens_ends_with_its_logits_and_its_groups_are_labelled(every: int, tmp_path: Path) -> None:
    model = toys.random_numbers(toys.rwkv(rescale_every=every))
    traceable = SOURCE.open(toys.save(tmp_path / "rwkv", model, toys.byte_level()), CPU)
    last = traceable.description.readout.stream[-1]
    found = traceable.trace(run_of(traceable), [last, "logits"]).tensors
    assert torch.equal(traceable.read(found[last]), found["logits"])
    assert traceable.description.can["lens"]
    assert len(labels_of(traceable, run_of(traceable))) == 3 * 2


def ours(traceable: Any, layer: int) -> Wkv:
    """Our own mechanism with this layer's numbers."""
    (attention,) = traceable.description.attentions
    mixer = Wkv(traceable.description.d_model, attention.n_head)
    names = {role: taken[layer] for role, taken in attention.parameters.items()}
    weights = traceable.weights(list(names.values()))
    mixer.load_state_dict({
        f"{role}.weight" if role.startswith("w_") else role: weights[name] for role, name in names.items()
    })  # fmt: skip
    name_taps(mixer)
    return mixer.eval()


def test_logits_and_what_is_written_are_theirs_bit_for_bit(traceable: Any, folder: Path) -> None:
    """In a batch, with everything recorded. (Its `attentions` are what time mixing writes.)"""
    eager = load_model(folder, "RwkvForCausalLM", "eager")
    ids = torch.tensor([traceable.tokenizer.encode(TEXT)[:9], traceable.tokenizer.encode("no bird sings")[:9]])
    with torch.inference_mode(), record(traceable.description.taps) as recording:
        found = traceable.read_ids(ids, ids, ids)
        theirs = eager(ids, output_attentions=True, output_hidden_states=True)
    assert torch.equal(found, theirs.logits)
    for n, written in enumerate(theirs.attentions):
        assert torch.equal(recording.tensors[traceable.description.attentions[0].tap("attn_out", n)], written)
    for layer, read in zip(traceable.description.stacks[0].layers[1:], theirs.hidden_states, strict=False):
        assert torch.equal(recording.tensors[layer.sublayers[0].reads.tap], read)


def test_its_weights_are_those_of_our_own_mechanism(traceable: Any) -> None:
    found = traced(traceable)
    (attention,), n = traceable.description.attentions, len(run_of(traceable).ids)
    places, mask = torch.arange(n)[None], masks.causal(n, n)[None, None]
    for part in traceable.description.stacks[0].sublayers[::2]:
        mixer, x = ours(traceable, part.layer), found[part.input.tap][None]
        with torch.inference_mode(), record(attention.roles) as recording:
            mixer(x, x, mask, places, places)
        for role in attention.roles:
            expected = recording.tensors[role][0]
            torch.testing.assert_close(found[attention.tap(role, part.layer)], expected, rtol=1e-4, atol=1e-5)


def test_a_trace_agrees_with_itself(traceable: Any) -> None:
    found = traced(traceable)
    (attention,) = traceable.description.attentions
    for layer in range(attention.n_layer):
        weights, mask = (found[attention.tap(role, layer)] for role in ("weights", "mask"))
        assert torch.allclose(weights.sum(2), torch.ones(()))
        assert not weights[mask != 0].any()
        told = list(discrepancies(attention, layer, found, {}.__getitem__))
        assert len(told) == 5
        assert all(gap.relative < 1e-5 for gap in told)


def test_its_ffn_is_channel_mixing(traceable: Any) -> None:
    """W_1 and W_r multiply mixes with the token before; σ(r) times what W_2 gives is written."""
    found = traced(traceable)
    for ffn in traceable.description.stacks[0].ffns:
        of = traceable.weights(list(ffn.parameters.values()))
        w = {role: of[name] for role, name in ffn.parameters.items()}
        x = found[ffn.norm.roles["out"].tap]
        before = torch.cat((torch.zeros_like(x[:1]), x[:-1]))
        for mix, shifted in (("mix_k", "shifted"), ("mix_r", "shifted_r")):
            mixed = x * w[mix] + before * (1 - w[mix])
            torch.testing.assert_close(found[ffn.roles[shifted].tap], mixed)
        post = (found[ffn.input.tap] @ w["w_1"].T).relu() ** 2
        torch.testing.assert_close(found[ffn.roles["post"].tap], post, rtol=1e-4, atol=1e-5)
        value, r = post @ w["w_2"].T, found[ffn.roles["shifted_r"].tap] @ w["w_r"].T
        torch.testing.assert_close(found[ffn.roles["value"].tap], value, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(found[ffn.writes.tap], r.sigmoid() * value, rtol=1e-4, atol=1e-5)


def test_the_stream_is_a_sum_and_is_halved_where_the_description_says(traceable: Any) -> None:
    found, (stack,) = traced(traceable), traceable.description.stacks
    for one in stack.sublayers:
        torch.testing.assert_close(found[one.leaves.tap], found[one.reads.tap] + found[one.writes.tap])
    assert [layer.scale for layer in stack.layers] == [None, 0.5, None]
    follow = [layer.sublayers[0].reads.tap for layer in stack.layers[1:]] + [stack.final_norm.roles["input"].tap]
    for layer, reads in zip(stack.layers, follow, strict=True):
        assert torch.equal(found[layer.sublayers[-1].leaves.tap] * (layer.scale or 1.0), found[reads])
    assert "scale" not in traceable.description.to_json()["stacks"][0]["layers"][0]


def test_parameters_are_those_that_are_used(traceable: Any, folder: Path) -> None:
    """Its first reading divides the matrices of the third layer: that happens before threads share it."""
    assert traceable.model.rwkv.layers_are_rescaled
    names = list(traceable.about.weights)
    weights = traceable.weights(names)
    assert {name: list(weights[name].shape) for name in names} == {
        name: one.shape for name, one in traceable.about.weights.items()
    }
    stored = load_model(folder, "RwkvForCausalLM", "eager")
    (attention,) = traceable.description.attentions
    for layer, divisor in enumerate((1, 1, 2)):
        own = stored.get_parameter(f"rwkv.blocks.{layer}.attention.output.weight")
        assert torch.equal(weights[attention.parameters["w_o"][layer]], own / divisor)


@pytest.mark.parametrize("layer", [0, 2])
def test_a_mask_edit_is_computed_by_the_weights(traceable: Any, layer: int) -> None:
    (attention,) = traceable.description.attentions
    mask, z, logits = attention.tap("mask", layer), attention.tap("z", layer), traceable.description.logits.tap

    def forbid(x: Tensor, _: int) -> Tensor:
        x = x.contiguous()
        x[:, 0, 3, 1] = 8
        return x

    plain, cut = traced(traceable), traced(traceable, edit={mask: forbid})
    mixer, n = ours(traceable, layer), len(run_of(traceable).ids)
    x = plain[traceable.description.stacks[0].layers[layer].sublayers[0].input.tap][None]
    places, reasons = torch.arange(n)[None], masks.causal(n, n)[None, None]
    with torch.inference_mode(), record(["z", "weights"], edit={"mask": forbid}) as recording:
        mixer(x, x, reasons, places, places)
    torch.testing.assert_close(cut[z], recording.tensors["z"][0], rtol=1e-4, atol=1e-5)
    assert not cut[attention.tap("weights", layer)][0, 3, 1].any()
    assert torch.equal(cut[attention.tap("weights", layer)][1], plain[attention.tap("weights", layer)][1])
    assert not torch.equal(cut[logits][3:], plain[logits][3:])
    torch.testing.assert_close(cut[logits][:3], plain[logits][:3])


def test_weights_that_are_changed_are_the_ones_that_mix(traceable: Any) -> None:
    (attention,) = traceable.description.attentions
    weights, mixed, v = (attention.tap(role, 1) for role in ("weights", "mixed", "v"))
    run = run_of(traceable, edit={weights: lambda x, _: x * 0.5})
    found = traced(traceable, edit=run.edit)
    assert torch.equal(traceable.trace(run, [mixed]).tensors[mixed], found[mixed])
    expected = (found[weights] * found[v][:, None]).sum(2)
    torch.testing.assert_close(found[mixed], expected)
    torch.testing.assert_close(found[weights].sum(2), torch.full(found[mixed].shape, 0.5))


def test_a_group_that_is_off_writes_nothing(traceable: Any) -> None:
    (attention,) = traceable.description.attentions
    z, written, w_o = attention.tap("z", 0), attention.tap("attn_out", 0), attention.parameters["w_o"][0]

    def off(x: Tensor, _: int) -> Tensor:
        x = x.clone()
        x[:, 1] = 0
        return x

    plain, ablated = traced(traceable), traced(traceable, edit={z: off})
    taken = plain[z][1] @ traceable.weights([w_o])[w_o][:, attention.d_head :].T
    torch.testing.assert_close(plain[written] - ablated[written], taken, rtol=1e-4, atol=1e-5)


def test_weights_computed_in_pieces_are_the_same(traceable: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from chumoku.model.traceable.huggingface import recurrent

    whole = traced(traceable)
    monkeypatch.setattr(recurrent, "AT_ONCE", 5000)
    pieces = traced(traceable)
    assert all(torch.equal(pieces[name], whole[name]) for name in whole)


def test_later_keys_are_forbidden_without_the_causal_mask_too(traceable: Any) -> None:
    plain, free = traced(traceable), traced(traceable, use=Masks(causal=False))
    assert all(torch.equal(free[name], plain[name]) for name in plain)


@pytest.mark.parametrize("is_cut", [False, True], ids=["plain", "cut"])
def test_a_text_grows_from_its_state_as_it_would_without(traceable: Any, is_cut: bool) -> None:
    (attention,) = traceable.description.attentions
    names = [attention.tap(role, 2) for role in ("weights", "mean_weights", "mask", "attn_out")]

    def forbid(x: Tensor, first_query: int) -> Tensor:
        """Every query from 3 on is without key 1."""
        x = x.contiguous()
        x[:, 0, max(0, 3 - first_query) :, 1] = 8
        return x

    run = run_of(traceable, edit={attention.tap("mask", 1): forbid} if is_cut else {})
    greedy, n = SamplingSettings(temperature=0), len(run.ids)
    session = traceable.start(run, names)
    written = [*steps(Generator(session, greedy, []), None, 3)]
    assert [step.computed for step in written] == [n, 1, 1, 1]
    whole = traceable.trace(replace(run, ids=written[-1].ids), names).tensors
    for name in names:
        got, expected = written[-1].tensors[name], whole[name]
        row = (slice(None), -1) if expected.dim() > 2 else -1
        torch.testing.assert_close(got[row], expected[row], rtol=1e-4, atol=1e-5 * float(expected.abs().max() + 1))
    assert session.nbytes == 4 * 3 * 78 * (5 + 2 * (n + 3))
    *_, again = steps(Generator(traceable.start(replace(run, looks_ahead=True), []), greedy, []), None, 3)
    assert again.ids == written[-1].ids


def test_threads_that_share_a_model_do_not_mix(traceable: Any) -> None:
    texts = ["one small dog ran", "two cats sat here", "no bird may sing", "the sun is so warm"]
    names, greedy = list(traceable.description.taps), SamplingSettings(temperature=0)

    def all_of(text: str) -> tuple[dict[str, Tensor], list[int]]:
        *_, last = steps(Generator(traceable.start(run_of(traceable, text), []), greedy, []), None, 3)
        return traceable.trace(run_of(traceable, text), names).tensors, last.ids

    alone = {text: all_of(text) for text in texts}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: (text, all_of(text)), texts * 6))
    for text, (tensors, ids) in found:
        assert ids == alone[text][1]
        assert all(torch.equal(tensors[name], alone[text][0][name]) for name in names)


def test_the_river_says_where_each_number_comes_from(traceable: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (river,) = route_of(traceable, run_of(traceable))
    for flow in river.flows:
        torch.testing.assert_close(flow.share.sum(-1), torch.ones_like(flow.residual))
    monkeypatch.setattr(norm_contributions, "PIECE", 1)  # one key at a time
    (again,) = route_of(traceable, run_of(traceable))
    for flow, other in zip(river.flows, again.flows, strict=True):
        torch.testing.assert_close(flow.share, other.share, rtol=0, atol=1e-12)


def test_what_is_known_of_a_large_one(tmp_path: Path) -> None:
    """Of 768 features a layer has 113 MB of weights for 192 tokens. Its river is computed some keys at a time; of a
    much larger model it would take too long."""
    sizes = {"hidden_size": 768, "intermediate_size": 4, "num_hidden_layers": 2, "context_length": 1024}
    folder = toys.save(tmp_path / "wide", toys.rwkv(**sizes, attention_hidden_size=768), toys.byte_level())
    about = SOURCE.about(folder)
    assert (about.description.max_seq_len, about.n_positions) == (192, 1024)
    assert (about.description.attentions[0].n_head, about.description.attentions[0].d_head) == (12, 64)
    assert about.description.can["route"]
    sizes = {"vocab_size": 9, "d_ff": 1, "position": "none", "mechanism": "wkv"}
    wide, wider = (
        ModelConfig(n_layer=24, n_head=d // 64, d_model=d, max_seq_len=n, **sizes)
        for d, n in ((1024, 192), (2048, 128))
    )
    assert (can_route(wide), can_route(wider)) == (True, False)


def test_it_has_no_pad_to_offer(traceable: Any) -> None:
    """It has no mask: a PAD is read like any token."""
    assert traceable.tokenizer.special.pad is None
    assert traceable.description.can["pads"] is False


def test_a_state_of_another_size_is_refused(folder: Path, tmp_path: Path) -> None:
    own = toys.save(tmp_path / "tiny", toys.rwkv(), toys.byte_level())
    change(own, attention_hidden_size=40)
    with pytest.raises(ValueError, match="rwkv with attention_hidden_size=40 cannot be shown yet"):
        SOURCE.about(own)


def test_another_recurrence_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = modeling_rwkv.rwkv_linear_attention_cpu

    def slower(decay: Tensor, *others: Any, **more: Any) -> Any:
        return theirs(decay * 1.01, *others, **more)

    monkeypatch.setattr(modeling_rwkv, "rwkv_linear_attention_cpu", slower)
    with pytest.raises(ValueError, match="its mixed in layer 0 is not what k, decay and bonus give: they differ by"):
        SOURCE.open(folder, CPU)


def test_its_state_is_the_one_that_transformers_carries(traceable: Any, folder: Path) -> None:
    """After any number of tokens, as their own recurrence leaves it: two sums divided by e^max."""
    model, ids = load_model(folder, "RwkvForCausalLM", "eager"), traceable.tokenizer.encode(TEXT)
    (attention,), found = traceable.description.attentions, traced(traceable)
    for n in (1, len(ids)):
        with torch.inference_mode():
            _, _, above, below, most = model(torch.tensor([ids[:n]]), use_cache=True).state
        for layer in range(attention.n_layer):
            mean, log_sum = (found[attention.tap(role, layer)][:, n - 1].flatten() for role in STATE)
            torch.testing.assert_close(mean, (above / below)[0, :, layer], rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(log_sum, (below.log() + most)[0, :, layer], rtol=1e-4, atol=1e-5)

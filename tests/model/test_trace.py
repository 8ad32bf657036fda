"""A trace agrees with itself, on every model of the zoo and on random ones; and threads do not mix theirs up."""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice

import pytest
import torch
from torch import Tensor

from model import masks
from model.attention import masked_softmax
from model.checkpoint import Checkpoint
from model.taps import tap_dims
from model.trace import Masks, Padding, Trace, trace
from tests.model.helpers import NORM_ORDERS, POSITIONS, close, tiny_checkpoint

TEXT = "Once upon a time, there was a tiny dragon who could not find her way home. 😀"


@pytest.fixture(params=["causal", "unmasked", "left-padded", "right-padded"])
def traced(request: pytest.FixtureRequest, zoo: Checkpoint) -> tuple[Checkpoint, Trace]:
    options = {
        "unmasked": {"use": Masks(causal=False)},
        "left-padded": {"pad": Padding(3, "left")},
        "right-padded": {"pad": Padding(2, "right")},
    }
    return zoo, trace(zoo, zoo.tokenizer.encode(TEXT), **options.get(request.param, {}))


def check_attention(t: dict[str, Tensor], layer: str) -> None:
    q, k, v, scores, mask, pattern, z, head_out = (
        t[f"{layer}.attn.{part}"] for part in ("q", "k", "v", "scores", "mask", "pattern", "z", "head_out")
    )
    assert scores.isfinite().all()
    close(scores, q @ k.mT / math.sqrt(q.shape[-1]), 1e-4)
    assert torch.equal(pattern, masked_softmax(scores, mask == 0))
    shifted = (scores.double() + torch.where(mask == 0, 0.0, -torch.inf)).exp()
    close(pattern.double(), (shifted / shifted.sum(-1, keepdim=True)).nan_to_num(), 1e-6)
    assert (pattern[mask != 0] == 0).all()
    close(pattern.sum(-1), (mask == 0).any(-1).float(), 1e-5)
    close(z, pattern @ v, 1e-5)
    assert head_out.shape == (len(q), *t[f"{layer}.attn.attn_out"].shape)


def test_softmax_of_the_scores_is_the_pattern_and_pattern_times_v_is_z(traced: tuple[Checkpoint, Trace]) -> None:
    checkpoint, run = traced
    for n in range(checkpoint.config.n_layer):
        check_attention(run.tensors, f"layers.{n}")


def check_stream(checkpoint: Checkpoint, t: dict[str, Tensor]) -> None:
    """Every part of the residual stream is the sum that the picture says it is."""
    model, stream = checkpoint.model, t["embedding"] + t["positional"]
    for n, block in enumerate(model.layers):
        part = {name.removeprefix(f"layers.{n}."): x for name, x in t.items() if name.startswith(f"layers.{n}.")}
        assert torch.equal(part["resid_pre"], stream)
        close(part["attn.head_out"].sum(0) + block.attn.w_o.bias, part["attn.attn_out"], 1e-4)
        assert torch.equal(part["ffn.post"], part["ffn.pre"].clamp(min=0))
        middle, end = part["resid_pre"] + part["attn.attn_out"], part["resid_mid"] + part["ffn.out"]
        if checkpoint.config.norm_order == "post":
            middle, end = block.attn_residual.norm(middle), block.ffn_residual.norm(end)
        assert torch.equal(part["resid_mid"], middle)
        assert torch.equal(part["resid_post"], end)
        stream = end
    last = t["final_norm.out"] if checkpoint.config.norm_order == "pre" else stream
    close(t["logits"], last @ model.unembedding.weight.T, 1e-4)


def test_the_residual_stream_adds_up(traced: tuple[Checkpoint, Trace]) -> None:
    checkpoint, run = traced
    check_stream(checkpoint, run.tensors)


def test_layer_norms_normalise_their_inputs(traced: tuple[Checkpoint, Trace]) -> None:
    checkpoint, run = traced
    names = [name.removesuffix(".input") for name in run.tensors if name.endswith("norm.input")]
    assert names
    for name in names:
        norm, x = checkpoint.model.get_submodule(name), run.tensors[f"{name}.input"].double()
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + checkpoint.config.layer_norm_eps).sqrt()
        close(run.tensors[f"{name}.out"].double(), scaled * norm.weight + norm.bias, 1e-4)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("norm_order", NORM_ORDERS)
def test_random_models_of_every_kind_agree_with_themselves(position: str, norm_order: str) -> None:
    checkpoint = tiny_checkpoint(position=position, norm_order=norm_order, scale_embeddings=True)
    run = trace(checkpoint, list(b"attention"), pad=Padding(2))
    check_stream(checkpoint, run.tensors)
    for n in range(2):
        check_attention(run.tensors, f"layers.{n}")


def test_a_trace_has_the_logits_that_the_model_has_without_it(zoo: Checkpoint) -> None:
    ids = zoo.tokenizer.encode(TEXT)
    mask = trace(zoo, ids, ["layers.0.attn.mask"]).tensors["layers.0.attn.mask"][:1]
    logits = zoo.model(torch.tensor([ids]), mask[None])[0]
    assert torch.equal(trace(zoo, ids).tensors["logits"], logits)
    assert torch.equal(trace(zoo, ids, ["logits"]).tensors["logits"], logits)


def test_without_the_causal_mask_every_query_sees_every_key(tiny: Checkpoint) -> None:
    names = ["layers.0.attn.mask", "layers.0.attn.pattern", "logits"]
    mask, pattern, logits = trace(tiny, list(b"abcd"), names, use=Masks(causal=False)).tensors.values()
    assert (mask == 0).all()
    assert (pattern > 0).all()
    unmasked = masks.nothing(4, 4)[None, None]
    assert torch.equal(logits, tiny.model(torch.tensor([list(b"abcd")]), unmasked)[0])
    assert not torch.allclose(logits, trace(tiny, list(b"abcd"), ["logits"]).tensors["logits"], atol=1e-2)


def test_names_come_back_in_the_order_asked_with_their_dimensions(tiny: Checkpoint) -> None:
    names = ["logits", "layers.0.attn.q"]
    run = trace(tiny, list(b"abc"), names)
    assert list(run.tensors) == names
    assert run.dims == {"logits": "position vocab", "layers.0.attn.q": "head position d_head"}
    assert list(trace(tiny, list(b"abc")).tensors) == list(tap_dims(tiny.model))


@pytest.mark.parametrize("wanted", [{"names": ["pattern"]}, {"edit": {"pattern": lambda x: x}}])
def test_an_unknown_tap_lists_the_known_ones(tiny: Checkpoint, wanted: dict) -> None:
    with pytest.raises(KeyError, match=r"'pattern'; known are .*layers\.0\.attn\.pattern"):
        trace(tiny, list(b"abc"), **wanted)


def test_the_window_is_the_limit(tiny: Checkpoint) -> None:
    window = tiny.config.max_seq_len
    assert trace(tiny, [65] * window, ["logits"]).tensors["logits"].shape == (window, 258)
    with pytest.raises(ValueError, match="25 tokens are 1 more than the model's window of 24"):
        trace(tiny, [65] * (window + 1))
    with pytest.raises(ValueError, match="2 more"):
        trace(tiny, [65] * window, pad=Padding(2))
    with pytest.raises(ValueError, match="no token"):
        trace(tiny, [])


def test_threads_on_one_model_get_each_their_own_trace(zoo: Checkpoint) -> None:
    """8 threads, 12 rounds, different sentences and edits: every tensor is what a trace alone gives, bit for bit."""

    def job(n: int) -> Trace:
        name = f"layers.{n % zoo.config.n_layer}.attn.z"
        edit = {name: lambda z: z * 0} if n % 3 == 0 else None
        return trace(zoo, ids[n], names, edit=edit)

    torch.set_num_threads(os.cpu_count() or 1)  # as the app runs
    ends = ("pattern", "z", "attn_out", "resid_post", "logits")
    names = [name for name in tap_dims(zoo.model) if name.endswith(ends)]
    words = cycle(zoo.tokenizer.encode(TEXT))
    ids = [list(islice(words, 5 + 3 * n)) for n in range(8)]
    alone = [job(n) for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(job, [n for _ in range(12) for n in range(8)]))
    mixed_up = [
        (n, name)
        for n, run in zip(cycle(range(8)), together, strict=False)
        for name in names
        if not torch.equal(run.tensors[name], alone[n].tensors[name])
    ]
    assert mixed_up == []

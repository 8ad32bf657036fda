"""A trace is consistent, on every model of the zoo and on random models; threads do not mix up their traces."""

import copy
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import cycle, islice
from typing import Any

import pytest
import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.block import Block, CrossBlock, PostNormResidual, ResPostNormResidual
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.config import Family
from chumoku.model.describe import Attention
from chumoku.model.identities import discrepancies
from chumoku.model.interventions import AblateHead
from chumoku.model.mechanisms.softmax import masked_softmax
from chumoku.model.stack import BlockStack
from chumoku.model.taps import tap_dims
from chumoku.model.trace import Masks, Padding, Trace, trace
from chumoku.model.transformer import EncoderDecoder, EncoderOnly
from tests.model.helpers import FAMILIES, NORM_ORDERS, POSITIONS, close, target_of, tiny_checkpoint
from tests.pairwise import pairwise

TEXT = "Once upon a time, there was a tiny dragon who could not find her way home. 😀"
TARGET = "むかしむかし、ある所に小さな竜がいました。"
OPTIONS = {
    "as trained": {},
    "unmasked": {"use": Masks(causal=False, padding=False)},
    "causal": {"use": Masks(causal=True)},
    "left-padded": {"pad": Padding(3, "left")},
    "right-padded": {"pad": Padding(2, "right")},
}


def trace_text(checkpoint: Checkpoint, names: list[str] | None = None, **options: Any) -> Trace:
    """A trace of TEXT, and of TARGET where the model writes one."""
    window = checkpoint.config.max_seq_len
    ids, target = (checkpoint.tokenizer.encode(text)[: min(40, window - 4)] for text in (TEXT, TARGET))
    return trace(checkpoint, ids, names, **target_of(checkpoint, target), **options)


@pytest.fixture(params=OPTIONS)
def traced(request: pytest.FixtureRequest, zoo: Checkpoint) -> tuple[Checkpoint, Trace]:
    return zoo, trace_text(zoo, **OPTIONS[request.param])


def check_attention(t: dict[str, Tensor], one: Attention, layer: int) -> None:
    """Checked by hand too: the identities and their checker could be wrong together."""
    q, k, v, scores, mask, pattern, z, head_out, attn_out = (
        t[one.tap(role, layer)] for role in ("q", "k", "v", "scores", "mask", "pattern", "z", "head_out", "attn_out")
    )
    assert scores.isfinite().all()
    close(scores, q @ k.mT / math.sqrt(q.shape[-1]), 1e-4)
    assert torch.equal(pattern, masked_softmax(scores, mask == 0))
    shifted = (scores.double() + torch.where(mask == 0, 0.0, -torch.inf)).exp()
    close(pattern.double(), (shifted / shifted.sum(-1, keepdim=True)).nan_to_num(), 1e-6)
    assert (pattern[mask != 0] == 0).all()
    close(pattern.sum(-1), (mask == 0).any(-1).float(), 1e-5)
    close(z, pattern @ v, 1e-5)
    assert head_out.shape == (len(q), *attn_out.shape)


def check_attentions(checkpoint: Checkpoint, t: dict[str, Tensor]) -> None:
    for one in checkpoint.description.attentions:
        for n in range(one.n_layer):
            found = list(discrepancies(one, n, t, checkpoint.model.get_parameter))
            assert [gap.op for gap in found] == [
                *(identity.op for identity in one.identities),
                *["sum"] * len(one.parts),
            ]
            if one.kind == "softmax":
                check_attention(t, one, n)
                assert [gap.op for gap in found] == ["scaled_product", "masked_softmax", "weighted_sum", "sum_heads"]
            assert [gap for gap in found if gap.absolute > 1e-4] == []


def test_each_attention_s_equations_hold_between_its_tensors(traced: tuple[Checkpoint, Trace]) -> None:
    checkpoint, run = traced
    check_attentions(checkpoint, run.tensors)


def added(block: Block, sublayer: str, stream: Tensor, t: dict[str, Tensor]) -> Tensor:
    """The stream after a sublayer, from the stream before it and the sublayer's output."""
    written = t["ffn.out"] if sublayer == "ffn" else t[f"{sublayer}.attn_out"]
    residual = block.get_submodule(f"{sublayer}_residual")
    if isinstance(residual, PostNormResidual):
        return residual.norm(stream + written)
    return stream + (residual.norm(written) if isinstance(residual, ResPostNormResidual) else written)


def check_stack(stack: BlockStack, t: dict[str, Tensor]) -> Tensor:
    """Every part of the residual stream is the sum that the page shows; t: the taps of one stack.
    Returns the end of the stream."""
    stream = t["embedding"] + t["positional"]
    for n, block in enumerate(stack.layers):
        part = below(f"layers.{n}.", t)
        assert torch.equal(part["resid_pre"], stream)
        for attn in ("attn", "cross_attn") if isinstance(block, CrossBlock) else ("attn",):
            w_o = block.get_submodule(attn).w_o
            if f"{attn}.head_out" in part:  # where heads are added up
                close(part[f"{attn}.head_out"].sum(0) + w_o.bias, part[f"{attn}.attn_out"], 1e-4)
        assert torch.equal(part["ffn.post"], part["ffn.pre"].clamp(min=0))
        assert torch.equal(part["resid_mid"], added(block, "attn", stream, part))
        stream = part["resid_mid"]
        if isinstance(block, CrossBlock):
            assert torch.equal(part["resid_cross"], added(block, "cross_attn", stream, part))
            stream = part["resid_cross"]
        assert torch.equal(part["resid_post"], added(block, "ffn", stream, part))
        stream = part["resid_post"]
    if stack.config.norm_order == "post":
        assert "final_norm.out" not in t
        return stream
    assert torch.equal(t["final_norm.input"], stream)
    return t["final_norm.out"]


def below(prefix: str, t: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): x for name, x in t.items() if name.startswith(prefix)}


def check_streams(checkpoint: Checkpoint, run: Trace) -> None:
    model, t = checkpoint.model, run.tensors
    if isinstance(model, EncoderDecoder):
        memory = check_stack(model.encoder, below("encoder.", t))
        last = check_stack(model.decoder, below("decoder.", t)) @ model.unembedding.weight.T
        cross = model.decoder.layers[0].cross_attn
        close(t["decoder.layers.0.cross_attn.k"], cross.split_heads(cross.w_k(memory[None]))[0], 1e-4)
    elif isinstance(model, EncoderOnly):
        cls = run.ids.index(checkpoint.tokenizer.first_id)
        last = check_stack(model, t)[cls] @ model.classifier.weight.T + model.classifier.bias
    else:
        last = check_stack(model, t) @ model.unembedding.weight.T
    close(t["logits"], last, 1e-4)


def test_the_residual_stream_adds_up(traced: tuple[Checkpoint, Trace]) -> None:
    check_streams(*traced)


def test_layer_norms_normalise_their_inputs(traced: tuple[Checkpoint, Trace]) -> None:
    checkpoint, run = traced
    names = [name.removesuffix(".input") for name in run.tensors if name.endswith("norm.input")]
    assert names
    for name in names:
        norm, x = checkpoint.model.get_submodule(name), run.tensors[f"{name}.input"].double()
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + checkpoint.config.layer_norm_eps).sqrt()
        close(run.tensors[f"{name}.out"].double(), scaled * norm.weight + norm.bias, 1e-4)


@pytest.mark.parametrize(("kind", "position", "norm_order"), pairwise(FAMILIES, POSITIONS, NORM_ORDERS))
def test_random_models_of_every_kind_agree_with_themselves(kind: Family, position: str, norm_order: str) -> None:
    checkpoint = tiny_checkpoint(kind, position=position, norm_order=norm_order, scale_embeddings=True)
    for options in OPTIONS.values():
        run = trace_text(checkpoint, **options)
        check_streams(checkpoint, run)
        check_attentions(checkpoint, run.tensors)


def test_a_trace_has_the_logits_that_the_model_has_without_it(zoo: Checkpoint) -> None:
    """Recording changes no logit by one bit."""
    whole = trace_text(zoo)
    assert torch.equal(trace_text(zoo, ["logits"]).tensors["logits"], whole.tensors["logits"])
    ids, n = torch.tensor([whole.ids]), len(whole.ids)
    if zoo.config.family == "encoder-decoder":
        target = torch.tensor([whole.target_ids])
        m = target.shape[1]
        all_masks = (masks.nothing(n, n), masks.causal(m, m), masks.nothing(m, n))
        logits = zoo.model(ids, target, *(mask[None, None] for mask in all_masks))
    else:
        logits = zoo.model(ids, (masks.causal if zoo.config.is_causal else masks.nothing)(n, n)[None, None])
    assert torch.equal(whole.tensors["logits"], logits[0])


def test_a_head_that_is_off_is_a_slice_of_w_o_that_is_zero(zoo: Checkpoint) -> None:
    """Recomputed in plain PyTorch, with the model's own weights changed."""
    for about in zoo.description.attentions:
        head, logits = about.n_head - 1, zoo.description.logits.tap
        found = trace_text(zoo, [logits], edit={about.tap("z", 0): AblateHead(head)}).tensors[logits]
        changed = copy.deepcopy(zoo)
        with torch.no_grad():
            w_o = changed.model.get_parameter(about.parameters["w_o"][0])
            w_o[:, head * about.d_head : (head + 1) * about.d_head] = 0.0
        close(found, trace_text(changed, [logits]).tensors[logits], 1e-4)
        assert not torch.equal(found, trace_text(zoo, [logits]).tensors[logits])


def test_without_the_causal_mask_every_query_sees_every_key(tiny: Checkpoint) -> None:
    names = ["layers.0.attn.mask", "layers.0.attn.pattern", "logits"]
    mask, pattern, logits = trace(tiny, list(b"abcd"), names, use=Masks(causal=False)).tensors.values()
    assert (mask == 0).all()
    assert (pattern > 0).all()
    unmasked = masks.nothing(4, 4)[None, None]
    assert torch.equal(logits, tiny.model(torch.tensor([list(b"abcd")]), unmasked)[0])
    assert not torch.allclose(logits, trace(tiny, list(b"abcd"), ["logits"]).tensors["logits"], atol=1e-2)


@pytest.mark.parametrize("causal", [None, True, False])
def test_the_causal_mask_is_in_the_stack_that_predicts_and_as_trained_unless_told(
    causal: bool | None, family: Checkpoint
) -> None:
    run = trace_text(family, use=Masks(causal=causal))
    *others, last = (one for one in family.description.attentions if one.id != "cross")
    in_force = family.config.is_causal if causal is None else causal
    mask = run.tensors[last.tap("mask", 1)]
    assert torch.equal(mask[0], (masks.causal if in_force else masks.nothing)(*mask.shape[1:]))
    assert not any(run.tensors[one.tap("mask", 1)].any() for one in others), "an encoder-decoder keeps its encoder"


@pytest.mark.parametrize("side", ["left", "right"])
def test_pads_are_in_the_source_and_no_position_sees_them(side: str, family: Checkpoint) -> None:
    run = trace_text(family, pad=Padding(3, side))
    is_pad = torch.tensor(run.ids) == family.tokenizer.pad_id
    assert is_pad.sum() == 3
    assert is_pad[:3].all() if side == "left" else is_pad[-3:].all()
    for one in family.description.attentions:
        mask, pattern = run.tensors[one.tap("mask", 0)], run.tensors[one.tap("pattern", 0)]
        assert (pattern[mask != 0] == 0).all()
        if one.keys == "source":
            assert (mask[..., is_pad] & masks.PADDING).all()
            assert not (mask[..., ~is_pad] & masks.PADDING).any()
        else:
            assert not (mask & masks.PADDING).any()


def test_cls_and_start_are_put_where_they_are_missing_and_once() -> None:
    classifier, translator = tiny_checkpoint("encoder-only"), tiny_checkpoint("encoder-decoder")
    cls, start = classifier.tokenizer.first_id, translator.tokenizer.first_id
    for ids in ([65, 66], [cls, 65, 66]):
        assert trace(classifier, ids, ["logits"]).ids == [cls, 65, 66]
        assert trace(classifier, ids, ["logits"], pad=Padding(1)).ids == [257, cls, 65, 66]
    for target in ([65, 66], [start, 65, 66]):
        run = trace(translator, [67], ["logits"], target=target)
        assert (run.ids, run.target_ids) == ([67], [start, 65, 66])
        assert run.tensors["logits"].shape == (3, 259)
    assert trace(translator, [67], ["logits"], target=[]).target_ids == [start]
    assert trace(tiny_checkpoint(), [67], ["logits"]).target_ids is None


def test_a_target_is_for_an_encoder_decoder_always(family: Checkpoint) -> None:
    wrong = {} if family.config.family == "encoder-decoder" else {"target": [65]}
    with pytest.raises(ValueError, match=f"tiny is {family.config.family}: a target is for an encoder-decoder, always"):
        trace(family, [65], **wrong)


def test_both_sides_must_fit_the_window() -> None:
    classifier, translator = tiny_checkpoint("encoder-only"), tiny_checkpoint("encoder-decoder")
    cls = classifier.tokenizer.first_id
    assert len(trace(classifier, [65] * 23, ["logits"]).ids) == 24
    assert len(trace(classifier, [cls] + [65] * 23, ["logits"]).ids) == 24
    with pytest.raises(ValueError, match="25 tokens are 1 more than the model's window of 24"):
        trace(classifier, [65] * 24)
    assert trace(translator, [65] * 24, ["logits"], target=[65] * 23).tensors["logits"].shape == (24, 259)
    with pytest.raises(ValueError, match="25 tokens are 1 more"):
        trace(translator, [65] * 25, target=[65])
    with pytest.raises(ValueError, match="25 target tokens, START included, are 1 more than the model's window of 24"):
        trace(translator, [65], target=[65] * 24)
    for ids in ([], [cls]):
        with pytest.raises(ValueError, match="no token") if not ids else nullcontext():
            trace(classifier, ids)
    with pytest.raises(ValueError, match="no token"):
        trace(translator, [], target=[65])


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("norm_order", NORM_ORDERS)
def test_a_class_is_read_off_cls_wherever_pads_put_it(side: str, norm_order: str) -> None:
    classifier = tiny_checkpoint("encoder-only", norm_order=norm_order)
    alone = trace(classifier, list(b"attention"), ["logits"]).tensors["logits"]
    assert alone.shape == (3,)
    for count in (1, 7):
        padded = trace(classifier, list(b"attention"), ["logits"], pad=Padding(count, side)).tensors["logits"]
        close(padded, alone, 1e-5)
    seen = trace(classifier, list(b"attention"), ["logits"], pad=Padding(7, side), use=Masks(padding=False))
    assert not torch.allclose(seen.tensors["logits"], alone, atol=1e-2)


@pytest.mark.parametrize("side", ["left", "right"])
def test_pads_in_the_source_move_no_target_row(side: str) -> None:
    translator = tiny_checkpoint("encoder-decoder")
    alone = trace(translator, list(b"attention"), ["logits"], target=list(b"is")).tensors["logits"]
    padded = trace(translator, list(b"attention"), ["logits"], target=list(b"is"), pad=Padding(5, side))
    close(padded.tensors["logits"], alone, 1e-5)


def test_names_come_back_in_the_order_asked_with_their_dimensions(tiny: Checkpoint) -> None:
    names = ["logits", "layers.0.attn.q"]
    run = trace(tiny, list(b"abc"), names)
    assert list(run.tensors) == names
    assert run.dims == {"logits": "position vocab", "layers.0.attn.q": "head position d_head"}
    assert list(trace(tiny, list(b"abc")).tensors) == list(tap_dims(tiny.model))


def test_every_tap_of_every_family_fires(family: Checkpoint) -> None:
    assert list(trace_text(family).tensors) == list(tap_dims(family.model))


@pytest.mark.parametrize("wanted", [{"names": ["pattern"]}, {"edit": {"pattern": lambda x, _: x}}])
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


def check_threads(checkpoint: Checkpoint, rounds: int) -> None:
    """8 threads with different sentences and edits: every tensor equals that of a single trace, bit for bit."""

    def job(n: int) -> Trace:
        last = checkpoint.description.attentions[-1]
        edit = {last.tap("z", n % last.n_layer): lambda z, _: z * 0} if n % 3 == 0 else None
        return trace(checkpoint, ids[n], names, edit=edit, **target_of(checkpoint, ids[7 - n]))

    ends = ("pattern", "z", "attn_out", "resid_post", "logits")
    names = [name for name in tap_dims(checkpoint.model) if name.endswith(ends)]
    words = cycle(checkpoint.tokenizer.encode(TEXT))
    ids = [list(islice(words, 5 + 2 * n)) for n in range(8)]
    alone = [job(n) for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(job, [n for _ in range(rounds) for n in range(8)]))
    mixed_up = [
        (n, name)
        for n, run in zip(cycle(range(8)), together, strict=False)
        for name in names
        if not torch.equal(run.tensors[name], alone[n].tensors[name])
    ]
    assert mixed_up == []


def test_threads_on_one_model_get_each_their_own_trace(family: Checkpoint) -> None:
    check_threads(family, rounds=6)


def test_threads_on_a_zoo_model_get_each_their_own_trace(zoo: Checkpoint) -> None:
    check_threads(zoo, rounds=2)

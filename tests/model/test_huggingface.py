"""Compared with Hugging Face: GPT-2 built from a config with our weights, and its samplers."""

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    MinPLogitsWarper,
    NoBadWordsLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.sampling import SamplingSettings, distribution
from chumoku.model.taps import record
from chumoku.model.transformer import DecoderOnly
from tests.model.helpers import close, randn, random_ids, tiny_model


def gpt2(model: DecoderOnly) -> GPT2LMHeadModel:
    """GPT-2 with ReLU and our weights; its Conv1D layers store matrices transposed."""
    config = model.config
    theirs = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=config.vocab_size, n_positions=config.max_seq_len, n_embd=config.d_model, n_layer=config.n_layer,
            n_head=config.n_head, n_inner=config.d_ff, activation_function="relu", resid_pdrop=0.0, embd_pdrop=0.0,
            attn_pdrop=0.0, layer_norm_epsilon=config.layer_norm_eps, attn_implementation="eager",
            bos_token_id=None, eos_token_id=None,
        )
    )  # fmt: skip
    with torch.no_grad():
        theirs.transformer.wte.weight.copy_(model.token_embedding.weight)
        theirs.transformer.wpe.weight.copy_(model.positions.table.weight)
        theirs.transformer.ln_f.load_state_dict(model.final_norm.state_dict())
        for ours, layer in zip(model.layers, theirs.transformer.h, strict=True):
            layer.ln_1.load_state_dict(ours.attn_residual.norm.state_dict())
            layer.ln_2.load_state_dict(ours.ffn_residual.norm.state_dict())
            q_k_v = (ours.attn.w_q, ours.attn.w_k, ours.attn.w_v)
            layer.attn.c_attn.weight.copy_(torch.cat([w.weight for w in q_k_v]).T)
            layer.attn.c_attn.bias.copy_(torch.cat([w.bias for w in q_k_v]))
            for conv, linear in (
                (layer.attn.c_proj, ours.attn.w_o), (layer.mlp.c_fc, ours.ffn.w_1), (layer.mlp.c_proj, ours.ffn.w_2),
            ):  # fmt: skip
                conv.weight.copy_(linear.weight.T)
                conv.bias.copy_(linear.bias)
    return theirs.eval()


def compare(model: DecoderOnly, ids: Tensor, tolerance: float) -> None:
    names = [f"layers.{n}.{part}" for n in range(model.config.n_layer) for part in ("attn.pattern", "resid_pre")]
    with torch.no_grad(), record(names) as trace:
        logits = model(ids, masks.causal(ids.shape[1], ids.shape[1])[None, None])
        theirs = gpt2(model).to(logits.dtype)(ids, output_attentions=True, output_hidden_states=True)
    close(logits, theirs.logits, tolerance)
    for n in range(model.config.n_layer):
        close(trace.tensors[f"layers.{n}.attn.pattern"], theirs.attentions[n], tolerance)
        close(trace.tensors[f"layers.{n}.resid_pre"], theirs.hidden_states[n], tolerance)


def test_a_random_decoder_is_gpt2_down_to_its_attentions() -> None:
    compare(tiny_model(n_layer=3).double(), random_ids(2, 13), 1e-9)


def test_a_zoo_model_is_gpt2_down_to_its_attentions(gpt: Checkpoint) -> None:
    config = gpt.config
    kind = (config.mechanism, config.position, config.norm_order, config.scale_embeddings)
    if kind != ("softmax", "learned", "pre", False):
        return  # not a GPT-2
    ids = gpt.tokenizer.encode("Once upon a time there was a little girl named Lily.")
    compare(gpt.model, torch.tensor([ids]), 1e-4)


@pytest.mark.parametrize("temperature", [0.3, 1.0, 1.7])
@pytest.mark.parametrize("top_k", [0, 1, 7, 99])
@pytest.mark.parametrize("top_p", [0.1, 0.5, 0.95, 1.0])
def test_cuts_equal_the_warpers(temperature: float, top_k: int, top_p: float) -> None:
    for seed in range(5):
        logits = 3 * randn(60, seed=seed)
        warped = TemperatureLogitsWarper(temperature)(None, logits[None].clone())
        if top_k:
            warped = TopKLogitsWarper(top_k)(None, warped)
        if top_p < 1:
            warped = TopPLogitsWarper(top_p)(None, warped)
        ours = distribution(logits, SamplingSettings(temperature, top_k, top_p))
        assert torch.equal(ours.kept, warped[0].isfinite())
        close(ours.after, nn.functional.softmax(warped[0], -1))


@pytest.mark.parametrize("penalty", [0.7, 1.0, 1.2, 3.0])
@pytest.mark.parametrize("min_p", [0.0, 0.05, 0.4, 1.0])
@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (7, 1.0), (0, 0.8), (20, 0.9)])
def test_every_filter_cuts_what_transformers_cuts_in_its_order(
    penalty: float, min_p: float, top_k: int, top_p: float
) -> None:
    for seed in range(5):
        logits = 3 * randn(60, seed=seed)
        seen = torch.tensor([[3, 3, 59, seed]])
        scores = RepetitionPenaltyLogitsProcessor(penalty)(seen, logits[None].clone())
        banned = ((5,), (seed, 6), (3, 7), (59, seed, 8))  # the third does not fit but for seed 3
        scores = NoBadWordsLogitsProcessor([list(one) for one in banned])(seen, scores)
        whole = nn.functional.softmax(
            RepetitionPenaltyLogitsProcessor(penalty)(seen, logits[None])[0].double() / 0.8, -1
        )
        filters = [
            TemperatureLogitsWarper(0.8),
            *([TopKLogitsWarper(top_k)] if top_k else []),
            *([TopPLogitsWarper(top_p)] if top_p < 1 else []),
            *([MinPLogitsWarper(min_p)] if min_p else []),
        ]
        names = {TopKLogitsWarper: 2, TopPLogitsWarper: 3, MinPLogitsWarper: 4}
        cut = scores[0].isinf().to(torch.uint8)
        whole[scores[0].isfinite()] = (
            nn.functional.softmax(filters[0](seen, scores)[0].double(), -1)[scores[0].isfinite()]
            * whole[scores[0].isfinite()].sum()
        )
        for one in filters:
            before, scores = scores, one(seen, scores)
            cut[before[0].isfinite() & ~scores[0].isfinite()] = names.get(type(one), 0)
        ours = distribution(
            logits, SamplingSettings(0.8, top_k, top_p, 0, min_p, penalty, banned), seen=seen[0].tolist()
        )
        assert torch.equal(ours.cut, cut)
        assert torch.equal(ours.kept, scores[0].isfinite())
        close(ours.after, nn.functional.softmax(scores[0], -1))
        assert ours.masses == pytest.approx([float(whole[cut == i].sum()) for i in (1, 2, 3, 4)], abs=1e-6)

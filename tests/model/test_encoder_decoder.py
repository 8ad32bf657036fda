"""The encoder-decoder: against torch's nn.TransformerDecoderLayer and nn.Transformer, and its caches."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from chumoku.model import masks
from chumoku.model.block import Block, CrossBlock, Memory
from chumoku.model.config import ModelConfig
from chumoku.model.positions import positions_from
from chumoku.model.stack import BlockStack
from chumoku.model.taps import record, tap_dims
from chumoku.model.transformer import EncoderDecoder, build
from tests.model.helpers import (
    FAMILIES,
    NORM_ORDERS,
    POSITIONS,
    TINY,
    close,
    pads_behind,
    randn,
    random_ids,
    randomise,
    tiny_translator,
)
from tests.model.test_attention import copy_attention
from tests.model.test_block import TORCH_ORDERS, torch_layer

SOURCE_PAD, TARGET_PAD = pads_behind(8, 5), pads_behind(3, 6)
SOURCE, TARGET = random_ids(2, 8), random_ids(2, 6, seed=1)


def torch_decoder_layer(block: CrossBlock, config: ModelConfig) -> nn.TransformerDecoderLayer:
    """torch's layer with this block's weights."""
    layer = nn.TransformerDecoderLayer(
        config.d_model, config.n_head, config.d_ff, dropout=0.0, activation="relu", batch_first=True,
        norm_first=config.norm_order == "pre", layer_norm_eps=config.layer_norm_eps,
    ).double().train()  # fmt: skip
    copy_attention(block.attn, layer.self_attn)
    copy_attention(block.cross_attn, layer.multihead_attn)
    pairs = (
        (block.ffn.w_1, layer.linear1), (block.ffn.w_2, layer.linear2), (block.attn_residual.norm, layer.norm1),
        (block.cross_attn_residual.norm, layer.norm2), (block.ffn_residual.norm, layer.norm3),
    )  # fmt: skip
    for ours, theirs in pairs:
        theirs.load_state_dict(ours.state_dict())
    return layer


def forbidden(query_len: int) -> Tensor:
    """torch's causal mask, where True means forbidden."""
    return torch.ones(query_len, query_len).triu(1).bool()


@pytest.mark.parametrize("norm_order", TORCH_ORDERS)
@pytest.mark.parametrize("padding", [True, False])
def test_a_block_with_cross_attention_equals_torch(norm_order: str, padding: bool) -> None:
    config = ModelConfig(**TINY | {"norm_order": norm_order})
    block = randomise(CrossBlock(config)).double().eval()
    x, memory = randn(2, 6, 15), randn(2, 8, 15, seed=1)
    expected = torch_decoder_layer(block, config)(
        x, memory, tgt_mask=forbidden(6),
        tgt_key_padding_mask=TARGET_PAD if padding else None, memory_key_padding_mask=SOURCE_PAD if padding else None,
    )  # fmt: skip
    mask = masks.decoder_mask(TARGET_PAD, use_padding=padding)
    close(
        block(x, mask, positions_from(x), Memory(memory, masks.cross_mask(SOURCE_PAD, 6, use_padding=padding))),
        expected,
    )


def torch_transformer(model: EncoderDecoder) -> nn.Transformer:
    """nn.Transformer with our weights. Its stacks always end with a LayerNorm; the paper's post-norm stacks do not."""
    config = model.config

    def last(stack: BlockStack) -> nn.Module | None:
        if config.norm_order == "post":
            return None
        norm = nn.LayerNorm(config.d_model, config.layer_norm_eps).double()
        norm.load_state_dict(stack.final_norm.state_dict())
        return norm

    encoders = [torch_layer(block, config) for block in model.encoder.layers]
    decoders = [torch_decoder_layer(block, config) for block in model.decoder.layers]
    encoder = nn.TransformerEncoder(encoders[0], 1, last(model.encoder), enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(decoders[0], 1, last(model.decoder))
    encoder.layers, decoder.layers = nn.ModuleList(encoders), nn.ModuleList(decoders)
    encoder.num_layers = decoder.num_layers = config.n_layer
    blank = nn.Identity()  # it initialises its parts at random
    theirs = nn.Transformer(
        config.d_model, config.n_head, custom_encoder=blank, custom_decoder=blank, batch_first=True, dropout=0.0
    )
    theirs.encoder, theirs.decoder = encoder, decoder
    return theirs.double().train()


def embedded(stack: BlockStack, ids: Tensor) -> Tensor:
    x = stack.token_embedding.weight[ids] * (math.sqrt(15) if stack.config.scale_embeddings else 1)
    return x + stack.positions(torch.arange(ids.shape[1])[None])


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("norm_order", TORCH_ORDERS)
@pytest.mark.parametrize(("tie", "scale"), [(True, True), (False, False)])
def test_the_whole_equals_nn_transformer(position: str, norm_order: str, tie: bool, scale: bool) -> None:
    """Padding masks on both sides, a causal mask on the target, and the transposed embedding at the end."""
    how = {"position": position, "norm_order": norm_order, "tie_embeddings": tie, "scale_embeddings": scale}
    model = tiny_translator(**how).double()
    ours = model(
        SOURCE, TARGET, masks.encoder_mask(SOURCE_PAD), masks.decoder_mask(TARGET_PAD), masks.cross_mask(SOURCE_PAD, 6)
    )
    states = torch_transformer(model)(
        embedded(model.encoder, SOURCE), embedded(model.decoder, TARGET), tgt_mask=forbidden(6),
        src_key_padding_mask=SOURCE_PAD, tgt_key_padding_mask=TARGET_PAD, memory_key_padding_mask=SOURCE_PAD,
    )  # fmt: skip
    unembedding = model.encoder.token_embedding if tie else model.unembedding
    close(ours, states @ unembedding.weight.T)


def layer_norm(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt() * norm.weight + norm.bias


def naive_attention(attn: nn.Module, asks: Tensor, answers: Tensor, allowed: Tensor) -> Tensor:
    """Concat(softmax(q kᵀ/√d_head) v) W_O + b_O, one head at a time; asks [query d_model], answers [key d_model]."""
    heads = []
    for head in range(3):
        cut = slice(5 * head, 5 * head + 5)
        q, k, v = (
            x @ w.weight[cut].T + w.bias[cut] for x, w in ((asks, attn.w_q), (answers, attn.w_k), (answers, attn.w_v))
        )
        scores = (q @ k.T / math.sqrt(5)).masked_fill(~allowed, -torch.inf)
        heads.append(scores.softmax(-1) @ v)
    return torch.cat(heads, -1) @ attn.w_o.weight.T + attn.w_o.bias


def test_res_post_norm_by_its_formula() -> None:
    """x + LayerNorm(Sublayer(x)), in an encoder's block and in a decoder's."""
    config = ModelConfig(**TINY | {"norm_order": "res-post"})
    plain, cross = randomise(Block(config)).double().eval(), randomise(CrossBlock(config), 1).double().eval()
    x, memory = randn(1, 6, 15), randn(1, 8, 15, seed=1)
    causal, everything = ~forbidden(6), torch.ones(6, 8, dtype=torch.bool)
    for block in (plain, cross):
        stream = x[0]
        stream = stream + layer_norm(naive_attention(block.attn, stream, stream, causal), block.attn_residual.norm)
        if isinstance(block, CrossBlock):
            read = naive_attention(block.cross_attn, stream, memory[0], everything)
            stream = stream + layer_norm(read, block.cross_attn_residual.norm)
        hidden = (stream @ block.ffn.w_1.weight.T + block.ffn.w_1.bias).clamp(min=0)
        written = hidden @ block.ffn.w_2.weight.T + block.ffn.w_2.bias
        stream = stream + layer_norm(written, block.ffn_residual.norm)
        mask = masks.causal(6, 6)[None, None]
        more = (Memory(memory, masks.nothing(6, 8)[None, None]),) if isinstance(block, CrossBlock) else ()
        close(block(x, mask, positions_from(x), *more)[0], stream)


def test_one_embedding_three_ways_is_one_parameter() -> None:
    tied, untied = tiny_translator(), tiny_translator(tie_embeddings=False)
    table = tied.encoder.token_embedding.weight
    assert tied.decoder.token_embedding.weight is table
    assert tied.unembedding.weight is table
    n_tied, n_untied = (sum(p.numel() for p in model.parameters()) for model in (tied, untied))
    assert n_untied - n_tied == 2 * table.numel()


@pytest.mark.parametrize("norm_order", NORM_ORDERS)
def test_an_untrained_translator_is_not_overconfident(norm_order: str) -> None:
    shape = {"vocab_size": 400, "n_layer": 2, "n_head": 4, "d_model": 64, "d_ff": 128, "max_seq_len": 16}
    how = {"norm_order": norm_order, "scale_embeddings": norm_order == "post"}
    model = build(ModelConfig(**shape, family="encoder-decoder", **how))
    ids, pad = torch.randint(400, (4, 16)), torch.zeros(4, 16, dtype=torch.bool)
    logits = model(ids, ids, masks.encoder_mask(pad), masks.decoder_mask(pad), masks.cross_mask(pad, 16))
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), torch.randint(400, (64,)))
    assert abs(loss.item() - math.log(400)) < 1.5


# --- caches ------------------------------------------------------------------------------------------------


def cached(model: EncoderDecoder, cuts: list[int]) -> Tensor:
    """The target's logits, computed in these chunks; the source is read with the first."""
    whole = masks.decoder_mask(TARGET_PAD)
    memory, cache = model.encode(SOURCE, masks.encoder_mask(SOURCE_PAD)), model.new_cache()
    parts = []
    for start, end in pairwise(cuts):
        seen = Memory(memory, masks.cross_mask(SOURCE_PAD, end - start))
        parts.append(model.decode(TARGET[:, start:end], whole[:, :, start:end, :end], seen, cache=cache))
        assert (cache.positions, cache.cross.positions) == (end, 8)
    return torch.cat(parts, 1)


@pytest.mark.parametrize("norm_order", NORM_ORDERS)
@settings(max_examples=8)
@given(cuts=st.sets(st.integers(1, 5)))
def test_cached_decoding_equals_uncached_however_the_target_is_cut(norm_order: str, cuts: set[int]) -> None:
    model = tiny_translator(norm_order=norm_order).double()
    expected = model(
        SOURCE, TARGET, masks.encoder_mask(SOURCE_PAD), masks.decoder_mask(TARGET_PAD), masks.cross_mask(SOURCE_PAD, 6)
    )
    close(cached(model, [0, *sorted(cuts), 6]), expected)


def test_with_a_cache_the_source_is_read_once() -> None:
    """Later steps need no encoder output; their taps still have the keys and values of the whole source."""
    model = tiny_translator()
    memory, cache = model.encode(SOURCE, masks.encoder_mask(SOURCE_PAD)), model.new_cache()
    cross = masks.cross_mask(SOURCE_PAD, 1)
    names = ["decoder.layers.1.cross_attn.k", "decoder.layers.1.cross_attn.pattern"]
    with record(names) as first:
        model.decode(TARGET[:, :1], masks.decoder_mask(TARGET_PAD[:, :1]), Memory(memory, cross), cache=cache)
    n_bytes = cache.nbytes
    with record(names) as second:
        mask = masks.decoder_mask(TARGET_PAD[:, :2], query_len=1)
        model.decode(TARGET[:, 1:2], mask, Memory(memory * torch.nan, cross), cache=cache)
    assert torch.equal(first.tensors[names[0]], second.tensors[names[0]])
    assert second.tensors[names[1]].shape == (2, 3, 1, 8)
    assert cache.nbytes - n_bytes == 2 * 2 * TARGET.shape[0] * 15 * 4, "k and v of two layers, one row each"


def test_selected_rows_of_a_cache_go_on_as_they_would_alone() -> None:
    model = tiny_translator().double()
    memory, cache = model.encode(SOURCE, masks.encoder_mask(SOURCE_PAD)), model.new_cache()
    seen = Memory(memory, masks.cross_mask(SOURCE_PAD, 2))
    nothing = torch.zeros(3, 3, dtype=torch.bool)
    model.decode(TARGET[:, :2], masks.decoder_mask(nothing[:2, :2]), seen, cache=cache)
    rows = torch.tensor([1, 1, 0])
    cache.select(rows)
    last = random_ids(3, 1, seed=3)
    went_on = model.decode(
        last, masks.decoder_mask(nothing, query_len=1), Memory(memory[rows], masks.cross_mask(SOURCE_PAD[rows], 1)),
        cache=cache,
    )  # fmt: skip
    target = torch.cat((TARGET[rows, :2], last), 1)
    expected = model(
        SOURCE[rows], target, masks.encoder_mask(SOURCE_PAD[rows]), masks.decoder_mask(nothing),
        masks.cross_mask(SOURCE_PAD[rows], 3),
    )  # fmt: skip
    close(went_on, expected[:, -1:])


# --- padding and batches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("position", POSITIONS)
def test_batched_and_padded_sources_equal_each_alone(side: str, position: str) -> None:
    """Every tensor of real tokens is equal to 1e-9; no position attends to a PAD, in any attention."""
    model, lengths = tiny_translator(position=position).double(), (8, 5, 1)
    is_pad = pads_behind(*lengths)
    is_pad = is_pad.flip(-1) if side == "left" else is_pad
    source = torch.where(is_pad, 257, random_ids(3, 8))
    target, no_pad = random_ids(3, 4, seed=2), torch.zeros(3, 4, dtype=torch.bool)
    names = [name for name in tap_dims(model) if name.endswith(("pattern", "logits", "cross_attn.z"))]
    with record(names) as together:
        memory = model.encode(source, masks.encoder_mask(is_pad), masks.position_ids(is_pad))
        model.decode(target, masks.decoder_mask(no_pad), Memory(memory, masks.cross_mask(is_pad, 4)))
    for row in range(3):
        real = source[row][~is_pad[row]][None]
        plain = torch.zeros_like(real, dtype=torch.bool)
        with record(names) as alone:
            model(
                real, target[row : row + 1], masks.encoder_mask(plain), masks.decoder_mask(no_pad[:1]),
                masks.cross_mask(plain, 4),
            )  # fmt: skip
        for name in names:
            ours = together.tensors[name][row]
            if name.startswith("encoder") and name.endswith("pattern"):
                assert (ours[..., is_pad[row]] == 0).all()
                ours = ours[:, ~is_pad[row]][..., ~is_pad[row]]
            if name.endswith("cross_attn.pattern"):
                assert (ours[..., is_pad[row]] == 0).all()
                ours = ours[..., ~is_pad[row]]
            close(ours, alone.tensors[name][0])


def test_no_target_position_sees_a_later_one_and_every_one_sees_the_whole_source() -> None:
    model = tiny_translator()
    names = ["decoder.layers.0.attn.pattern", "decoder.layers.0.cross_attn.pattern", "encoder.layers.0.attn.pattern"]
    with record(names) as recording:
        model(
            SOURCE, TARGET, masks.encoder_mask(SOURCE_PAD), masks.decoder_mask(TARGET_PAD),
            masks.cross_mask(SOURCE_PAD, 6),
        )  # fmt: skip
    own, cross, encoder = (recording.tensors[name] for name in names)
    assert torch.equal(own > 0, (~forbidden(6) & ~TARGET_PAD[:, None, None]).expand_as(own))
    assert torch.equal(cross > 0, (~SOURCE_PAD[:, None, None]).expand_as(cross))
    assert torch.equal(encoder > 0, (~SOURCE_PAD[:, None, None]).expand_as(encoder))


def test_every_family_is_built_by_its_name() -> None:
    for family, changes in FAMILIES.items():
        config = ModelConfig(**TINY | changes | {"family": family})
        assert build(config).config == config

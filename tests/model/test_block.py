"""A block, and a whole decoder of them, against torch's own nn.TransformerEncoderLayer with copied weights."""

import math

import pytest
import torch
from torch import Tensor, nn

from chumoku.model import masks
from chumoku.model.block import RESIDUALS, Block
from chumoku.model.config import ModelConfig
from chumoku.model.positions import positions_from
from chumoku.model.transformer import DecoderOnly, build
from tests.model.helpers import (
    NORM_ORDERS,
    POSITIONS,
    TINY,
    close,
    pads_behind,
    randn,
    random_ids,
    randomise,
    tiny_encoder,
    tiny_model,
)
from tests.model.test_attention import copy_attention

IS_PAD = pads_behind(7, 4)
TORCH_ORDERS = ("pre", "post")
"""The norm orders that torch's layers know."""


def torch_layer(block: Block, config: ModelConfig) -> nn.TransformerEncoderLayer:
    """torch's layer with this block's weights, in train mode: eval uses a separate fast path."""
    layer = nn.TransformerEncoderLayer(
        config.d_model, config.n_head, config.d_ff, dropout=0.0, activation="relu", batch_first=True,
        norm_first=config.norm_order == "pre", layer_norm_eps=config.layer_norm_eps,
    ).double().train()  # fmt: skip
    copy_attention(block.attn, layer.self_attn)
    layer.linear1.load_state_dict(block.ffn.w_1.state_dict())
    layer.linear2.load_state_dict(block.ffn.w_2.state_dict())
    layer.norm1.load_state_dict(block.attn_residual.norm.state_dict())
    layer.norm2.load_state_dict(block.ffn_residual.norm.state_dict())
    return layer


@pytest.mark.parametrize("norm_order", TORCH_ORDERS)
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("padding", [True, False])
def test_block_equals_torch(norm_order: str, causal: bool, padding: bool) -> None:
    config = ModelConfig(**TINY | {"norm_order": norm_order})
    block = randomise(Block(config)).double().eval()
    x = randn(2, 7, 15)
    mask = masks.decoder_mask(IS_PAD, use_causal=causal, use_padding=padding)
    expected = torch_layer(block, config)(
        x,
        src_mask=torch.ones(7, 7).triu(1).bool() if causal else None,  # True = forbidden
        src_key_padding_mask=IS_PAD if padding else None,
    )
    close(block(x, mask, positions_from(x)), expected)


def torch_decoder(model: DecoderOnly, ids: Tensor) -> Tensor:
    """The same decoder built from torch's modules: embeddings, encoder layers with a causal mask, tied unembedding."""
    config, table = model.config, model.token_embedding.weight
    x = table[ids] * (math.sqrt(config.d_model) if config.scale_embeddings else 1)
    if config.position != "none":
        positions = model.positions.table
        x = x + (positions.weight if isinstance(positions, nn.Embedding) else positions)[: ids.shape[1]]
    for block in model.layers:
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1], dtype=torch.float64)
        x = torch_layer(block, config)(x, src_mask=mask)
    if config.norm_order == "pre":
        norm = model.final_norm
        x = nn.functional.layer_norm(x, (config.d_model,), norm.weight, norm.bias, config.layer_norm_eps)
    return x @ (table if config.tie_embeddings else model.unembedding.weight).T


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("norm_order", TORCH_ORDERS)
@pytest.mark.parametrize(("tie", "scale"), [(True, False), (False, True)])
def test_decoder_equals_a_stack_of_torch_layers(position: str, norm_order: str, tie: bool, scale: bool) -> None:
    model = tiny_model(position=position, norm_order=norm_order, tie_embeddings=tie, scale_embeddings=scale).double()
    ids = random_ids(2, 11)
    close(model(ids, masks.causal(11, 11)[None, None]), torch_decoder(model, ids))


@pytest.mark.parametrize("norm_order", TORCH_ORDERS)
@pytest.mark.parametrize("position", POSITIONS)
def test_a_classifier_equals_torch_layers_and_a_matrix_on_its_first_state(norm_order: str, position: str) -> None:
    model = tiny_encoder(norm_order=norm_order, position=position).double()
    config, ids = model.config, random_ids(2, 7)
    x = model.token_embedding.weight[ids] + model.positions(torch.arange(7)[None])
    for block in model.layers:
        x = torch_layer(block, config)(x, src_key_padding_mask=IS_PAD)
    if norm_order == "pre":
        x = nn.functional.layer_norm(x, (15,), model.final_norm.weight, model.final_norm.bias, config.layer_norm_eps)
    close(model(ids, masks.encoder_mask(IS_PAD)), x[:, 0] @ model.classifier.weight.T + model.classifier.bias)


def test_tied_embeddings_are_one_parameter() -> None:
    tied, untied = tiny_model(), tiny_model(tie_embeddings=False)
    assert tied.unembedding.weight is tied.token_embedding.weight
    n_tied, n_untied = (sum(p.numel() for p in model.parameters()) for model in (tied, untied))
    assert n_untied - n_tied == TINY["vocab_size"] * TINY["d_model"]


def test_an_untrained_model_knows_nothing() -> None:
    """With embeddings at std 0.02 an untrained model's loss is ln(vocab), not far above it."""
    model = build(ModelConfig(vocab_size=500, n_layer=3, n_head=4, d_model=64, d_ff=128, max_seq_len=32))
    ids = torch.randint(500, (4, 32))
    logits = model(ids[:, :-1], masks.causal(31, 31)[None, None])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    assert abs(loss.item() - math.log(500)) < 0.1
    assert abs(model.token_embedding.weight.std().item() - 0.02) < 0.001
    assert abs(model.layers[0].ffn.w_2.weight.std().item() - 0.02 / math.sqrt(2 * 3)) < 0.001


def test_res_post_norm_adds_nothing_at_first() -> None:
    """The gains begin at 0. At 1, a LayerNorm's output would be 50 times as large as the embedding it is added to."""
    model = build(ModelConfig(**TINY | {"norm_order": "res-post"})).eval()
    assert isinstance(model, DecoderOnly)
    gains = [residual.norm.weight for b in model.layers for residual in (b.attn_residual, b.ffn_residual)]
    ids = random_ids(2, 7)
    logits = model(ids, masks.causal(7, 7)[None, None])
    embedded = model.token_embedding(ids) + model.positions(torch.arange(7)[None])
    close(logits, model.final_norm(embedded) @ model.token_embedding.weight.T)
    logits.logsumexp(-1).sum().backward()
    assert all(gain.grad is not None and gain.grad.abs().max() > 0 for gain in gains), "and learn from the first step"


@pytest.mark.parametrize("norm_order", NORM_ORDERS)
def test_dropout_is_on_what_a_sublayer_adds_to_the_stream(norm_order: str) -> None:
    residual = RESIDUALS[norm_order](40, 1e-5, 0.5).train()
    residual.norm = nn.Identity()
    added = residual(torch.ones(1, 50, 40), lambda x: x * 3) - 1
    assert set(added.unique().tolist()) == {0.0, 6.0}
    assert abs((added == 0).float().mean() - 0.5) < 0.05


def test_dropout_is_on_the_sum_of_embedding_and_position() -> None:
    model = tiny_model(dropout=0.5).train()
    x = model.embed(random_ids(8, 24), torch.arange(24)[None])
    assert abs((x == 0).float().mean() - 0.5) < 0.05


def test_dropout_works_in_training_alone() -> None:
    model = tiny_model(dropout=0.5)
    ids, mask = random_ids(1, 9), masks.causal(9, 9)[None, None]
    assert torch.equal(model(ids, mask), model(ids, mask))
    model.train()
    assert not torch.equal(model(ids, mask), model(ids, mask))


def test_position_ids_choose_the_rows_of_the_table() -> None:
    model = tiny_model()
    ids, mask = random_ids(1, 5), masks.causal(5, 5)[None, None]
    counted = model(ids, mask, torch.arange(5)[None])
    assert torch.equal(model(ids, mask), counted)
    assert not torch.allclose(model(ids, mask, torch.arange(1, 6)[None]), counted)

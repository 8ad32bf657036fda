"""A picture as a sentence: patches as tokens, their embedding, and hidden ones."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from chumoku.model import masks
from chumoku.model.checkpoint import ZOO, Checkpoint, load
from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe
from chumoku.model.identities import discrepancies
from chumoku.model.pictures.examples import read_examples
from chumoku.model.pictures.picture import Picture
from chumoku.model.pictures.tokenizer import PatchTokenizer
from chumoku.model.trace import Masks, Padding, Trace, trace
from tests.model.helpers import tiny_model

PICTURE = Picture(size=6, patch=2, levels=5)
"""3 × 3 patches of 4 pixels: 625 different ones."""
ROWS = [[(3 * row + 2 * column * column + row * column) % 5 for column in range(6)] for row in range(6)]


@pytest.fixture(scope="module")
def vit() -> Checkpoint:
    changes = {"vocab_size": 628, "max_seq_len": 10, "family": "encoder-only", "classes": ("a", "b", "c")}
    return Checkpoint("tiny-vit", tiny_model(picture=PICTURE, **changes), PatchTokenizer(PICTURE), {})


def traced(vit: Checkpoint, rows: list[list[int]] = ROWS, **options: object) -> Trace:
    return trace(vit, PICTURE.ids(rows), **options)  # type: ignore[arg-type]


def test_the_id_of_a_patch_spells_its_pixels() -> None:
    rows = [[0, 1, 4, 4], [2, 3, 4, 4], [0, 0, 1, 0], [0, 0, 0, 0]]
    picture = Picture(size=4, patch=2, levels=5)
    assert picture.ids(rows) == [1 * 25 + 2 * 5 + 3, 624, 0, 125]
    assert [picture.patch_of(i) for i in picture.ids(rows)] == [[0, 1, 2, 3], [4, 4, 4, 4], [0, 0, 0, 0], [1, 0, 0, 0]]


@pytest.mark.parametrize(
    "rows",
    [
        [[0] * 6] * 5,
        [[0] * 6] * 5 + [[0] * 7],
        [[0] * 6] * 5 + [[0, 0, 5, 0, 0, 0]],
        [[0] * 6] * 5 + [[0, -1, 0, 0, 0, 0]],
    ],
)
def test_another_shape_or_level_is_refused(rows: list[list[int]]) -> None:
    with pytest.raises(ValueError, match="6 rows of 6 whole numbers from 0 to 4"):
        PICTURE.ids(rows)


def test_tokens_are_spelt_by_their_pixels() -> None:
    tokenizer = PatchTokenizer(PICTURE)
    first, second, third = tokenizer.tokens([tokenizer.first_id, 1 * 25 + 2 * 5 + 3, 624])
    assert (first.text, first.special, first.end) == ("[CLS]", True, 0)
    assert (second.text, second.bytes, second.start, second.end) == ("0123", b"0123", 0, 4)
    assert (third.text, third.start, third.end, third.special) == ("4444", 4, 8, False)
    assert tokenizer.vocab_size == 628
    with pytest.raises(ValueError, match="pictures, not text"):
        tokenizer.encode("seven")


def test_the_embedding_is_a_matrix_times_the_pixels(vit: Checkpoint) -> None:
    """Dosovitskiy et al. 2021, eq. 1, with a bias: pixel by pixel."""
    weights = vit.model.state_dict()
    matrix, bias = weights["token_embedding.projection.weight"], weights["token_embedding.projection.bias"]
    run = traced(vit)
    assert run.tensors["embedding"][0].equal(weights["token_embedding.special.weight"][2])  # END, PAD, [CLS]
    for n in range(9):
        top, left = n // 3 * 2, n % 3 * 2
        pixels = [ROWS[top + y][left + x] / 4 for y in range(2) for x in range(2)]
        expected = [
            sum(w * x for w, x in zip(row, pixels, strict=True)) + b for row, b in zip(matrix, bias, strict=True)
        ]
        assert run.tensors["embedding"][n + 1].tolist() == pytest.approx([float(x) for x in expected], abs=1e-5)
        assert run.tensors["token_embedding.patches"][n + 1].tolist() == pixels
    assert run.tensors["layers.0.resid_pre"].equal(run.tensors["embedding"] + run.tensors["positional"])


@torch.inference_mode()
def test_logits_are_those_of_torchs_own_encoder(vit: Checkpoint) -> None:
    """The layers as `nn.TransformerEncoderLayer`, with the same weights."""
    config, run = vit.config, traced(vit)
    x = run.tensors["layers.0.resid_pre"][None]
    for layer in vit.encoder_only.layers:
        x = theirs(layer, config)(x)
    x = vit.encoder_only.classifier(vit.encoder_only.final_norm(x)[:, 0])
    torch.testing.assert_close(run.tensors["logits"], x[0])


def theirs(layer: nn.Module, config: ModelConfig) -> nn.TransformerEncoderLayer:
    one = nn.TransformerEncoderLayer(config.d_model, config.n_head, config.d_ff, batch_first=True, norm_first=True)
    ours = layer.state_dict()
    both = {f"attn.w_{x}.{kind}" for x in "qkv" for kind in ("weight", "bias")}
    joined = {kind: torch.cat([ours[f"attn.w_{x}.{kind}"] for x in "qkv"]) for kind in ("weight", "bias")}
    names = {
        "attn.w_o": "self_attn.out_proj", "attn_residual.norm": "norm1", "ffn_residual.norm": "norm2",
        "ffn.w_1": "linear1", "ffn.w_2": "linear2",
    }  # fmt: skip
    renamed = {f"{names[at]}.{kind}": x for name, x in ours.items() if name not in both
               for at, _, kind in [name.rpartition(".")]}  # fmt: skip
    one.load_state_dict(
        {"self_attn.in_proj_weight": joined["weight"], "self_attn.in_proj_bias": joined["bias"], **renamed}
    )
    return one.eval()


def test_traces_of_pictures_agree_with_themselves(vit: Checkpoint) -> None:
    assert_agrees(vit, traced(vit, pad=Padding(hidden=(2, 7))))
    trained = load(ZOO / "digits-vit")
    assert trained.config.picture is not None
    for one in read_examples(ZOO / "digits-vit", trained.config.picture, 10)[:5]:
        assert_agrees(trained, trace(trained, trained.config.picture.ids(one.pixels), pad=Padding(hidden=(6,))))


def assert_agrees(vit: Checkpoint, run: Trace) -> None:
    (attention,) = vit.description.attentions
    for layer in range(vit.config.n_layer):
        found = list(discrepancies(attention, layer, run.tensors, vit.model.get_parameter))
        assert {gap.op for gap in found} == {"scaled_product", "masked_softmax", "weighted_sum", "sum_heads"}
        assert max(gap.absolute for gap in found) < 1e-5


def test_nobody_looks_at_a_hidden_patch(vit: Checkpoint) -> None:
    run = traced(vit, pad=Padding(hidden=(2, 7)))
    assert run.position_ids == list(range(10))  # nothing moves
    assert run.is_pad == [at in (2, 7) for at in range(10)]
    for layer in range(vit.config.n_layer):
        reasons = run.tensors[f"layers.{layer}.attn.mask"][0]
        assert all(reasons[:, at].eq(masks.PADDING if at in (2, 7) else 0).all() for at in range(10))
        assert run.tensors[f"layers.{layer}.attn.pattern"][:, :, [2, 7]].count_nonzero() == 0


def test_what_a_hidden_patch_shows_changes_nothing(vit: Checkpoint) -> None:
    other = [list(row) for row in ROWS]
    other[0][2], other[1][3] = (ROWS[0][2] + 1) % 5, (ROWS[1][3] + 2) % 5  # both in patch 1, at position 2
    hidden = Padding(hidden=(2,))
    assert not traced(vit).tensors["logits"].equal(traced(vit, other).tensors["logits"])
    assert traced(vit, pad=hidden).tensors["logits"].equal(traced(vit, other, pad=hidden).tensors["logits"])


def test_without_the_padding_mask_nothing_is_hidden(vit: Checkpoint) -> None:
    seen = traced(vit, pad=Padding(hidden=(2,)), use=Masks(padding=False))
    assert seen.tensors["logits"].equal(traced(vit).tensors["logits"])


def test_a_description_says_what_pictures_are_read(vit: Checkpoint) -> None:
    assert describe(vit.config).to_json()["picture"] == {"size": 6, "patch": 2, "levels": 5}
    assert not vit.description.can["neighbours"]
    assert "picture" not in describe(ModelConfig(12, 1, 1, 4, 4, 4)).to_json()


def test_a_config_survives_json(vit: Checkpoint) -> None:
    assert ModelConfig.from_json(vit.config.to_json()) == vit.config
    assert "picture" not in ModelConfig(12, 1, 1, 4, 4, 4).to_json()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"picture": {"size": 6, "patch": 4, "levels": 5}}, "multiple of its patch"),
        ({"picture": {"size": 6, "patch": 2, "levels": 99}}, "2 to 36 levels"),
        ({"picture": {"size": 6, "patch": 2}}, "size, patch, levels"),
        ({"picture": [6, 2, 5]}, "picture must be an object"),
        ({"max_seq_len": 12}, "max_seq_len must be 10"),
        ({"vocab_size": 625}, "more than the 625 possible patches"),
        ({"classes": [], "mask_token": True}, "only classifiers"),
    ],
)
def test_numbers_that_make_no_picture_are_refused(vit: Checkpoint, change: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ModelConfig.from_json({**vit.config.to_json(), **change})

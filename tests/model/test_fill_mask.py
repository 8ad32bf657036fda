"""An encoder without classes: a masked language model, whose row t is about token t (`predicts: "same"`)."""

import pytest
import torch

from chumoku.model import masks, special_tokens
from chumoku.model.attribution.gradients import gradient_norms
from chumoku.model.attribution.logit_attribution import contributions
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.config import ModelConfig
from chumoku.model.describe import describe, parameters
from chumoku.model.explain.swaps import swap_tokens
from chumoku.model.identities import discrepancies
from chumoku.model.trace import Masks, Padding, trace
from chumoku.model.traceable.zoo import about_config
from tests.model.helpers import NORM_ORDERS, TINY, close, tiny_fill_mask, tiny_model
from tests.shortcuts import logit_lens

CLS, MASK, PAD = 258, 259, 257
IDS = [10, 20, MASK, 30, 20]


@pytest.fixture
def filler() -> Checkpoint:
    return tiny_fill_mask()


def test_mask_is_the_last_special_id_and_nobody_can_type_it(filler: Checkpoint) -> None:
    made = filler.tokenizer
    assert (made.end_id, made.pad_id, made.first_id, made.mask_id) == (256, PAD, CLS, MASK)
    (token,) = made.tokens([MASK])
    assert (token.text, token.special, token.start, token.end) == (special_tokens.MASK, True, 0, 0)
    assert MASK not in made.encode("[MASK]")
    assert made.special == special_tokens.special_of("encoder-only", 260, mask_token=True)


def test_pad_cls_and_mask_are_never_predicted(filler: Checkpoint) -> None:
    assert filler.tokenizer.never_sampled == [PAD, CLS, MASK]
    assert about_config("filler", filler.config, {}).never_sampled == [PAD, CLS, MASK]


def test_the_description_says_what_a_row_is_about(filler: Checkpoint) -> None:
    found = filler.description
    assert (found.predicts, found.writes, found.sides, found.classes) == ("same", None, ("source",), ())
    assert found.logits.dims == "position vocab"
    assert found.logits.parameters == {"unembedding": "unembedding.weight", "b_unembedding": None}
    assert found.can["lens"]
    assert found.can["contributions"]
    assert not found.can["generate"]
    assert not any(attention.causal for attention in found.attentions)
    assert parameters(filler.config).keys() == filler.model.state_dict().keys()
    with_classes = describe(ModelConfig.from_json(filler.config.to_json() | {"classes": ["no", "yes"]}))
    assert (with_classes.predicts, with_classes.logits.dims) == ("classes", "class")


def test_the_unembedding_is_the_embedding(filler: Checkpoint) -> None:
    run = trace(filler, IDS)
    x, w = run.tensors["final_norm.out"], filler.model.get_parameter("token_embedding.weight")
    close(run.tensors["logits"], x @ w.T, 1e-5)
    assert run.ids == [CLS, *IDS]
    assert run.dims["logits"] == "position vocab"
    own = tiny_fill_mask(tie_embeddings=False).model
    assert not torch.equal(own.get_parameter("unembedding.weight"), own.get_parameter("token_embedding.weight"))


def test_every_row_depends_on_every_token(filler: Checkpoint) -> None:
    """A decoder's rows depend only on the tokens before them."""
    decoder = tiny_model(vocab_size=260)
    nothing, causal = masks.nothing(5, 5)[None, None], masks.causal(5, 5)[None, None]
    ids = torch.tensor([IDS])
    for changed in range(5):
        other = ids.clone()
        other[0, changed] = 99
        moved = (filler.model(ids, nothing) != filler.model(other, nothing)).any(-1)[0]
        assert moved.all()
        moved = (decoder(ids, causal) != decoder(other, causal)).any(-1)[0]
        assert moved.tolist() == [t >= changed for t in range(5)]


@pytest.mark.parametrize("side", ["left", "right"])
def test_pads_change_no_answer(filler: Checkpoint, side: str) -> None:
    plain = trace(filler, IDS, ["logits"]).tensors["logits"]
    padded = trace(filler, IDS, ["logits"], pad=Padding(2, side)).tensors["logits"]  # type: ignore[arg-type]
    close(padded[2:] if side == "left" else padded[:-2], plain, 1e-5)


def test_a_trace_agrees_with_itself(filler: Checkpoint) -> None:
    run = trace(filler, IDS)
    for layer in range(filler.config.n_layer):
        found = discrepancies(filler.description.attentions[0], layer, run.tensors, filler.model.get_parameter)
        assert max(gap.absolute for gap in found) < 1e-5


@pytest.mark.parametrize("norm_order", NORM_ORDERS)
def test_the_lens_compares_a_row_with_its_own_token(norm_order: str) -> None:
    filler = tiny_fill_mask(norm_order=norm_order)
    lens = logit_lens(filler, IDS, pad=Padding(1, "left"))
    assert lens.rows == [1, 2, 3, 4, 5, 6], "a PAD has no row"
    assert lens.next.ids.tolist() == [-1, 10, 20, -1, 30, 20], "what is hidden is unknown"
    logits = trace(filler, IDS, ["logits"]).tensors["logits"].double()
    logits[:, [PAD, CLS, MASK]] = -torch.inf
    p = logits.softmax(-1)
    close(lens.probability[-1], p.topk(5).values, 1e-5)
    close(lens.next.probability[-1, 1], p[1, 10], 1e-5)


def test_a_gap_s_logit_is_the_sum_of_its_parts(filler: Checkpoint) -> None:
    logits = trace(filler, IDS, ["logits"]).tensors["logits"]
    found = contributions(filler, IDS, 65, row=3)
    assert found.logit == pytest.approx(float(logits[3, 65]), abs=1e-6)
    assert found.total == pytest.approx(found.logit, abs=1e-4)


def test_the_gradient_of_a_gap_reaches_every_token(filler: Checkpoint) -> None:
    (with_residuals, _) = gradient_norms(filler, IDS, 65, row=3)
    assert (with_residuals.stacks[0].norm[0] > 0).all()
    with pytest.raises(ValueError, match="never sampled"):
        gradient_norms(filler, IDS, MASK, row=3)


def test_cls_does_not_move(filler: Checkpoint) -> None:
    with pytest.raises(ValueError, match="there are tokens 1 to 5"):
        swap_tokens(filler, IDS, 0, 1)
    swap = swap_tokens(filler, IDS, 1, 4)[1]
    assert swap.order_only, "without positions only the order changes"


def test_causality_can_be_switched_on_to_see_what_it_breaks(filler: Checkpoint) -> None:
    free, causal = (trace(filler, IDS, ["logits"], use=Masks(causal=on)).tensors["logits"] for on in (False, True))
    assert not torch.allclose(free[0], causal[0])
    close(free[-1], trace(filler, IDS, ["logits"]).tensors["logits"][-1], 1e-6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"family": "encoder-only"}, "needs mask_token"),
        ({"mask_token": True}, "only encoder-only models have a .MASK. token; this one is decoder-only"),
        ({"family": "encoder-decoder", "mask_token": True}, "this one is encoder-decoder"),
    ],
)
def test_gaps_need_a_mask_and_an_encoder(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ModelConfig.from_json(TINY | wrong)

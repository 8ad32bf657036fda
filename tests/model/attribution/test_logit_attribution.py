"""The terms of a logit, against the sum computed forwards: every part is passed through every LayerNorm after it."""

from typing import Any

import pytest
import torch
from torch import Tensor

from chumoku.model.attribution.head_writes import head_writes, key_writes
from chumoku.model.attribution.keys import KeyReader
from chumoku.model.attribution.logit_attribution import contributions
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.run import Run
from chumoku.model.trace import Padding, trace
from chumoku.model.traceable import ZooModel
from tests.model.explain.helpers import EVERY_KIND, SOURCE, a_model, favoured, options, sampled
from tests.model.helpers import FAMILIES, NORM_ORDERS
from tests.pairwise import pairwise

Key = tuple[str, str, int | None]


def pushed_forward(checkpoint: Checkpoint, row: int, answer: int, run: dict[str, Tensor]) -> dict[Key, float]:
    """{(part, path, head): value}. The parts stay separate from the embedding to the logit; their sum is the stream."""
    model: Any = checkpoint.model
    prefix = "decoder." if checkpoint.config.family == "encoder-decoder" else ""
    stack = model.decoder if prefix else model
    at = {name: x[..., row, :].double() for name, x in run.items() if name != "logits"}
    parts = {
        ("embedding", f"{prefix}embedding", None): at[f"{prefix}embedding"],
        ("position", f"{prefix}positional", None): at[f"{prefix}positional"],
    }

    def through(vectors: dict[Key, Tensor], norm: Any, path: str) -> dict[Key, Tensor]:
        x = sum(vectors.values())
        sigma = ((x - x.mean()).square().mean() + norm.eps).sqrt()
        out = {key: (v - v.mean()) / sigma * norm.weight.double() for key, v in vectors.items()}
        return {**out, ("norm_bias", path, None): norm.bias.double()}

    for n, block in enumerate(stack.layers):
        for kind in [k for k in ("attn", "cross_attn", "ffn") if hasattr(block, k)]:
            path, module = f"{prefix}layers.{n}.{kind}", getattr(block, kind)
            if kind == "ffn":
                b_2 = module.w_2.bias.double()
                new = {("ffn", path, None): at[f"{path}.out"] - b_2, ("ffn_bias", path, None): b_2}
            else:
                new = {("head", path, h): x for h, x in enumerate(at[f"{path}.head_out"])}
                new[("attention_bias", path, None)] = module.w_o.bias.double()
            norm, norm_path = getattr(block, f"{kind}_residual").norm, f"{path}_residual.norm"
            match checkpoint.config.norm_order:
                case "pre":
                    parts = parts | new
                case "post":
                    parts = through(parts | new, norm, norm_path)
                case "res-post":
                    parts = parts | through(new, norm, norm_path)
    if checkpoint.config.norm_order != "post":
        parts = through(parts, stack.final_norm, f"{prefix}final_norm")
    w_u = (model.classifier if checkpoint.config.family == "encoder-only" else model.unembedding).weight.double()
    values = {key: float(v @ w_u[answer]) for key, v in parts.items()}
    if checkpoint.config.family == "encoder-only":
        values[("output_bias", "logits", None)] = float(model.classifier.bias[answer])
    return values


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_every_term_is_what_its_part_becomes_when_it_is_pushed_through_the_model(family: str, order: str) -> None:
    checkpoint = a_model(family, order)
    only = family == "encoder-only"
    row, answer = (0, 2) if only else (3, 101)
    got = contributions(checkpoint, SOURCE, answer, row=row, **options(checkpoint))
    run = trace(checkpoint, SOURCE, **options(checkpoint)).tensors
    expected = pushed_forward(checkpoint, row, answer, run)
    assert {(t.part, t.path, t.head): t.value for t in got.terms} == pytest.approx(expected, abs=1e-5)
    attentions = {"attn": "decoder", "cross_attn": "cross"} if family == "encoder-decoder" else {"attn": "self"}
    assert all(t.attention == attentions[t.path.rpartition(".")[2]] for t in got.terms if t.part == "head")
    assert got.logit == float(run["logits"][answer] if only else run["logits"][row, answer])
    assert got.total == pytest.approx(sum(expected.values()), abs=1e-5)
    assert abs(got.error) < 1e-4
    assert got.error == got.logit - got.total


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_a_difference_of_two_logits_is_the_difference_of_their_terms(family: str, order: str) -> None:
    checkpoint = a_model(family, order)
    one, other, both = (
        contributions(checkpoint, SOURCE, a, against=b, **options(checkpoint))
        for a, b in ((1, None), (2, None), (1, 2))
    )
    assert both.logit == pytest.approx(one.logit - other.logit)
    differences = [a.value - b.value for a, b in zip(one.terms, other.terms, strict=True)]
    assert [term.value for term in both.terms] == pytest.approx(differences, abs=1e-9)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_no_term(family: Checkpoint, side: Any) -> None:
    """The row moves with its token; the default is the last row that predicts."""
    plain = contributions(family, SOURCE, 1, **options(family))
    padded = contributions(family, SOURCE, 1, pad=Padding(3, side), **options(family))
    assert [t.value for t in padded.terms] == pytest.approx([t.value for t in plain.terms], abs=1e-4)
    moved = side == "left" and family.config.family != "encoder-decoder"
    assert padded.row == plain.row + 3 * moved


def test_a_head_that_is_cut_contributes_nothing() -> None:
    checkpoint = a_model("decoder-only", "pre")

    def cut(z: Tensor, _: int) -> Tensor:
        z[:, 1] = 0
        return z

    got = contributions(checkpoint, SOURCE, 5, edit={"layers.1.attn.z": cut})
    assert [t.value for t in got.terms if (t.layer, t.head) == (1, 1)] == [0]
    assert abs(got.error) < 1e-4


@pytest.mark.parametrize(
    ("family", "order", "edited"),
    pairwise(FAMILIES, NORM_ORDERS, ["attn.z", "attn.q", "attn.head_out", "attn.attn_out", "ffn.post", "ffn.out"]),
)
def test_the_terms_of_an_edited_run_add_up(family: str, order: str, edited: str) -> None:
    """An edit of an attention's output is a term of its own; other edits change existing terms."""
    checkpoint = a_model(family, order)
    generator = torch.Generator().manual_seed(3)

    def random(x: Tensor, _: int) -> Tensor:
        return torch.randn(x.shape, generator=generator)

    prefix = "decoder." if family == "encoder-decoder" else ""
    edit = {f"{prefix}layers.0.{edited}": random}
    plain = contributions(checkpoint, SOURCE, 1, **options(checkpoint))
    got = contributions(checkpoint, SOURCE, 1, edit=edit, **options(checkpoint))
    assert got.logit != plain.logit
    assert abs(got.error) < 1e-4
    added = [(term.part, term.layer) for term in got.terms if term.part == "edited"]
    assert added == ([("edited", 0)] if edited == "attn.attn_out" else [])


def test_what_an_edit_wrote_is_what_it_wrote_instead_of_the_heads() -> None:
    """If the output is zero, the attention's terms cancel, and the logit is the sum of the other parts."""
    checkpoint = a_model("decoder-only", "pre")
    edit = {"layers.1.attn.attn_out": lambda x, _: torch.zeros_like(x)}
    got = contributions(checkpoint, SOURCE, 5, edit=edit)
    of_attention = [t.value for t in got.terms if t.layer == 1 and t.part in ("head", "attention_bias", "edited")]
    assert len(of_attention) == checkpoint.config.n_head + 2
    assert sum(of_attention) == pytest.approx(0, abs=1e-9)


def test_the_shipped_models_terms_add_up(zoo: Checkpoint) -> None:
    ids = zoo.tokenizer.encode("The cat sat on the mat. The cat")
    target = {"target": zoo.tokenizer.encode("猫")} if zoo.config.family == "encoder-decoder" else {}
    if not zoo.description.can["contributions"]:
        with pytest.raises(ValueError, match="not a sum over heads"):
            contributions(zoo, ids, 1, **target)
        return
    got = contributions(zoo, ids, 1, **target)
    assert abs(got.error) < 1e-4
    mean = contributions(zoo, ids, 1, against="mean", by_key=True, **target)
    assert abs(mean.error) < 1e-4
    for term in mean.terms:
        assert term.keys is None or sum(term.keys) == pytest.approx(term.value, abs=1e-4)
    n_writers = 1 + zoo.config.n_head + 2 + (zoo.config.n_head + 1) * (zoo.config.family == "encoder-decoder")
    n_norms = sum(term.part == "norm_bias" for term in got.terms)
    outer = 2 + (zoo.config.family == "encoder-only")
    assert len(got.terms) == outer + zoo.config.n_layer * n_writers + n_norms
    assert len(got.scales) == n_norms


def test_what_is_not_there_is_refused() -> None:
    checkpoint = a_model("decoder-only", "pre")
    with pytest.raises(ValueError, match="token id 258 is not one of 0 to 257"):
        contributions(checkpoint, SOURCE, 258)
    with pytest.raises(ValueError, match="row 9 predicts nothing; rows that do are 0 to 8"):
        contributions(checkpoint, SOURCE, 5, row=9)
    with pytest.raises(ValueError, match="class 3 is not one of 0 to 2"):
        contributions(a_model("encoder-only", "post"), SOURCE, 0, against=3)


def test_nothing_is_left_behind_on_the_model(family: Checkpoint) -> None:
    contributions(family, SOURCE, 1, **options(family))
    assert not any(p.requires_grad for p in family.model.parameters())


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_the_units_of_an_ffn_add_up_to_its_term(family: str, order: str) -> None:
    checkpoint = a_model(family, order)
    row, answer = (0, 2) if family == "encoder-only" else (3, 101)
    got = contributions(checkpoint, SOURCE, answer, row=row, units_of=0, **options(checkpoint))
    (term,) = (one for one in got.terms if one.part == "ffn" and one.layer == 0)
    assert got.units is not None
    assert got.units.total == pytest.approx(term.value, abs=1e-6)
    lengths = [unit.length for unit in got.units.units]
    assert lengths == sorted(lengths, reverse=True)
    plain = contributions(checkpoint, SOURCE, answer, row=row, **options(checkpoint))
    assert (plain.terms, plain.scales) == (got.terms, got.scales)


@pytest.mark.parametrize("order", ["pre", "post", "res-post"])
def test_a_unit_favours_the_answers_whose_logits_it_raises_most(order: str) -> None:
    checkpoint = a_model("encoder-only", order)
    runs = [contributions(checkpoint, SOURCE, answer, units_of=0) for answer in range(3)]
    units = [run.units.units for run in runs if run.units]
    assert len(units) == 3
    assert units[0]
    for same in zip(*units, strict=True):
        ranked = sorted(range(3), key=lambda answer: -same[answer].value)
        assert same[0].favours == ranked[:2], "all three would say nothing"


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_what_the_keys_of_a_head_add_to_a_logit_sums_to_the_heads_term(family: str, order: str) -> None:
    checkpoint = a_model(family, order)
    row, answer = (0, 2) if family == "encoder-only" else (3, 101)
    terms = contributions(checkpoint, SOURCE, answer, row=row, **options(checkpoint)).terms
    for term in (term for term in terms if term.part == "head"):
        assert term.attention is not None
        assert term.layer is not None
        assert term.head is not None
        where: Any = {"attention": term.attention, "layer": term.layer, "head": term.head, "row": row}
        got = head_writes(ZooModel(checkpoint), Run(SOURCE, **options(checkpoint)), answer, **where)
        assert float(got.logit.sum()) == pytest.approx(term.value, abs=1e-5)


def test_a_key_favours_the_answers_whose_logits_its_value_raises_most() -> None:
    checkpoint = a_model("decoder-only", "pre")
    model: Any = checkpoint.model
    got = head_writes(ZooModel(checkpoint), Run(SOURCE), 101, attention="self", layer=1, head=1, row=3, k=2)
    v = trace(checkpoint, SOURCE, ["layers.1.attn.v"]).tensors["layers.1.attn.v"][1]
    written = v @ model.layers[1].attn.w_o.weight[:, v.shape[1] : 2 * v.shape[1]].T
    centred = (written - written.mean(-1, keepdim=True)) * model.final_norm.weight
    logits = centred @ model.unembedding.weight.T
    logits[:, sorted(checkpoint.tokenizer.never_sampled)] = -torch.inf
    assert got.favoured.tolist() == logits.topk(2).indices.tolist()


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_against_the_mean_logit_is_the_mean_of_all_differences(family: str, order: str) -> None:
    """Of all answers that can be given: PAD and START cannot."""
    checkpoint = a_model(family, order)
    got = contributions(checkpoint, SOURCE, 1, against="mean", **options(checkpoint))
    logits = trace(checkpoint, SOURCE, ["logits"], **options(checkpoint)).tensors["logits"].double()
    at_row = logits if family == "encoder-only" else logits[got.row]
    never = {"decoder-only": 1, "encoder-only": 0, "encoder-decoder": 2}[family]
    assert got.logit == pytest.approx(float(at_row[1] - at_row[: len(at_row) - never].mean()), abs=1e-9)
    assert abs(got.error) < 1e-4
    if family == "encoder-only":
        each = [contributions(checkpoint, SOURCE, 1, against=other).terms for other in range(3)]
        means = [sum(term.value for term in same) / 3 for same in zip(*each, strict=True)]
        assert [term.value for term in got.terms] == pytest.approx(means, abs=1e-9)


def test_the_second_answer_is_the_most_likely_other_one(family: Checkpoint) -> None:
    """PAD and START cannot be it, whatever their logits."""
    checkpoint = favoured(family) if family.config.family != "encoder-only" else family
    logits = trace(checkpoint, SOURCE, ["logits"], **options(checkpoint)).tensors["logits"]
    at_row = logits if logits.dim() == 1 else logits[-1]
    best, other = sampled(checkpoint, at_row).topk(2).indices.tolist()
    for answer, against in ((best, other), (other, best)):
        got = contributions(checkpoint, SOURCE, answer, against="second", **options(checkpoint))
        assert got.against == against
        assert got.logit == pytest.approx(float(at_row[answer].double() - at_row[against].double()))


@pytest.mark.parametrize(("family", "order"), EVERY_KIND)
def test_a_heads_term_is_the_sum_over_its_keys(family: str, order: str) -> None:
    """Each key's part is what `head_writes` says of it; terms are the same with and without."""
    checkpoint = a_model(family, order)
    row, answer = (0, 2) if family == "encoder-only" else (3, 101)
    got = contributions(checkpoint, SOURCE, answer, row=row, by_key=True, **options(checkpoint))
    plain = contributions(checkpoint, SOURCE, answer, row=row, **options(checkpoint))
    assert [term.value for term in got.terms] == [term.value for term in plain.terms]
    heads = [term for term in got.terms if term.part == "head"]
    assert len(heads) > 2
    for term in heads:
        assert term.keys is not None
        assert sum(term.keys) == pytest.approx(term.value, abs=1e-5)
        where: Any = {"attention": term.attention, "layer": term.layer, "head": term.head, "row": row}
        wrote = head_writes(ZooModel(checkpoint), Run(SOURCE, **options(checkpoint)), answer, **where)
        assert term.keys == pytest.approx(wrote.logit.tolist(), abs=1e-9)
    assert {term.keys is None for term in got.terms if term.part != "head"} == {True}


def test_the_keys_of_a_head_that_is_edited_are_not_told() -> None:
    """Off, its keys bring nothing; patched, what it writes comes from no key here."""
    checkpoint = a_model("decoder-only", "pre")

    def edited(z: Tensor, _: int) -> Tensor:
        z[:, 0] = 0
        z[:, 1] = torch.ones_like(z[:, 1])
        return z

    got = contributions(checkpoint, SOURCE, 5, by_key=True, edit={"layers.1.attn.z": edited})
    off, patched, _ = (term for term in got.terms if term.layer == 1 and term.part == "head")
    assert (off.value, set(off.keys or [])) == (0, {0})
    assert patched.keys is None


def attending(mechanism: str) -> Checkpoint:
    position = "learned" if mechanism.startswith("aft") else "none"
    how = {"mechanism": mechanism, "position": position, "n_head": 3, "d_model": 12, "reach": 3}
    return a_model("decoder-only", "pre", **({} if mechanism == "softmax" else how))


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_what_the_keys_bring_is_what_the_attention_writes_but_for_its_bias(mechanism: str) -> None:
    checkpoint = attending(mechanism)
    attention = checkpoint.description.attention("self")
    reader = KeyReader(attention, 1, checkpoint.model.get_parameter)
    out = attention.tap("attn_out", 1)
    run = trace(checkpoint, SOURCE, [*reader.taps, out]).tensors
    names = attention.parameters.get("b_o")
    bias = checkpoint.model.get_parameter(names[1]) if names else 0
    with torch.no_grad():
        brought = reader.written(run, 5, {})
    assert tuple(brought.shape) == (3, 9, checkpoint.config.d_model)
    torch.testing.assert_close(brought.sum((0, 1)).float(), run[out][5] - bias, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mechanism", ["softmax", "relative", "rotary"])
def test_what_the_keys_of_a_row_add_to_the_logit_is_the_terms_of_their_heads(mechanism: str) -> None:
    """Of all heads, and of one; of another row than the one that answers, nothing is said."""
    checkpoint = attending(mechanism)
    where: Any = {"attention": "self", "layer": 1}
    found = key_writes(ZooModel(checkpoint), Run(SOURCE), 7, **where, query=8, row=8)
    terms = contributions(checkpoint, SOURCE, 7, against="mean").terms
    heads = [term.value for term in terms if term.layer == 1 and term.part == "head"]
    assert found.logit is not None
    assert float(found.logit.sum()) == pytest.approx(sum(heads), abs=1e-5)
    one = key_writes(ZooModel(checkpoint), Run(SOURCE), 7, **where, head=1, query=8, row=8)
    assert one.logit is not None
    assert float(one.logit.sum()) == pytest.approx(heads[1], abs=1e-5)
    elsewhere = key_writes(ZooModel(checkpoint), Run(SOURCE), 7, **where, query=5, row=8)
    assert elsewhere.logit is None
    assert elsewhere.length[6:].tolist() == [0.0, 0.0, 0.0], "no key of the future"


def test_the_length_of_what_a_key_brings_is_that_of_its_weighted_value_through_w_o() -> None:
    checkpoint = a_model("decoder-only", "pre")
    model: Any = checkpoint.model
    run = trace(checkpoint, SOURCE, ["layers.1.attn.pattern", "layers.1.attn.v"]).tensors
    pattern, v = run["layers.1.attn.pattern"][:, 5], run["layers.1.attn.v"]  # head key, head key d_head
    found = key_writes(ZooModel(checkpoint), Run(SOURCE), 7, attention="self", layer=1, query=5, row=5)
    joined = (pattern[..., None] * v).transpose(0, 1).flatten(1)  # key d_model
    expected = (joined @ model.layers[1].attn.w_o.weight.T).norm(dim=-1)
    torch.testing.assert_close(found.length.float(), expected)
    assert found.weight is not None
    torch.testing.assert_close(found.weight.float(), pattern.mean(0))


@pytest.mark.parametrize("order", ["pre", "post", "res-post"])
def test_the_terms_add_up_where_layer_norm_is_frozen(order: str) -> None:
    """Every norm has twice its scale; its mean and bias stay."""
    checkpoint = a_model("decoder-only", order)
    stack = checkpoint.description.readout
    norms = [part.norm for part in stack.sublayers if part.norm] + ([stack.final_norm] if stack.final_norm else [])

    def scaled(bias: Tensor) -> Any:
        return lambda x, _: (x - bias) * 2 + bias

    edit = {
        norm.roles["out"].tap: scaled(checkpoint.model.get_parameter(norm.parameters["bias"]).detach())
        for norm in norms
    }
    got = contributions(checkpoint, SOURCE, 5, against="mean", edit=edit)
    assert abs(got.error) < 1e-4
    found = key_writes(ZooModel(checkpoint), Run(SOURCE, edit=edit), 5, attention="self", layer=1, query=8, row=8)
    heads = [term.value for term in got.terms if term.layer == 1 and term.part == "head"]
    assert found.logit is not None
    assert float(found.logit.sum()) == pytest.approx(sum(heads), abs=1e-5)

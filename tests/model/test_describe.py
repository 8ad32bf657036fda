"""A description, built from a config alone, names exactly the taps and parameters of the model."""

import dataclasses
import json
import math

import pytest
import torch

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.config import Family, ModelConfig
from chumoku.model.describe import Description, describe, own_parameters, parameters
from chumoku.model.mechanisms import MECHANISMS
from chumoku.model.taps import tap_dims
from chumoku.model.trace import trace
from chumoku.model.transformer import Transformer, build
from tests.model.helpers import FAMILIES, NORM_ORDERS, POSITIONS, TINY, close, target_of
from tests.pairwise import pairwise

SOURCE, TARGET = list(b"attention"), list(b"is all")


def config_of(family: Family, **changes: object) -> ModelConfig:
    return ModelConfig(**TINY | {"family": family} | FAMILIES[family] | changes)


@pytest.fixture(params=NORM_ORDERS)
def norm_order(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=FAMILIES)
def kind(request: pytest.FixtureRequest) -> Family:
    return request.param


def test_every_tap_of_the_model_is_named_with_its_dimensions(kind: Family, norm_order: str) -> None:
    config = config_of(kind, norm_order=norm_order)
    named = {name: place.dims for name, place in describe(config).taps.items()}
    assert named == tap_dims(build(config))


def test_a_sublayer_has_all_parameters_of_its_module(kind: Family, norm_order: str) -> None:
    config = config_of(kind, norm_order=norm_order)
    check_own_parameters(build(config), describe(config))


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_a_sublayer_of_any_mechanism_has_all_parameters_of_its_module(mechanism: str) -> None:
    config = config_of("decoder-only", mechanism=mechanism, d_model=12)
    check_own_parameters(build(config), describe(config))


def check_own_parameters(model: Transformer, description: Description) -> None:
    for part in (part for stack in description.stacks for part in stack.sublayers):
        within = {f"{part.module}.{name}" for name, _ in model.get_submodule(part.module).named_parameters()}
        assert set(own_parameters(description, part)) == within


@pytest.mark.parametrize(
    ("kind", "norm_order", "position", "tied"), pairwise(FAMILIES, NORM_ORDERS, POSITIONS, [True, False])
)
def test_every_parameter_of_the_model_is_named(kind: Family, norm_order: str, position: str, tied: bool) -> None:
    config = config_of(kind, norm_order=norm_order, position=position, tie_embeddings=tied)
    assert parameters(config).keys() == dict(build(config).named_parameters(remove_duplicate=False)).keys()


def test_a_parameter_has_the_dimensions_it_says(kind: Family) -> None:
    config = config_of(kind)
    sizes = {"vocab": config.vocab_size, "position": 24, "d_model": 15, "d_ff": 22, "class": len(config.classes)}
    model = build(config)
    for name, one in parameters(config).items():
        assert list(model.get_parameter(name).shape) == [sizes[dim] for dim in one.dims.split()], name


def test_every_tap_is_in_the_json(kind: Family, norm_order: str) -> None:
    """The JSON is enough to name every tap."""
    config = config_of(kind, norm_order=norm_order)
    written = json.dumps(describe(config).to_json())
    assert [name for name in describe(config).taps if f'"{name}"' not in written] == []


def test_a_description_needs_no_weights(kind: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_tensor(*_: object) -> None:
        raise AssertionError("a parameter was made")

    monkeypatch.setattr(torch.nn.Parameter, "__new__", no_tensor)
    assert describe(config_of(kind, d_ff=7)).stacks[0].ffns[0].d_ff == 7


def test_the_id_is_of_the_shape_alone(kind: Family) -> None:
    config = config_of(kind)
    one, same, other = (describe(c) for c in (config, dataclasses.replace(config), config_of(kind, n_layer=3)))
    assert one.id == same.id != other.id
    assert len(one.id) == 16
    assert int(one.id, 16) >= 0
    assert describe(dataclasses.replace(config, dropout=0.5)).id == one.id, "dropout changes nothing that is traced"


def test_the_id_is_that_of_saved_files() -> None:
    """If the form of a description changes, update this id and the version of saved files."""
    assert describe(ModelConfig(**TINY)).id == "4245e765af602325"


def test_a_description_in_json_is_as_the_contract_has_it() -> None:
    found = describe(ModelConfig(**TINY | {"n_layer": 1})).to_json()
    stream = "position d_model"
    norm = {
        "kind": "layer_norm",
        "eps": 1e-5,
        "place": "pre",
        "roles": {
            "input": {"tap": "layers.0.attn_residual.norm.input", "dims": stream},
            "out": {"tap": "layers.0.attn_residual.norm.out", "dims": stream},
        },
        "parameters": {"gain": "layers.0.attn_residual.norm.weight", "bias": "layers.0.attn_residual.norm.bias"},
    }
    assert found["stacks"][0]["layers"][0]["sublayers"][0] == {
        "kind": "attention",
        "layer": 0,
        "reads": {"tap": "layers.0.resid_pre", "dims": stream},
        "writes": {"tap": "layers.0.attn.attn_out", "dims": stream},
        "leaves": {"tap": "layers.0.resid_mid", "dims": stream},
        "input": {"tap": "layers.0.attn_residual.norm.out", "dims": stream},
        "norm": norm,
        "attention": "self",
    }
    (attention,) = found["attentions"]
    assert attention["roles"]["scores"] == {"dims": "head query key", "taps": ["layers.0.attn.scores"]}
    assert attention["parameters"]["b_o"] == ["layers.0.attn.w_o.bias"]
    assert attention["scale"] == pytest.approx(1 / math.sqrt(5))
    assert [(one["op"], one["of"], one["gives"]) for one in attention["identities"]] == [
        ("scaled_product", ["q", "k"], "scores"),
        ("masked_softmax", ["scores", "mask"], "pattern"),
        ("weighted_sum", ["pattern", "v"], "z"),
        ("sum_heads", ["head_out", "b_o"], "attn_out"),
    ]
    assert found["logits"] == {
        "tap": "logits",
        "dims": "position vocab",
        "stack": "main",
        "parameters": {"unembedding": "unembedding.weight", "b_unembedding": None},
    }


def test_families_differ_in_what_they_predict_and_write() -> None:
    found = [describe(config_of(family)) for family in ("decoder-only", "encoder-only", "encoder-decoder")]
    assert [(one.predicts, one.writes, one.sides) for one in found] == [
        ("next", "source", ("source",)),
        ("classes", None, ("source",)),
        ("next", "target", ("source", "target")),
    ]
    assert [[a.id for a in one.attentions] for one in found] == [["self"], ["self"], ["encoder", "decoder", "cross"]]
    assert [one.can["generate"] for one in found] == [True, False, True]
    assert [one.can["beams"] for one in found] == [False, False, True]


def test_where_a_stream_ends(kind: Family) -> None:
    for norm_order, end in (("pre", "final_norm.out"), ("post", "layers.1.resid_post")):
        for stack in describe(config_of(kind, norm_order=norm_order)).stacks:
            path = "" if stack.id == "main" else f"{stack.id}."
            assert stack.leaves.tap == path + end
            assert stack.stream == [
                path + name for name in ("layers.0.resid_pre", "layers.0.resid_post", "layers.1.resid_post")
            ]


def test_unknown_names_list_the_known_ones() -> None:
    description = describe(config_of("encoder-decoder"))
    with pytest.raises(KeyError, match="no attention is named 'self'; known are encoder, decoder, cross"):
        description.attention("self")
    with pytest.raises(KeyError, match="no stack is named 'main'; known are encoder, decoder"):
        description.stack("main")
    with pytest.raises(KeyError, match="attention 'cross' has no role 'decay'; known are q, k, v, scores"):
        description.attention("cross").tap("decay", 0)


# --- a trace shows what the description says ------------------------------------------------------------------------


def test_queries_and_keys_are_of_the_sides_it_says(family: Checkpoint) -> None:
    run = trace(family, SOURCE, **target_of(family, TARGET))
    lengths = {"source": len(run.ids), "target": len(run.target_ids or [])}
    for one in describe(family.config).attentions:
        for tap in one.roles["pattern"].taps:
            assert run.tensors[tap].shape == (one.n_head, lengths[one.queries], lengths[one.keys])


def test_causal_is_what_it_was_trained_to_be(family: Checkpoint) -> None:
    run = trace(family, SOURCE, **target_of(family, TARGET))
    found = describe(family.config).attentions
    assert any(one.causal for one in found) == family.config.is_causal
    for one in found:
        assert bool((run.tensors[one.tap("mask", 0)] != 0).any()) == one.causal


def test_what_a_sublayer_reads_writes_and_leaves_follow_each_other(family: Checkpoint) -> None:
    run = trace(family, SOURCE, **target_of(family, TARGET))
    for stack in describe(family.config).stacks:
        start = (
            run.tensors[stack.embedding.roles["embedding"].tap] + run.tensors[stack.embedding.roles["positional"].tap]
        )
        assert torch.equal(start, run.tensors[stack.stream[0]])
        for one in stack.sublayers:
            close(run.tensors[one.reads.tap] + run.tensors[one.writes.tap], run.tensors[one.leaves.tap], 1e-5)

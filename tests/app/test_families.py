"""Traces of the three families, compared with `model.trace` itself."""

import math
from typing import Any

import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.app.services.library import Library
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.tokenizer import treebank
from chumoku.model.trace import Masks, Padding, trace
from chumoku.model.translate import beam_search
from tests.app.families import SOURCE, TARGET, opened
from tests.app.helpers import trace as ask

NAMES = ["gpt", "classifier", "translator"]


@pytest.fixture
def translator(three: Library) -> Checkpoint:
    return opened(three, "translator")


def compare(tensors: dict[str, np.ndarray], expected: Any) -> None:
    assert set(tensors) == set(expected.tensors)
    for name, tensor in expected.tensors.items():
        np.testing.assert_allclose(tensors[name], tensor.numpy(), atol=1e-6, err_msg=name)


async def test_models_say_what_they_are(families: AsyncClient, three: Library) -> None:
    models = (await families.get("/api/models")).json()["models"]
    about = {model["name"]: model for model in models}
    assert [about[name]["family"] for name in NAMES] == ["decoder-only", "encoder-only", "encoder-decoder"]
    assert [about[name]["sides"] for name in NAMES] == [["source"], ["source"], ["source", "target"]]
    assert [about[name]["classes"] for name in NAMES] == [[], ["no", "yes", "maybe"], []]
    assert [about[name]["languages"] for name in NAMES] == [["en"], ["en"], ["en", "ja"]]


async def test_each_on_its_own_page(families: AsyncClient, three: Library) -> None:
    about = {name: (await families.get(f"/api/models/{name}")).json() for name in NAMES}
    attends = {name: about[name]["description"]["attentions"] for name in NAMES}
    assert [[a["id"] for a in attends[name]] for name in NAMES] == [["self"], ["self"], ["encoder", "decoder", "cross"]]
    assert [attends[name][0]["causal"] for name in NAMES] == [True, False, False]
    cross = attends["translator"][2]
    assert (cross["queries"], cross["keys"], cross["causal"]) == ("target", "source", False)
    assert [about[name]["special"]["first"] for name in NAMES] == [
        None, {"id": 258, "text": "[CLS]"}, {"id": 258, "text": "<|start|>"},
    ]  # fmt: skip
    assert [about[name]["text_form"] for name in NAMES] == ["natural", "treebank", "natural"]
    for name in NAMES:  # the taps of every attention are present
        taps = {tap["name"] for tap in about[name]["taps"]}
        assert {a.tap("pattern", 1) for a in opened(three, name).description.attentions} <= taps


@pytest.mark.parametrize("model", NAMES)
async def test_all_patterns_come_unasked(families: AsyncClient, three: Library, model: str) -> None:
    tensors, meta = await ask(families, model=model, text=SOURCE)
    attentions = opened(three, model).description.attentions
    assert set(tensors) == {a.tap("pattern", n) for a in attentions for n in range(a.n_layer)}
    lengths = {"source": len(meta["tokens"]), "target": len(meta["target_tokens"] or [])}
    for one in attentions:
        assert tensors[one.tap("pattern", 0)].shape == (one.n_head, lengths[one.queries], lengths[one.keys])


async def test_a_target_is_read(families: AsyncClient, translator: Checkpoint) -> None:
    tensors, meta = await ask(
        families, model="translator", text=SOURCE, target=TARGET, want=["*"], predict={"positions": [0, 15], "n": 300}
    )
    encode = translator.tokenizer.encode
    expected = trace(translator, encode(SOURCE), target=encode(TARGET))
    compare(tensors, expected)
    assert [token["id"] for token in meta["target_tokens"]] == expected.target_ids
    assert meta["target_tokens"][0]["special"]
    assert (meta["target_text"], meta["target_from"]) == (TARGET, "request")
    assert meta["target_position_ids"] == list(range(16))
    assert meta["masks"] == {"causal": True, "padding": True}
    assert (meta["family"], meta["special"]["first"], meta["classes"]) == ("encoder-decoder", 258, None)
    assert meta["never_sampled"] == [257, 258]
    assert [found["position"] for found in meta["predictions"]] == [0, 15]
    assert {257, 258}.isdisjoint(candidate["id"] for candidate in meta["predictions"][0]["candidates"])


async def test_a_target_by_ids_is_the_same(families: AsyncClient, translator: Checkpoint) -> None:
    ids = translator.tokenizer.encode(TARGET)
    by_text, _ = await ask(families, model="translator", text=SOURCE, target=TARGET, want=["logits"])
    for target_ids in (ids, [258, *ids]):
        by_ids, meta = await ask(families, model="translator", text=SOURCE, target_ids=target_ids, want=["logits"])
        np.testing.assert_array_equal(by_ids["logits"], by_text["logits"])
        assert meta["target_text"] == TARGET
    _, meta = await ask(families, model="translator", text=SOURCE, target_ids=[*ids, 256], want=[])
    assert (meta["target_tokens"][-1]["id"], meta["target_text"]) == (256, TARGET)


async def test_without_a_target_it_is_the_greedy_one(families: AsyncClient, translator: Checkpoint) -> None:
    ids = translator.tokenizer.encode(SOURCE)
    (best,) = beam_search(translator, ids, beams=1)
    written = best.ids[:-1] if best.ended else best.ids
    request: dict[str, Any] = {"model": "translator", "text": SOURCE, "want": ["logits"]}
    for _ in range(2):  # computed, then kept
        tensors, meta = await ask(families, **request)
        assert [token["id"] for token in meta["target_tokens"]] == [258, *written]
        assert meta["target_from"] == "greedy"
        compare(tensors, trace(translator, ids, ["logits"], target=written))
    _, meta = await ask(families, **request, pad={"count": 3}, masks={"padding": False})
    assert [token["id"] for token in meta["target_tokens"]] == [258, *written]  # PADs do not change what is compared


@pytest.mark.parametrize("target", [{"target": ""}, {"target_ids": []}, {"target_ids": [258]}])
async def test_a_target_may_be_start_alone(families: AsyncClient, target: dict[str, Any]) -> None:
    tensors, meta = await ask(families, model="translator", text="a", **target, want=["*.pattern", "logits"])
    assert [token["id"] for token in meta["target_tokens"]] == [258]
    assert tensors["decoder.layers.0.cross_attn.pattern"].shape == (3, 1, 1)
    assert len(tensors["logits"]) == 1


@pytest.mark.parametrize("padding", [True, False])
@pytest.mark.parametrize("causal", [None, True, False])
async def test_masks_and_pads(families: AsyncClient, translator: Checkpoint, padding: bool, causal: bool) -> None:
    masks = {"causal": causal, "padding": padding}
    pad = {"count": 2, "side": "right"}
    tensors, meta = await ask(
        families, model="translator", text=SOURCE, target="a", masks=masks, pad=pad, want=["logits", "*.mask"]
    )
    encode = translator.tokenizer.encode
    expected = trace(
        translator, encode(SOURCE), list(tensors), target=encode("a"), use=Masks(causal, padding),
        pad=Padding(2, "right"),
    )  # fmt: skip
    compare(tensors, expected)
    assert meta["masks"] == {"causal": causal is not False, "padding": padding}
    assert len(meta["tokens"]) == len(SOURCE) + 2


@pytest.mark.parametrize("causal", [None, True])
async def test_a_classifier_says_its_classes(families: AsyncClient, three: Library, causal: bool | None) -> None:
    text = "It's GOOD."
    classifier = opened(three, "classifier")
    tensors, meta = await ask(families, model="classifier", text=text, masks={"causal": causal}, pad={"count": 1})
    expected = trace(
        classifier, classifier.tokenizer.encode(text), ["logits", *tensors], use=Masks(causal), pad=Padding(1)
    )
    logits = expected.tensors.pop("logits").double()
    compare(tensors, expected)
    assert [found["name"] for found in meta["classes"]] == ["no", "yes", "maybe"]
    for found, logit, probability in zip(meta["classes"], logits, logits.softmax(-1), strict=True):
        assert found["logit"] == pytest.approx(float(logit), rel=1e-6)
        assert found["probability"] == pytest.approx(float(probability), rel=1e-6)
    assert math.isclose(sum(found["probability"] for found in meta["classes"]), 1)
    assert meta["masks"]["causal"] is (causal is True)
    assert (meta["text"], meta["read_text"]) == (text, treebank(text))
    assert [token["special"] for token in meta["tokens"]][:3] == [True, True, False]  # PAD, [CLS]
    places = [meta["read_text"][token["start"] : token["end"]] for token in meta["tokens"][2:]]
    assert "".join(places) == meta["read_text"]


async def test_a_classifier_counts_its_first_token(families: AsyncClient) -> None:
    counted = (await families.post("/api/tokenize", json={"model": "classifier", "text": "It's"})).json()
    _, meta = await ask(families, model="classifier", text="It's", want=[])
    assert counted["tokens"] == meta["tokens"]
    assert (counted["text"], counted["read_text"], counted["n_tokens"]) == ("It's", "it 's", 6)
    nothing = (await families.post("/api/tokenize", json={"model": "classifier", "text": " "})).json()
    assert (nothing["tokens"], nothing["n_tokens"]) == ([], 0)
    _, meta = await ask(families, model="classifier", text=None, token_ids=[258, 97], want=[])
    assert [token["id"] for token in meta["tokens"]] == [258, 97]


async def test_an_intervention_names_its_attention(families: AsyncClient) -> None:
    request: dict[str, Any] = {"model": "translator", "text": SOURCE, "target": "ab", "want": ["*.mask", "*.attn.z"]}
    where = {"attention": "cross", "layer": 1, "head": 2, "query": 2, "key": 11}
    cell = {"kind": "mask", "where": where, "allow": False}
    tensors, meta = await ask(
        families,
        **request,
        interventions=[cell, {"kind": "ablate", "where": {"layer": 0, "head": 1}}],
    )
    changed = {name: np.argwhere(mask & 8).tolist() for name, mask in tensors.items() if name.endswith("mask")}
    assert {name: cells for name, cells in changed.items() if cells} == {
        "decoder.layers.1.cross_attn.mask": [[2, 2, 11]]
    }
    assert not tensors["encoder.layers.0.attn.z"][1].any()  # the first attention, where none is named
    assert tensors["decoder.layers.0.attn.z"][1].any()
    assert [item["where"]["attention"] for item in meta["interventions"]] == ["cross", "encoder"]


async def test_layers_count_within_their_stack(families: AsyncClient) -> None:
    tensors, _ = await ask(families, model="translator", text="a", target="b", layers=[1], heads=[2])
    parts = ("encoder.layers.1.attn", "decoder.layers.1.attn", "decoder.layers.1.cross_attn")
    assert {name: len(tensor) for name, tensor in tensors.items()} == {f"{part}.pattern": 1 for part in parts}

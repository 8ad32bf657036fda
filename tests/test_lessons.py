"""What lessons say of the models, held against their weights; and that each is complete in both languages."""

from __future__ import annotations

import ast
import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from chumoku.model import checkpoint
from chumoku.model.checkpoint import ZOO, Checkpoint
from chumoku.model.generate import generate
from chumoku.model.sampling import SamplingSettings
from chumoku.model.source_code import ROOT, SOURCES, source
from chumoku.model.trace import Masks, Padding, trace
from tests.knockouts import knockout_in, without
from tests.test_words import PERSONS, WORDS

STATIC = Path(__file__).parent.parent / "static"
FOLDER = STATIC / "learn/lessons"
LESSONS = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "index")
load = cache(checkpoint.load)


@cache
def lesson(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def step(name: str, of: str = "attention") -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in lesson(of)["steps"] if one["id"] == name)
    return found


def model_of(one: dict[str, Any]) -> Checkpoint:
    return load(ZOO / one["open"]["model"])


def ids_of(one: dict[str, Any]) -> list[int]:
    return model_of(one).tokenizer.encode(one["open"]["text"])


def words_of(one: dict[str, Any]) -> list[str]:
    return [token.text.strip() for token in model_of(one).tokenizer.tokens(ids_of(one))]


def tensors(one: dict[str, Any], *names: str, ids: list[int] | None = None, **more: Any) -> list[Tensor]:
    found = trace(model_of(one), ids or ids_of(one), list(names), **more).tensors
    return [found[name] for name in names]


def probabilities(one: dict[str, Any], row: int, **more: Any) -> Tensor:
    (logits,) = tensors(one, "logits", **more)
    chosen = logits[row].double()
    chosen[model_of(one).tokenizer.never_sampled] = -torch.inf
    return chosen.softmax(-1)


def right(one: dict[str, Any], value: float | str) -> str:
    """The English option that this value makes right."""
    for option in one["question"]["options"]:
        if option.get("is") == value if isinstance(value, str) else value < option.get("below", math.inf):
            return str(option["en"])
    raise AssertionError(f"no option for {value}")


def asked(one: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = one["question"]["with"]
    return found


# --- "What is attention?" ---------------------------------------------------------------------------------------------


def test_the_answer_comes_from_the_word_that_is_looked_at() -> None:
    one = step("river")
    key, row = asked(one)["key"], len(ids_of(one)) - 1
    assert words_of(one)[key] == "car"
    assert words_of(one)[row] == "red"
    before = probabilities(one, row)
    (car,) = model_of(one).tokenizer.encode(" car")
    assert int(before.argmax()) == car
    after = probabilities(one, row, edit=without(model_of(one), row, key))
    assert before[car] > 0.9
    assert after[car] < 0.1
    (token,) = model_of(one).tokenizer.tokens([int(after.argmax())])
    assert right(one, token.text.strip()) == "another red thing: “ball”"


def test_two_texts_share_their_beginning() -> None:
    one = step("writing")
    at = asked(one)
    texts = []
    for seed in at["seeds"]:
        settings = SamplingSettings(temperature=at["temperature"], top_k=20, seed=seed)
        *_, last = generate(model_of(one), ids_of(one), settings, at["n"])
        texts.append(last.ids[len(ids_of(one)) :])
    same = next(i for i, (a, b) in enumerate(zip(*texts, strict=True)) if a != b)
    assert right(one, same) == "one to five"
    row = probabilities(one, len(ids_of(one)) - 1)
    assert texts[0][0] in row.topk(3).indices.tolist(), "the first token is among those on the screen"


def test_a_rare_word_is_several_tokens() -> None:
    one = step("tokens")
    assert right(one, len(model_of(one).tokenizer.encode(asked(one)["text"]))) == "four or more"


def test_the_same_word_has_one_embedding_and_two_inputs() -> None:
    one = step("vectors")
    a, b = asked(one)["a"], asked(one)["b"]
    assert words_of(one)[a] == words_of(one)[b] == "red"
    looked, summed = tensors(one, "embedding", "layers.0.resid_pre")
    assert torch.equal(looked[a], looked[b])
    assert right(one, float(cosine_similarity(summed[a], summed[b], dim=0))) == "similar, not the same"
    assert one["figure"] == asked(one)


def pattern_row(one: dict[str, Any]) -> Tensor:
    at = asked(one)
    (pattern,) = tensors(one, f"layers.{at['layer']}.attn.pattern")
    return pattern[at["head"], at["query"]]


@pytest.mark.parametrize("name", ["toy", "softmax", "values"])
def test_the_chosen_head_looks_from_red_at_car(name: str) -> None:
    one = step(name)
    row = pattern_row(one)
    assert words_of(one)[asked(one)["query"]] == "red"
    assert words_of(one)[int(row.argmax())] == "car"
    assert float(row.max()) > 0.8, "“most of the weight”"


def test_the_best_key_is_an_option() -> None:
    assert right(step("toy"), "car") == "car"


def test_a_larger_score_is_a_far_larger_weight() -> None:
    one = step("softmax")
    at = asked(one)
    assert [words_of(one)[at[name]] for name in "ab"] == ["car", "red"]
    (scores,) = tensors(one, f"layers.{at['layer']}.attn.scores")
    row = scores[at["head"], at["query"]]
    assert 1.65 < float(row[at["a"]] / row[at["b"]]) < 1.8, "“about 1.7 times the score”"
    weights = pattern_row(one)
    assert right(one, float(weights[at["a"]] / weights[at["b"]])) == "more than ten times"


def test_the_variance_of_scores_grows_faster_than_d() -> None:
    """Within a row, over the keys that it may see: softmax sees nothing else."""
    one = step("scale")
    config = model_of(one).config
    assert config.d_head == 32, "“here d is 32”"
    grown = []
    for size in (1, config.d_head):
        within = []
        for layer in range(config.n_layer):
            q, k = tensors(one, f"layers.{layer}.attn.q", f"layers.{layer}.attn.k")
            parts = (q[:, :, None] * k[:, None]).unflatten(-1, (-1, size)).sum(-1)  # head query key part
            within += [parts[:, t, : t + 1].var(1, correction=0).mean() for t in range(1, q.shape[1])]
        grown.append(float(torch.stack(within).mean()))
    assert right(one, grown[1] / grown[0]) == "even more"
    assert grown[1] / grown[0] > 2 * config.d_head, "faster than for independent numbers, so some is left"


def test_without_the_root_the_slope_is_gone() -> None:
    one = step("scale")
    at = one["more"]["with"]
    (scores,) = tensors(one, f"layers.{at['layer']}.attn.scores")
    row = scores[at["head"], at["query"], : at["query"] + 1].double()
    root = math.sqrt(model_of(one).config.d_head)
    kept, gone = ((row * by).softmax(0).max() * (1 - (row * by).softmax(0).max()) for by in (1, root))
    assert float(gone / kept) < 0.001, "“nothing could be learned from it”"


def test_without_the_causal_mask_the_answer_is_copied() -> None:
    one = step("mask")
    row = asked(one)["row"]
    assert words_of(one)[row : row + 2] == ["red", "car"]
    car = ids_of(one)[row + 1]
    assert float(probabilities(one, row)[car]) < 0.2
    assert right(one, float(probabilities(one, row, use=Masks(causal=False))[car])) == "above 50\u202f%"


def weight(text: str, at: tuple[int, int], key: str, **more: Any) -> float:
    """What the last token gives to the first `key` in a head (layer, head)."""
    one = step("heads")
    ids = model_of(one).tokenizer.encode(text)
    (pattern,) = tensors(one, f"layers.{at[0]}.attn.pattern", ids=ids, **more)
    names = [token.text.strip() for token in model_of(one).tokenizer.tokens(ids)]
    return float(pattern[at[1], -1, names.index(key)])


def test_the_key_of_car_says_what_stood_before_it() -> None:
    """Without its looks at the “red” before it, “car” is hardly found by the induction head any more."""
    one = step("heads")
    at, writer = asked(one), asked(one)["writer"]
    head, key = (at["layer"], at["head"]), at["key"]
    ids, text = ids_of(one), one["open"]["text"]
    assert (at["query"], ids[key - 1]) == (len(ids) - 1, ids[-1]), "the token before it is the same word"
    masks = model_of(one).description.attentions[-1].roles["mask"].taps
    blind = dict.fromkeys(masks[: at["layer"]], knockout_in(slice(None), key, key - 1))
    alone = {masks[writer["layer"]]: knockout_in(writer["head"], key, key - 1)}
    before, after, left = (weight(text, head, "car", edit=edit) for edit in (None, blind, alone))
    assert right(one, after / before) == "less than a fifth"
    assert left < 0.65 * before, "“only in head …”"
    assert weight(text, head, "ball") < before / 3, "not any thing: that which followed “red”"
    others = [
        weight(text, head, "car", edit={masks[layer]: knockout_in(one, key, key - 1)})
        for layer in range(at["layer"])
        for one in range(8)
        if (layer, one) != (writer["layer"], writer["head"])
    ]
    assert left < min(others), "no other head writes more of it"


def test_another_head_finds_car_whatever_stood_before_it() -> None:
    """The notes: it “finds “car” whichever colour is asked for”, and the model says “car” “after “the blue”, too”."""
    text = step("heads")["open"]["text"]
    for asked_for in (text, text.removesuffix("red") + "blue"):
        assert weight(asked_for, (3, 4), "car") > 0.5
        assert weight(asked_for, (3, 4), "ball") < 0.2
        ids = model_of(step("heads")).tokenizer.encode(asked_for)
        (logits,) = tensors(step("heads"), "logits", ids=ids)
        assert model_of(step("heads")).tokenizer.decode([int(logits[-1].argmax())]) == " car"


def test_heads_look_at_different_tokens() -> None:
    one = step("heads")
    config = model_of(one).config
    assert [config.n_layer, config.n_head] == [6, 8], "“6 layers, 8 heads each”"
    query, heads = one["figure"]["query"], one["figure"]["heads"]
    assert [asked(one)["layer"], asked(one)["head"]] == heads[0]
    patterns = [tensors(one, f"layers.{layer}.attn.pattern")[0][head] for layer, head in heads]
    looked = [int(pattern[query].argmax()) for pattern in patterns]
    assert [words_of(one)[key] for key in looked] == ["car", "the", "car", "."]
    assert words_of(one)[looked[0] - 1] == words_of(one)[query], "what followed the same word"
    before = patterns[1].argmax(-1)[1:] == torch.arange(query)
    assert before.float().mean() > 0.75, "“looks mostly at the token before”"
    assert words_of(one)[int(patterns[1][looked[0]].argmax())] == "red", "from “car”, too"


def test_what_a_head_passes_on_is_the_value_of_its_key() -> None:
    one = step("values")
    at = asked(one)
    z, v = tensors(one, f"layers.{at['layer']}.attn.z", f"layers.{at['layer']}.attn.v")
    key = int(pattern_row(one).argmax())
    alike = cosine_similarity(z[at["head"], at["query"]], v[at["head"], key], dim=0)
    assert right(one, float(alike)) == "nearly the same"


def test_only_attention_moves_a_change_to_another_position() -> None:
    one = step("mixing")
    position = asked(one)["position"]
    (blue,) = model_of(one).tokenizer.encode(asked(one)["to"])
    ids = ids_of(one)
    other = [blue if i == position else own for i, own in enumerate(ids)]
    names = ["layers.0.attn_residual.norm.out", "layers.0.attn.attn_out", "layers.5.resid_post"]
    moved = [
        ((a - b).norm(dim=-1) > 1e-5 * a.norm(dim=-1)).tolist()
        for a, b in zip(tensors(one, *names), tensors(one, *names, ids=other), strict=True)
    ]
    alone = [i == position for i in range(len(ids))]
    later = [i >= position for i in range(len(ids))]
    assert moved == [alone, later, later]
    assert right(one, sum(later)) == "its own and later ones"
    assert right(one, len(ids)) == "all"


def test_layer_norm_swallows_the_mean_of_what_is_added_before_it() -> None:
    one = step("mixing")
    norm = model_of(one).model.get_submodule("layers.0.attn_residual.norm")
    x = torch.randn(7, model_of(one).config.d_model, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert torch.allclose(norm(x), norm(x + one["more"]["with"]["add"]), atol=1e-5)


def test_cls_is_the_same_going_in_and_its_sentences_own_coming_out() -> None:
    one = step("cls")
    names = ["layers.0.resid_pre", "layers.3.resid_post", "logits"]
    bad = tensors(one, *names)
    good = tensors(one, *names, ids=model_of(one).tokenizer.encode(asked(one)["others"][0]))
    assert torch.equal(bad[0][0], good[0][0])
    assert right(one, float(cosine_similarity(bad[1][0], good[1][0], dim=0))) == "about a half"
    assert [int(logits.argmax()) for logits in (bad[2], good[2])] == [0, 1], "negative, positive"
    dull = tensors(one, *names, ids=model_of(one).tokenizer.encode(one["figure"]["others"][1]))
    assert int(dull[2].argmax()) == 0


# --- "Masks and padding" ----------------------------------------------------------------------------------------------


def test_the_causal_mask_forbids_less_than_half() -> None:
    one = step("matrix", "masks")
    (mask,) = tensors(one, "layers.0.attn.mask")
    assert right(one, float(mask[0].bool().double().mean())) == "less than a half"


def moved_by_pads(one: dict[str, Any]) -> float:
    """Half the sum of the absolute differences of the next token's probabilities, alone and among PADs."""
    at, last = asked(one), len(ids_of(one)) - 1
    pads = Padding(at["count"], at["side"], at.get("follow", True))
    among = probabilities(one, last + at["count"], use=Masks(padding=at["padding"]), pad=pads)
    return float((probabilities(one, last) - among).abs().sum() / 2)


@pytest.mark.parametrize(
    ("name", "expected"), [("pads", "not at all"), ("unmasked", "by more"), ("counted", "by more")]
)
def test_pads_change_the_answer_unless_they_are_masked_and_not_counted(name: str, expected: str) -> None:
    one = step(name, "masks")
    assert asked(one)["side"] == "left", "the last row is after the PADs"
    assert right(one, moved_by_pads(one)) == expected


def test_under_a_causal_mask_cls_sees_no_sentence() -> None:
    one = step("encoder", "masks")
    causal = {"use": Masks(causal=True)}
    (bad,) = tensors(one, "layers.3.resid_post", **causal)
    good_ids = model_of(one).tokenizer.encode(asked(one)["others"][0])
    (good,) = tensors(one, "layers.3.resid_post", ids=good_ids, **causal)
    assert right(one, float(cosine_similarity(bad[0], good[0], dim=0))) == "identical"


# --- "Where a translator looks" ---------------------------------------------------------------------------------------


def about(one: dict[str, Any]) -> dict[str, Any]:
    """The step with the sentence of its question: another than that of its picture, which would show the answer."""
    assert asked(one)["text"] != one["open"]["text"]
    return one | {"open": one["open"] | {"text": asked(one)["text"]}}


def target_of(one: dict[str, Any]) -> list[int]:
    """The question's target, or the step's, or what the model writes greedily."""
    checkpoint = model_of(one)
    if text := asked(one).get("target", one["open"].get("target")):
        return checkpoint.tokenizer.encode(text)
    written: list[int] = []
    while not written or written[-1] != checkpoint.tokenizer.end_id:
        written.append(int(probabilities(one, len(written), target=written).argmax()))
    return written[:-1]


def test_without_its_looks_at_the_verb_it_does_not_write_the_verb() -> None:
    one = step("stacks", "translator")
    target, key = target_of(one), asked(one)["key"]
    assert words_of(one)[key] == "sold"
    before = probabilities(one, len(target), target=target)
    verb = int(before.argmax())
    assert model_of(one).tokenizer.tokens([verb])[0].text == "を売"
    after = probabilities(one, len(target), target=target, edit=without(model_of(one), len(target), key))
    assert right(one, float(after[verb])) == "below 20\u202f%"


@pytest.mark.parametrize(("name", "token", "key"), [("cross", "車", "bought"), ("order", "彼は", "last")])
def test_a_row_of_a_translation_looks_at_the_word_it_writes_next(name: str, token: str, key: str) -> None:
    one = about(step(name, "translator"))
    target, at = target_of(one), asked(one)
    assert model_of(one).tokenizer.tokens(target)[at["query"] - 1].text == token, "row 0 is START"
    (pattern,) = tensors(one, f"decoder.layers.{at['layer']}.cross_attn.pattern", target=target)
    assert at["layer"] == model_of(one).config.n_layer - 1, "“the last layer”"
    row = pattern[at["head"], at["query"]] if "head" in at else pattern[:, at["query"]].mean(0)
    assert words_of(one)[int(row.argmax())] == key
    assert right(one, key) == key


def test_the_encoder_gives_weight_to_later_tokens() -> None:
    one = step("reader", "translator")
    (pattern,) = tensors(one, f"encoder.layers.{asked(one)['layer']}.attn.pattern", target=target_of(one))
    assert right(one, float(pattern.triu(1).sum(-1).mean())) == "above 30\u202f%"


def test_after_the_last_token_it_says_end() -> None:
    one = step("end", "translator")
    target = target_of(one)
    assert int(probabilities(one, len(target), target=target).argmax()) == model_of(one).tokenizer.end_id
    assert right(one, "END") == "END"


# --- the glossary -----------------------------------------------------------------------------------------------------


def test_the_glossary_explains_each_word_once_in_both_languages() -> None:
    words = json.loads((STATIC / "learn/glossary/words.json").read_text("utf-8"))["words"]
    assert len(words) >= 25
    stations = names_in("glossary/glossary.js", "STATION_STATES")
    for language in ("en", "ja"):
        forms = [form.lower() for one in words for form in [one[language]["word"], *one[language].get("also", [])]]
        assert len(forms) == len(set(forms))
        assert all(one[language]["says"].endswith("." if language == "en" else "。") for one in words)
    assert all(one["station"] in stations for one in words)
    japanese = "\n".join(one["ja"]["says"] + one["ja"]["word"] for one in words)
    for word, others in WORDS.items():
        if word != "ステップ {i}/{n}":
            assert re.findall(others, japanese) == [], word


# --- every lesson -----------------------------------------------------------------------------------------------------


def names_in(file: str, name: str) -> set[str]:
    """The names of the object literal that a module exports as `name`."""
    code = (STATIC / "learn" / file).read_text("utf-8").split(f"export const {name} = {{", 1)[1].split("\n};", 1)[0]
    flat = re.sub(r"/\*.*?\*/|//[^\n]*", "", code)
    found = re.findall(r"^  (\w+)(?=[:,(]|$)|(?<=[{,] )(\w+)(?=,)", flat, re.MULTILINE)
    return {one or other for one, other in found}


def texts(node: Any, path: str = "") -> list[tuple[str, str, str]]:
    """Every pair of English and Japanese in a lesson."""
    if isinstance(node, list):
        return [pair for i, one in enumerate(node) for pair in texts(one, f"{path}[{i}]")]
    if not isinstance(node, dict):
        return []
    own = []
    if "en" in node:
        english, japanese = ("\n".join(x) if isinstance(x, list) else x for x in (node["en"], node["ja"]))
        own = [(path, english, japanese)]
    return own + [pair for name, one in node.items() for pair in texts(one, f"{path}.{name}")]


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_complete_in_both_languages(name: str) -> None:
    found = texts(lesson(name))
    assert found
    braces = re.compile(r"\{(\w+)\}")
    for path, english, japanese in found:
        assert english.strip(), path
        assert japanese.strip(), path
        assert set(braces.findall(english)) == set(braces.findall(japanese)), path
        assert english.count("*") == japanese.count("*") or path.endswith("words"), path
        assert "'" not in english, f"{path}: an apostrophe is typographic"
    for one in lesson(name)["steps"]:
        assert {"id", "title", "words", "open", "show", "question", "notes"} <= one.keys()
        assert not {"try", "then"} <= one.keys(), "one thing to try: before the guess, or after it"
        assert len(" ".join(one["words"]["en"]).split()) <= 45, one["id"]


@pytest.mark.parametrize("name", LESSONS)
def test_the_end_of_a_lesson_sums_up_and_leads_on(name: str) -> None:
    end = lesson(name)["closing"]
    assert {"id", "title", "words", "open", "show", "next", "notes"} <= end.keys()
    assert len(" ".join(end["words"]["en"]).split()) <= 60
    onward = [one.get("lesson") for one in end["next"] if "drawer" not in one]
    assert onward[0] is None, "first a sentence of the reader’s own"
    assert set(onward[1:]) == set(LESSONS) - {name}


def test_the_end_names_what_the_lesson_taught() -> None:
    said = " ".join(lesson("attention")["closing"]["words"]["en"])
    for word in ("query", "key", "head", "causal mask", "induction head"):
        assert f"*{word}*" in said
        first = next(one for one in lesson("attention")["steps"] if f"*{word}*" in " ".join(one["words"]["en"]))
        assert first, f"{word} is said in a step"


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_says_the_words_that_the_page_says(name: str) -> None:
    japanese = "\n".join(text for _, _, text in texts(lesson(name)))
    for word, others in WORDS.items():
        if word != "ステップ {i}/{n}":
            assert re.findall(others, japanese) == [], word
    assert re.findall(PERSONS, japanese) == []


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_names_only_what_there_is(name: str) -> None:
    ids = [one["id"] for one in lesson(name)["steps"]]
    assert len(ids) == len(set(ids))
    stations = names_in("glossary/glossary.js", "STATION_STATES")
    anchors = names_in("lesson/guide.js", "ANCHORS")
    measures = names_in("lesson/measures/index.js", "LESSON_MEASURES")
    figures = names_in("lesson/figures/index.js", "FIGURES")
    for one in [*lesson(name)["steps"], lesson(name)["closing"]]:
        assert one["open"].get("station", "tokens") in stations
        assert (ZOO / one["open"]["model"]).is_dir()
        for place in one["show"]:
            kind, _, figure = place.partition(":")
            assert figure in figures if kind == "figure" else place in anchors, place
        assert "next" in one or one["question"]["measure"] in measures
        assert one.get("more", {}).get("measure") in {None, *measures}
        assert set(one.get("source", [])) <= SOURCES.keys()


@pytest.mark.parametrize("name", LESSONS)
def test_no_answer_is_written_in_a_lesson(name: str) -> None:
    """Answers are measured: the words of an answer have no number of their own, except the 1 and 0 of a cosine."""
    for one in lesson(name)["steps"]:
        for language in ("en", "ja"):
            said = re.sub(r"\{\w+\}", "", one["question"]["says"][language])
            assert re.findall(r"\d+(?:\.\d+)?", said) in ([], ["1"], ["2"], ["1", "2"], ["1", "0"]), one["id"]


def test_the_list_of_lessons_has_every_lesson() -> None:
    listed = json.loads((FOLDER / "index.json").read_text("utf-8"))["lessons"]
    assert sorted(one["id"] for one in listed) == LESSONS
    for one in listed:
        assert {name: lesson(one["id"])[name] for name in one} == one


# --- source lines -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SOURCES)
def test_source_lines_are_those_of_the_file(name: str) -> None:
    found = source(name)
    lines = (ROOT / found.file).read_text("utf-8").splitlines()
    code = found.code.rstrip("\n").split("\n")
    there = lines[found.line - 1 : found.line - 1 + len(code)]
    assert [line.strip() for line in there] == [line.strip() for line in code]
    (function,) = ast.parse(found.code).body
    assert isinstance(function, ast.FunctionDef)
    assert function.name == found.object.rsplit(".", 1)[-1]

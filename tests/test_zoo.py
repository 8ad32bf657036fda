"""The shipped models: each card is complete, and each example on the empty page shows what it promises."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from chumoku.app.services.plan import greedy
from chumoku.app.services.tokens import as_read
from chumoku.model import checkpoint
from chumoku.model.checkpoint import ZOO, Checkpoint
from chumoku.model.describe import Attention
from chumoku.model.evaluate_translation import translations
from chumoku.model.generate import generate
from chumoku.model.pictures.examples import read_examples
from chumoku.model.sampling import SamplingSettings
from chumoku.model.trace import Trace, trace
from chumoku.model.traceable import ZooModel, every_folder
from chumoku.model.training.card import recipe_of
from chumoku.model.training.check_lists import check_lists
from chumoku.model.training.presets import PRESETS, difference
from chumoku.model.training.translation import PROBES, PROBES_BACK

EXAMPLES = json.loads((Path(__file__).parents[1] / "static" / "examples.json").read_text(encoding="utf-8"))["examples"]
README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
PAGE = (Path(__file__).parents[1] / "docs" / "models.md").read_text(encoding="utf-8")
MODELS = [folder.name for folder, _ in every_folder(ZOO)]
SAID = {
    "name", "data", "command", "seed", "hardware", "minutes", "steps", "tokens_seen", "recipe", "n_parameters",
    "evaluation", "curve", "samples", "units",
}  # fmt: skip


def test_all_three_families_ship() -> None:
    assert {"stories-gpt", "translate-enja", "sentiment-encoder"} <= set(MODELS)


@pytest.mark.parametrize("name", MODELS)
def test_a_card_says_how_the_model_was_made_and_how_good_it_is(name: str) -> None:
    loaded = checkpoint.load(ZOO / name)
    card = loaded.card
    assert card.keys() >= SAID
    assert all(source["what"] and source["licence"] for source in card["data"])
    assert card["n_parameters"] == sum(p.numel() for p in loaded.model.parameters())
    assert len(card["samples"]) >= 3
    assert card["curve"], "a curve has at least one point"


MINIS = [name for name in MODELS if "trained_like" in json.loads((ZOO / name / "card.json").read_text("utf-8"))]


def test_the_page_of_models_says_how_far_apart_seeds_end_and_which_gaps_are_wider() -> None:
    cards = {name: json.loads((ZOO / name / "card.json").read_text("utf-8")) for name in MINIS}
    bits = {name: card["evaluation"]["bits_per_byte"] for name, card in cards.items()}
    seeded = {name: card["seeds"] for name, card in cards.items() if "seeds" in card}
    assert seeded.keys() == {"mini-softmax", "mini-aft-simple", "mini-single-head"}
    assert all([seed["seed"] for seed in seeds] == [1, 2] for seeds in seeded.values())
    apart = {}
    for name, seeds in seeded.items():
        reached = [bits[name], *(seed["bits_per_byte"] for seed in seeds)]
        apart[name] = max(reached) - min(reached)
    said = " ".join(PAGE.split())
    ends = "mini-softmax ends up to {mini-softmax:.4f} bits per byte apart, mini-aft-simple {mini-aft-simple:.4f}"
    assert f"{ends} and mini-single-head {{mini-single-head:.4f}}".format(**apart) in said
    wider = [name for name in MINIS if abs(bits[name] - bits["mini-softmax"]) >= 2 * max(apart.values())]
    assert wider == ["mini-no-mask", "mini-res-post", "mini-sinusoidal"]
    assert "only mini-res-post, mini-sinusoidal and mini-no-mask differ from mini-softmax by more" in said
    assert f"Differences under {2 * max(apart.values()):.3f}, twice the widest of these, are seed noise" in said


def card_of(name: str) -> dict[str, Any]:
    card: dict[str, Any] = json.loads((ZOO / name / "card.json").read_text("utf-8"))
    return card


def row_of(page: str, name: str) -> str:
    return next(line for line in page.splitlines() if f"zoo/{name}/card.json" in line)


def test_the_readme_says_the_figures_of_the_main_models_cards() -> None:
    stories, translator, classifier = (card_of(name) for name in ("stories-gpt", "translate-enja", "sentiment-encoder"))
    figures = stories["evaluation"]
    assert f"**{figures['bits_per_byte']:.3f} bits per byte** on 145 TinyStories" in row_of(README, "stories-gpt")
    assert figures["on"].startswith("145 documents of tinystories.txt")
    assert "none shares 20 words in a row" in figures["on"]
    figures = translator["evaluation"]
    said = (
        f"**chrF {figures['beam_4']['chrf']:.1f}** into Japanese with 4 beams, {figures['back']['beam_4']['chrf']:.1f}"
    )
    assert said in row_of(README, "translate-enja")
    assert figures["on"].startswith("1463 pairs of 4 to 14 words")
    said = f"chrF {figures['beam_4']['chrf']:.1f} with 4 beams (BLEU by character {figures['beam_4']['bleu']:.1f})"
    assert f"{said} and {figures['greedy']['chrf']:.1f} greedy" in " ".join(PAGE.split())
    figures = classifier["evaluation"]
    said = f"**{100 * figures['accuracy']:.1f} %** of 661 sentences of 12 words or more"
    assert said in row_of(README, "sentiment-encoder")
    assert figures["on"].startswith("661 whole sentences of 12 words or more")
    assert figures["accuracy"] < 0.8, "the goal that it misses"


def test_the_page_of_models_says_how_far_back_a_kernel_reaches() -> None:
    (offsets,) = {
        tensor.shape[1] for name, tensor in checkpoint.load(ZOO / "mini-aft-conv").model.named_parameters()
        if name.endswith("kernel")
    }  # fmt: skip
    assert f"one bias per distance, up to {offsets - 1} positions back" in row_of(PAGE, "mini-aft-conv")


def test_the_page_of_models_says_the_loss_over_lengths_that_the_cards_have() -> None:
    table = PAGE.split("### Lengths")[1]
    rows = re.findall(r"^\| (mini-[\w-]+) \| (.+)\|$", table, re.MULTILINE)
    read_on = {name for name in MINIS if card_of(name).get("lengths", {}).get("ends") is False}
    assert {name for name, _ in rows} == {"mini-softmax", *read_on}
    columns = [64, 128, 256, 512, 1024]
    for name, said in rows:
        *losses, last = (cell.strip() for cell in f"{said} ".split("| "))
        lengths = card_of(name)["lengths"]
        assert (lengths["n_passages"], lengths["n_documents"], lengths["n_scored"]) == (46, 11, 32)
        by_length = dict(zip(lengths["length"], lengths["loss"], strict=True))
        assert [bool(loss) for loss in losses] == [n in by_length for n in columns], name
        said_losses = {n: float(loss) for n, loss in zip(columns, losses, strict=True) if loss}
        assert said_losses == pytest.approx({n: by_length[n] for n in said_losses}, abs=0.00051), name
        if 1024 in by_length:
            at = lengths["length"].index(1024)
            apart, error = re.findall(r"^([+−][\d.]+) ± ([\d.]+): ", last)[0]
            digits = len(apart.partition(".")[2])
            assert float(apart.replace("−", "-")) == round(lengths["apart"][at], digits), name
            assert float(error) == round(lengths["error"][at], digits), name


@pytest.mark.parametrize("name", MINIS)
def test_a_small_model_differs_from_its_baseline_as_its_card_says(name: str) -> None:
    loaded, preset = checkpoint.load(ZOO / name), PRESETS[name]
    assert loaded.config == preset.config
    assert loaded.card["trained_like"] == {"model": preset.baseline, "differs": difference(preset)}
    assert preset.baseline in MINIS
    same = json.loads((ZOO / str(preset.baseline) / "card.json").read_text("utf-8"))
    for about in ("data", "seed", "steps", "tokens_seen", "recipe"):
        assert loaded.card[about] == same[about]
    assert loaded.card["recipe"] == json.loads(json.dumps(recipe_of(preset))), "trained again, it would be the same"
    assert loaded.card["tokens_seen"] >= 12_000_000
    rounded = {name: round(figure, 2) for name, figure in loaded.card["evaluation"].items() if name.startswith("loss")}
    bits = f"{loaded.card['evaluation']['bits_per_byte']:.3f}"
    line = row_of(PAGE, name)
    assert f"| {loaded.card['n_parameters'] / 1e6:.2f} |" in line
    times = 1 if name == "mini-softmax" else loaded.card["speed"]["times"]
    assert f"| {bits} | {rounded['loss_on_repeated_tokens']:.2f} | {times:.1f} |" in line
    averaging = loaded.card["averaging"]
    # Without a causal mask a run validates with the whole window visible: the last point of its curve.
    assert averaging["average"]["bits_per_byte"] == pytest.approx(loaded.card["curve"][-1]["bits_per_byte"], abs=2e-4)
    if "snapshots" in loaded.card:
        assert averaging["last_step"] == loaded.card["snapshots"][-1]["held_out"]
    weights = [ZOO / name / "weights.safetensors", *(ZOO / name / "snapshots").glob("*.safetensors")]
    assert all(file.stat().st_size <= 3_000_000 for file in weights)


STORY = "Once upon a time there was a little dog. One day he found a red ball in the park and took it home."


@pytest.mark.parametrize("name", MINIS)
def test_a_trained_decoder_sees_nothing_ahead_and_its_cache_says_what_a_whole_pass_says(name: str) -> None:
    """Only the one without a mask sees ahead. Caches with the spread of keys that training made, where older keys are
    one sum, too."""
    loaded = checkpoint.load(ZOO / name)
    ids = loaded.tokenizer.encode(STORY)
    whole, prefix = (trace(loaded, part, ["logits"]).tensors["logits"] for part in (ids, ids[:9]))
    changed = float((whole[:9] - prefix).abs().max())
    assert changed < 1e-4 if loaded.config.is_causal else changed > 1
    *_, last = generate(loaded, ids, SamplingSettings(seed=1), 8, ["logits"])
    alone = trace(loaded, last.ids, ["logits"])
    assert (last.tensors["logits"][-1] - alone.tensors["logits"][-1]).abs().max() < 1e-3


def test_rows_of_a_table_for_later_keys_were_never_trained() -> None:
    """They are as wide as at the start (0.02), which the page says of them."""
    loaded = checkpoint.load(ZOO / "mini-relative")
    for name, table in loaded.model.named_parameters():
        if name.endswith(("table_k", "table_v")):
            n = len(table) // 2
            assert 0.017 < table[n + 1 :].std() < 0.023
            assert table[: n + 1].std() > 0.03


def test_stories_gpt_s_samples_begin_with_their_prompts_and_its_curve_falls() -> None:
    card = checkpoint.load(ZOO / "stories-gpt").card
    assert all(sample["text"].startswith(sample["prompt"]) for sample in card["samples"])
    assert card["curve"][-1]["bits_per_byte"] < card["curve"][0]["bits_per_byte"]


def test_the_translator_s_card_has_both_ways_to_decode_and_translations_in_both_directions() -> None:
    card = checkpoint.load(ZOO / "translate-enja").card
    assert card["both_directions"] is True
    for way in ("greedy", "beam_4"):
        for figures in (card["evaluation"], card["evaluation"]["back"]):
            assert figures[way].keys() == {"chrf", "bleu"}
    assert card["evaluation"]["bleu_counts"].startswith("characters")
    assert [one["source"] for one in card["samples"]] == [*PROBES, *PROBES_BACK]
    assert card["curve"][-1]["nats_per_token"] < card["curve"][0]["nats_per_token"]


REACHED = {
    "greetings": {"from_en": 48, "from_ja": 48},
    "common": {"from_en": 57, "from_ja": 57},
    "words": {"from_en": 97, "from_ja": 97},
}
"""How many greetings of 50, common words of 60 and words of 100 the translator gets right at least."""
FIRST = {
    "dog": "犬", "cat": "猫", "water": "水", "love": "愛", "book": "本", "tree": "木", "house": "家", "mother": "母",
    "red": "赤", "eat": "食べる", "go": "行く", "sun": "太陽",
}  # fmt: skip


def test_the_translator_knows_what_everybody_types_first_as_its_card_says() -> None:
    """Another machine rounds otherwise, which may turn two of a list."""
    typed = checkpoint.load(ZOO / "translate-enja").card["evaluation"]["typed"]
    found = check_lists(checkpoint.load(ZOO / "translate-enja"))
    assert found["repeats"] == typed["repeats"] == 0, "no word more than three times in a row"
    for name, least in REACHED.items():
        assert found[name]["of"] == typed[name]["of"]
        for way, n in least.items():
            assert found[name][way] == pytest.approx(typed[name][way], abs=2)
            assert typed[name][way] >= n
    right = {name: typed[name]["from_en"] + typed[name]["from_ja"] for name in REACHED}
    said = " ".join(PAGE.split())
    assert f"{right['greetings']} of 100 greetings" in said
    assert f"{right['common']} of 120 common words and {right['words']} of 200 others that it was trained on" in said


def test_the_translator_knows_the_first_words_greedily_as_the_page_decodes_them() -> None:
    loaded = checkpoint.load(ZOO / "translate-enja")
    assert translations(loaded, [*FIRST], beams=1) == [*FIRST.values()]
    assert translations(loaded, [word.capitalize() for word in FIRST], beams=1) == [*FIRST.values()]
    assert translations(loaded, [*FIRST.values()], beams=1) == [*FIRST]


def test_the_translator_reaches_its_goals_in_both_directions() -> None:
    """chrF with 4 beams on the card's held-out pairs."""
    figures = checkpoint.load(ZOO / "translate-enja").card["evaluation"]
    assert figures["beam_4"]["chrf"] >= 33
    assert figures["back"]["beam_4"]["chrf"] >= 46


def test_the_classifier_s_card_says_what_it_takes_for_what_and_where_it_fails() -> None:
    card = checkpoint.load(ZOO / "sentiment-encoder").card
    table = card["evaluation"]["confusion"]["table"]
    right, n = sum(table[i][i] for i in range(2)), sum(map(sum, table))
    assert card["evaluation"]["accuracy"] == pytest.approx(right / n, abs=1e-4)
    assert all(sample["probability_of_it"] < 0.5 for sample in card["samples"])


def test_the_card_of_the_model_of_pictures_says_what_it_gets_right() -> None:
    """The figures, from the pictures and weights that ship."""
    loaded = checkpoint.load(ZOO / "digits-vit")
    assert loaded.config.picture is not None
    table = [[0] * 10 for _ in range(10)]
    for one in read_examples(ZOO / "digits-vit", loaded.config.picture, 10):
        logits = trace(loaded, loaded.config.picture.ids(one.pixels), ["logits"]).tensors["logits"]
        table[one.label][int(logits.argmax())] += 1
    right = sum(table[i][i] for i in range(10)) / sum(map(sum, table))
    figures = loaded.card["evaluation"]
    assert figures["confusion"]["table"] == table
    assert figures["accuracy"] == pytest.approx(right, abs=1e-4)
    assert right >= 0.97
    assert f"**{100 * right:.1f} %** of 360 pictures" in row_of(README, "digits-vit")
    assert f"{100 * figures['last_fifth']['accuracy']:.1f} % of the last 360 digits" in PAGE


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_float16_and_small_enough_for_git(name: str) -> None:
    file = ZOO / name / "weights.safetensors"
    assert file.stat().st_size <= 24e6
    with safe_open(file, "pt") as weights:
        assert {weights.get_slice(tensor).get_dtype() for tensor in weights.keys()} == {"F16"}  # noqa: SIM118


def test_stories_gpt_meets_its_bar() -> None:
    assert checkpoint.load(ZOO / "stories-gpt").card["evaluation"]["bits_per_byte"] <= 0.90


@pytest.mark.parametrize("example", [one for one in EXAMPLES if "at_least" in one], ids=lambda example: example["text"])
def test_an_example_shows_what_it_says(example: dict[str, Any]) -> None:
    """The chosen query looks most at the chosen key, with at least the promised weight; the text names both."""
    loaded = checkpoint.load(ZOO / example["model"])
    run, attention = shown(loaded, example)
    row = run.tensors[attention.tap("pattern", example["layer"])][example["head"], example["query"]]
    assert int(row.argmax()) == example["key"]
    assert float(row.max()) >= example["at_least"]
    ids = {"source": run.ids, "target": run.target_ids or []}
    query = loaded.tokenizer.tokens(ids[attention.queries])[example["query"]].text.strip()
    key = loaded.tokenizer.tokens(ids[attention.keys])[example["key"]].text.strip()
    for language in ("en", "ja"):
        assert query in example["see"][language]
        assert key in example["see"][language]


def shown(loaded: Checkpoint, example: dict[str, Any]) -> tuple[Trace, Attention]:
    """The patterns and the logits of an example's run, as the app makes it, and its attention."""
    traceable, description = ZooModel(loaded), loaded.description
    attention = description.attention(example.get("attention") or description.attentions[0].id)
    ids = as_read(traceable, loaded.tokenizer.encode(example["text"]))
    target = {"target": greedy(traceable, ids)} if "target" in description.sides else {}
    return trace(loaded, ids, [*attention.roles["pattern"].taps, description.logits.tap], **target), attention


def test_the_example_of_the_token_before_says_how_many_rows_attend_to_it() -> None:
    (example,) = [one for one in EXAMPLES if "token before:" in one["see"]["en"]]
    run, attention = shown(checkpoint.load(ZOO / example["model"]), example)
    rows = run.tensors[attention.tap("pattern", example["layer"])][example["head"]].argmax(-1)[1:].tolist()
    before = sum(row == query for query, row in enumerate(rows))
    assert f"{before} of {len(rows)} tokens" in example["see"]["en"]
    assert f"{len(rows)} 個のトークンのうち {before} 個" in example["see"]["ja"]


@pytest.mark.parametrize(
    "example", [one for one in EXAMPLES if one["model"] == "sentiment-encoder" and "at_least" in one],
    ids=lambda example: example["text"],
)  # fmt: skip
def test_a_review_on_a_card_is_read_as_the_card_says(example: dict[str, Any]) -> None:
    loaded = checkpoint.load(ZOO / "sentiment-encoder")
    run, _ = shown(loaded, example)
    assert loaded.config.classes == ("negative", "positive")
    assert "positive? " in example["see"]["en"]
    assert "the answer is yes" in example["see"]["en"]
    assert float(run.tensors["logits"].softmax(-1)[1]) > 0.7

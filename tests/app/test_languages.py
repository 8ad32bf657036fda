from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from httpx import AsyncClient
from tokenizers import processors

import chumoku
from chumoku.app.services.languages import Spoken, directions, languages_of, notes, script, spoken
from chumoku.app.services.languages import codes as codes_of
from chumoku.app.services.library import Library
from tests.app.helpers import trace
from tests.toys import huggingface as toys


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I ate a banana.", "latin"),
        ("naïve Ærø", "latin"),
        ("猫が好きです。", "japanese"),
        ("注目", "japanese"),
        ("カタカナ ー", "japanese"),
        ("ｺｰﾋｰ", "japanese"),
        ("ＡＢＣ", "latin"),
        ("Я люблю кошек", "cyrillic"),
        ("고양이", "hangul"),
        ("مرحبا", "arabic"),
        ("私はPythonが好きで毎日書いています", "japanese"),
        ("cats 猫が好き", None),  # mixed
        ("", None),
        ("123 🙂 !?", None),
        (" \n\0", None),
    ],
)
def test_script(text: str, expected: str | None) -> None:
    assert script(text) == expected


def test_long_texts_are_judged_by_their_beginning() -> None:
    assert script("a" * 2_000 + "猫" * 18_000) == "latin"


async def test_an_untrained_language_is_said_and_works(families: AsyncClient) -> None:
    def note(language: str, writers: list[str]) -> dict[str, Any]:
        of = {"language": language, "trained": ["en"], "models": [], "writers": writers}
        return {"code": "untrained_language", **of}

    for model in ("gpt", "classifier", "translator"):  # the translator writes Japanese and does not read it
        _, meta = await trace(families, model=model, text="猫が好き")
        assert meta["notes"] == [note("ja", ["translator"])]
        _, meta = await trace(families, model=model, text="I like cats.", target=None)
        assert meta["notes"] == []
    _, meta = await trace(families, text=None, token_ids=list("кот".encode()))
    assert meta["notes"] == [note("cyrillic", [])]
    answer = (await families.post("/api/translate", json={"text": "猫"})).json()
    assert answer["notes"] == [note("ja", ["translator"])]


def test_what_a_card_says(three: Library) -> None:
    gpt = three.find("gpt").about
    unknown = replace(gpt, card={})  # no card: a model of somebody else's
    assert languages_of(unknown) == []
    assert notes(unknown, "猫が好き", {}) == []
    for card in ({"languages": []}, {"languages": "ja"}, {"languages": [1]}):
        assert languages_of(replace(gpt, card=card)) == ["en"]
    german = replace(gpt, card={"languages": ["de"]})
    assert notes(german, "Guten Tag", {}) == []
    assert notes(german, "猫が好き", {})[0]["trained"] == ["de"]
    other = {"a": Spoken(["ja"], []), "b": Spoken(["ja"], ["ja"]), "c": Spoken(["en"], ["ja"])}
    said = notes(german, "猫が好き", other)[0]
    assert (said["models"], said["writers"]) == (["a", "b"], ["c"])
    assert notes(replace(gpt, card={"languages": ["tlh"]}), "猫が好き", {}) == []  # a script that we do not detect


def test_a_translator_of_both_directions_reads_and_writes_two_languages(three: Library) -> None:
    translator = three.find("translator").about
    card = {"languages": ["en", "ja"]}
    there, both = (replace(translator, card=card | more) for more in ({}, {"both_directions": True}))
    assert directions(there) == [("en", "ja")]
    assert directions(both) == [("en", "ja"), ("ja", "en")]
    assert spoken(there) == (["en"], ["ja"])
    assert spoken(both) == (["en", "ja"], ["ja", "en"])
    assert notes(there, "猫が好き", {})[0]["code"] == "untrained_language"
    assert notes(both, "猫が好き", {}) == []
    assert notes(both, "кот", {})[0]["trained"] == ["en", "ja"]
    assert directions(replace(translator, card={})) == []
    assert directions(three.find("gpt").about) == []


FIRST_CODE = 287
"""The id of the first token that is added to the small tokenizer."""


def translator(folder: Path, kind: str, start: int, codes: list[str]) -> chumoku.Model:
    """It reads a text after the first of its language codes, and writes after the token `start`."""
    tokenizer = toys.sentence_piece(f"<s> $A {toys.END}")
    if codes:
        tokenizer.add_special_tokens({"additional_special_tokens": codes})
        assert tokenizer.convert_tokens_to_ids(codes[0]) == FIRST_CODE
        tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
            f"{codes[0]} $A {toys.END}", special_tokens=[(codes[0], FIRST_CODE), (toys.END, 2)]
        )
    model = toys.random_numbers(toys.bart(kind, decoder_start_token_id=start))
    return chumoku.load(toys.save(folder / "many", model, tokenizer), device="cpu")


def test_a_translator_says_as_which_language_it_reads_and_how_it_begins(tmp_path: Path) -> None:
    """mBART's START is the code of a language."""
    model = translator(tmp_path, "MBart", FIRST_CODE + 1, ["en_XX", "ja_XX"])
    said = {"code": "language_codes", "source": "en_XX", "target": "ja_XX"}
    assert model.trace("a cat").notes == [said], "the model's own translation"
    assert model.trace("a cat", target="a dog").notes == [said]
    bare = model.trace(token_ids=[FIRST_CODE + 1, 270, 2], add_special_tokens=False)
    assert bare.notes == [said | {"source": "ja_XX"}], "what it read, not what is usual"


@pytest.mark.parametrize("codes", [["__en__", "__ja__"], ["eng_Latn", "jpn_Jpan"]], ids=["m2m-100", "nllb"])
def test_a_code_is_the_first_word_after_a_start_without_language(tmp_path: Path, codes: list[str]) -> None:
    model = translator(tmp_path, "M2M100", 2, codes)
    said = {"code": "language_codes", "source": codes[0], "target": None}
    assert model.trace("a cat", target="a dog").notes == [said]
    tokenizer = model.traceable.tokenizer
    assert codes_of(tokenizer, [FIRST_CODE, 270, 2], [2, FIRST_CODE + 1, 270]) == [said | {"target": codes[1]}]


def test_a_translator_without_language_codes_says_nothing_of_them(tmp_path: Path) -> None:
    model = translator(tmp_path, "MBart", 2, [])
    assert model.trace("a cat").notes == []

from dataclasses import replace
from typing import Any

import pytest
from httpx import AsyncClient

from chumoku.app.services.languages import Spoken, directions, languages_of, notes, script, spoken
from chumoku.app.services.library import Library
from tests.app.helpers import trace


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

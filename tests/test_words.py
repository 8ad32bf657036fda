"""The catalogues: one Japanese word for each thing, and one sign for an apostrophe in English."""

import json
import re
from pathlib import Path

import pytest

STATIC = Path(__file__).parent.parent / "static"
CATALOGUE = STATIC / "i18n/ja.json"
WORDS = {
    "交差注意": "クロス|交差アテンション",
    "注意": "アテンション",
    "ソース側": "原文",
    "ターゲット側": "訳文",
    "第 {layer} 層": r"(?<!第 )層 ?\{|(?<!第 )層 \d|第\S+層(?!ご)",
    "ステップ {i}/{n}": r"歩|ステップ中|\} / \{",
    "サンプリング": "引かれ|トークンを引|同じものを引|つ引",
    "計算": "実行(?!でき)|演算",
    "ステーション": "段階へ|隣の段階|ステージ",
    "ウィンドウ": "窓",
    "サブ層": "副層|部分層|サブレイヤー",
    "バリュー V": "値 V",
    "アンエンベディング行列": "逆埋め込み|出力の行列",
    "分類器": "分類層",
    "発火": "反応|黙[っる]|死ん",
    "セル": "マス(?!ク)",
    "パラメーター": "パラメータ(?!ー)",
    "手動": "手で",
}
PERSONS = "誰の|相手|尋ね|自ら|出会|預け|言うこと|考える"  # numbers and heads are computed: they do not ask or meet


@pytest.mark.parametrize("word", WORDS)
def test_no_other_word_stands_for_it(word: str) -> None:
    known: dict[str, str] = json.loads(CATALOGUE.read_text("utf-8"))
    others = {key: text for key, text in known.items() if re.search(WORDS[word], text)}
    assert not others, f"{word}: {others}"
    assert any(word in text for text in known.values())


def test_an_apostrophe_is_typographic() -> None:
    known: dict[str, str] = json.loads(CATALOGUE.with_name("en.json").read_text("utf-8"))
    assert [key for key, text in known.items() if "'" in text] == []
    assert any("’" in text for text in known.values())


def test_numbers_are_not_personified() -> None:
    known: dict[str, str] = json.loads(CATALOGUE.read_text("utf-8"))
    assert {key: text for key, text in known.items() if re.search(PERSONS, text)} == {}


SAID_ELSEWHERE = ("river/panel.js", "learn/help.js", "stations/embedding/sum.js")
"""Files whose keys others make a text of (a panel's frame), or which have another text of that form."""


def test_a_text_about_pictures_is_chosen_by_the_model_that_is_shown() -> None:
    """Two pages of a document may read pictures and text: where a key has a form for pictures, `keyFor` is asked."""
    catalogue = json.loads((STATIC / "i18n" / "en.json").read_text("utf-8"))
    of_pictures = [key.removesuffix(".picture") for key in catalogue if key.endswith(".picture")]
    both = {key for key in of_pictures if key in catalogue}
    assert len(both) > 40
    used = set()
    for path in sorted(STATIC.rglob("*.js")):
        code, name = path.read_text("utf-8"), path.relative_to(STATIC).as_posix()
        for found in re.finditer(r'"([\w.]+)"|`([\w.]+\$\{\w+\}[\w.]*)`', code):
            pattern = re.escape(found[1]) if found[1] else re.sub(r"\\\$\\\{\w+\\\}", "[a-z]+", re.escape(found[2]))
            said = {key for key in both if re.fullmatch(pattern, key)}
            around = code[max(0, found.start() - 160) : found.end() + 160]
            if (
                said
                and not re.fullmatch(r"`\w+\.\$\{\w+\}`", found[0])
                and "hasString(" not in code[found.start() - 12 : found.start()]
            ):
                used |= said
                assert "keyFor(" in around or name in SAID_ELSEWHERE, f"{name}: {found[0]}"
    assert both - used == {"compare.reason.other_source", "compare.only.other_source"}  # of a name with two words

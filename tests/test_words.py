"""The Japanese catalogue has one word for one thing."""

import json
import re
from pathlib import Path

import pytest

CATALOGUE = Path(__file__).parent.parent / "static/i18n/ja.json"
WORDS = {
    "サブ層": "副層|部分層|サブレイヤー",
    "クロスアテンション": "交差注意|交差アテンション",
    "注意": "(?<!クロス)アテンション",
    "バリュー V": "値 V",
    "アンエンベディング行列": "逆埋め込み|出力の行列",
    "分類器": "分類層",
    "発火": "反応",
    "セル": "マス(?!ク)",
    "パラメーター": "パラメータ(?!ー)",
}


@pytest.mark.parametrize("word", WORDS)
def test_no_other_word_stands_for_it(word: str) -> None:
    known: dict[str, str] = json.loads(CATALOGUE.read_text("utf-8"))
    others = {key: text for key, text in known.items() if re.search(WORDS[word], text)}
    assert not others, f"{word}: {others}"
    assert any(word in text for text in known.values())

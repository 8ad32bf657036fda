"""The catalogues, lessons, glossary and examples: one Japanese word for each thing, and one sign for an apostrophe in
English."""

import json
import re
from pathlib import Path

import pytest

from tests.taught import taught

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
    "場所": "ステーション|段階へ|隣の段階|ステージ|リボン",
    "ウィンドウ": "窓",
    "サブ層": "副層|部分層|サブレイヤー",
    "バリュー V": "値 V",
    "アンエンベディング行列": "逆埋め込み|出力の行列",
    "分類器": "分類層",
    "発火": "反応|黙[っる]|死ん",
    "セル": "マス(?!ク)",
    "パラメーター": "パラメータ(?!ー)",
    "手動": "手で",
    "注意機構なし": "アテンションフリー|注意なし",
    "最有力の予測": "ここまでの予測|最良の推測",
    "オフにする": r"(?:ヘッド|FFN|part\}|つずつ|1 つ)を?切[らりるれろっ]|切[るっ](?:ると|ても|た後|前)",
    "を隠す": "(?:線|接続|見るの)を切|だけで切ると|[本層]を切りま|切ってみま|を見せない|非表示",
    "ロジットレンズ": "のぞくレンズ|ログイットレンズ",
    "フィードフォワードネットワーク": "フィードフォワード・|順伝播(?:型)?ネットワーク",
    "重み付き": "重みつき|重みづけ|重みづき",
    "許可され": "許され",
    "位置バイアス": "位置が(?:加える|足す)",
    "特徴量": "特徴(?!量)",
    "位置の組": "ペア",
    "ピクセル": "画素",
    "メモリ": "メモリー",
    "しくみ": "仕組み",
    "わか": "分か(?!れ)",
    "学習": "訓練",
    "そろえ": "揃え",
    "1 つ": r"\d(?:つ|乗)|\} つ[のがを]",
}
PERSONS = "誰の|相手|尋ね|自ら|出会|預け|言うこと|考える"  # numbers and heads are computed: they do not ask or meet


@pytest.mark.parametrize("word", WORDS)
def test_no_other_word_stands_for_it(word: str) -> None:
    known: dict[str, str] = json.loads(CATALOGUE.read_text("utf-8"))
    others = [place for place in [*known.items(), *taught("ja")] if re.search(WORDS[word], place[1])]
    assert not others, f"{word}: {others}"
    assert any(word in text for text in known.values())


def test_an_apostrophe_is_typographic() -> None:
    known: dict[str, str] = json.loads(CATALOGUE.with_name("en.json").read_text("utf-8"))
    assert [place for place in [*known.items(), *taught("en")] if "'" in place[1]] == []
    assert any("’" in text for text in known.values())


def test_numbers_are_not_personified() -> None:
    known: dict[str, str] = json.loads(CATALOGUE.read_text("utf-8"))
    assert [place for place in [*known.items(), *taught("ja")] if re.search(PERSONS, place[1])] == []


NAME = r"\{(?:token|key|query|answer|top|final|name|other|label|winner|loser|first|most)\}"
NUMBER = r"\{(?:p|q|w|share|before|after|had|has|was|is|i|j|at|n|row|rank|value|weight)\}"


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_number_never_runs_into_a_name(language: str) -> None:
    """A token or a class may be a digit: "8 42 %" would be misread. A sign stands between, or a word."""
    known: dict[str, str] = json.loads(CATALOGUE.with_name(f"{language}.json").read_text("utf-8"))
    texts = [*known.items(), *taught(language)]
    assert [place for place in texts if re.search(f"{NAME}[,、]? ?{NUMBER}", place[1])] == []


DECIDED = {
    "river.without_cut": "Hide {key} from {query}[[ in all layers]]",
    "river.cut_many": "{n} connections hidden. ",
    "changed.hidden_in": "{n} connections hidden in {place}",
    "river.lens_here": "Best guess after this layer: ",
    "river.says": "After {token}, the model predicts {answer} ({p}).",
    "generation.play": "Keep writing",
    "lesson.take": "What is attention? 15-minute lesson",
}


def test_the_page_says_what_was_decided() -> None:
    known: dict[str, str] = json.loads(CATALOGUE.with_name("en.json").read_text("utf-8"))
    assert {key: known[key] for key in DECIDED} == DECIDED


NAMED_ELSEWHERE = re.compile(r"(?:matrix|table)\.reason\.\w+|residual\.read_stream\.[\w-]+")
"""Keys whose parts are joined in two steps: the code has no text of their form."""


def test_every_text_has_its_place() -> None:
    """A key is in the code, or a text of the code makes it: `dock.${id}`. Others belonged to what is gone."""
    catalogue = json.loads((STATIC / "i18n" / "en.json").read_text("utf-8"))
    root = STATIC.parent
    files = [*STATIC.rglob("*.js"), *(root / "templates").rglob("*.html"), *(root / "app").rglob("*.py")]
    code = "".join(path.read_text("utf-8") for path in files)
    named = set(re.findall(r"[\"'`]([\w.-]+)[\"'`]", code))
    made = {
        re.sub(r"\$\{(?:[^{}]|\{[^{}]*\})*\}", "*", text) for text in re.findall(r"`(\w+\.[^`\n]*\$\{[^`\n]*)`", code)
    }
    forms = "|".join(re.escape(text).replace(r"\*", r"[\w-]*") for text in made if re.fullmatch(r"[\w.*-]+", text))
    plain = {key: re.sub(r"(\.(one|touch|picture))+$", "", key) for key in catalogue}
    known = re.compile(forms)
    lost = [
        key
        for key, base in plain.items()
        if not {key, base} & named and not (known.fullmatch(key) or known.fullmatch(base))
    ]
    assert [key for key in lost if not NAMED_ELSEWHERE.fullmatch(key)] == []


SAID_ELSEWHERE = ("river/panel.js", "learn/help.js", "views/embedding/sum.js")
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
            pattern = re.escape(found[1]) if found[1] else re.sub(r"\\\$\\\{\w+\\\}", "[a-z_]+", re.escape(found[2]))
            said = {key for key in both if re.fullmatch(pattern, key)}
            around = code[max(0, found.start() - 160) : found.end() + 160]
            if (
                said
                and not re.fullmatch(r"`\w+\.\$\{\w+\}`", found[0])
                and "hasString(" not in code[found.start() - 12 : found.start()]
            ):
                used |= said
                assert "keyFor(" in around or name in SAID_ELSEWHERE, f"{name}: {found[0]}"
    assert both == used


PLURAL = re.compile(r"\{n\} (?:[A-Za-z]+ )??(?!has\b|is\b|was\b)[A-Za-z]{2,}s\b")
"""A number before a plural, perhaps with an adjective between them: "{n} tokens", "{n} allowed keys"."""

ALWAYS_SEVERAL = {
    "a pooled picture's factor": [
        "heads.cells",
        "heads.pooled_cells",
        "river.legend_pooled",
        "generation.cross_pooled",
    ],
    "a window": ["masks.pads_full", "distance.window", "next.full", "generation.window_full", "note.windowed"],
    "several places, or layers": ["changed.hidden_many", "changed.hidden_at", "edits.in_some"],
    "beyond a window": ["embedding.beyond_nothing"],
    "a picture's patches": ["ffn.counts_here", "watched.dead_said", "compare.heads_about", "heads.pooled_cells"],
    "dimensions, features or units of a model": [
        *(
            "inspector.dot",
            "inspector.dot_label",
            "inspector.dot_turned",
            "inspector.distance",
            "inspector.distance_label",
            "inspector.part_label",
        ),
        *(
            "inspector.mean",
            "inspector.mean_label",
            "inspector.norm_input",
            "inspector.norm_label",
            "inspector.unit_dot",
            "inspector.unit_label",
        ),
        *("computation.line.mean", "ffn.map_title", "ffn.map_label", "ffn.map_of", "ffn.card_map", "ffn.page_label"),
        "heads.groups",
        *("lesson.vectors.title", "embedding.similarity_label"),
    ],
    "what wrote to a stream: its input and at least one sublayer": ["inspector.logit_terms"],
    "only said of several": ["inspector.logit_note_many", "training.average_last", "training.average_each"],
    "classes beyond the most probable six of more than 20": ["classes.others"],
    "constants of the page": ["lines.most", "cost.at_long"],
    "two sentences of different lengths": ["batch.length"],
    "looks that are cut in several layers": ["river.cut_except", "river.cut_except_two", "river.cut_some"],
    "heads that are off together": ["edits.heads_off", "changed.heads_many"],
    "tokens that share a row": ["river.folded"],
    "counts over a corpus": ["ffn.counts_corpus", "lengths.about"],
    "lessons take longer": ["lesson.minutes"],
}
"""Texts whose n is never 1, by the reason."""


def test_one_of_a_thing_is_said_in_the_singular() -> None:
    """`t` and `phrase` take `key.one` when n is 1: a text that says "{n} tokens" has one, or its n is never 1."""
    english: dict[str, str] = json.loads(CATALOGUE.with_name("en.json").read_text("utf-8"))
    several = {key for keys in ALWAYS_SEVERAL.values() for key in keys}
    plural = {key for key, text in english.items() if PLURAL.search(text)}
    missing = {
        key: english[key]
        for key in plural
        if f"{key}.one" not in english and not several & {key, key.removesuffix(".picture")}
    }
    assert missing == {}
    assert several - {key.removesuffix(".picture") for key in plural} == set(), "no longer said so"
    singulars = {key: text for key, text in english.items() if key.endswith(".one")}
    assert {key: text for key, text in singulars.items() if re.search(r"\b1 [a-z]{2,}s\b", text)} == {}


def test_a_singular_is_chosen_by_n() -> None:
    """A text with a singular takes its number as `n`, or some code passes one beside what the text says."""
    english: dict[str, str] = json.loads(CATALOGUE.with_name("en.json").read_text("utf-8"))
    code = "".join(path.read_text("utf-8") for path in STATIC.rglob("*.js"))
    bases = [key.removesuffix(".one") for key in english if key.endswith(".one")]
    hidden = [key for key in bases if "{n}" not in english[key]]
    assert [key for key in hidden if not re.search(rf'"{re.escape(key)}"[^;]{{0,40}}\{{[^}}]*\bn\b', code)] == []

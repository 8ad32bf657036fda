"""Every panel and station says what it shows and how to read it, in both languages, in one sentence each."""

import json
import re
from pathlib import Path

import pytest

STATIC = Path(__file__).parent.parent / "static"
RENDERED = {"heads", "masks"}  # in the side column, which views/heads/heads.js builds
WITHOUT = {
    "rank",  # it says itself what it measures
    "game",  # and this its rules
    "labels",
    "quiz",
    "candidates",
    "beside_pick",
    "dock",
    "model",
    "ffn_units",
}  # parts of others, or always on the page
STATIONS = (
    "tokens",
    "embedding",
    "qkv",
    "distance",
    "rotation",
    "attention",
    "decay",
    "gate",
    "av",
    "ffn",
    "residual",
    "lens",
    "prediction",
)
BESIDE = ("training", "cost")
PANELS = (
    "heads",
    "masks",
    "inspector",
    "next_token",
    "generation",
    "cache",
    "fed",
    "compared_texts",
    "classes",
    "gap",
    "given",
    "batch",
    "compare",
    "beside",
    "effective",
    "watched",
)
ASKED = (*STATIONS, *BESIDE, "computation", *PANELS, "tokens_picture", "embedding_picture", "beside_runs")
KINDS = ("previous", "first", "self", "same", "induction", "spread", "alignment")


def words(language: str) -> dict[str, str]:
    found: dict[str, str] = json.loads((STATIC / f"i18n/{language}.json").read_text("utf-8"))
    return found


def ids(index: str) -> set[str]:
    """The ids of the views that an index declares, or imports with a default export."""
    path = STATIC / index
    code = path.read_text("utf-8")
    files = re.findall(r'^import \w+ from "(\.{1,2}/[^"]+)";', code, re.MULTILINE)
    sources = [code, *((path.parent / file).read_text("utf-8") for file in files)]
    found = [re.findall(r'^  id: "(\w+)",', source, re.MULTILINE) for source in sources]
    assert all(found)
    assert len(found[0]) == len(re.findall(r"@type \{(?:View|Panel)\}", code)), "a view without an id"
    return {name for names in found for name in names}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_view_and_panel_has_both_sentences(language: str) -> None:
    known = words(language)
    shown = (ids("views/index.js") | ids("views/panels.js") | RENDERED) - WITHOUT
    assert shown <= set(ASKED), "a new place needs its two sentences: add it here"
    for place in ASKED:
        for part in ("what", "how"):
            sentence = known[f"reading.{place}.{part}"]
            ends = re.findall(r"[.?!](?=[\s”]|$)|。", sentence)
            assert len(ends) == 1, f"{place}.{part} is no single sentence: {sentence}"
            assert sentence.endswith(ends[0]), sentence
        assert known[f"reading.{place}.what"] != known[f"reading.{place}.how"]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_kind_of_head_has_a_name_and_its_rule(language: str) -> None:
    from chumoku.model.explain.head_labels import RULES

    known = words(language)
    assert set(RULES) == set(KINDS)
    signs = (STATIC / "ui/heads.js").read_text("utf-8")
    for kind in KINDS:
        assert known[f"labels.{kind}.name"]
        assert known[f"labels.{kind}.rule"]
        assert "{score}" in known[f"labels.{kind}.says"]
        assert re.search(rf"^  {kind}: ", signs, re.MULTILINE)

"""chrF and BLEU are sacrebleu's, of the translations exactly as generated."""

import pytest
from sacrebleu.metrics import BLEU, CHRF

from chumoku.model import evaluate_translation
from chumoku.model.checkpoint import ZOO, Checkpoint, load
from chumoku.model.evaluate_translation import chrf_and_bleu, translations
from chumoku.model.translate import translate
from tests.model.helpers import tiny_checkpoint

PAIRS = [("abc", "むかしむかし"), ("hello", "あるところに"), ("d", "山へ")]


@pytest.fixture
def translator() -> Checkpoint:
    return tiny_checkpoint("encoder-decoder")


@pytest.mark.parametrize("beams", [1, 2])
def test_scores_are_sacrebleu_s_of_what_the_model_says(beams: int, translator: Checkpoint) -> None:
    said = [translate(translator, source, beams=beams)[0].text(translator.tokenizer) for source, _ in PAIRS]
    pairs = [(source, text[:4] + "x") for (source, _), text in zip(PAIRS, said, strict=True)]
    references = [[reference for _, reference in pairs]]
    scores = chrf_and_bleu(translator, pairs, beams=beams)
    assert scores == {
        "chrf": round(CHRF().corpus_score(said, references).score, 2),
        "bleu": round(BLEU(tokenize="char").corpus_score(said, references).score, 2),
    }
    assert scores["chrf"] > 0


SENTENCES = (
    "Where is the station?", "駅はどこですか。", "She is reading a book in her room.", "cat", "Good morning.", "水",
    "I don't know what to do.", "彼は毎日バスで学校に通っている。",
)  # fmt: skip


@pytest.mark.parametrize("beams", [1, 3])
def test_many_at_a_time_are_translated_as_each_alone(beams: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With PADs beside shorter sources and beams that end earlier than others: of the same weights, the same text."""
    translator = load(ZOO / "translate-enja")
    alone = [translate(translator, source, beams=beams)[0].text(translator.tokenizer) for source in SENTENCES]
    assert translations(translator, SENTENCES, beams=beams) == alone
    monkeypatch.setattr(evaluate_translation, "TOGETHER", 3)
    assert translations(translator, SENTENCES, beams=beams) == alone


def test_what_is_said_as_the_reference_has_it_scores_100(
    translator: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unchanged spaces and order: sacrebleu gets outputs and references in pairs."""
    said = dict(PAIRS)
    monkeypatch.setattr(
        evaluate_translation, "translations", lambda checkpoint, sources, beams: [said[one] for one in sources]
    )
    assert chrf_and_bleu(translator, PAIRS) == {"chrf": 100.0, "bleu": 100.0}
    assert chrf_and_bleu(translator, [(s, t[::-1] + "。") for s, t in PAIRS])["bleu"] < 60


def test_without_a_pair_there_is_nothing_to_evaluate(translator: Checkpoint) -> None:
    with pytest.raises(ValueError, match="no pair"):
        chrf_and_bleu(translator, [])


def test_a_source_that_cannot_be_translated_is_named(translator: Checkpoint) -> None:
    with pytest.raises(ValueError, match=r"'zzz+' cannot be translated: 30 tokens are 6 more"):
        chrf_and_bleu(translator, [("abc", "x"), ("z" * 30, "y")], beams=1)

"""The task of a classifier: labelled phrases. Whole sentences are held out, and no part of them is trained on."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chumoku.model.training import classification
from chumoku.model.training.classification import Classification, phrases, read_rows, split_sentences
from chumoku.model.training.prepare import prepare
from chumoku.model.transformer import EncoderOnly, build
from tests.training.helpers import classification_preset, tiny_run, train, write_sentences

SHORT = 3
"""A low limit for a whole sentence, so that few words make many."""

words = st.lists(st.sampled_from("abc"), min_size=1, max_size=6)
spaces = st.sampled_from([" ", "  ", "\t"])
text = st.builds(lambda words, space: space.join(words), words, spaces)
rows = st.lists(st.tuples(text, st.integers(0, 1)), max_size=25)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sentences(tmp_path_factory.mktemp("sentences"))


@pytest.fixture
def task(folder: Path, tmp_path: Path) -> Classification:
    made = prepare(classification_preset(), tmp_path, folder)
    assert isinstance(made, Classification)
    return made


def is_part(phrase: str, sentence: str) -> bool:
    a, b = phrase.split(), sentence.split()
    return any(b[i : i + len(a)] == a for i in range(len(b) - len(a) + 1))


@given(rows=rows, fraction=st.floats(0, 1))
def test_no_phrase_trained_on_is_part_of_a_held_out_sentence(rows: list[tuple[str, int]], fraction: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classification, "SENTENCE_WORDS", SHORT)
        train_rows, held_out = split_sentences(rows, fraction)
    for sentence, _ in held_out:
        assert len(sentence.split()) >= SHORT
        assert not any(is_part(phrase, sentence) for phrase, _ in train_rows if len(phrase.split()) > 1)
        longer = [text for text, _ in rows if text.split() != sentence.split() and is_part(sentence, text)]
        assert longer == [], "a part of a longer phrase is not a whole sentence"
    assert len(held_out) == len(dict(held_out))
    assert all(text in {" ".join(row.split()) for row, _ in rows} for text, _ in (*train_rows, *held_out))


def test_what_is_no_part_of_a_held_out_sentence_is_trained_on() -> None:
    rows = [("a b c d e f g h i j k l", 1), ("b c d", 0), ("b d", 1), ("l m", 0), ("c", 1)]
    assert split_sentences(rows, 1.0) == (rows[2:], rows[:1]), "a single word does not belong to one sentence"
    assert split_sentences(rows, 0.0) == (rows, [])


def test_phrases_are_all_runs_of_words() -> None:
    assert list(phrases("a b c")) == ["a b", "a b c", "b c"]


def test_a_batch_begins_with_cls_and_carries_its_classes(task: Classification) -> None:
    texts = {tuple(ids): label for ids, label in task.train}
    for seed in range(5):
        batch = task.batch(np.random.default_rng(seed))
        (ids,) = batch.inputs
        assert (ids[:, 0] == task.tokenizer.first_id).all()
        assert batch.n_targets == len(ids)
        for row, label in zip(ids.tolist(), batch.targets.tolist(), strict=True):
            assert texts[tuple(i for i in row if i != task.tokenizer.pad_id)] == label


def test_the_tokens_are_learned_on_what_the_model_reads(folder: Path) -> None:
    preset = classification_preset()
    learned = list(Classification.texts(preset, folder))
    held_out = {text for text, _ in split_sentences(read_rows(preset, folder), preset.sources[0].held_out)[1]}
    assert held_out
    assert not set(learned) & held_out
    assert all(text == text.lower() for text in learned)


def test_accuracy_is_the_diagonal_of_the_confusion(task: Classification) -> None:
    untrained = build(task.preset.config).eval()
    assert isinstance(untrained, EncoderOnly)
    table = task.confusion(untrained)
    assert sum(map(sum, table)) == len(task.held_out)
    assert task.validate(untrained) == (table[0][0] + table[1][1]) / len(task.held_out)


def test_a_classifier_learns_what_a_marker_word_says(folder: Path, tmp_path: Path) -> None:
    reports: list[dict[str, float]] = []
    trained = train(classification_preset(), tiny_run(tmp_path, folder, steps=80), reports.append)
    task = prepare(classification_preset(), tmp_path, folder)
    assert task.validate(trained) > 0.9
    assert np.mean([report["loss"] for report in reports[-10:]]) < 0.4
    assert not trained.training

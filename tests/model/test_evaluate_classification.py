"""Accuracy, computed by hand; in a padded batch every text has the logits that it has alone."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chumoku.model import masks
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.evaluate_classification import accuracy, classify_all, confusion, read_labelled
from chumoku.model.trace import trace
from tests.model.helpers import close, tiny_checkpoint

TEXTS = ["a", "attention", "is", "all", "you", "need", "", "a much longer text than the window is", "bc"]


@pytest.fixture
def classifier() -> Checkpoint:
    return tiny_checkpoint("encoder-only")


def test_every_text_has_the_logits_that_it_has_alone(classifier: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chumoku.model.evaluate_classification.BATCH", 4)
    logits = classify_all(classifier.encoder_only, classifier.tokenizer, TEXTS)
    for row, text in zip(logits, TEXTS, strict=True):
        ids = [classifier.tokenizer.first_id, *text.encode()][: classifier.config.max_seq_len]
        mask = masks.nothing(len(ids), len(ids))[None, None]
        close(row, classifier.encoder_only(torch.tensor([ids]), mask)[0], 1e-5)


def test_a_text_is_traced_to_the_same_logits(classifier: Checkpoint) -> None:
    logits = classify_all(classifier.encoder_only, classifier.tokenizer, ["attention"])
    close(trace(classifier, list(b"attention"), ["logits"]).tensors["logits"], logits[0], 1e-5)


@settings(max_examples=20)
@given(labels=st.lists(st.integers(0, 2), min_size=1, max_size=9))
def test_accuracy_is_the_part_that_is_right(labels: list[int]) -> None:
    classifier = tiny_checkpoint("encoder-only")
    labelled = list(zip(TEXTS, labels, strict=False))
    said = classify_all(classifier.encoder_only, classifier.tokenizer, [text for text, _ in labelled]).argmax(-1)
    right = sum(int(a) == b for a, (_, b) in zip(said, labelled, strict=True))
    assert accuracy(classifier, labelled) == right / len(labelled)


def test_the_confusion_counts_true_classes_by_row() -> None:
    logits = torch.tensor([[2.0, 1, 0], [0, 2, 1], [0, 1, 2], [3, 0, 0], [0, 0, 1]])
    table = confusion(logits, [("a", 0), ("b", 0), ("c", 2), ("d", 1), ("e", 2)])
    assert table == [[1, 1, 0], [1, 0, 0], [0, 0, 2]]


def test_an_invalid_label_is_named(classifier: Checkpoint) -> None:
    with pytest.raises(ValueError, match="label 3 of 'fine' is not one of the model's classes 0 to 2"):
        accuracy(classifier, [("fine", 3)])


def test_without_a_sentence_there_is_nothing_to_evaluate(classifier: Checkpoint) -> None:
    with pytest.raises(ValueError, match="no sentence"):
        accuracy(classifier, [])


@pytest.mark.parametrize("family", ["decoder-only", "encoder-decoder"])
def test_the_other_families_have_no_classes(family: str) -> None:
    with pytest.raises(ValueError, match=f"tiny is {family}; this needs a model that is encoder-only"):
        accuracy(tiny_checkpoint(family), [("fine", 1)])


@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("", []),
        ("sentence\tlabel", []),
        ("sentence\tlabel\n", []),
        ("sentence\tlabel\nfine \t1\n bad\t0", [("fine", 1), ("bad", 0)]),
        ("sentence\tlabel\r\nfine\t1\r\n\r\n", [("fine", 1)]),
        ("sentence\tlabel\n\nfine\t1\n\n", [("fine", 1)]),
        ("sentence\tlabel\na\ttab\t1\n", [("a\ttab", 1)]),
        ("sentence\tlabel\none\u2028line\x85still\x0bone\t1\n", [("one\u2028line\x85still\x0bone", 1)]),
    ],
)
def test_a_file_has_a_header_and_labelled_sentences(file: str, rows: list[tuple[str, int]], tmp_path: Path) -> None:
    path = tmp_path / "dev.tsv"
    path.write_bytes(file.encode())
    assert read_labelled(path) == rows


@pytest.mark.parametrize("line", ["no tab", "fine\t", "\t1", " \t1", "fine\tgood", "fine\t-1", "fine\t1.0", "fine\t²"])
def test_a_malformed_line_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "dev.tsv"
    path.write_text(f"sentence\tlabel\nfine\t1\n\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"dev\.tsv, line 4: not `sentence<TAB>label`"):
        read_labelled(path)

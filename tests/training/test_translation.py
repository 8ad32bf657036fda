"""The task of a translator: pairs on disk → batches, none of which contains a held-out sentence."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from chumoku.model.training.prepare import prepare
from chumoku.model.training.presets import OWN, DataSource, Preset
from chumoku.model.training.task import Batch
from chumoku.model.training.translation import Translation, bare, in_direction, read_pairs, split_pairs, split_sources
from chumoku.model.transformer import build
from tests.model.helpers import tiny_checkpoint
from tests.training.helpers import PAIRS, assert_same_weights, tiny_run, train, translation_preset, write_pairs

sentence = st.text(alphabet="abA .!", min_size=1, max_size=6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("pairs"))


@pytest.fixture
def task(folder: Path, tmp_path: Path) -> Translation:
    made = prepare(translation_preset(), tmp_path, folder)
    assert isinstance(made, Translation)
    return made


@given(pairs=st.lists(st.tuples(sentence, sentence), max_size=30), fraction=st.floats(0, 1))
def test_no_held_out_sentence_is_trained_on_in_either_language(pairs: list[tuple[str, str]], fraction: float) -> None:
    train_pairs, held_out = split_pairs(pairs, fraction)
    assert set(train_pairs) | set(held_out) <= set(pairs)
    for side in (0, 1):
        assert not {bare(pair[side]) for pair in train_pairs} & {bare(pair[side]) for pair in held_out}


def test_sentences_that_differ_in_signs_and_case_alone_are_the_same_one() -> None:
    assert bare("It's  9 o'clock!") == bare("its 9 OCLOCK") == "its9oclock"
    assert bare("猫が、好き。") == "猫が好き"
    assert bare("go") != bare("stop")


def test_whether_a_pair_is_held_out_is_decided_by_its_source_alone() -> None:
    _, held_out = split_pairs(PAIRS, 0.2)
    _, fewer = split_pairs(PAIRS[: len(PAIRS) // 2], 0.2)
    assert set(fewer) <= set(held_out)
    assert 0.1 < len(held_out) / len(PAIRS) < 0.3


@pytest.mark.parametrize(
    ("file", "pairs"),
    [
        ("", []),
        ("a\tb", [("a", "b")]),
        ("a\tb\tlicence\tmore\n", [("a", "b")]),
        ("a\tb\r\nc\td\r\n", [("a", "b"), ("c", "d")]),
        ("\na\tb\n\n", [("a", "b")]),
        ("\ufeffa\tb\n", [("a", "b")]),
        ("one\u2028line\tb\x85b\n", [("one\u2028line", "b\x85b")]),
    ],
)
def test_a_file_has_a_pair_on_each_line(file: str, pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_bytes(file.encode())
    assert read_pairs(path) == pairs


@pytest.mark.parametrize("line", ["no tab", "\tb", "a\t", "a\t\tlicence", " \tb"])
def test_a_malformed_line_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(f"a\tb\n\n{line}\n")
    with pytest.raises(ValueError, match=r"pairs\.tsv, line 3"):
        read_pairs(path)


def test_a_target_is_read_behind_start_and_asked_for_up_to_end(task: Translation) -> None:
    pad, start, end = task.tokenizer.pad_id, task.tokenizer.first_id, task.tokenizer.end_id
    batch = task.collate([([1, 2, 3], [4, 5, end]), ([6], [end])])
    source, inputs = batch.inputs
    assert source.tolist() == [[1, 2, 3], [6, pad, pad]]
    assert inputs.tolist() == [[start, 4, 5], [start, pad, pad]]
    assert batch.targets.tolist() == [[4, 5, end], [end, -1, -1]]
    assert batch.n_targets == 4
    source_ids, target_ids = task.encode(("ab", "ba"))
    assert (source_ids, target_ids) == (task.tokenizer.encode("ab"), [*task.tokenizer.encode("ba"), end])


def test_a_padded_batch_has_the_loss_of_its_pairs_alone(task: Translation) -> None:
    model = tiny_checkpoint("encoder-decoder", vocab_size=task.tokenizer.vocab_size, max_seq_len=64).model

    def nats(batch: Batch) -> float:
        logits = task.forward(model, batch)
        return float(F.cross_entropy(logits.flatten(0, 1), batch.targets.flatten(), ignore_index=-1, reduction="sum"))

    pairs = [task.encode(pair) for pair in (("a b", "b"), ("c", "c c c c c"), ("a long sentence", "short"))]
    assert nats(task.collate(pairs)) == pytest.approx(sum(nats(task.collate([pair])) for pair in pairs), rel=1e-5)


def test_validation_is_the_mean_over_the_held_out_tokens(task: Translation) -> None:
    model = tiny_checkpoint("encoder-decoder", vocab_size=task.tokenizer.vocab_size, max_seq_len=64).model
    nats, n = 0.0, 0
    for pair in task.judged:
        batch = task.collate([pair])
        log_p = task.forward(model, batch)[0].log_softmax(-1)
        nats -= float(log_p.gather(-1, batch.targets[0][:, None]).sum())
        n += batch.n_targets
    assert task.validate(model) == pytest.approx(nats / n, rel=1e-5)


def test_pairs_too_long_for_the_window_are_left_out(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text((folder / "pairs.tsv").read_text() + "x" * 99 + "\ty\nz\t" + "y" * 99 + "\n")
    task = prepare(translation_preset(), tmp_path / "run", tmp_path)
    assert isinstance(task, Translation)
    assert max(max(len(s), len(t)) for s, t in task.train) <= 64


def test_too_few_pairs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in split_pairs(PAIRS, 0.2)[0]))
    with pytest.raises(ValueError, match=r"pairs\.tsv has \d+ pairs to train on and 0 to hold out"):
        prepare(translation_preset(), tmp_path / "run", tmp_path)


def test_a_stopped_translator_with_dropout_resumes_bit_for_bit(folder: Path, tmp_path: Path) -> None:
    """Batches of different lengths and an average of the last checkpoints: the same as in one run."""
    preset = translation_preset(dropout=0.2)
    whole = train(preset, tiny_run(tmp_path / "whole", folder, steps=14))

    def stop(metrics: dict[str, float]) -> None:
        if metrics["step"] == 7:
            os.kill(os.getpid(), signal.SIGTERM)

    train(preset, tiny_run(tmp_path / "parts", folder, steps=14), stop)
    assert_same_weights(train(preset, tiny_run(tmp_path / "parts", folder, steps=14)), whole)


def test_a_translator_learns_to_copy(folder: Path, tmp_path: Path) -> None:
    run = tiny_run(tmp_path, folder, steps=60)
    reports: list[dict[str, float]] = []
    trained = train(translation_preset(), run, reports.append)
    task = prepare(translation_preset(), tmp_path, folder)
    assert task.validate(trained) < 0.6 * task.validate(build(trained.config).eval())
    assert reports[-1]["loss"] < 0.6 * reports[0]["loss"]


def several(folder: Path) -> Preset:
    """Pairs, more pairs in another file, and a list that comes with the project."""
    source = DataSource("pairs.tsv", 0.5, "sentences", "CC0", 0.2)
    more = [("another copy", "of the same"), *((f"{s} again", t) for s, t in split_pairs(PAIRS, 0.2)[1][:9])]
    more += [(s, f"{t} again") for s, t in PAIRS[:40]]
    (folder / "more.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in more))
    others = (DataSource("more.tsv", 0.3, "more", "CC0", 0.2), DataSource("greetings.tsv", 0.2, "ours", "", 0.0, "own"))
    return replace(translation_preset(), sources=(source, *others))


def test_what_one_file_holds_out_is_trained_on_in_no_other(folder: Path) -> None:
    train_pairs, held_out = split_sources(several(folder), folder)
    assert held_out == split_pairs(PAIRS, 0.2)[1], "judged are the pairs of `validate_on`, as with that file alone"
    unseen = {bare(text) for pair in held_out for text in pair}
    assert not {bare(text) for pairs in train_pairs for pair in pairs for text in pair} & unseen
    assert ("another copy", "of the same") in train_pairs[1]
    assert len(train_pairs[2]) == len(read_pairs(OWN / "greetings.tsv")), "held out of a list is nothing"


def test_sources_are_drawn_by_their_weights(folder: Path, tmp_path: Path) -> None:
    preset = several(folder)
    task = prepare(preset, tmp_path, folder)
    assert isinstance(task, Translation)
    at = {pair: i for i, pairs in enumerate(split_sources(preset, folder)[0]) for pair in pairs}
    rng, drawn = np.random.default_rng(0), np.zeros(3)
    for _ in range(1500):
        for i in task.buckets.draw(rng):
            drawn[at[task.texts_of_train[i]]] += 1
    assert drawn / drawn.sum() == pytest.approx([0.5, 0.3, 0.2], abs=0.07)


def test_the_lists_that_come_with_the_project_are_whole() -> None:
    common, words, greetings = (read_pairs(OWN / f"{name}.tsv") for name in ("common", "words", "greetings"))
    assert len({source for source, _ in common}) == len({target for _, target in common}) == len(common) > 600
    assert len(set(words)) == len(words) > 9000
    assert len(set(greetings)) == len(greetings) > 300
    for name, n, known in (("common", 60, common), ("words", 100, words), ("greetings", 50, greetings)):
        asked = [line.split("\t") for line in (OWN / f"check_{name}.tsv").read_text("utf-8").splitlines()]
        assert len(asked) == 2 * n
        assert all(len(line) > 1 and all(line) for line in asked)
        sides = [{source for source, _ in known}, {target for _, target in known}]
        assert all(line[0] in side for lines, side in zip((asked[:n], asked[n:]), sides, strict=True) for line in lines)


def test_what_one_list_of_the_project_translates_the_lists_after_it_do_not() -> None:
    source = DataSource("a list", 0.1, "ours", "", 0.0, "own")
    preset = replace(translation_preset(both_directions=True), sources=(source, source))
    common, words = in_direction(preset, [[("water", "水")], [("water", "水分"), ("moisture", "水分"), ("wet", "水")]])
    assert common == [("water", "水"), ("水", "water")]
    assert words == [("moisture", "水分"), ("wet", "水"), ("水分", "water"), ("水分", "moisture")]


def test_in_both_directions_each_pair_is_also_learned_backwards(
    folder: Path, tmp_path: Path, task: Translation
) -> None:
    both = prepare(translation_preset(both_directions=True), tmp_path / "both", folder)
    assert isinstance(both, Translation)
    assert both.texts_of_train == [*task.texts_of_train, *((t, s) for s, t in task.texts_of_train)]
    end = both.tokenizer.end_id
    forwards, backwards = both.train[0], both.train[len(task.train)]
    assert backwards == (forwards[1][:-1], [*forwards[0], end])
    assert both.judged == task.judged, "the figure on held-out pairs stays that of one direction"
    unseen = {bare(text) for pair in both.held_out for text in pair}
    assert not {bare(text) for pair in both.texts_of_train for text in pair} & unseen

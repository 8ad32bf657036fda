"""Documents on disk → token streams → batches, none of which contains held-out text."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from chumoku.model.special_tokens import END
from chumoku.model.training.data import (
    Mixture,
    TokenStream,
    is_held_out,
    read_documents,
    sample_texts,
    unseen_documents,
)
from chumoku.model.training.language_modelling import LanguageModelling, split_documents
from chumoku.model.training.prepare import prepare
from tests.model.helpers import byte_tokenizer
from tests.training.helpers import HELD_OUT, documents, tiny_preset

TOKENIZER = byte_tokenizer()
END_ID = TOKENIZER.end_id


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("", []),
        ("\n\n", []),
        ("one", ["one"]),
        (f"one\n{END}\ntwo\n", ["one", "two"]),
        (f"{END}\none\n{END}\n{END}\ntwo\n{END}", ["one", "two"]),
        (f"one\r\n{END}\r\ntwo\r\n", ["one", "two"]),
        (f"\n\none\n\n\nparagraph\n\n{END}\n  two", ["one\n\n\nparagraph", "  two"]),
        (f"one {END}\n{END}two\n {END}", [f"one {END}\n{END}two\n {END}"]),
        ("one\u2028still one\x0bstill\x85one", ["one\u2028still one\x0bstill\x85one"]),
        ("日本語\n😀", ["日本語\n😀"]),
    ],
)
def test_documents_lie_between_lines_of_endoftext(file: str, expected: list[str], tmp_path: Path) -> None:
    path = tmp_path / "documents.txt"
    path.write_bytes(file.encode())
    assert read_documents(path) == expected


@given(st.text(max_size=30))
def test_held_out_is_decided_by_the_document_alone(document: str) -> None:
    assert not is_held_out(document, 0.0)
    assert is_held_out(document, 1.0)
    assert is_held_out(document, 0.5) >= is_held_out(document, 0.2)


def test_held_out_is_the_requested_share_and_never_changes() -> None:
    held_out = [n for n in range(5000) if is_held_out(f"document {n}", 0.02)]
    assert 60 < len(held_out) < 140
    assert held_out[:5] == [77, 207, 210, 221, 225], "another split would train shipped models on their validation set"


WORDS = [f"word{i}" for i in range(60)]


@pytest.mark.parametrize(
    ("held_out", "seen"),
    [
        (WORDS[:20], True),
        ([*WORDS[:19], "other", *WORDS[20:39]], False),
        (["x", *WORDS[30:50], "y"], True),
        (WORDS[:19], False),
        ([word.upper() for word in WORDS[:30]], False),
    ],
)
def test_a_document_that_shares_twenty_words_in_a_row_with_training_text_does_not_count(
    held_out: list[str], seen: bool
) -> None:
    document, unseen = " ".join(held_out), "nothing of it"
    training = ["something else", " ".join(WORDS[:40]), "\n".join(WORDS[25:])]
    assert unseen_documents([document, unseen], training) == ([unseen] if seen else [document, unseen])


def test_the_task_evaluates_on_what_shares_no_run(tmp_path: Path) -> None:
    train = next(text for i in range(99) if not is_held_out(text := f"{i} {' '.join(WORDS)}", HELD_OUT))
    copied, fresh = (
        next(text for i in range(999) if is_held_out(text := f"{i} {words}", HELD_OUT))
        for words in (" ".join(WORDS[:20]), "new words")
    )
    (tmp_path / "animals.txt").write_text(f"\n{END}\n".join([train, copied, fresh]))
    (tmp_path / "weather.txt").write_text("rain and snow")
    kept, held_out = split_documents(tiny_preset(), tmp_path)
    assert kept == {"animals.txt": [train], "weather.txt": ["rain and snow"]}
    assert held_out == [fresh]


def test_a_stream_is_each_document_behind_an_end() -> None:
    stream = TokenStream.of(["ab", "c", "日"], TOKENIZER)
    assert stream.tokens.tolist() == [END_ID, *b"ab", END_ID, *b"c", END_ID, *"日".encode()]
    assert stream.starts.tolist() == [0, 3, 5]
    assert (stream.tokens[stream.starts] == END_ID).all()


def test_training_sees_every_document_but_those_held_out(data: Path, tmp_path: Path) -> None:
    task = LanguageModelling(tiny_preset(), data, prepare(tiny_preset(), tmp_path, data).tokenizer)
    mixture, held_out, tokenizer = task.mixture, task.held_out, task.tokenizer
    for kind, stream in zip(("animals", "weather"), mixture.streams, strict=True):
        seen = tokenizer.decode(stream.tokens.tolist()).split(END)[1:]
        assert seen == [document for document in documents(kind) if not is_held_out(document, HELD_OUT)]
        assert not set(seen) & set(held_out)
    assert held_out == [document for document in documents("animals") if is_held_out(document, HELD_OUT)]
    assert held_out


def numbered_mixture(lengths: tuple[int, ...], weights: tuple[float, ...]) -> Mixture:
    """Streams in which each token is its address, 1000 · stream + offset, in documents of 50 tokens."""
    streams = [
        TokenStream(np.arange(1000 * s, 1000 * s + n, dtype=np.uint16), np.arange(0, n, 50))
        for s, n in enumerate(lengths)
    ]
    return Mixture(streams, np.array(weights))


@given(seed=st.integers(0, 2**32), batch_size=st.integers(1, 5), seq_len=st.integers(1, 99))
def test_a_row_is_a_window_of_one_stream_and_its_target_is_one_later(seed: int, batch_size: int, seq_len: int) -> None:
    mixture = numbered_mixture((100, 400), (0.5, 0.5))
    inputs, targets = mixture.batch(np.random.default_rng(seed), batch_size, seq_len)
    assert inputs.dtype == targets.dtype == torch.int64
    assert inputs.shape == targets.shape == (batch_size, seq_len)
    assert torch.equal(targets, inputs + 1)
    assert torch.equal(inputs, inputs[:, :1] + torch.arange(seq_len))
    assert torch.equal(inputs[:, 0] // 1000, targets[:, -1] // 1000)


def test_the_same_seed_gives_the_same_batches() -> None:
    mixture = numbered_mixture((100, 400), (0.5, 0.5))
    first, second = (mixture.batch(np.random.default_rng(3), 8, 20)[0] for _ in range(2))
    assert torch.equal(first, second)


def test_rows_come_from_the_streams_by_weight_and_half_from_a_document_s_start() -> None:
    mixture = numbered_mixture((900, 900), (0.8, 0.2))
    inputs, _ = mixture.batch(np.random.default_rng(0), 4000, 40)
    begin = inputs[:, 0]
    assert abs((begin < 1000).float().mean() - 0.8) < 0.03
    at_a_start = (begin % 1000 % 50 == 0).float().mean()
    assert abs(at_a_start - (0.5 + 0.5 / 50)) < 0.03


def test_a_long_document_s_start_comes_no_more_often_than_the_rest_of_it() -> None:
    book = TokenStream(np.arange(10_000, dtype=np.uint16), np.array([0]))
    inputs, _ = Mixture([book], np.array([1.0])).batch(np.random.default_rng(0), 4000, 100)
    assert (inputs[:, 0] == 0).float().mean() < 0.02


def test_the_bpe_is_learned_on_each_file_in_proportion(data: Path) -> None:
    texts = list(sample_texts({data / "animals.txt": 0.75, data / "weather.txt": 0.25}, 4000))
    n_bytes = {kind: sum(len(t) for t in texts if t.startswith(kind)) for kind in ("animals", "weather")}
    longest = max(map(len, texts))
    assert 3000 <= n_bytes["animals"] < 3000 + longest
    assert 1000 <= n_bytes["weather"] < 1000 + longest


def test_a_file_too_short_for_a_single_row_is_named(data: Path, tmp_path: Path) -> None:
    (tmp_path / "animals.txt").write_bytes((data / "animals.txt").read_bytes())
    (tmp_path / "weather.txt").write_text("Rain.")
    with pytest.raises(ValueError, match=r"weather\.txt"):
        prepare(tiny_preset(), tmp_path / "run", tmp_path)

"""What each token covers of the typed text, whatever a tokenizer made of it; and Marian's own tokenizer, which is slow
and has no `tokenizer.json`: the ids of transformers."""

import json
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

from chumoku.app.services.tokens import covered, text_of, tokenize
from chumoku.model.generate import Generator, steps
from chumoku.model.run import Run
from chumoku.model.sampling import SamplingSettings
from chumoku.model.traceable.huggingface import HuggingFaceFolders, folders
from chumoku.model.traceable.huggingface.tokenizer_files import open_tokenizer
from tests.model.test_huggingface_refusals import change
from tests.toys import huggingface as toys

SOURCE = HuggingFaceFolders()
TEXTS = [
    "the cat sat on the mat",
    " a  dog   runs ",
    "ＴＨＥ ｃａｔ, a ﬁt dog Ⅳ",  # NFKC makes other lengths of it
    "日本 the cat 🐈",
    f"a cat {toys.END} <pad> <unk>",
    ">>deu<< the cat",
    ">>xyz<< the cat",
    "a >>deu<< cat",
    "a\u200bcat\nsat",
    "",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = toys.slow_marian(tmp_path_factory.mktemp("hf") / "marian")
    pad = toys.SIZE - 1
    model = toys.marian(pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad)
    toys.random_numbers(model).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def traceable(folder: Path) -> Any:
    return SOURCE.open(folder, torch.device("cpu"))


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Any:
    from transformers import MarianTokenizer

    with warnings.catch_warnings(action="ignore"):  # that it would like sacremoses, which it does not use
        return MarianTokenizer.from_pretrained(folder, split_special_tokens=True)


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_those_of_transformers(traceable: Any, theirs: Any, text: str) -> None:
    assert traceable.tokenizer.encode(text) == theirs.encode(text, add_special_tokens=False)
    target = theirs(text_target=text, add_special_tokens=False)["input_ids"]
    assert traceable.tokenizer.encode_target(text) == target


@pytest.mark.parametrize("text", TEXTS)
def test_each_piece_covers_characters_of_the_typed_text(traceable: Any, text: str) -> None:
    """One after the other or of one character, and nothing but white space is in none."""
    spans, at = traceable.tokenizer.covers(text), 0
    for start, end in spans:
        assert start <= end <= len(text)
        assert at - 1 <= start
        assert not text[at:start].strip()
        at = end
    assert not text[at:].strip()


def test_a_normalised_character_is_found_where_it_was_typed(traceable: Any) -> None:
    text = "ｃａｔ ﬁt"
    tokenizer = traceable.tokenizer
    told = [
        (tokenizer.vocabulary.label_of(id), text[start:end])
        for id, (start, end) in zip(tokenizer.encode(text), tokenizer.covers(text), strict=True)
    ]
    assert "".join(label for label, _ in told) == " cat fit"
    assert [one for one in told if "ﬁ" in one[1]] == [("f", "ﬁ"), ("i", "ﬁ")]
    assert [typed for label, typed in told if label == "t"] == ["ｔ", "t"]


def test_the_app_says_what_was_read_and_what_was_typed(traceable: Any) -> None:
    """In a translator END stands after every source, and covers nothing."""
    answer = tokenize(traceable, "ｃａｔ", 100)
    assert answer["read_text"] == " cat"
    assert "covers" not in answer["tokens"][-1]
    covers = [token["covers"] for token in answer["tokens"][:-1]]
    assert (covers[0][0], covers[-1][1]) == (0, 3)
    assert answer["tokens"][-2]["end"] == 4


def test_special_tokens_cannot_be_typed_and_a_language_can(traceable: Any) -> None:
    tokenizer = traceable.tokenizer
    assert not set(tokenizer.encode(f"{toys.END} <pad>")) & set(tokenizer.special.ids)
    assert tokenizer.encode(">>deu<< the cat")[0] == 2
    assert tokenizer.covers(">>deu<< the cat")[0] == (0, 7)
    assert tokenizer.encode(">>xyz<< the cat")[0] == 1


def test_what_is_written_is_text(traceable: Any, theirs: Any) -> None:
    """A target is split by the model of the other language."""
    tokenizer, text = traceable.tokenizer, "eine Katze läuft"
    ids = tokenizer.encode_target(text)
    assert text_of(tokenizer, ids) == f" {text}"
    assert theirs.decode(ids) == text
    assert len(ids) < len(tokenizer.encode(text))


def test_it_translates(traceable: Any) -> None:
    run = Run([*traceable.tokenizer.encode("the cat"), traceable.tokenizer.special.last], [])
    written = [*steps(Generator(traceable.start(run, []), SamplingSettings(temperature=0), []), None, 3)]
    ids = [traceable.tokenizer.special.first, *written[-1].ids[-3:]]
    assert [token.special for token in traceable.tokenizer.tokens(ids)][:1] == [True]
    names = list(traceable.description.taps)
    found = traceable.trace(Run(run.ids, ids[1:3]), names)
    assert int(found.tensors["logits"][-1].argmax()) == ids[3]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("words", "CAT  C\u0327a s", [(0, 3), (5, 6), (7, 8), (9, 10)]),  # lower-cased; no piece has the cedilla
        ("words", "Ⅳ cat", [(0, 1), (2, 5)]),
        ("bytes", "a🐈", [(0, 1), (1, 2), (1, 2), (1, 2), (1, 2)]),
        ("sentences", "a é", [(0, 1), (0, 1), (1, 2), (2, 3), (2, 3)]),  # a space in front; é as bytes
    ],
)
def test_a_fast_one_covers_characters_of_the_typed_text(
    tmp_path: Path, kind: str, text: str, expected: list[tuple[int, int]]
) -> None:
    families = {
        "words": (lambda: toys.bert("BertForMaskedLM"), toys.word_piece),
        "bytes": (toys.gpt2, toys.byte_level),
        "sentences": (toys.llama, toys.sentence_piece),
    }
    model, words = families[kind]
    folder = toys.save(tmp_path / kind, model(), words())
    settings, adapter = folders.adapt(folder)
    tokenizer = open_tokenizer(folder, settings, adapter.description)
    assert tokenizer.covers(text) == expected


def test_with_padding_and_of_a_cut_text_the_spans_stay_with_their_tokens(traceable: Any) -> None:
    tokenizer, text = traceable.tokenizer, "ｔｈｅ ｃａｔ"
    own, special = tokenizer.encode(text), tokenizer.special
    plain = covered(tokenizer, [*own, special.last], text)
    assert plain == [*tokenizer.covers(text), None]
    padded = covered(tokenizer, [special.pad, *own, special.last, special.pad], text)
    assert padded == [None, *plain, None]
    assert covered(tokenizer, [*own[2:], special.last], text) == plain[2:]
    assert covered(tokenizer, own[::-1], text) == [None] * len(own)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("source.spm", b"no model", "source.spm is not a SentencePiece model"),
        ("vocab.json", b"[1]", "vocab.json is not a JSON object"),
        ("vocab.json", b'{"a": "x"}', "vocab.json: 'a' has the id x, and the model's ids run from 0 to 299"),
        ("vocab.json", b'{"a": 300}', "'a' has the id 300"),
        ("vocab.json", b'{"a": 1, "</s>": 0}', "vocab.json has no id for <unk>"),
        ("vocab.json", b'{"a": 1, "<unk>": 0}', "vocab.json has no id for </s>"),
    ],
)
def test_files_that_are_damaged(folder: Path, tmp_path: Path, name: str, content: bytes, said: str) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "bad"))
    assert copy / name in SOURCE.files(copy)
    (copy / name).write_bytes(content)
    with pytest.raises(ValueError, match=said):
        SOURCE.about(copy)


def test_without_its_files_or_its_library_it_says_what_to_do(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "bad"))
    (copy / "target.spm").unlink()
    with pytest.raises(ValueError, match=r"has no tokenizer\.json"):
        SOURCE.about(copy)
    monkeypatch.setitem(sys.modules, "sentencepiece", None)
    with pytest.raises(ValueError, match=r"needs sentencepiece: pip install .*hf"):
        SOURCE.about(folder)


def test_two_vocabularies_are_refused(folder: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder, tmp_path / "two"))
    change(copy, share_encoder_decoder_embeddings=False)
    with pytest.raises(ValueError, match="share_encoder_decoder_embeddings=False cannot be shown yet"):
        SOURCE.about(copy)


OVERRIDES = [
    (toys.bert, toys.word_piece, name, {setting: value})
    for name in ("BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "PreTrainedTokenizerFast", None)
    for setting, value in (
        ("do_lower_case", False),
        ("do_lower_case", True),
        ("strip_accents", False),
        ("tokenize_chinese_chars", False),
    )
] + [
    (toys.gpt2, toys.byte_level, name, {"add_prefix_space": value})
    for name in ("GPT2Tokenizer", "RobertaTokenizer", "PreTrainedTokenizerFast", None)
    for value in (True, False)
]


@pytest.mark.parametrize(("model", "tokenizer", "name", "settings"), OVERRIDES)
def test_what_the_config_of_a_tokenizer_says_instead_is_done(
    tmp_path: Path, model: Any, tokenizer: Any, name: str | None, settings: dict[str, bool]
) -> None:
    """The ids are AutoTokenizer's, whichever class is named."""
    folder = toys.save(tmp_path / "tiny", model(), tokenizer())
    file = folder / "tokenizer_config.json"
    said = {key: value for key, value in json.loads(file.read_text()).items() if key != "tokenizer_class"}
    file.write_text(json.dumps(said | settings | ({} if name is None else {"tokenizer_class": name})))
    theirs = AutoTokenizer.from_pretrained(folder)
    ours = SOURCE.open(folder, torch.device("cpu")).tokenizer
    for text in ("cat", "Cat", "a café", "cat猫cats", " cat"):
        assert ours.encode(text) == theirs(text, add_special_tokens=False)["input_ids"], text


@pytest.mark.parametrize("asked", [True, False])
def test_files_that_disagree_about_a_space_are_refused(tmp_path: Path, asked: bool) -> None:
    """A class of SentencePiece's kind changes its rules in its own way."""
    folder = toys.save(tmp_path / "tiny", toys.llama(), toys.sentence_piece())
    file = folder / "tokenizer_config.json"
    settings = {"tokenizer_class": "LlamaTokenizer", "add_prefix_space": asked}
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))
    if asked:
        theirs = AutoTokenizer.from_pretrained(folder)
        ours = SOURCE.open(folder, torch.device("cpu")).tokenizer
        assert ours.encode("cat") == theirs("cat", add_special_tokens=False)["input_ids"]
    else:
        with pytest.raises(ValueError, match=r"says add_prefix_space=False, and tokenizer\.json does otherwise: open"):
            SOURCE.about(folder)

"""BPE-dropout: other splits of the same text, in the ids of the same model."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chumoku.model import tokenizer as tokenizers
from chumoku.model.checkpoint import ZOO
from chumoku.model.tokenizer import Tokenizer
from chumoku.model.training.bpe import BpeDropout
from chumoku.model.training.card import recipe_of
from chumoku.model.training.prepare import prepare
from chumoku.model.training.presets import TRANSLATE_ENJA
from chumoku.model.training.translation import Translation
from tests.training.helpers import PAIRS, translation_preset, write_pairs

TOKENIZER = tokenizers.load(ZOO / "translate-enja" / "tokenizer.tiktoken", "encoder-decoder")
SENTENCE = "She is reading an interesting book. 彼女は面白い本を読んでいる。"


def drawn(share: float, seed: int = 0, tokenizer: Tokenizer = TOKENIZER) -> Tokenizer:
    return BpeDropout(tokenizer, share).draw(np.random.default_rng(seed))


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=40), share=st.floats(0, 1))
def test_the_text_stays(text: str, share: float) -> None:
    ids = drawn(share).encode(text)
    assert TOKENIZER.decode(ids) == text
    # It may have fewer than without dropout: where a merge is left out, a longer one may come in.
    assert len(ids) <= len(drawn(1.0).encode(text))


def test_without_dropout_it_is_the_tokenizer_itself() -> None:
    assert drawn(0.0).encode(SENTENCE) == TOKENIZER.encode(SENTENCE)


def test_without_any_merge_it_is_spelt_character_by_character() -> None:
    pieces = [TOKENIZER.decode([id]) for id in drawn(1.0).encode("a cup, 本を")]
    assert pieces == ["a", " ", "c", "u", "p", ",", " ", "本", "を"]


def test_splits_differ_and_a_seed_repeats_them() -> None:
    splits = [tuple(drawn(0.15, seed).encode(SENTENCE)) for seed in (1, 2, 3, 4)]
    assert len(set(splits)) == 4
    assert tuple(drawn(0.15, 1).encode(SENTENCE)) == splits[0]


def test_a_translator_trains_on_other_splits_and_is_measured_on_its_own(tmp_path: Path) -> None:
    preset = replace(translation_preset(), bpe_dropout=0.9)
    data = write_pairs(tmp_path / "data", PAIRS)
    task = prepare(preset, tmp_path / "run", data)
    assert isinstance(task, Translation)
    source, inputs = task.batch(np.random.default_rng(0)).inputs
    special = task.tokenizer.special_ids.values()
    read = {task.tokenizer.decode([int(i) for i in row if int(i) not in special]) for row in source}
    assert read <= {text for text, _ in PAIRS}, "the same sentences"
    ordinary = {tuple(s) for s, _ in task.train}
    assert not all(tuple(i for i in row.tolist() if i != task.tokenizer.pad_id) in ordinary for row in source)
    assert (inputs[:, 0] == task.tokenizer.first_id).all()
    assert all((s, t) == task.encode(pair) for pair, (s, t) in zip(task.texts_of_train, task.train, strict=True))
    assert all(tuple(s) == tuple(task.tokenizer.encode(task.tokenizer.decode(s))) for s, _ in task.judged)


def test_a_split_that_no_window_holds_is_not_used(tmp_path: Path) -> None:
    preset = replace(translation_preset(), bpe_dropout=1.0)
    task = prepare(preset, tmp_path / "run", write_pairs(tmp_path / "data", PAIRS))
    assert isinstance(task, Translation)
    longest = max(max(map(len, ids)) for ids in task.train)
    task.preset = replace(preset, config=replace(preset.config, max_seq_len=longest))
    source, inputs = task.batch(np.random.default_rng(0)).inputs
    assert max(source.shape[1], inputs.shape[1]) <= longest


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_a_card_says_it_where_it_is_used(share: float) -> None:
    assert recipe_of(replace(TRANSLATE_ENJA, bpe_dropout=share)).get("bpe_dropout", 0.0) == share
    assert ("bpe_dropout" in recipe_of(replace(TRANSLATE_ENJA, bpe_dropout=share))) == bool(share)

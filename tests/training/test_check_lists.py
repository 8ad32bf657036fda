"""What counts as right in the lists of greetings and words."""

from pathlib import Path

import pytest

from chumoku.model.training import check_lists as checks
from chumoku.model.training.check_lists import Asked, check_lists, repeats
from tests.model.helpers import tiny_checkpoint


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("Thank you!", True), ("thank you", True), ("Thanks.", True), ("Thank", False), ("", False),
        ("Thank you all.", False),
    ],
)  # fmt: skip
def test_an_answer_is_right_whatever_its_case_and_signs(said: str, right: bool) -> None:
    assert Asked("ありがとう。", said, ("Thank you", "Thanks")).right is right


def test_full_and_half_width_are_the_same() -> None:
    assert Asked("Is there Wi-Fi?", "Ｗｉ－Ｆｉはありますか？", ("Wi-Fiはありますか",)).right


@pytest.mark.parametrize(
    ("text", "so"),
    [
        ("very very very good", False), ("Very, very, very very good", True), ("水水水。", False), ("水水水水", True),
        ("どこにどこにどこにどこに", True), ("1000000", False), ("...........", False), ("", False),
    ],
)  # fmt: skip
def test_a_word_more_than_three_times_in_a_row_is_a_repeat(text: str, so: bool) -> None:
    assert repeats(text) is so


def test_each_direction_is_counted_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "check.tsv"
    file.write_text("yes\tはい\nno\tいいえ\nはい\tyes\tyeah\nいいえ\tno\n", "utf-8")
    monkeypatch.setattr(checks, "CHECKS", {"greetings": file})
    said = {"yes": "はい。", "no": "はい", "はい": "Yeah", "いいえ": "No."}
    monkeypatch.setattr(checks, "translations", lambda loaded, sources, beams: [said[one] for one in sources])
    found = check_lists(tiny_checkpoint("encoder-decoder"))
    assert found == {"greetings": {"of": 2, "from_en": 1, "from_ja": 2}, "repeats": 0}

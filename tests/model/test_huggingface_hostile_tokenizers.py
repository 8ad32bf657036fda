"""A `tokenizer.json` that would take minutes or gigabytes: set aside when it is read, or one error for one text."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Regex, pre_tokenizers

from chumoku.model.traceable.huggingface import HuggingFaceFolders
from chumoku.model.traceable.huggingface.tokenizer_checks import check_pattern, check_work
from tests.toys import huggingface as toys

SOURCE = HuggingFaceFolders()


def split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def grown(times: int) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * times}


HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "a backtracking regex": ({"pre_tokenizer": split("(a+)+b")}, r"its regex '\(a\+\)\+b' repeats a group"),
    "a normalizer of thousands": ({"normalizer": grown(2000)}, "up to 2,000 times as long; at most 64 times may"),
    "a normalizer of gigabytes": (
        {"normalizer": {"type": "Sequence", "normalizers": [grown(2)] * 40}}, "up to 1,099,511,627,776 times as long"
    ),
    "a long prefix": ({"normalizer": {"type": "Prepend", "prepend": "a" * 10**6}}, "writes 1,000,000 characters"),
    "thousands of steps": (
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}] * 1000}}, "at most 100 are run"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_what_has_no_bound_is_set_aside_when_it_is_read(tmp_path: Path, what: str) -> None:
    folder = toys.save(tmp_path / "tiny", toys.gpt2(), toys.byte_level())
    file, (changes, said) = folder / "tokenizer.json", HOSTILE[what]
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    with pytest.raises(ValueError, match=said):
        SOURCE.about(folder)


KNOWN = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama-3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+",
    "gpt-4o": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "bloom": r" ?[^(\s|[.,!?…。，、।۔،])]+",
    "deepseek": "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
    " ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_regexes_of_known_families_are_read(name: str) -> None:
    check_pattern(KNOWN[name])


def repeats_what_repeats(pattern: str) -> bool:
    """By Python's own parser of regexes."""

    def found(tree: Any, inside: bool) -> bool:
        return any(in_one(str(op), argument, inside) for op, argument in tree)

    def in_one(op: str, argument: Any, inside: bool) -> bool:
        if op in ("MAX_REPEAT", "MIN_REPEAT"):
            many = argument[1] >= 10
            return (inside and many) or found(argument[2], inside or many)
        if op == "SUBPATTERN":
            return found(argument[3], inside)
        return op == "BRANCH" and any(found(one, inside) for one in argument[1])

    return found(re._parser.parse(pattern), False)  # type: ignore[attr-defined]


def test_every_group_that_repeats_inside_a_repeated_one_is_refused() -> None:
    """Of a thousand random patterns, all that Python's parser finds are refused."""
    draw = random.Random(1)

    def pattern(depth: int) -> str:
        made = ""
        for _ in range(draw.randint(1, 3)):
            atom = draw.choice(["a", "[ab)(+]", r"\(", r"\+", "."])
            if depth and draw.random() < 0.6:
                atom = f"({'?:' * draw.randint(0, 1)}{pattern(depth - 1)})"
            made += atom + draw.choice(["", "", "+", "*", "?", "{2,}", "{3}", "+?"])
        return made

    wrong = 0
    for _ in range(1000):
        one = pattern(3)
        if repeats_what_repeats(one):
            wrong += 1
            with pytest.raises(ValueError, match="repeats a group"):
                check_pattern(one)
    assert wrong > 100


def test_a_failure_of_the_library_is_one_error_for_one_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A regex that the check lets through, and that the library gives up: it raises no `Exception`."""
    folder = toys.save(tmp_path / "tiny", toys.gpt2(), toys.byte_level())
    model = SOURCE.open(folder, torch.device("cpu"))
    model.tokenizer.fast.pre_tokenizer = pre_tokenizers.Split(Regex("(a+)+b"), "isolated")  # type: ignore[attr-defined]
    assert model.tokenizer.encode("b")
    for read in (model.tokenizer.encode, model.tokenizer.covers):
        with pytest.raises(ValueError, match="its tokenizer fails on this text"):
            read("a" * 40)


@pytest.mark.parametrize(
    "settings", [{}, {"normalizer": None, "pre_tokenizer": None}, {"model": {"max_input_chars_per_word": 100}}]
)
def test_what_a_tokenizer_may_leave_out(settings: dict[str, Any]) -> None:
    check_work(settings)

"""Names of special tokens in a text: read as text with a note, or as these tokens, as transformers reads them."""

from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken
from transformers import AutoTokenizer
from typer.testing import CliRunner

import chumoku
from chumoku.app.cli.program import cli
from chumoku.app.services import wire
from chumoku.model import typed_special
from tests.toys import huggingface as toys


def chat() -> Any:
    """Two special tokens; one takes the space before it, as RoBERTa's <mask> does."""
    tokenizer = toys.byte_level()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|user|>", AddedToken("<gap>", lstrip=True)]})
    return tokenizer


def headers() -> Any:
    tokenizer = toys.byte_level()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|start_header_id|>", "<|end_header_id|>"]})
    return tokenizer


KINDS = {
    "bytes": (lambda: toys.gpt2(n_positions=48), chat, "<|user|>hi <gap> you<|user|>"),
    "llama 3": (lambda: toys.gpt2(n_positions=48), headers, "<|start_header_id|>user<|end_header_id|>hi"),
    "words": (lambda: toys.bert("BertForMaskedLM"), toys.word_piece, "the [MASK] cats"),
    "sentences": (toys.llama, toys.sentence_piece, f"hi{toys.END} you"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_read_as_transformers_reads_it(tmp_path: Path, kind: str) -> None:
    model, tokenizer, text = KINDS[kind]
    folder = toys.save(tmp_path / "tiny", toys.random_numbers(model()), tokenizer())
    opened = chumoku.load(folder, device="cpu")
    with pytest.warns(UserWarning, match="with special=True, as special tokens"):
        plain = opened.trace(text)
    special = opened.trace(text, special=True)
    ids = [token["id"] for token in special.metadata["tokens"]]
    assert ids == AutoTokenizer.from_pretrained(folder)(text)["input_ids"], "and none is added a second time"
    names = typed_special.found(opened.traceable.tokenizer, text)
    assert [note for note in plain.notes if note["code"] == "special"] == [
        {"code": "special", "names": names, "read": False}
    ]
    assert special.notes[-1] == {"code": "special", "names": names, "read": True}
    assert special.run["input"] == {"text": text, "special": True}
    assert not {opened.traceable.tokenizer.encode_special(name)[0] for name in names} & {
        token["id"] for token in plain.metadata["tokens"][1:-1]
    }


def test_a_model_of_ours_reads_its_own() -> None:
    """A classifier has no [MASK]; its [CLS] stands at the beginning alone."""
    model = chumoku.load("sentiment-encoder", device="cpu")
    name = model.traceable.tokenizer.tokens([model.traceable.tokenizer.special.first])[0].text
    found = model.trace(f"{name}good", special=True)
    assert [token["id"] for token in found.metadata["tokens"]] == [
        token["id"] for token in model.trace("good").metadata["tokens"]
    ]
    with pytest.raises(ValueError, match="stands nowhere but at the beginning"):
        model.trace(f"good {name}", special=True)
    assert model.trace("good [x]").notes == []


def test_special_is_about_text() -> None:
    from pydantic import ValidationError

    from chumoku.app.api.run import RunRequest

    with pytest.raises(ValidationError, match="special says how text is read"):
        RunRequest.model_validate({"input": {"token_ids": [1], "special": True}})


def test_the_command_line_says_what_it_read_as_text(tmp_path: Path) -> None:
    model, tokenizer, text = KINDS["words"]
    folder, out = toys.save(tmp_path / "tiny", toys.random_numbers(model()), tokenizer()), tmp_path / "once.safetensors"
    asked = ["trace", text, "--model", str(folder), "-o", str(out)]
    plain, special = (CliRunner().invoke(cli, [*asked, *more]) for more in ([], ["--special"]))
    assert "read as text: [MASK]; with --special, as special tokens" in " ".join(plain.output.split())
    assert "read as text" not in special.output
    ids = [token["id"] for token in wire.metadata_of(out.read_bytes())["tokens"]]
    assert ids == AutoTokenizer.from_pretrained(folder)(text)["input_ids"]

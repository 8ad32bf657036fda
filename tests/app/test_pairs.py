"""Two texts that a model reads together: joined, and told apart, as transformers does it."""

import json
import re
from base64 import b64decode
from gzip import decompress
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load, load_file
from tokenizers import processors
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from typer.testing import CliRunner

import chumoku
from chumoku.app.api.run import RunRequest
from chumoku.app.cli.program import cli
from chumoku.app.services import wire
from chumoku.model.describe import Stack
from tests.toys import huggingface as toys

FIRST, SECOND = "A cat sat", "cats sit"


def bert_folder(where: Path) -> Path:
    return toys.save(where / "pairs", toys.random_numbers(toys.bert(type_vocab_size=2)), toys.word_piece())


def roberta_folder(where: Path) -> Path:
    """Two tokens between the texts, and one token type."""
    tokenizer = toys.word_piece()
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    model = toys.bert("RobertaForSequenceClassification", type_vocab_size=1, max_position_embeddings=40)
    return toys.save(where / "pairs", toys.random_numbers(model), tokenizer)


FOLDERS = {"bert": bert_folder, "roberta": roberta_folder}


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return FOLDERS[request.param](tmp_path)


def theirs(folder: Path, *texts: str) -> tuple[dict[str, Any], Any]:
    """What transformers reads of a pair, and what its model gives, with its eager attention."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager")
    read = tokenizer(*texts, return_tensors="pt", return_token_type_ids="roberta" not in model.config.model_type)
    with torch.inference_mode():
        return read, model(**read, output_attentions=True)


@pytest.mark.parametrize("folder", FOLDERS, indirect=True)
def test_a_pair_is_read_as_transformers_reads_it(folder: Path) -> None:
    read, out = theirs(folder, FIRST, SECOND)
    found = chumoku.load(folder, device="cpu").trace(FIRST, SECOND)
    assert [token["id"] for token in found.metadata["tokens"]] == read["input_ids"][0].tolist()
    types = read.get("token_type_ids")
    assert found.metadata["token_type_ids"] == (None if types is None else types[0].tolist())
    assert torch.equal(found["logits"], out.logits[0]), "bit for bit"
    for layer, pattern in enumerate(out.attentions):
        assert torch.equal(found[f"layers.{layer}.attn.pattern"], pattern[0])
    # the second part begins after what ends the first
    n_first = len(AutoTokenizer.from_pretrained(folder)(FIRST)["input_ids"])
    assert found.metadata["second"] == n_first
    assert found.run["input"] == {"text": FIRST, "pair": SECOND}


@pytest.mark.parametrize("folder", ["bert"], indirect=True)
def test_ids_with_an_inner_sep_get_the_token_types_of_a_pair_and_a_note(folder: Path) -> None:
    read, _ = theirs(folder, FIRST, SECOND)
    ids, types = read["input_ids"][0].tolist(), read["token_type_ids"][0].tolist()
    model = chumoku.load(folder, device="cpu")
    assumed = model.trace(token_ids=ids)
    assert assumed.metadata["token_type_ids"] == types
    assert assumed.notes == [{"code": "token_types", "second": types.index(1)}]
    named = model.trace(token_ids=ids, token_type_ids=types)
    assert named.notes == []
    assert torch.equal(named["logits"], assumed["logits"])
    flat = model.trace(token_ids=ids, token_type_ids=[0] * len(ids))
    assert flat.metadata["second"] is None
    assert not torch.equal(flat["logits"], named["logits"]), "they are read"
    bare = model.trace(token_ids=ids[1:-1], token_type_ids=types[1:-1])
    assert bare.metadata["token_type_ids"] == types, "what is put around ids has its neighbour's type"


@pytest.mark.parametrize("folder", ["bert"], indirect=True)
def test_the_stream_is_the_sum_of_token_position_and_token_type(folder: Path) -> None:
    model = chumoku.load(folder, device="cpu")
    found = model.trace(FIRST, SECOND)
    stack: Stack = model.traceable.description.stacks[0]
    norm = stack.embedding.norm
    assert norm is not None
    word, kind, at = (found[stack.embedding.roles[role].tap] for role in ("embedding", "token_types", "positional"))
    weights = AutoModelForSequenceClassification.from_pretrained(folder).bert.embeddings
    ids, types = ([*found.metadata["tokens"]], found.metadata["token_type_ids"])
    assert torch.equal(word, weights.word_embeddings.weight[[token["id"] for token in ids]])
    assert torch.equal(kind, weights.token_type_embeddings.weight[types])
    assert torch.equal(at, weights.position_embeddings.weight[: len(types)])
    assert torch.equal(word + kind + at, found[norm.roles["input"].tap]), "what transformers normalises, bit for bit"


@pytest.mark.parametrize("folder", ["bert"], indirect=True)
def test_masked_pads_change_nothing_and_have_token_type_0(folder: Path) -> None:
    model = chumoku.load(folder, device="cpu")
    plain, padded = model.trace(FIRST, SECOND), model.trace(FIRST, SECOND, pad={"count": 2, "side": "left"})
    assert padded.metadata["token_type_ids"] == [0, 0, *plain.metadata["token_type_ids"]]
    assert padded.metadata["second"] == plain.metadata["second"] + 2
    assert torch.allclose(padded["layers.1.attn.pattern"][:, 2:, 2:], plain["layers.1.attn.pattern"], atol=1e-5)


def test_what_cannot_be_read_is_refused_with_a_reason(tmp_path: Path) -> None:
    ours = chumoku.load("sentiment-encoder", device="cpu")
    with pytest.raises(ValueError, match="does not read two texts together"):
        ours.trace("good", "bad")
    with pytest.raises(ValueError, match="no token type 1"):
        ours.trace(token_ids=[5, 6], token_type_ids=[0, 1])
    theirs = chumoku.load(bert_folder(tmp_path), device="cpu")
    with pytest.raises(ValueError, match="no token type 2"):
        theirs.trace(token_ids=[5, 6], token_type_ids=[0, 2])
    with pytest.raises(ValueError, match="too many"):
        theirs.trace(FIRST, " ".join(["cat"] * 20))
    with pytest.raises(ValueError, match="one number for each"):
        RunRequest.model_validate({"input": {"token_ids": [5, 6], "token_type_ids": [0]}})
    with pytest.raises(ValueError, match="give text, too"):
        RunRequest.model_validate({"input": {"token_ids": [5, 6], "pair": "cat"}})


def test_the_command_line_reads_a_pair(tmp_path: Path) -> None:
    folder, out = bert_folder(tmp_path), tmp_path / "pair.safetensors"
    done = CliRunner().invoke(cli, ["trace", FIRST, "--pair", SECOND, "--model", str(folder), "-o", str(out)])
    assert done.exit_code == 0, done.output
    read, given = theirs(folder, FIRST, SECOND)
    assert torch.equal(load_file(out)["logits"], given.logits[0])
    assert wire.metadata_of(out.read_bytes())["run"]["input"]["pair"] == SECOND
    assert f"of {read['input_ids'].shape[1]} tokens" in done.output


def test_the_command_line_shows_a_pair_as_a_notebook_does(tmp_path: Path) -> None:
    """In a file for a browser: the river, and for a model without one (Phi) the weights."""
    folder, out = bert_folder(tmp_path), tmp_path / "pair.html"
    done = CliRunner().invoke(cli, ["trace", FIRST, "--pair", SECOND, "--model", str(folder), "-o", str(out)])
    assert "open it in a browser" in done.output
    read = chumoku.load(folder, device="cpu").trace(FIRST, SECOND)
    assert contents_of(out.read_text("utf-8")) == contents_of(chumoku.show(read, "river").html)
    phi = toys.save(tmp_path / "phi", toys.random_numbers(toys.phi()), toys.byte_level())
    CliRunner().invoke(cli, ["trace", FIRST, "--model", str(phi), "-o", str(out)])
    read = chumoku.load(phi, device="cpu").trace(FIRST)
    assert contents_of(out.read_text("utf-8")) == contents_of(chumoku.show(read, "weights").html)
    assert contents_of(out.read_text("utf-8")) == contents_of(chumoku.show(read).html)


def contents_of(document: str) -> list[Any]:
    """What a document shows: the state, the ids, and the numbers of all heads."""
    found = re.findall(r'<script type="application/gzip" [^>]+>([^<]+)</script>', document)
    about, tensors = (decompress(b64decode(one)) for one in found[1:3])
    arrays = {name: array.numpy().tobytes() for name, array in load(tensors).items()}
    ids = [token["id"] for token in wire.metadata_of(tensors)["tokens"]]
    return [json.loads(about)["state"], ids, arrays]

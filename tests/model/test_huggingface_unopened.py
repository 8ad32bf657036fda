"""What people have that is no model to open: one sentence says what it is, and what to do."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import chumoku
from chumoku.app.services import discovery
from chumoku.app.settings import Settings
from tests.toys import huggingface as toys

PEFT = {"peft_type": "LORA", "base_model_name_or_path": "openai-community/gpt2"}
KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "adapter": (
        {"adapter_config.json": PEFT, "adapter_model.safetensors": "x"},
        "is an adapter of openai-community/gpt2 .* merge the two",
    ),
    "gguf": ({"model-q4_0.gguf": "GGUF"}, "weights are in GGUF, .*: open the model that they were converted from"),
    "pipeline": ({"model_index.json": {}}, "is a pipeline of diffusers"),
    "sentences": (
        {"modules.json": [], "0_Transformer/config.json": {"model_type": "bert"}},
        "is a folder of sentence-transformers, .*: open .*0_Transformer",
    ),
    "nameless": (
        {"config.json": {"architectures": ["BertModel"], "hidden_size": 8}},
        "names no model_type, .* add it .*, or save the model again",
    ),
    "pickles": ({"pytorch_model.bin": "x"}, "has no config.json, and its weights are in pytorch_model.bin"),
    "empty": (
        {"config.json": {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"]}},
        "has no weights .model.safetensors., only what describes them: copy or download it whole",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_recognised_and_what_to_do_is_said(tmp_path: Path, kind: str) -> None:
    """By `load`, by `--model`, and in a folder of models, where it is listed as unavailable."""
    files, said = KINDS[kind]
    folder = tmp_path / "models" / kind
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(ValueError, match=said):
        chumoku.load(folder, device="cpu")
    for settings in ({"models": (folder,)}, {"models_dir": (tmp_path / "models",)}):
        _, bad = discovery.survey(Settings(device="cpu", **settings))  # type: ignore[arg-type]
        assert [problem.name for problem in bad.values()] == [kind]


def test_a_file_of_weights_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "model-q4_0.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(ValueError, match="weights are in GGUF"):
        chumoku.load(file, device="cpu")


def test_our_own_folders_and_other_folders_are_not_taken_for_theirs(tmp_path: Path) -> None:
    from chumoku.model.checkpoint import ZOO
    from chumoku.model.traceable.huggingface.unopened import reason

    (tmp_path / "notes.txt").touch()
    assert [reason(path) for path in (*ZOO.iterdir(), tmp_path, tmp_path / "notes.txt", tmp_path / "none")] == [
        None for _ in (*ZOO.iterdir(), 1, 2, 3)
    ]


def test_a_token_without_an_embedding_is_noted_and_a_text_with_it_refused(tmp_path: Path) -> None:
    """PAD was added to the tokenizer, and the embeddings were not resized; and one that can be typed."""
    tokenizer = toys.byte_level()
    n = len(tokenizer)
    folder = toys.save(tmp_path / "tiny", toys.random_numbers(toys.gpt2(vocab_size=n)), tokenizer)
    before = chumoku.load(folder, device="cpu").trace("a cat")
    tokenizer.add_special_tokens({"pad_token": "[NEW]"})
    tokenizer.add_tokens(["zebra"])
    tokenizer.save_pretrained(folder)
    model = chumoku.load(folder, device="cpu")
    found = model.trace("a cat")
    assert torch.equal(found["logits"], before["logits"])
    assert [*before.notes, {"code": "lacking", "n_tokens": 2}] == found.notes
    assert model.traceable.tokenizer.special.pad is None
    with pytest.raises(
        ValueError, match=f"no embedding of 'zebra', token {n + 1} of its tokenizer: its ids run from 0"
    ):
        model.trace("a zebra")


def test_a_token_around_every_text_must_have_an_embedding(tmp_path: Path) -> None:
    folder = toys.save(tmp_path / "tiny", toys.bert(vocab_size=2), toys.word_piece())
    with pytest.raises(
        ValueError, match=r"puts \[SEP\] around a text, whose id is 2, and the model's ids run from 0 to 1"
    ):
        chumoku.load(folder, device="cpu")

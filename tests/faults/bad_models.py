"""A corpus of damaged model folders, made from a tiny one: what a copy, a disk or an editor does to files."""

from __future__ import annotations

import json
import os
import shutil
import struct
from binascii import b2a_base64
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

Damage = Callable[[Path], None]

CONFIG, CARD, WEIGHTS, TOKENIZER = "config.json", "card.json", "weights.safetensors", "tokenizer.tiktoken"
LONG = b2a_base64(b"a" * 1001)[:-1]
MATRIX, NORM = "layers.0.attn.w_q.weight", "final_norm.bias"


def write(folder: Path, name: str, content: bytes | str) -> None:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


def gone(folder: Path, name: str) -> None:
    (folder / name).unlink()


def cut(folder: Path, name: str, keep: float) -> None:
    content = (folder / name).read_bytes()
    write(folder, name, content[: int(len(content) * keep)])


def circle(folder: Path, name: str) -> None:
    gone(folder, name)
    (folder / name).symlink_to(folder / name)


def nowhere(folder: Path, name: str) -> None:
    gone(folder, name)
    (folder / name).symlink_to(folder / "nowhere")


def directory(folder: Path, name: str) -> None:
    gone(folder, name)
    (folder / name).mkdir()


def pipe(folder: Path, name: str) -> None:
    gone(folder, name)
    os.mkfifo(folder / name)


def endless(folder: Path, name: str) -> None:
    gone(folder, name)
    (folder / name).symlink_to("/dev/zero")


def config(folder: Path, **changes: Any) -> None:
    write(folder, CONFIG, json.dumps(json.loads((folder / CONFIG).read_text()) | changes))


def config_without(folder: Path, name: str) -> None:
    data = json.loads((folder / CONFIG).read_text())
    del data[name]
    write(folder, CONFIG, json.dumps(data))


def tensor(folder: Path, name: str, change: Callable[[torch.Tensor], torch.Tensor | None]) -> None:
    tensors: dict[str, Any] = load_file(folder / WEIGHTS)
    tensors[name] = change(tensors.get(name, torch.ones(2)))
    save_file({key: x for key, x in tensors.items() if x is not None}, folder / WEIGHTS)


def filled(value: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """One number of a tensor replaced."""

    def change(x: torch.Tensor) -> torch.Tensor:
        x = x.float()
        x.view(-1)[-1] = value
        return x

    return change


def header(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Weights whose header was changed; its bytes stay."""
    content = (folder / WEIGHTS).read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    about = json.loads(content[8 : 8 + length])
    text = json.dumps(change(about) or about).encode()
    write(folder, WEIGHTS, struct.pack("<Q", len(text)) + text + content[8 + length :])


def entry(folder: Path, **changes: Any) -> None:
    """One tensor's entry in the header changed."""
    header(folder, lambda about: {**about, NORM: about[NORM] | changes})


def header_length(folder: Path, length: int) -> None:
    content = (folder / WEIGHTS).read_bytes()
    write(folder, WEIGHTS, struct.pack("<Q", length) + content[8:])


def ranks(folder: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    write(folder, TOKENIZER, b"\n".join(change((folder / TOKENIZER).read_bytes().splitlines())))


CARDS = {
    "list": "[]",
    "text": '"x"',
    "nan": '{"evaluation": {"bits_per_byte": NaN}}',
    "infinity": '{"minutes": 1e999}',
    "half a character": '{"name": "\\ud800"}',
    "nested": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "nested 256": '{"a":' * 256 + "1" + "}" * 256,
    "lists nested 65": '{"a": ' + "[" * 65 + "]" * 65 + "}",
    "large": json.dumps({"a": "x" * 2**20}),
    "languages": '{"languages": "en"}',
    "evaluation": '{"evaluation": [1]}',
    "units": '{"units": {"layers": [3]}}',
    "snapshots": '{"snapshots": [{"step": -1}]}',
    "not utf-8": b'{"name": "\xff"}',
}
CONFIGS: dict[str, dict[str, Any]] = {
    "layers as text": {"n_layer": "2"},
    "layers as fraction": {"n_layer": 2.5},
    "layers as true": {"n_layer": True},
    "layers null": {"n_layer": None},
    "no layers": {"n_layer": 0},
    "a billion layers": {"n_layer": 10**9},
    "a thousand layers": {"n_layer": 1000},
    "a huge width": {"d_model": 2**60, "n_head": 1},
    "a huge window": {"max_seq_len": 2**60},
    "a long table": {"max_seq_len": 2**23, "position": "sinusoidal"},
    "heads that do not divide": {"n_head": 7},
    "another width": {"d_ff": 21},
    "another vocabulary": {"vocab_size": 300},
    "family as list": {"family": ["decoder-only"]},
    "an unknown family": {"family": "diffusion"},
    "another family": {"family": "encoder-decoder"},
    "classes as text": {"classes": "yes"},
    "classes as numbers": {"family": "encoder-only", "classes": [1, 2]},
    "eps as text": {"layer_norm_eps": "small"},
    "eps of 0": {"layer_norm_eps": 0},
    "dropout as list": {"dropout": []},
    "tie as number": {"tie_embeddings": 0},
    "an unknown key": {"n_heads": 2},
    "an unknown mechanism": {"mechanism": "telepathy"},
    "mechanism as object": {"mechanism": {}},
    "what a terminal obeys": {name: ["\x1b]0;owned\x07\x9b2J\u202e"] for name in ("model_type", "architectures")},
    "nested": {"dropout": json.loads("[" * 100 + "]" * 100)},
    "large": {"family": "x" * 2**22},
}
FILES = (CONFIG, WEIGHTS, TOKENIZER)

AT_START: dict[str, Damage] = {
    **{f"{name} missing": partial(gone, name=name) for name in FILES},
    **{f"{name} empty": partial(write, name=name, content=b"") for name in FILES},
    **{f"{name} cut": partial(cut, name=name, keep=0.6) for name in FILES},
    **{f"{name} zeros": partial(write, name=name, content=bytes(4096)) for name in FILES},
    **{f"{name} in a circle": partial(circle, name=name) for name in (*FILES, CARD)},
    **{f"{name} to nowhere": partial(nowhere, name=name) for name in (*FILES, CARD)},
    **{f"{name} a folder": partial(directory, name=name) for name in (*FILES, CARD)},
    **{f"{name} a pipe": partial(pipe, name=name) for name in (*FILES, CARD)},
    **{f"{name} endless": partial(endless, name=name) for name in (*FILES, CARD)},
    **{f"config {what}": partial(write, name=CONFIG, content=text) for what, text in {
        "list": "[]", "null": "null", "number": "3", "text": '"x"', "object": "{}", "half": '{"n_layer": ',
        "huge number": '{"n_layer": ' + "9" * 5000 + "}",
    }.items()},
    **{f"config {what}": partial(config, **changes) for what, changes in CONFIGS.items()},
    **{f"config without {name}": partial(config_without, name=name) for name in ("n_layer", "vocab_size")},
    **{f"card {what}": partial(write, name=CARD, content=text) for what, text in CARDS.items()},
    "weights without a tensor": partial(tensor, name=MATRIX, change=lambda x: None),
    "weights with a tensor more": partial(tensor, name="another", change=lambda x: x),
    "weights of another shape": partial(tensor, name=NORM, change=lambda x: x[:-1].contiguous()),
    "weights turned": partial(tensor, name="layers.0.ffn.w_1.weight", change=lambda x: x.T.contiguous()),
    "weights flattened": partial(tensor, name=MATRIX, change=lambda x: x.flatten()),
    "weights as whole numbers": partial(tensor, name=MATRIX, change=lambda x: x.long()),
    "weights as bits": partial(tensor, name=MATRIX, change=lambda x: x > 0),
    "header of terabytes": partial(header_length, length=2**42),
    "header of 2^64": partial(header_length, length=2**64 - 1),
    "header of nothing": partial(header_length, length=0),
    "header a list": partial(header, change=lambda about: [about]),
    "header without shape": partial(header, change=lambda about: {**about, NORM: {"dtype": "F16"}}),
    "header entry a text": partial(header, change=lambda about: {**about, NORM: "x"}),
    "header shape of terabytes": partial(entry, shape=[2**42]),
    "header shape negative": partial(entry, shape=[-1]),
    "header offsets after the end": partial(entry, data_offsets=[2**40, 2**40 + 30]),
    "header of overlapping tensors": partial(entry, data_offsets=[30, 60]),
    "header of an unknown type": partial(entry, dtype="F7"),
    "header type a list": partial(entry, dtype=["F16"]),
    "tokenizer with a rank more": partial(ranks, change=lambda lines: [*lines, b"YWI= 256"]),
    "tokenizer with a rank less": partial(ranks, change=lambda lines: lines[:-1]),
    "tokenizer with a rank twice": partial(ranks, change=lambda lines: [*lines[:-1], lines[0]]),
    "tokenizer with a gap": partial(ranks, change=lambda lines: [*lines[:-1], b"/w== 999"]),
    "tokenizer without a byte": partial(ranks, change=lambda lines: [*lines[:-1], b"YWI= 255"]),
    "tokenizer with a long piece": partial(ranks, change=lambda lines: [*lines, b"%b 256" % LONG]),
    "tokenizer of text": partial(write, name=TOKENIZER, content="hello world\n"),
    "tokenizer of JSON": partial(write, name=TOKENIZER, content='{"a": 1}'),
}  # fmt: skip
"""Known from configs, headers and sizes: unavailable once the server starts."""

AT_LOAD: dict[str, Damage] = {
    "NaN": partial(tensor, name=MATRIX, change=filled(float("nan"))),
    "infinity": partial(tensor, name=NORM, change=filled(float("inf"))),
    "overflow": partial(tensor, name="token_embedding.weight", change=lambda x: x.float().fill_(3e38)),
}  # fmt: skip
"""Known from the numbers alone: unavailable once the model is first loaded."""

HARMLESS: dict[str, Damage] = {
    "as it was": lambda folder: None,
    "no card": partial(gone, name=CARD),
    "an empty card": partial(write, name=CARD, content="{}"),
    "a card with other figures": partial(write, name=CARD, content='{"evaluation": {"bits_per_byte": "good"}}'),
    "float32": partial(tensor, name=MATRIX, change=lambda x: x.float()),
    "bfloat16": partial(tensor, name=MATRIX, change=lambda x: x.bfloat16()),
    "another file beside": partial(write, name="notes.txt", content=b"\xff"),
}
"""What a model may have: it traces."""


def write_damaged(folder: Path, whole: Path) -> None:
    """A copy of a model with each damage in `folder`: `bad-start-0` …, `bad-load-0` …; and links in a circle."""
    (whole / CARD).write_text("{}")
    for when, damages in (("start", AT_START), ("load", AT_LOAD)):
        for number, damage in enumerate(damages.values()):
            damage(Path(shutil.copytree(whole, folder / f"bad-{when}-{number}")))
    for name in ("circle", os.fsdecode(b"bytes \xff")):
        (folder / name).symlink_to(folder / name)

"""A folder's tokenizer: `tokenizer.json`, and which tokens have which role."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from chumoku.model.describe import Description, Side
from chumoku.model.files import read_json
from chumoku.model.pictures.photo import Photo
from chumoku.model.pictures.places import PlaceTokenizer
from chumoku.model.pictures.tokenizer import PatchTokenizer
from chumoku.model.special_tokens import Special
from chumoku.model.traceable.huggingface.marian_tokenizer import FILES as MARIAN
from chumoku.model.traceable.huggingface.marian_tokenizer import is_marian, open_marian
from chumoku.model.traceable.huggingface.spelling import vocabulary_of
from chumoku.model.traceable.huggingface.tokens import FastTokenizer, TheirTokenizer
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig
from chumoku.model.traceable.protocols import Tokenizer

FILE, ROLES = "tokenizer.json", "tokenizer_config.json"
TOKENIZERS = (FILE, ROLES, *MARIAN)
"""The files that a tokenizer may be in."""
PROBE = "a"
MASKS = ("[MASK]", "<mask>")
"""What the token that hides another one is called where a folder does not say: older ones have no roles of tokens."""


def tokenizer_of(folder: Path, settings: TransformersConfig, description: Description) -> Tokenizer:
    """A folder's tokenizer; one that reads pictures needs no file. Raises what `open_tokenizer` raises."""
    if isinstance(description.picture, Photo):
        return PlaceTokenizer(description.picture)
    if description.picture is not None:
        return PatchTokenizer(description.picture)
    return open_tokenizer(folder, settings, description)


def open_tokenizer(folder: Path, settings: TransformersConfig, description: Description) -> TheirTokenizer:
    """Raises `ValueError` for a tokenizer that is missing, has more tokens than the model, or puts more than one token
    before or after a text."""
    from tokenizers import Tokenizer as Fast

    if not (folder / FILE).is_file():
        if settings.model_type == "marian" and is_marian(folder):
            return open_marian(folder, settings, description)
        raise ValueError(
            f"{folder} has no {FILE}: open its tokenizer once with AutoTokenizer.from_pretrained and save it there "
            "with save_pretrained"
        )
    try:
        fast = Fast.from_file(str(folder / FILE))
    except Exception as error:  # the library raises nothing more special
        raise ValueError(f"{folder / FILE} is not a tokenizer: {error}") from None
    fast.encode_special_tokens = True
    fast.no_truncation()
    fast.no_padding()
    if (n := fast.get_vocab_size(with_added_tokens=True)) > description.vocab_size:
        raise ValueError(f"{folder / FILE} has {n:,} tokens, its model {description.vocab_size:,}")
    vocabulary = vocabulary_of(read_json(folder / FILE), fast.get_vocab(with_added_tokens=True))
    special = special_of(folder, fast, settings, description.writes)
    if not description.can.get("pads", True):
        special = replace(special, pad=None)
    return FastTokenizer(fast, vocabulary, special, description.vocab_size)


def special_of(folder: Path, fast: Any, settings: TransformersConfig, writes: Side | None) -> Special:
    """The ids of PAD, END, [MASK], and of what a text is put between: in a translator START begins the target."""
    named: Mapping[str, Any] = read_json(folder / ROLES) if (folder / ROLES).is_file() else {}

    def id_of(role: str) -> int | None:
        one = named.get(f"{role}_token")
        name = one.get("content") if isinstance(one, dict) else one
        return settings.token(f"{role}_token_id") if name is None else fast.token_to_id(str(name))

    before, after = around(fast, folder)
    first = settings.token("decoder_start_token_id") if writes == "target" else before
    mask = id_of("mask")
    if mask is None and writes is None:
        mask = next((id for name in MASKS if (id := fast.token_to_id(name)) is not None), None)
    opens = before if writes == "target" else None
    return Special(id_of("pad"), id_of("eos"), first, mask, None if writes == "source" else after, opens)


def around(fast: Any, folder: Path) -> tuple[int | None, int | None]:
    """The ids that are put before and after a text."""
    inside, whole = (fast.encode(PROBE, add_special_tokens=special).ids for special in (False, True))
    at = next((n for n in range(len(whole)) if inside and whole[n : n + len(inside)] == inside), None)
    if at is None:
        raise ValueError(f"{folder / FILE} does not say what it puts around a text: it has no token for {PROBE!r}")
    before, after = whole[:at], whole[at + len(inside) :]
    if len(before) > 1 or len(after) > 1:
        raise ValueError(
            f"{folder / FILE} puts {len(before)} tokens before a text and {len(after)} after it: one each is shown"
        )
    return before[0] if before else None, after[0] if after else None

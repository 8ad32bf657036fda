"""Token counts under other tokenizers: tiktoken's public encodings, if their files are present.

tiktoken downloads missing files and files with a wrong hash, so both are checked here first.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import tiktoken
from tiktoken import registry

BLOBS = "https://openaipublic.blob.core.windows.net/"

# name → its files, (address, sha256), as tiktoken_ext.openai_public has them (a test compares the two).
PUBLIC: dict[str, dict[str, str]] = {
    "gpt2": {
        f"{BLOBS}gpt-2/encodings/main/vocab.bpe": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
        f"{BLOBS}gpt-2/encodings/main/encoder.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
    },
    "cl100k_base": {
        f"{BLOBS}encodings/cl100k_base.tiktoken": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
    },
    "o200k_base": {
        f"{BLOBS}encodings/o200k_base.tiktoken": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    },
}

HINT = "With a network connection, this fetches it once: python -c \"import tiktoken; tiktoken.get_encoding('{name}')\""


def compare(text: str) -> list[dict[str, Any]]:
    """The number of tokens under each public encoding; None, with a hint, if its files are missing."""
    return [count(name, text) for name in PUBLIC]


def count(name: str, text: str) -> dict[str, Any]:
    if not available(name):
        return {"name": name, "available": False, "n_tokens": None, "hint": HINT.format(name=name)}
    n_tokens = len(tiktoken.get_encoding(name).encode_ordinary(text))
    return {"name": name, "available": True, "n_tokens": n_tokens, "hint": None}


def available(name: str) -> bool:
    """Whether tiktoken can use it offline: it is loaded, or its files are complete in tiktoken's cache."""
    if name in registry.ENCODINGS:
        return True
    folder = cache_folder()
    return folder is not None and all(is_whole(cached(folder, url), sha256) for url, sha256 in PUBLIC[name].items())


def cache_folder() -> Path | None:
    """Tiktoken's cache folder; None if it keeps no files. The same rule as in tiktoken.load."""
    default = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", default))
    return Path(folder) if folder else None


def cached(folder: Path, url: str) -> Path:
    """The file of `url` in the cache, named by the sha1 of the address."""
    return folder / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()


def is_whole(path: Path, sha256: str) -> bool:
    """Whether the file exists and has the right hash."""
    try:
        found = path.stat()
        return digest(path, found.st_mtime_ns, found.st_size) == sha256
    except OSError:
        return False


@lru_cache(maxsize=16)
def digest(path: Path, changed_ns: int, size: int) -> str:
    """The sha256 of a file, recomputed when the file changes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()

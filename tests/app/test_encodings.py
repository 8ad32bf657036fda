"""Counts under tiktoken's public encodings: only from files on this machine, never from the network."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import tiktoken.load
import tiktoken_ext.openai_public
from httpx import AsyncClient
from tiktoken import registry

from chumoku.app.services import encodings
from chumoku.model.checkpoint import ZOO
from chumoku.model.tokenizer import SPLIT

NAMES = ["gpt2", "cl100k_base", "o200k_base"]
RANKS = (ZOO / "stories-gpt" / "tokenizer.tiktoken").read_bytes()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty tiktoken cache, nothing loaded yet, and no network."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(registry, "ENCODINGS", {})
    monkeypatch.setattr(tiktoken.load, "read_file", lambda url: pytest.fail(f"{url} was fetched"))
    return tmp_path


async def compare(client: AsyncClient, text: str) -> list[dict[str, Any]]:
    response = await client.post("/api/tokenize", json={"text": text, "compare": True})
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["encodings"]
    return found


async def test_what_is_not_here_is_said_to_be_missing(client: AsyncClient, cache: Path) -> None:
    found = await compare(client, "注目 attention")
    assert [encoding["name"] for encoding in found] == NAMES
    for encoding in found:
        assert (encoding["available"], encoding["n_tokens"]) == (False, None)
        assert f"tiktoken.get_encoding('{encoding['name']}')" in encoding["hint"]
    assert list(cache.iterdir()) == []


async def test_nothing_is_compared_unasked(client: AsyncClient) -> None:
    assert (await client.post("/api/tokenize", json={"text": "a"})).json()["encodings"] == []


async def test_a_file_that_is_not_what_it_should_be_is_not_taken(client: AsyncClient, cache: Path) -> None:
    """tiktoken itself would delete the file and download it again."""
    for files in encodings.PUBLIC.values():
        for url in files:
            encodings.cached(cache, url).write_bytes(RANKS)
    assert not any(encoding["available"] for encoding in await compare(client, "a"))
    assert len(list(cache.iterdir())) == 4


async def test_half_of_the_files_are_not_enough(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, missing = "https://example.org/a", "https://example.org/b"
    sha256 = hashlib.sha256(RANKS).hexdigest()
    monkeypatch.setattr(encodings, "PUBLIC", {"two": {here: sha256, missing: sha256}})
    encodings.cached(cache, here).write_bytes(RANKS)
    assert not encodings.available("two")
    encodings.cached(cache, missing).write_bytes(RANKS)
    assert encodings.available("two")


async def test_without_a_cache_there_is_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert not any(encodings.available(name) for name in NAMES)


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
async def test_files_that_are_here_count(
    client: AsyncClient, cache: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """With the zoo's own ranks in tiktoken's cache, the counts are the zoo's."""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    monkeypatch.setenv(variable, str(cache))
    url, sha256 = "https://example.org/ours.tiktoken", hashlib.sha256(RANKS).hexdigest()
    encodings.cached(cache, url).write_bytes(RANKS)
    made: list[str] = []

    def ours() -> dict[str, Any]:
        made.append(url)
        ranks = tiktoken.load.load_tiktoken_bpe(url, expected_hash=sha256)
        return {"name": "ours", "pat_str": SPLIT, "mergeable_ranks": ranks, "special_tokens": {"<|endoftext|>": 99_999}}

    monkeypatch.setattr(registry, "ENCODING_CONSTRUCTORS", {"ours": ours})
    monkeypatch.setattr(encodings, "PUBLIC", {"ours": {url: sha256}})
    for text in ("Once upon a time", "注目 <|endoftext|>", ""):
        n_tokens = (await client.post("/api/tokenize", json={"text": text})).json()["n_tokens"]
        assert await compare(client, text) == [{"name": "ours", "available": True, "n_tokens": n_tokens, "hint": None}]
    assert made == [url]  # loaded once


@pytest.mark.parametrize("name", NAMES)
def test_addresses_and_hashes_are_tiktokens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, str] = {}

    def read(url: str, expected_hash: str) -> bytes:
        asked[url] = expected_hash
        return json.dumps({}).encode() if url.endswith(".json") else b""

    monkeypatch.setattr(tiktoken.load, "read_file_cached", read)
    constructor = tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[name]
    try:
        constructor()
    except AssertionError:
        assert name == "gpt2"  # gpt2 has two files, both empty here: they do not match
    assert asked == encodings.PUBLIC[name]


@pytest.mark.parametrize("name", NAMES)
async def test_the_real_ones(client: AsyncClient, name: str) -> None:
    if not encodings.available(name):
        pytest.skip(f"the files of {name} are not here")
    for text, n_tokens in (("hello world", 2), *([] if name == "gpt2" else [("注目", 2)])):
        (found,) = [encoding for encoding in await compare(client, text) if encoding["name"] == name]
        assert found == {"name": name, "available": True, "n_tokens": n_tokens, "hint": None}

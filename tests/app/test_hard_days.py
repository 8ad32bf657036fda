"""Invalid requests of every kind, sent to a real server at the same time as good ones."""

import json
from collections.abc import Iterator
from typing import Any

import anyio
import httpx
import numpy as np
import pytest

from chumoku.app.settings import Settings
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.trace import trace
from tests.app.conftest import Serve
from tests.app.helpers import TEXT, decode, error_of, refused

JSON = {"content-type": "application/json"}
GZIP, TEXT_PLAIN = JSON | {"content-encoding": "gzip"}, {"content-type": "text/plain"}
DEEP = 100_000
SETTINGS = Settings(device="cpu", queue=1000, log_level="critical")

# Body → status, code. `bytes` are sent unchanged, a dict as JSON.
TRACE: list[tuple[bytes | dict[str, Any], int, str]] = [
    ({"text": ""}, 422, "empty_text"),
    ({"text": "dog " * 300}, 422, "too_long"),
    ({"text": "🙂" * 10_000}, 422, "too_long"),
    ({"text": "注" * 20_001}, 422, "too_long_characters"),
    (rb'{"text": "a\ud83d"}', 422, "invalid_text"),
    (rb'{"text": "a", "want": ["\udc00"]}', 422, "invalid_text"),
    (rb'{"text": "a", "\ud800": 1}', 422, "invalid_text"),
    (b'{"text": "\xed\xa0\xbd"}', 422, "invalid_text"),
    (b'{"text": "\xff\xfe"}', 400, "invalid_request"),
    (b'{"text": "a\nb"}', 422, "invalid_request"),
    ({"text": "a", "model": "../../etc/passwd"}, 404, "unknown_model"),
    ({"text": "a", "model": ""}, 404, "unknown_model"),
    ({"text": "a", "layers": [6]}, 422, "bad_layer"),
    ({"text": "a", "layers": [2**70]}, 422, "bad_layer"),
    ({"text": "a", "heads": [8]}, 422, "bad_head"),
    ({"text": "a", "heads": [-1]}, 422, "invalid_request"),
    ({"text": "a", "want": ["layers.0.attn.patern"]}, 422, "unknown_tensor"),
    ({"text": "a", "want": ["*a" * 99]}, 422, "unknown_tensor"),
    ({"text": "a", "want": ["__metadata__"]}, 422, "unknown_tensor"),
    ({"text": "a", "pad": {"count": 10**400}}, 422, "invalid_request"),
    ({"text": "a", "pad": {"count": -1}}, 422, "invalid_request"),
    ({"text": "a", "pad": {"follow": 1}}, 422, "invalid_request"),
    ({"text": "a", "format": "pickle"}, 422, "invalid_request"),
    ({"text": "a", **{f"x{i}": i for i in range(50_000)}}, 422, "invalid_request"),
    ({"token_ids": ["a"] * 100_000}, 422, "invalid_request"),
    (b"", 422, "invalid_request"),
    (b"{", 422, "invalid_request"),
    (b"null", 422, "invalid_request"),
    (b'"text"', 422, "invalid_request"),
    (b"text=a", 422, "invalid_request"),
    (b'{"text": "a",}', 422, "invalid_request"),
    (b"{'text': 'a'}", 422, "invalid_request"),
    (b"[" * DEEP, 400, "invalid_request"),
    (b'{"text":' * DEEP, 400, "invalid_request"),
    (b'{"text": "a", "x": ' + b"[" * 900 + b"]" * 900 + b"}", 422, "invalid_request"),
    (b"9" * 10_000, 400, "invalid_request"),
    (b" " * 1_100_000, 413, "body_too_large"),
]
GENERATE: list[tuple[bytes | dict[str, Any], int, str]] = [
    *((b'{"text": "a", "temperature": %b}' % n, 422, "invalid_request") for n in (b"NaN", b"-Infinity", b"1e999")),
    *((b'{"text": "a", "top_p": %b}' % n, 422, "invalid_request") for n in (b"NaN", b"Infinity", b"-0.5", b"1.5")),
    ({"text": "a", "temperature": -1}, 422, "invalid_request"),
    ({"text": "a", "top_k": -1}, 422, "invalid_request"),
    ({"text": "a", "seed": 1.5}, 422, "invalid_request"),
    ({"text": "a", "max_new_tokens": 10**9}, 422, "too_many_tokens"),
]
OTHERS: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("GET", "/api/trace", {}, 422, "invalid_request"),
    *((method, "/api/trace", {}, 405, "method_not_allowed") for method in ("PUT", "PATCH", "DELETE", "OPTIONS")),
    ("TRACE", "/api/trace", {}, 405, "method_not_allowed"),
    ("POST", "/api/models", {}, 405, "method_not_allowed"),
    ("POST", "/", {"content": b"x" * 100_000}, 405, "method_not_allowed"),
    ("DELETE", "/static/main.js", {}, 405, "method_not_allowed"),
    ("POST", "/api/trace", {"content": b'{"text": "a"}', "headers": TEXT_PLAIN}, 422, "invalid_request"),
    ("POST", "/api/trace", {"content": b'{"text": "a"}'}, 422, "invalid_request"),
    ("POST", "/api/trace", {"data": {"text": "a"}}, 422, "invalid_request"),
    ("POST", "/api/trace", {"files": {"text": b"a"}}, 422, "invalid_request"),
    ("POST", "/api/trace", {"content": b"\x1f\x8b", "headers": GZIP}, 400, "invalid_request"),
    ("GET", "/nowhere", {}, 404, "not_found"),
    ("GET", "/api/trace/", {}, 404, "not_found"),
    ("GET", "/static/%00", {}, 404, "not_found"),
    ("GET", "/static/..%2fapp%2fmain.py", {}, 404, "not_found"),
    ("GET", "/" + "a" * 30_000, {}, 404, "not_found"),
    ("GET", "/%ff%ed%a0%80", {}, 404, "not_found"),
    ("GET", "/%ff%ed%a0%80", {"headers": {"host": "["}}, 421, "unknown_host"),
]  # fmt: skip


def requests() -> Iterator[tuple[str, str, dict[str, Any], int, str]]:
    """All of them as (method, path, arguments of httpx, status, code)."""
    for path, cases in (("/api/trace", TRACE), ("/api/generate", GENERATE)):
        for body, status, code in cases:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            yield "POST", path, {"content": content, "headers": JSON}, status, code
    yield from OTHERS


async def test_good_requests_are_served_among_bad_ones(serve: Serve, gpt: Checkpoint) -> None:
    """Every bad request gets its 4xx and every good one the model's own numbers, all on one server at once."""
    ids, name = gpt.tokenizer.encode(TEXT), "layers.3.attn.pattern"
    expected = trace(gpt, ids, [name]).tensors[name].numpy()
    limits = httpx.Limits(max_connections=20)
    with serve(SETTINGS) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits) as client:

            async def bad(method: str, path: str, sent: dict[str, Any], status: int, code: str) -> None:
                error_of(await client.request(method, path, **sent), status, code)

            async def good() -> None:
                response = await client.post("/api/trace", json={"text": TEXT, "want": [name]})
                np.testing.assert_allclose(decode(response.content)[0][name], expected, atol=1e-6)

            async with anyio.create_task_group() as group:
                for request in requests():
                    group.start_soon(bad, *request)
                    group.start_soon(good)
            ready = (await client.get("/readyz")).json()
            assert (ready["jobs"], ready["streams"]) == (0, 0)


BLANK = [" ", "   ", "\n", "\t \r\n", "\u3000", "\u200b"]
STRANGE = [
    "\0",
    "a\0b",
    "<script>alert(1)</script>",
    "<|endoftext|>",
    "<|pad|>",
    "\u202eabc",
    "e\u0301",
    "\ufeff",
    "🙂🏽",
]


@pytest.mark.parametrize("text", [*BLANK, *STRANGE])
async def test_strange_text_is_text(client: httpx.AsyncClient, gpt: Checkpoint, text: str) -> None:
    """Blank text has tokens like any other, and text that spells a special token is plain text."""
    response = await client.post("/api/trace", json={"text": text, "want": ["logits"]})
    assert response.status_code == 200, response.text
    tensors, meta = decode(response.content)
    assert meta["text"] == text
    assert b"".join(bytes.fromhex(token["bytes"]) for token in meta["tokens"]).decode() == text
    assert not any(token["special"] for token in meta["tokens"])
    assert np.isfinite(tensors["logits"]).all()
    counted = (await client.post("/api/tokenize", json={"text": text})).json()
    assert counted["tokens"] == meta["tokens"]
    assert (await client.post("/api/generate", json={"text": text, "max_new_tokens": 1})).status_code == 200


@pytest.mark.parametrize("path", ["/api/trace", "/api/generate"])
async def test_ten_thousand_emoji_say_how_many_tokens_too_many(
    client: httpx.AsyncClient, gpt: Checkpoint, path: str
) -> None:
    count = len(gpt.tokenizer.encode("🙂" * 10_000))
    error = await refused(client, path, 422, "too_long", text="🙂" * 10_000)
    assert (error["got"], error["limit"]) == (count, gpt.config.max_seq_len)
    assert f"{count - gpt.config.max_seq_len} too many" in error["message"]


async def test_a_bad_word_is_found_where_it_is(client: httpx.AsyncClient) -> None:
    body = rb'{"text": "a", "want": ["logits", "\ud800"]}'
    error = error_of(await client.post("/api/trace", content=body, headers=JSON), 422, "invalid_text")
    assert error["where"] == "want[1]"


async def test_unknown_fields_are_refused_at_once(client: httpx.AsyncClient) -> None:
    """One error for all of them: an error for each field would block other requests for seconds."""
    fields = {f"{i:x}": 0 for i in range(80_000)}
    error = await refused(client, "/api/trace", 422, "invalid_request", text="a", **fields)
    assert "it has 80001 fields" in error["message"]

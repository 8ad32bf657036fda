"""The answer to an invalid request says what is wrong, the limit, and what to do."""

from typing import Any

import pytest
from httpx import AsyncClient

from chumoku.app.settings import Settings
from chumoku.model.checkpoint import Checkpoint
from tests.app.conftest import Open
from tests.app.helpers import cell, error_of, head, refused

JSON = {"content-type": "application/json"}

MISTAKES: list[tuple[dict[str, Any], str, str | None]] = [
    ({"text": ""}, "empty_text", "text"),
    ({"token_ids": []}, "empty_text", "token_ids"),
    ({"token_ids": [1, 4096]}, "bad_token", "token_ids[1]"),
    ({"token_ids": [-1]}, "bad_token", "token_ids[0]"),
    ({"token_ids": [4095]}, "bad_token", "token_ids[0]"),  # PAD
    ({"token_ids": [1.5]}, "invalid_request", "token_ids[0]"),
    ({"text": "a", "token_ids": [1]}, "invalid_request", None),
    ({}, "invalid_request", None),
    ({"text": "a", "model": 3}, "invalid_request", "model"),
    ({"text": 7}, "invalid_request", "text"),
    ({"text": "a", "colour": "red"}, "invalid_request", "colour"),
]
TRACE_MISTAKES: list[tuple[dict[str, Any], str, str | None]] = [
    ({"want": ["layers.0.attn.patern"]}, "unknown_tensor", "want[0]"),
    ({"want": ["embedding", "layers.9.*"]}, "unknown_tensor", "want[1]"),
    ({"want": ["layers.0.*"], "layers": [1]}, "unknown_tensor", "want"),
    ({"want": "*"}, "invalid_request", "want"),
    ({"want": [""]}, "invalid_request", "want[0]"),
    ({"layers": [0, 6]}, "bad_layer", "layers[1]"),
    ({"layers": [-1]}, "invalid_request", "layers[0]"),
    ({"layers": []}, "invalid_request", "layers"),
    ({"heads": [8]}, "bad_head", "heads[0]"),
    ({"heads": [10**30]}, "bad_head", "heads[0]"),
    ({"heads": [2, 2]}, "invalid_request", "heads"),
    ({"heads": [True]}, "invalid_request", "heads[0]"),
    ({"dtype": "uint8", "want": ["logits"]}, "bad_dtype", "dtype"),
    ({"dtype": "bfloat16"}, "invalid_request", "dtype"),
    ({"masks": {"causal": 1}}, "invalid_request", "masks.causal"),
    ({"masks": {"diagonal": True}}, "invalid_request", "masks.diagonal"),
    ({"pad": {"count": -1}}, "invalid_request", "pad.count"),
    ({"pad": {"count": 256}}, "too_long", "text"),
    ({"pad": {"side": "top"}}, "invalid_request", "pad.side"),
    ({"predict": {"positions": [1]}}, "bad_position", "predict.positions[0]"),
    ({"predict": {"positions": []}}, "invalid_request", "predict.positions"),
    ({"predict": {"positions": [0], "n": 0}}, "invalid_request", "predict.n"),
    ({"predict": {"positions": [0], "temperature": -1}}, "invalid_request", "predict.temperature"),
    ({"predict": {"positions": [0], "temperature": 1e-9}}, "invalid_request", "predict.temperature"),
    ({"predict": {"positions": [0], "top_p": 0}}, "invalid_request", "predict.top_p"),
    ({"interventions": [{"kind": "explode"}]}, "invalid_request", "interventions[0]"),
    (
        {"interventions": [head(layer=6)]},
        "bad_layer",
        "interventions[0].where.layer",
    ),
    (
        {"interventions": [head(head=8)]},
        "bad_head",
        "interventions[0].where.head",
    ),
    ({"interventions": [cell(query=1)]}, "bad_position", "interventions[0].where.query"),
    ({"interventions": [cell(), cell(key=9)]}, "bad_position", "interventions[1].where.key"),
]
GENERATE_MISTAKES: list[tuple[dict[str, Any], str, str | None]] = [
    ({"max_new_tokens": 0}, "invalid_request", "max_new_tokens"),
    ({"max_new_tokens": 257}, "too_many_tokens", "max_new_tokens"),
    ({"temperature": "0.8"}, "invalid_request", "temperature"),
    ({"top_k": -1}, "invalid_request", "top_k"),
    ({"top_p": 1.01}, "invalid_request", "top_p"),
    ({"seed": -1}, "invalid_request", "seed"),
    ({"seed": 2**53}, "invalid_request", "seed"),
    ({"n": 501}, "invalid_request", "n"),
]


@pytest.mark.parametrize("path", ["/api/trace", "/api/generate"])
@pytest.mark.parametrize(("request_", "code", "where"), MISTAKES)
async def test_a_sentence(client: AsyncClient, path: str, request_: dict[str, Any], code: str, where: str) -> None:
    assert (await refused(client, path, 422, code, **request_)).get("where") == where


@pytest.mark.parametrize(("request_", "code", "where"), TRACE_MISTAKES)
async def test_a_trace(client: AsyncClient, request_: dict[str, Any], code: str, where: str) -> None:
    assert (await refused(client, "/api/trace", 422, code, text="a", **request_)).get("where") == where


@pytest.mark.parametrize(("request_", "code", "where"), GENERATE_MISTAKES)
async def test_a_generation(client: AsyncClient, request_: dict[str, Any], code: str, where: str) -> None:
    assert (await refused(client, "/api/generate", 422, code, text="a", **request_)).get("where") == where


@pytest.mark.parametrize("path", ["/api/trace", "/api/generate"])
async def test_too_long_says_by_how_much(client: AsyncClient, path: str, gpt: Checkpoint) -> None:
    error = await refused(client, path, 422, "too_long", token_ids=[100] * 259)
    assert (error["got"], error["limit"]) == (259, gpt.config.max_seq_len)
    assert "3 too many" in error["message"]
    text = "dog " * 300
    error = await refused(client, path, 422, "too_long", text=text)
    assert error["got"] == len(gpt.tokenizer.encode(text))


async def test_unknown_tensor_lists_the_known(client: AsyncClient) -> None:
    error = await refused(client, "/api/trace", 422, "unknown_tensor", text="a", want=["layers.0.attn.patern"])
    assert "layers.5.attn.pattern" in error["known"]
    assert "layers.0.attn.pattern" in error["hint"]


@pytest.mark.parametrize("path", ["/api/trace", "/api/generate", "/api/tokenize"])
async def test_unknown_model_lists_the_known(client: AsyncClient, path: str) -> None:
    error = await refused(client, path, 404, "unknown_model", text="a", model="gpt-9")
    assert error["known"] == (await client.get("/readyz")).json()["models"]


async def test_bad_layer_says_the_limit(client: AsyncClient) -> None:
    error = await refused(client, "/api/trace", 422, "bad_layer", text="a", layers=[6])
    assert (error["got"], error["limit"]) == (6, 5)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1]", b'"a"', b"null", b'{"text": "\xff"}', b'{"text": NaN}', b"9" * 5000, b"[" * 9000],
)
async def test_a_body_that_is_not_a_request(client: AsyncClient, body: bytes) -> None:
    response = await client.post("/api/trace", content=body, headers=JSON)
    error_of(response, response.status_code, "invalid_request")
    assert response.status_code in (400, 422)


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"1e999"])
async def test_numbers_are_finite(client: AsyncClient, number: bytes) -> None:
    response = await client.post("/api/generate", content=b'{"text": "a", "temperature": %b}' % number, headers=JSON)
    assert error_of(response, 422, "invalid_request")["where"] == "temperature"


async def test_a_body_without_its_type(client: AsyncClient) -> None:
    response = await client.post("/api/trace", content=b'{"text": "a"}')
    assert "Content-Type" in error_of(response, 422, "invalid_request")["hint"]


async def test_no_such_path_or_method(client: AsyncClient) -> None:
    error_of(await client.get("/nowhere"), 404, "not_found")
    error_of(await client.get("/static/nowhere.js"), 404, "not_found")
    error_of(await client.get("/static/../app/main.py"), 404, "not_found")
    error_of(await client.get("/static/%2e%2e/app/main.py"), 404, "not_found")
    response = await client.get("/api/generate")
    error_of(response, 405, "method_not_allowed")
    assert response.headers["allow"] == "POST"
    assert (await client.put("/api/trace")).headers["allow"] == "GET, POST"
    error_of(await client.post("/static/icon.svg"), 405, "method_not_allowed")


async def test_a_body_that_is_too_large(open_app: Open) -> None:
    async with open_app(Settings(body_limit=2000)) as client:
        error = await refused(client, "/api/trace", 413, "body_too_large", text="a" * 3000)
        assert (error["limit"], error["got"] > 3000) == (2000, True)

        async def pieces() -> Any:
            for _ in range(30):
                yield b"a" * 100

        response = await client.post("/api/trace", content=pieces(), headers=JSON)  # no length declared
        assert error_of(response, 413, "body_too_large")["limit"] == 2000
        assert (await client.post("/api/trace", json={"text": "a"})).status_code == 200


@pytest.mark.parametrize("kind", [RuntimeError, type("PanicException", (BaseException,), {})])
async def test_our_own_failure_shows_nothing(
    client: AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: type[BaseException]
) -> None:
    """Also one of a library in Rust, which raises no `Exception`."""

    def fail(*_: object) -> None:
        raise kind("a secret")

    monkeypatch.setattr("chumoku.app.api.traces.answer", fail)
    response = await client.post("/api/trace", json={"text": "a"})
    error_of(response, 500, "internal")
    assert "secret" not in response.text
    assert "content-security-policy" in response.headers
    assert "a secret" in caplog.text  # the log has it

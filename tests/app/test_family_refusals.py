"""What a family cannot do is refused; the error names the models that can."""

from typing import Any

import pytest
from httpx import AsyncClient

from tests.app.helpers import cell, head, refused

LONG = "a" * 65


T: dict[str, Any] = {"model": "translator", "text": "abc"}

BOTH: list[tuple[dict[str, Any], str, str | None]] = [
    ({"model": "gpt", "text": "a", "target": "b"}, "cannot", "target"),
    ({"text": "a", "target": ""}, "cannot", "target"),
    ({"model": "translator", "text": ""}, "empty_text", "text"),
    ({"model": "translator", "text": LONG}, "too_long", "text"),
    ({"model": "translator", "token_ids": [97, 258]}, "bad_token", "token_ids[1]"),
    ({"model": "translator", "token_ids": [258, 97]}, "bad_token", "token_ids[0]"),
    ({"model": "translator", "token_ids": [257]}, "bad_token", "token_ids[0]"),
    (T | {"target": "a", "target_ids": [97]}, "invalid_request", None),
    (T | {"target": "a" * 64}, "too_long", "target"),
    (T | {"target_ids": [97] * 64}, "too_long", "target_ids"),
    (T | {"target": "a" * 20_001}, "too_long_characters", "target"),
    (T | {"target_ids": [259]}, "bad_token", "target_ids[0]"),
    (T | {"target_ids": [-1]}, "bad_token", "target_ids[0]"),
    (T | {"target_ids": [97, 257]}, "bad_token", "target_ids[1]"),
    (T | {"target_ids": [97, 258]}, "bad_token", "target_ids[1]"),
    (T | {"target_ids": [97, 256, 98]}, "bad_token", "target_ids[1]"),
    (T | {"target": 3}, "invalid_request", "target"),
]
TRACES: list[tuple[dict[str, Any], str, str | None]] = [
    ({"model": "classifier", "text": "a", "target_ids": [97]}, "cannot", "target_ids"),
    ({"model": "classifier", "text": "a", "predict": {"positions": [0]}}, "cannot", "predict"),
    ({"model": "classifier", "text": " \n"}, "empty_text", "text"),
    ({"model": "classifier", "text": "a" * 64}, "too_long", "text"),  # [CLS] counts
    ({"model": "classifier", "token_ids": [97, 258]}, "bad_token", "token_ids[1]"),
    (T | {"target": "b", "predict": {"positions": [2]}}, "bad_position", "predict.positions[0]"),
    (T | {"interventions": [cell(attention="crss")]}, "unknown_attention", "interventions[0].where.attention"),
    (T | {"interventions": [head(attention="self")]}, "unknown_attention", "interventions[0].where.attention"),
    (T | {"interventions": [head(attention=1)]}, "invalid_request", "interventions[0].ablate.where.attention"),
    (T | {"target": "", "interventions": [cell(attention="cross", query=1)]}, "bad_position",
     "interventions[0].where.query"),
    (T | {"target": "", "interventions": [cell(attention="cross", key=3)]}, "bad_position",
     "interventions[0].where.key"),
    (T | {"want": ["layers.0.attn.pattern"]}, "unknown_tensor", "want[0]"),
]  # fmt: skip
TRANSLATIONS: list[tuple[dict[str, Any], str, str | None]] = [
    ({"model": "gpt", "text": "a"}, "cannot", "model"),
    ({"model": "classifier", "text": "a"}, "cannot", "model"),
    ({"text": ""}, "empty_text", "text"),
    ({"text": LONG}, "too_long", "text"),
    ({"text": "a", "token_ids": [1]}, "invalid_request", None),
    ({"text": "a", "beams": 0}, "invalid_request", "beams"),
    ({"text": "a", "beams": 17}, "invalid_request", "beams"),
    ({"text": "a", "beams": 2.5}, "invalid_request", "beams"),
    ({"text": "a", "alpha": -0.1}, "invalid_request", "alpha"),
    ({"text": "a", "alpha": 10.1}, "invalid_request", "alpha"),
    ({"text": "a", "target": "b"}, "invalid_request", "target"),
]


@pytest.mark.parametrize("path", ["/api/trace", "/api/generate"])
@pytest.mark.parametrize(("request_", "code", "where"), BOTH)
async def test_a_target(families: AsyncClient, path: str, request_: dict[str, Any], code: str, where: str) -> None:
    assert (await refused(families, path, 422, code, **request_)).get("where") == where


@pytest.mark.parametrize(("request_", "code", "where"), TRACES)
async def test_a_trace(families: AsyncClient, request_: dict[str, Any], code: str, where: str) -> None:
    assert (await refused(families, "/api/trace", 422, code, **request_)).get("where") == where


@pytest.mark.parametrize(("request_", "code", "where"), TRANSLATIONS)
async def test_a_translation(families: AsyncClient, request_: dict[str, Any], code: str, where: str) -> None:
    assert (await refused(families, "/api/translate", 422, code, **request_)).get("where") == where


async def test_a_classifier_writes_nothing(families: AsyncClient) -> None:
    error = await refused(families, "/api/generate", 422, "cannot", model="classifier", text="a")
    assert "/api/trace" in error["hint"]


async def test_too_long_says_which_side(families: AsyncClient) -> None:
    error = await refused(families, "/api/trace", 422, "too_long", **T, target="a" * 70)
    assert (error["got"], error["limit"]) == (71, 64)
    assert "71 target tokens, START included, 7 too many" in error["message"]
    assert "target" in error["hint"]


async def test_unknown_attention_lists_the_known(families: AsyncClient) -> None:
    edits = [head(attention="crss")]
    error = await refused(families, "/api/trace", 422, "unknown_attention", **T, interventions=edits)
    assert error["known"] == ["encoder", "decoder", "cross"]
    assert "'cross'" in error["hint"]


async def test_no_translator_at_all(client: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "chumoku.app.services.library.Library.translator", lambda library, name: library.find("stories-gpt")
    )
    error = await refused(client, "/api/translate", 422, "cannot", text="a")
    assert "/api/models" in error["hint"]

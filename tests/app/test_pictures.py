"""A model that reads pictures, over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest
from httpx import AsyncClient, Response
from safetensors.torch import load

import chumoku
from chumoku.model import checkpoint
from chumoku.model.checkpoint import ZOO
from chumoku.model.masks import PADDING
from chumoku.model.trace import Padding, trace

VIT = checkpoint.load(ZOO / "digits-vit")
BLANK = [[0] * 8 for _ in range(8)]
PATTERN = VIT.description.attention("self").tap("pattern", 0)
MASK = VIT.description.attention("self").tap("mask", 0)


async def pictures(client: AsyncClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get("/api/models/digits-vit/pictures")).json()["pictures"]
    return found


async def asked(client: AsyncClient, **body: object) -> Response:
    return await client.post("/api/trace", json={"model": "digits-vit", **body})


def meta(answer: Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    size = int.from_bytes(answer.content[:8], "little")
    about: dict[str, Any] = json.loads(json.loads(answer.content[8 : 8 + size])["__metadata__"]["chumoku"])
    return about


async def test_a_model_says_that_it_reads_pictures(client: AsyncClient) -> None:
    listed = {one["name"]: one["picture"] for one in (await client.get("/api/models")).json()["models"]}
    assert listed["digits-vit"] == {"size": 8, "patch": 2, "levels": 17}
    assert listed["stories-gpt"] is None
    detail = (await client.get("/api/models/digits-vit")).json()
    assert detail["description"]["picture"] == listed["digits-vit"]
    assert detail["languages"] == []
    assert detail["example"] == (await pictures(client))[0]


async def test_the_pictures_that_it_never_saw_are_served(client: AsyncClient) -> None:
    found = await pictures(client)
    assert len(found) == 360
    assert {one["label"] for one in found} == set(range(10))
    assert all(0 <= x <= 16 for one in found for row in one["pixels"] for x in row)
    refused = await client.get("/api/models/stories-gpt/pictures")
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "wrong_input")


@pytest.mark.parametrize("where", ["input", "short"])
async def test_a_trace_of_pixels_is_the_model_s_own(client: AsyncClient, where: str) -> None:
    pixels = (await pictures(client))[3]["pixels"]
    given = {"input": {"pixels": pixels}} if where == "input" else {"pixels": pixels}
    answer = await asked(client, **given, want=[PATTERN])
    assert VIT.config.picture is not None
    ours = trace(VIT, VIT.config.picture.ids(pixels))
    assert load(answer.content)[PATTERN].allclose(ours.tensors[PATTERN], atol=1e-6)
    about = meta(answer)
    assert [one["id"] for one in about["tokens"]] == ours.ids
    assert about["tokens"][1]["text"] == "".join("0123456789abcdefg"[pixels[y][x]] for y in (0, 1) for x in (0, 1))
    assert about["run"]["input"] == {"pixels": pixels}
    assert about["notes"] == []
    assert sum(one["probability"] for one in about["classes"]) == pytest.approx(1)


def test_a_script_traces_and_shows_a_picture() -> None:
    run = chumoku.load("digits-vit").trace(pixels=BLANK, pad={"hidden": [3]})
    assert VIT.config.picture is not None
    ours = trace(VIT, VIT.config.picture.ids(BLANK), pad=Padding(hidden=(3,)))
    assert run[PATTERN].allclose(ours.tensors[PATTERN], atol=1e-6)
    assert run.metadata["text"] == "0" * 64  # spelt by its pixels


async def test_token_ids_are_the_same_picture(client: AsyncClient) -> None:
    pixels = (await pictures(client))[5]["pixels"]
    assert VIT.config.picture is not None
    both = [await asked(client, **one) for one in ({"pixels": pixels}, {"token_ids": VIT.config.picture.ids(pixels)})]
    assert meta(both[0])["classes"] == meta(both[1])["classes"]


async def test_hidden_patches_are_forbidden_keys(client: AsyncClient) -> None:
    pixels = (await pictures(client))[3]["pixels"]
    answer = await asked(client, pixels=pixels, pad={"hidden": [7, 6]}, want=[PATTERN, MASK])
    tensors, about = load(answer.content), meta(answer)
    assert tensors[PATTERN][:, :, [6, 7]].count_nonzero() == 0
    assert tensors[MASK][0, 0].tolist() == [PADDING if at in (6, 7) else 0 for at in range(17)]
    assert about["pad"]["hidden"] == [7, 6]
    assert about["position_ids"] == list(range(17))
    assert VIT.config.picture is not None
    ours = trace(VIT, VIT.config.picture.ids(pixels), pad=Padding(hidden=(6, 7))).tensors[VIT.description.logits.tap]
    assert [one["logit"] for one in about["classes"]] == pytest.approx(ours.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("body", "code", "where", "words"),
    [
        ({"pixels": BLANK[:7]}, "bad_picture", "pixels", "8 rows of 8 whole numbers from 0 to 16"),
        ({"input": {"pixels": [[*BLANK[0], 0], *BLANK[1:]]}}, "bad_picture", "input.pixels", "8 rows of 8"),
        ({"pixels": [[17, *BLANK[0][1:]], *BLANK[1:]]}, "bad_picture", "pixels", "got 17"),
        ({"pixels": [[-1, *BLANK[0][1:]], *BLANK[1:]]}, "bad_picture", "pixels", "got -1"),
        ({"pixels": [[1.5, *BLANK[0][1:]], *BLANK[1:]]}, "invalid_request", "pixels[0][0]", "integer"),
        ({"pixels": [["7", *BLANK[0][1:]], *BLANK[1:]]}, "invalid_request", "pixels[0][0]", "integer"),
        ({"pixels": [[True, *BLANK[0][1:]], *BLANK[1:]]}, "invalid_request", "pixels[0][0]", "integer"),
        ({"pixels": BLANK, "text": "7"}, "invalid_request", "", "one of the three"),
        ({"text": "seven"}, "wrong_input", "text", "reads pictures, not text"),
        ({"token_ids": [1, 2]}, "bad_picture", "token_ids", "16 patches"),
        ({"token_ids": [83521] * 16}, "bad_picture", "token_ids", "special ones"),
        ({"pixels": BLANK, "model": "stories-gpt"}, "wrong_input", "pixels", "reads text, not pictures"),
        ({"pixels": BLANK, "pad": {"hidden": [0]}}, "bad_pad", "pad.hidden[0]", "no patch at position 0"),
        ({"pixels": BLANK, "pad": {"hidden": [1, 17]}}, "bad_pad", "pad.hidden[1]", "no patch at position 17"),
        ({"pixels": BLANK, "pad": {"count": 1}}, "bad_pad", "pad.count", "PADs cannot be added"),
        ({"text": "Hi", "model": "stories-gpt", "pad": {"hidden": [0]}}, "bad_pad", "pad.hidden", "only patches"),
    ],
)
async def test_what_is_no_picture_is_refused_in_words(
    client: AsyncClient, body: dict[str, Any], code: str, where: str, words: str
) -> None:
    answer = await asked(client, **body)
    error = answer.json()["error"]
    assert answer.status_code in (400, 422)
    assert (error["code"], words in error["message"]) == (code, True), error
    assert str(error.get("where") or "").endswith(where), error


async def test_text_is_not_split_into_patches(client: AsyncClient) -> None:
    answer = await client.post("/api/tokenize", json={"model": "digits-vit", "text": "seven"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "wrong_input")


@pytest.mark.parametrize(
    ("what", "more"),
    [
        ("route", {}), ("heads", {}), ("units", {}), ("residual", {}), ("lens", {}),
        ("gradients", {"answer": 3}), ("contributions", {"answer": 3}), ("swap", {"i": 6, "j": 7}),
    ],
)  # fmt: skip
async def test_pictures_are_explained_as_texts_are(client: AsyncClient, what: str, more: dict[str, Any]) -> None:
    pixels = (await pictures(client))[3]["pixels"]
    for pad in ({}, {"pad": {"hidden": [10]}}):
        answer = await client.post(
            f"/api/explain/{what}", json={"model": "digits-vit", "pixels": pixels, **pad, **more}
        )
        assert answer.status_code == 200, answer.text


async def test_cutting_an_attention_weight_changes_the_class(client: AsyncClient) -> None:
    pixels = (await pictures(client))[3]["pixels"]
    edges = [{"kind": "mask", "where": {"layer": 2, "query": 0, "key": k}, "allow": False} for k in range(1, 17)]
    before, after = (
        meta(await asked(client, pixels=pixels)),
        meta(await asked(client, pixels=pixels, interventions=edges)),
    )
    assert before["classes"] != after["classes"]

"""Pictures of heads of long texts: pooled when asked for, bounded by what shapes say; an opened head is exact."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
import torch
from httpx import AsyncClient

from chumoku.app.api.explain.requests import RouteRequest
from chumoku.app.services import sizes
from chumoku.app.services.explain import river_answer
from chumoku.app.services.plan import plan_run
from chumoku.app.settings import Settings
from chumoku.model import pooling
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.traceable import ZooModel
from tests.app.conftest import Open
from tests.app.helpers import refused, trace

TEXT = (
    "Once upon a time there was a little girl named Lily. She had a red ball and went to the park with her mom. "
    "Lily ran. They were happy and went home.!"
)
"""37 tokens."""
ASKED = {"text": TEXT, "dtype": "uint8"}
WANT = ["layers.*.attn.pattern", "layers.0.attn.mask"]


@pytest.fixture
async def narrow(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AsyncClient]:
    """As if 37 tokens were a long text: the pictures of 48 heads may have 5,000 cells, 10 × 10 each."""
    monkeypatch.setattr(pooling, "PICTURES", 5_000)
    async with open_app(Settings(device="cpu")) as client:
        yield client


async def test_pooled_bytes_are_the_pooled_bytes(narrow: AsyncClient) -> None:
    whole, plain = await trace(narrow, **ASKED, want=WANT)
    pooled, meta = await trace(narrow, **ASKED, want=WANT, pooled=True)
    assert (plain["pool"], meta["pool"]) == (1, 4)
    for name in pooled:
        sign = -1.0 if name.endswith("mask") else 1.0
        exact = sign * torch.from_numpy(whole[name].astype(np.float32))
        expected = sign * torch.nn.functional.max_pool2d(exact, 4, ceil_mode=True)
        assert np.array_equal(pooled[name], expected.numpy().astype(np.uint8)), name
    assert pooled["layers.0.attn.pattern"].shape == (8, 10, 10)
    assert meta["tokens"] == plain["tokens"]


async def test_an_opened_head_and_a_row_are_exact(narrow: AsyncClient) -> None:
    asked = {**ASKED, "dtype": "float32", "want": WANT}
    whole, _ = await trace(narrow, **asked)
    head, meta = await trace(narrow, **asked, layers=[3], heads=[5], pooled=False)
    assert meta["pool"] == 1
    assert np.array_equal(head["layers.3.attn.pattern"][0], whole["layers.3.attn.pattern"][5])
    rows, _ = await trace(narrow, **asked, queries=[36, 2])
    for name in whole:
        assert np.array_equal(rows[name], whole[name][:, [36, 2]]), name
    await refused(narrow, "/api/trace", 422, "bad_position", **asked, queries=[37])
    nothing = {**asked, "want": []}  # no tensor has rows to choose from, and the text still has an end
    assert (await trace(narrow, **nothing, queries=[36]))[0] == {}
    error = await refused(narrow, "/api/trace", 422, "bad_position", **nothing, queries=[37])
    assert error["limit"] == 36
    await refused(narrow, "/api/trace", 422, "invalid_request", **asked, queries=[1], pooled=True)
    source = "encoder.layers.0.attn.pattern"  # it has seven queries, the target's attentions have two
    asked = {"model": "translate-enja", "text": "I like a dog.", "target": "犬", "want": [source], "dtype": "float32"}
    row, _ = await trace(narrow, **asked, queries=[4])
    whole, _ = await trace(narrow, **asked)
    assert np.array_equal(row[source], whole[source][:, [4]])


async def test_a_short_text_is_not_pooled(narrow: AsyncClient) -> None:
    asked = {"text": TEXT[:30], "dtype": "uint8", "want": WANT}
    (whole, _), (pooled, meta) = await trace(narrow, **asked), await trace(narrow, **asked, pooled=True)
    assert meta["pool"] == 1
    assert all(np.array_equal(whole[name], pooled[name]) for name in whole)


async def test_the_bound_of_an_answer_knows_the_pooled_size(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooling, "PICTURES", 5_000)
    async with open_app(Settings(device="cpu", answer_limit=60_000)) as client:
        await refused(client, "/api/trace", 422, "too_large", **ASKED, want=WANT)
        tensors, _ = await trace(client, **ASKED, want=WANT, pooled=True)
        rows, _ = await trace(client, **ASKED, want=WANT, queries=[36])
    assert sum(x.nbytes for x in tensors.values()) == 7 * 800
    assert rows["layers.5.attn.pattern"].shape == (8, 1, 37)


async def test_a_kept_run_is_not_taken_for_a_pooled_one(narrow: AsyncClient) -> None:
    """The first question about a sentence keeps its patterns, and later ones are answered from them."""
    await trace(narrow, **ASKED, want=WANT)
    pooled, _ = await trace(narrow, **ASKED, want=WANT, pooled=True)
    whole, _ = await trace(narrow, **{**ASKED, "dtype": "float16"}, want=WANT)
    assert pooled["layers.1.attn.pattern"].shape == (8, 10, 10)
    assert whole["layers.1.attn.pattern"].shape == (8, 37, 37)


async def test_many_shares_travel_as_halves_and_without_those_of_later_keys(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(Settings(device="cpu", answer_cache=0)) as client:
        plain = await shares(client, text=TEXT)
        monkeypatch.setattr(sizes, "MANY", 1_000)
        packed = await shares(client, text=TEXT)
        open_mask = await shares(client, text=TEXT, masks={"causal": False})
    lower = np.tri(37, dtype=bool)
    assert (plain["dtype"], packed["dtype"], open_mask["dtype"]) == ("float32", "float16", "float16")
    assert not plain["of"][:, ~lower].any()
    assert packed["shape"] == [6, 37 * 38 // 2]
    assert np.allclose(packed["of"], plain["of"][:, lower], rtol=2**-11, atol=2**-25)
    assert open_mask["shape"] == [6, 37, 37]


async def shares(client: AsyncClient, **asked: object) -> dict[str, Any]:
    (river,) = (await client.post("/api/explain/route", json=asked)).json()["rivers"]
    (flow,) = river["flows"]
    found = np.frombuffer(base64.b64decode(flow["share"]["data"]), flow["share"]["dtype"])
    assert flow["packed"] == (len(flow["share"]["shape"]) == 2)
    return flow["share"] | {"of": found.reshape(flow["share"]["shape"]).astype(np.float64)}


def test_the_bound_of_a_route_is_what_it_sends(gpt: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    traceable = ZooModel(gpt)
    for many, n_bytes in ((10_000, 4 * 6 * 37 * 37), (1_000, 2 * 6 * 37 * 38 // 2)):
        monkeypatch.setattr(sizes, "MANY", many)
        request = RouteRequest(text=TEXT)
        plan = plan_run(traceable, request, 20_000)
        assert sizes.share_bytes(plan) == n_bytes
        share = river_answer.route(plan, request)["rivers"][0]["flows"][0]["share"]
        assert len(base64.b64decode(share["data"])) == n_bytes

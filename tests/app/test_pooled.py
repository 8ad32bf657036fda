"""Pictures of heads of long texts: pooled when asked for, bounded by what shapes say; an opened head is exact."""

from collections.abc import AsyncIterator

import numpy as np
import pytest
import torch
from httpx import AsyncClient

from chumoku.app.settings import Settings
from chumoku.model import pooling
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
    await refused(narrow, "/api/trace", 422, "invalid_request", **asked, queries=[1], pooled=True)


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

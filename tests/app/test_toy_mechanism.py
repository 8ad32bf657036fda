"""Models without scores and pattern, through the API: listed, traced, edited, explained, continued."""

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from httpx import ASGITransport, AsyncClient

from chumoku.app.main import create_app
from chumoku.app.settings import Settings
from tests.app.helpers import decode, parse_events, refused, trace

TEXT = "attention"


@pytest.fixture
async def client(toy_models: Path) -> AsyncIterator[AsyncClient]:
    app = create_app(Settings(device="cpu", models_dir=(toy_models,), default_model="toy-gated-mean"))
    transport = ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield client


async def test_without_a_word_the_overview_is_sent_whatever_it_is_called(client: AsyncClient) -> None:
    tensors, about = await trace(client, text=TEXT, dtype="uint8")
    assert set(tensors) == {f"layers.{n}.attn.weights" for n in (0, 1)}
    assert about["scale"] == dict.fromkeys(tensors, 255)
    sums = tensors["layers.0.attn.weights"].astype(float).sum(-1) / 255
    np.testing.assert_allclose(sums, 1, atol=9 * 0.5 / 255)


async def test_without_an_overview_nothing_is_sent_without_a_word(client: AsyncClient) -> None:
    tensors, _ = await trace(client, model="toy-hidden-mean", text=TEXT)
    assert tensors == {}
    tensors, about = await trace(client, model="toy-hidden-mean", text=TEXT, want=["*.z", "logits"])
    assert tensors["layers.1.attn.z"].shape == (3, 9, 5)
    assert about["dims"]["layers.1.attn.z"] == "head position d_head"


async def test_heads_and_cells_can_be_switched_off(client: AsyncClient) -> None:
    head = {"kind": "ablate", "where": {"layer": 0, "role": "z", "head": 1}}
    cell = {"kind": "mask", "where": {"layer": 0, "head": 2, "query": 5, "key": 3}, "allow": False}
    tensors, _ = await trace(client, text=TEXT, want=["layers.0.attn.*"], interventions=[head, cell])
    assert not tensors["layers.0.attn.z"][1].any()
    assert tensors["layers.0.attn.weights"][2, 5, 3] == 0
    assert tensors["layers.0.attn.mask"][2, 5, 3] == 8


@pytest.mark.parametrize("model", ["toy-gated-mean", "toy-hidden-mean"])
async def test_what_it_has_the_roles_for_is_explained(client: AsyncClient, model: str) -> None:
    for explanation in ("lens", "gradients", "units", "residual", "swap"):
        pair = {"i": 0, "j": 1} if explanation == "swap" else {}
        response = await client.post(f"/api/explain/{explanation}", json={"model": model, "text": TEXT} | pair)
        assert response.status_code == 200, response.text
    response = await client.post("/api/explain/parameters", json={"model": model})
    assert {"W_G", "W_S", "decay"} <= {one["part"] for one in response.json()["counts"]}
    response = await client.post("/api/weights", json={"model": model, "want": ["*.decay", "*.w_s.weight"]})
    arrays, about = decode(response.content)
    assert {name: arrays[name].ndim for name in about["dims"]} == {n: len(d.split()) for n, d in about["dims"].items()}


@pytest.mark.parametrize(
    ("model", "explanation"),
    [("toy-gated-mean", "contributions"), ("toy-hidden-mean", "contributions"), ("toy-hidden-mean", "heads"),
     ("toy-translator", "contributions"), ("toy-gated-mean", "route"), ("toy-gated-mean", "effects")],
)  # fmt: skip
async def test_what_it_has_not_the_roles_for_is_refused_by_name(
    client: AsyncClient, model: str, explanation: str
) -> None:
    error = await refused(client, f"/api/explain/{explanation}", 422, "cannot", model=model, text=TEXT)
    assert repr(model) in error["message"]
    assert explanation not in error["known"]


async def test_heads_are_labelled_by_an_overview_of_any_name(client: AsyncClient) -> None:
    response = await client.post("/api/explain/heads", json={"model": "toy-gated-mean", "text": TEXT})
    assert response.status_code == 200, response.text
    assert [(head["layer"], head["head"]) for head in response.json()["heads"]] == [
        (n, h) for n in (0, 1) for h in (0, 1, 2)
    ]


@pytest.mark.parametrize("model", ["toy-gated-mean", "toy-hidden-mean"])
async def test_it_writes_on(client: AsyncClient, model: str) -> None:
    response = await client.post("/api/generate", json={"model": model, "text": TEXT, "max_new_tokens": 3})
    events = parse_events(response.text)
    assert [name for name, _ in events] == ["start", *["step"] * (len(events) - 2), "end"]

"""A model of another kind is listed, opened, described, traced, edited and continued through the unchanged API."""

import base64
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from httpx import ASGITransport, AsyncClient

from chumoku.app.main import create_app
from chumoku.app.services import discovery
from chumoku.app.settings import Settings
from chumoku.model.identities import discrepancies
from chumoku.model.run import Run
from chumoku.model.traceable import SOURCES
from tests.app.helpers import decode, parse_events, refused, trace
from tests.toys.traceable import END, LETTERS, VOCAB, BigramFolders
from tests.toys.two_attentions import TwoFolders

TEXT = "abcabcabd"
ROLES = ["mask", "share", "v", "head_out", "attn_out"]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BigramFolders:
    """The registry with one more entry, and a folder with a working and a broken model."""
    source = BigramFolders()
    monkeypatch.setattr("chumoku.model.traceable.SOURCES", [*SOURCES, source])
    for name, text in (("toy", TEXT), ("empty", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bigram.txt").write_text(text)
    return source


@pytest.fixture
async def client(tmp_path: Path, source: BigramFolders) -> AsyncIterator[AsyncClient]:
    settings = Settings(device="cpu", models_dir=(tmp_path,), default_model="toy")
    app = create_app(settings, discovery.discover(settings))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app=app), base_url="http://localhost") as client,
    ):
        yield client


def counted(ids: list[int]) -> np.ndarray:
    """Probabilities of the letter after each of `ids`: pairs counted in TEXT and its END, plus one each."""
    counts, known = np.ones((VOCAB, VOCAB)), [*(LETTERS.index(letter) for letter in TEXT), END]
    for first, second in pairwise(known):
        counts[first, second] += 1
    return np.asarray((counts / counts.sum(-1, keepdims=True))[ids])


async def test_it_is_listed_and_described_without_being_opened(client: AsyncClient, source: BigramFolders) -> None:
    listed = (await client.get("/api/models")).json()
    assert listed["default"] == "toy"
    line = next(model for model in listed["models"] if model["name"] == "toy")
    assert (line["family"], line["predicts"], line["n_layer"], line["n_parameters"]) == ("bigram", "next", 1, VOCAB**2)
    detail = (await client.get("/api/models/toy")).json()
    assert detail["special"] == {"pad": None, "end": END, "first": None, "mask": None}
    assert detail["never_sampled"] == []
    (attention,) = detail["description"]["attentions"]
    assert (attention["id"], attention["overview"], list(attention["roles"])) == ("newest", "share", ROLES)
    assert source.opened == []


async def test_it_is_traced(client: AsyncClient, source: BigramFolders) -> None:
    tensors, meta = await trace(client, text="abc", want=["*"], predict={"positions": [2], "temperature": 0})
    ids = [0, 1, 2]
    assert [token["text"] for token in meta["tokens"]] == ["a", "b", "c"]
    assert meta["run"]["model"] == "toy"
    assert meta["dims"]["look/share"] == "head query key"
    np.testing.assert_array_equal(tensors["look/share"][0], np.eye(3))
    np.testing.assert_allclose(np.exp(tensors["guess"]) / np.exp(tensors["guess"]).sum(-1, keepdims=True), counted(ids))
    (found,) = meta["predictions"]
    assert [one["text"] for one in found["candidates"][:1]] == ["a"]
    overview, meta = await trace(client, text="abc", dtype="uint8")
    assert meta["scale"] == {"look/share": 255}
    np.testing.assert_array_equal(overview["look/share"][0], 255 * np.eye(3, dtype=np.uint8))
    assert source.opened == ["toy"]


def test_its_identities_hold(tmp_path: Path, source: BigramFolders) -> None:
    toy = source.open(tmp_path / "toy", torch.device("cpu"))
    (attention,) = toy.description.attentions
    run = toy.trace(Run([0, 1, 2]), list(toy.description.taps))
    found = list(discrepancies(attention, 0, run.tensors, lambda name: toy.weights([name])[name]))
    assert [(gap.op, gap.gives) for gap in found] == [("weighted_sum", "head_out"), ("sum_heads", "attn_out")]
    assert max(gap.absolute for gap in found) < 1e-6


async def test_it_is_edited(client: AsyncClient) -> None:
    where = {"layer": 0, "query": 1, "key": 1}
    edits = [
        {"kind": "mask", "where": where, "allow": False},
        {"kind": "patch", "where": {"layer": 0, "role": "attn_out", "query": 0}, "from": {"text": "z"}},
    ]
    plain, _ = await trace(client, text="abc", want=["*"])
    tensors, meta = await trace(client, text="abc", want=["*"], interventions=edits)
    assert tensors["look/mask"][0, 1].tolist() == [0, 8, 1]
    assert not tensors["look/share"][0, 1].any()
    theirs, _ = await trace(client, text="z", want=["look/out"])
    np.testing.assert_array_equal(tensors["look/out"][0], theirs["look/out"][0])
    np.testing.assert_array_equal(tensors["look/out"][2], plain["look/out"][2])
    assert [item["where"]["attention"] for item in meta["run"]["interventions"]] == ["newest", "newest"]
    error = await refused(
        client,
        "/api/trace",
        422,
        "unknown_role",
        text="a",
        interventions=[{"kind": "ablate", "where": {"layer": 0, "head": 0}}],
    )
    assert error["known"] == ROLES


async def test_it_writes_on(client: AsyncClient) -> None:
    response = await client.post("/api/generate", json={"text": "a", "temperature": 0, "max_new_tokens": 4})
    events = parse_events(response.text)
    steps: list[dict[str, Any]] = [data for name, data in events if name == "step"]
    assert [step["token"]["text"] for step in steps] == ["b", "c", "a", "b"]
    assert steps[0]["before"] == pytest.approx(counted([0])[0, 1])
    assert steps[1]["rows"]["newest"]["shape"] == [1, 1, 3]
    assert events[-1][1]["reason"] == "max_new_tokens"


async def test_its_tokens_and_weights_are_there(client: AsyncClient) -> None:
    found = (await client.post("/api/tokenize", json={"text": "A b!"})).json()
    assert [token["text"] for token in found["tokens"]] == ["a", " ", "b"]
    arrays, about = decode((await client.post("/api/weights", json={"want": ["*"]})).content)
    assert about["dims"] == {"counts": "vocab vocab"}
    np.testing.assert_allclose(np.exp(arrays["counts"]).sum(), VOCAB**2 + len(TEXT), rtol=1e-5)


async def test_its_stream_is_read_and_its_head_labelled(client: AsyncClient) -> None:
    lens = (await client.post("/api/explain/lens", json={"text": TEXT, "k": 2})).json()
    assert lens["taps"] == ["in", "look/out"]
    found = counted([LETTERS.index(letter) for letter in TEXT])
    np.testing.assert_allclose(lens["probability"][-1], np.sort(found)[:, :-3:-1], rtol=1e-5)
    assert [first for first, _ in lens["top"][0]] == [
        LETTERS.index(letter) for letter in TEXT
    ]  # before the layer, its stream is the letter itself
    (head,) = (await client.post("/api/explain/heads", json={"text": TEXT})).json()["heads"]
    assert (head["attention"], head["layer"], head["head"], head["label"]) == ("newest", 0, 0, "self")


async def test_what_it_has_not_is_refused_by_name(client: AsyncClient) -> None:
    for path, request in (
        ("/api/explain/units", {"text": "a"}),
        ("/api/explain/residual", {"text": "a"}),
        ("/api/explain/parameters", {}),
        ("/api/translate", {"text": "a", "model": "toy"}),
        ("/api/trace", {"text": "a", "target": "b"}),
    ):
        error = await refused(client, path, 422, "cannot", **request)
        assert "'toy' cannot" in error["message"]
        assert error["known"] == ["generate", "lens", "heads"]
    await refused(client, "/api/trace", 422, "bad_pad", text="a", pad={"count": 1})


async def test_one_that_does_not_load_takes_nothing_with_it(client: AsyncClient) -> None:
    error = await refused(client, "/api/trace", 500, "broken_model", text="a", model="empty")
    assert "'empty'" in error["message"]
    assert "toy" in error["known"]
    assert (await client.post("/api/trace", json={"text": "a"})).status_code == 200


async def test_the_rows_of_two_self_attentions_in_a_layer_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chumoku.model.traceable.SOURCES", [TwoFolders()])
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "bigram.txt").write_text(TEXT)
    settings = Settings(device="cpu", models_dir=(tmp_path,), default_model="two")
    app = create_app(settings, discovery.discover(settings))
    lifespan, transport = app.router.lifespan_context(app), ASGITransport(app)
    async with lifespan, AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        asked = {"text": "a", "temperature": 0, "max_new_tokens": 2}
        events = parse_events((await client.post("/api/generate", json=asked)).text)
        whole, _ = await trace(client, text="abc", want=["*/share"])
    rows = next(data["rows"] for name, data in reversed(events) if name == "step")
    assert list(rows) == ["newest", "first"]
    for id, tap in (("newest", "look/share"), ("first", "first/share")):
        sent = np.frombuffer(base64.b64decode(rows[id]["data"]), np.uint8).reshape(rows[id]["shape"])
        np.testing.assert_array_equal(sent, 255 * whole[tap][None, :, -1])  # layer head key

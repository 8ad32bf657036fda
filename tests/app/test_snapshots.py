"""A snapshot is a model like any other: `name@step`. It is loaded when first asked for, and listed with its model."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import torch
from httpx import AsyncClient
from safetensors.torch import load, load_file, save_file
from typer.testing import CliRunner

from chumoku.app.cli.program import cli
from chumoku.app.main import create_app
from chumoku.app.services import discovery
from chumoku.app.services.library import Library
from chumoku.app.settings import Settings
from chumoku.model import checkpoint
from tests.app.conftest import client_of
from tests.toys.snapshots import STEPS, at, figures, write_watched


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_watched(tmp_path / "models")


@pytest.fixture
def models(folder: Path) -> Library:
    return discovery.discover(Settings(device="cpu", models_dir=[folder.parent], default_model="watched"))


@pytest.fixture
async def client(models: Library) -> AsyncIterator[AsyncClient]:
    async with client_of(create_app(Settings(device="cpu"), models)) as client:
        yield client


async def logits(client: AsyncClient, model: str, text: str = "abc") -> torch.Tensor:
    answer = await client.post("/api/trace", json={"model": model, "text": text, "want": ["logits"]})
    assert answer.status_code == 200, answer.text
    return load(answer.content)["logits"]


def test_they_are_random_models_of_their_own(folder: Path) -> None:
    shipped = load_file(folder / "weights.safetensors")
    for step in STEPS:
        theirs = load_file(checkpoint.weights_file(folder, step))
        assert any(not torch.equal(x, theirs[name]) for name, x in shipped.items())


async def test_a_trace_is_of_the_weights_at_that_step(client: AsyncClient, folder: Path) -> None:
    for step in STEPS:
        kept = load_file(checkpoint.weights_file(folder, step))
        made = at(step).model.eval()
        checkpoint.load_weights(made, kept)
        expected = made(torch.tensor([[97, 98, 99]]), torch.ones(3, 3).triu(1).to(torch.uint8)[None, None])[0]
        assert torch.allclose(await logits(client, f"watched@{step}"), expected, atol=1e-5)


async def test_every_endpoint_takes_one(client: AsyncClient) -> None:
    run = {"model": "watched@40", "text": "abc"}
    for path, more in {
        "generate": {"max_new_tokens": 2}, "explain/lens": {}, "explain/contributions": {}, "explain/route": {},
    }.items():  # fmt: skip
        answer = await client.post(f"/api/{path}", json=run | more)
        assert answer.status_code == 200, answer.text
    assert (await client.post("/api/tokenize", json=run)).json()["model"] == "watched@40"
    weight = {"model": "watched@40", "want": ["final_norm.weight"]}
    assert (await client.post("/api/weights", json=weight)).status_code == 200


async def test_the_list_does_not_grow_and_the_model_s_page_has_them(client: AsyncClient) -> None:
    listed = (await client.get("/api/models")).json()
    assert [one["name"] for one in listed["models"] if "@" in one["name"]] == []
    line = next(one for one in listed["models"] if one["name"] == "watched")
    assert not {"snapshots", "log"} & set(line["card"])
    page = (await client.get("/api/models/watched")).json()
    assert line["card"]["gradients_at_start"] == page["snapshots"][0]["gradients"]
    assert [(one["model"], one["step"]) for one in page["snapshots"]] == [(f"watched@{n}", n) for n in STEPS]
    for one, step in zip(page["snapshots"], STEPS, strict=True):
        assert one == {**figures(step), "model": f"watched@{step}", "problem": None}
    assert (page["snapshot_of"], page["log"]["rate"]) == (None, [0.0, 0.1, 0.0])


async def test_a_snapshot_s_own_page_claims_nothing_of_the_model_that_ships(client: AsyncClient) -> None:
    page = (await client.get("/api/models/watched@40")).json()
    assert (page["name"], page["snapshot_of"], page["card"]["steps"]) == ("watched@40", "watched", 40)
    assert page["card"]["run_steps"] == 90
    assert "evaluation" not in page["card"]
    assert [one["step"] for one in page["snapshots"]] == list(STEPS)
    assert page["description"] == (await client.get("/api/models/watched")).json()["description"]


async def test_loaded_when_first_asked_for_and_dropped_by_least_recent_use(
    client: AsyncClient, models: Library
) -> None:
    assert models.loaded == []
    for step in STEPS:
        await logits(client, f"watched@{step}")
    assert models.loaded == [f"watched@{step}" for step in STEPS]
    models.limit = 1
    await logits(client, "watched@40", "another text")  # an answer that is kept needs no model
    assert models.loaded == []


@pytest.mark.parametrize("step", ["7", "-1", "00", "", "last"])
async def test_an_unknown_step_lists_the_known(client: AsyncClient, step: str) -> None:
    answer = await client.post("/api/trace", json={"model": f"watched@{step}", "text": "abc"})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["where"]) == (404, "unknown_snapshot", "model")
    assert error["known"] == [f"watched@{one}" for one in STEPS]


async def test_a_model_without_snapshots_says_so(client: AsyncClient) -> None:
    error = (await client.get("/api/models/stories-gpt@3")).json()["error"]
    assert (error["code"], error["known"]) == ("unknown_snapshot", [])
    assert "chumoku train --snapshots" in error["hint"]
    assert (await client.get("/api/models/nobody@3")).json()["error"]["code"] == "unknown_model"


@pytest.mark.parametrize("damage", ["missing", "cut", "NaN"])
async def test_a_damaged_snapshot_is_unavailable_and_the_model_stays(
    client: AsyncClient, models: Library, folder: Path, damage: str
) -> None:
    file = checkpoint.weights_file(folder, 40)
    whole = file.read_bytes()
    if damage == "missing":
        file.unlink()
    elif damage == "cut":
        file.write_bytes(whole[:-9])
    else:
        save_file({name: x * torch.nan for name, x in load_file(file).items()}, file)
    for _ in range(2):
        answer = await client.post("/api/trace", json={"model": "watched@40", "text": "abc"})
        error = answer.json()["error"]
        code = "not_loaded" if damage == "missing" else "broken_model"
        assert (answer.status_code, error["code"]) == (500, code)
        assert "snapshots/40.safetensors" in error["message"]
        assert str(folder) not in error["message"]
    await logits(client, "watched")
    await logits(client, "watched@90")
    assert "watched" in models.names
    assert (await client.get("/api/models")).json()["problems"] == []
    page = (await client.get("/api/models/watched")).json()
    unavailable = [one["step"] for one in page["snapshots"] if one["problem"]]
    assert unavailable == ([] if damage == "missing" else [40])
    file.write_bytes(whole)
    await logits(client, "watched@40")


def test_the_command_line_opens_one_too(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "trace.safetensors"
    done = CliRunner().invoke(cli, ["trace", "abc", "--model", f"{folder}@40", "-o", str(out), "--device", "cpu"])
    assert done.exit_code == 0, done.output
    assert load_file(out)["logits"].shape[0] == 3
    done = CliRunner().invoke(cli, ["trace", "abc", "--model", f"{folder}@41", "-o", str(out), "--device", "cpu"])
    assert done.exit_code == 2
    assert "watched@40" in done.stderr

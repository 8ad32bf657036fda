"""Opening a model while the server runs: from a folder and from a hub on loopback, with its refusals."""

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
from httpx import ASGITransport, AsyncClient

from chumoku.app.errors import AppError
from chumoku.app.main import create_app
from chumoku.app.services import hub as hub_service
from chumoku.app.services import opening
from chumoku.app.services.library import Library
from chumoku.app.services.metrics import MANY
from chumoku.app.settings import Settings
from tests.app.helpers import error_of
from tests.conftest import room_for, served
from tests.hub import COMMIT, Hub, serving
from tests.toys import huggingface as toys

Client = Callable[..., AbstractAsyncContextManager[AsyncClient]]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`little`, what it would be as pickles alone, as an adapter, and as a model without attention."""
    at = tmp_path_factory.mktemp("repositories")
    toys.save(at / "little", toys.gpt2().eval(), toys.byte_level())
    (at / "little" / "modeling_gpt.py").write_text("raise SystemExit('this code ran')")
    (at / "little" / "pytorch_model.bin").write_bytes(b"a pickle")
    for name in ("pickles", "adapter", "mamba"):
        shutil.copytree(at / "little", at / name)
    (at / "pickles" / "model.safetensors").unlink()
    (at / "adapter" / "adapter_config.json").write_text("{}")
    config = json.loads((at / "mamba" / "config.json").read_text()) | {"model_type": "mamba"}
    (at / "mamba" / "config.json").write_text(json.dumps(config))
    return at


@pytest.fixture
def hub(folders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    ids = {f"ann/{path.name}": path for path in folders.iterdir()}
    with serving(Hub(ids, gated={"ann/gated"})) as found:
        monkeypatch.setenv("HF_ENDPOINT", found.url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
        monkeypatch.delenv("HF_HUB_CACHE", raising=False)
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        yield found


@pytest.fixture
def client(three: Library, folders: Path) -> Client:
    """`async with client(open_models=…)`: a separate app with a library of its own."""

    @asynccontextmanager
    async def client(*, address: str = "127.0.0.1", **given: Any) -> AsyncIterator[AsyncClient]:
        library = Library(three.entries.values(), three.default, torch.device("cpu"), 2**31)
        app = create_app(Settings(device="cpu", models_dir=(folders,), **given), library)
        transport = ASGITransport(app=app, client=(address, 1))
        async with (
            app.router.lifespan_context(app),
            AsyncClient(transport=transport, base_url="http://localhost") as one,
        ):
            yield one

    return client


def events(answer: httpx.Response) -> list[tuple[str, dict[str, Any]]]:
    assert answer.status_code == 200, answer.text
    blocks = [block for block in answer.text.split("\n\n") if block.startswith("event: ")]
    parts = [block.split("\n", 1) for block in blocks]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


async def opened(client: AsyncClient, model: str) -> list[tuple[str, dict[str, Any]]]:
    return events(await client.post("/api/open", json={"model": model}))


async def test_a_model_of_the_hub_is_downloaded_opened_and_traced(client: Client, hub: Hub, folders: Path) -> None:
    async with client() as one:
        found = await opened(one, "ann/little")
        assert found[0][0] == "start"
        assert found[-2:] == [("opened", {"name": "little"}), ("done", {})]
        needed = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
        assert found[0][1] == {
            "model": "ann/little",
            "bytes": sum((folders / "little" / name).stat().st_size for name in needed),
        }
        asked = [path for path in hub.asked if "/resolve/" in path]
        assert not any(path.endswith((".py", ".bin")) for path in asked), "neither code nor pickles"
        assert "little" in [model["name"] for model in (await one.get("/api/models")).json()["models"]]
        trace = await one.post("/api/trace", json={"model": "little", "text": "hello", "want": ["logits"]})
        assert trace.status_code == 200
        hub.asked.clear()
        assert await opened(one, "ann/little") == [("opened", {"name": "little"}), ("done", {})]
    async with client() as another:
        assert (await opened(another, "ann/little"))[0] == ("opened", {"name": "little"})
        assert hub.asked == [], "it is in the cache: nothing is asked"


async def test_an_interrupted_download_of_several_files_goes_on(client: Client, hub: Hub, tmp_path: Path) -> None:
    """Whatever is missing: some of the files with weights, their index, or the tokenizer. Nothing else is asked for."""
    folder = tmp_path / "sharded"
    toys.gpt2().eval().save_pretrained(folder, max_shard_size="4KB")
    toys.byte_level().save_pretrained(folder)
    shards = sorted(one.name for one in folder.glob("model-*.safetensors"))
    assert len(shards) > 2
    hub.folders["ann/sharded"] = folder
    snapshot = hub_service.cache_folder() / "models--ann--sharded" / "snapshots" / COMMIT
    async with client() as one:
        assert (await opened(one, "ann/sharded"))[-2:] == [("opened", {"name": "sharded"}), ("done", {})]
    assert {path.rpartition("/")[2] for path in hub.asked if "/resolve/" in path} > set(shards)
    gone: list[str] = []
    for missing in (shards[:1], shards[1:], ["model.safetensors.index.json"], ["tokenizer.json"]):
        assert hub_service.found_in_cache("ann/sharded") == snapshot
        links = {name: (snapshot / name).readlink() for name in missing}
        for name in links:
            (snapshot / name).unlink()
        assert hub_service.found_in_cache("ann/sharded") is None
        for name, file in links.items():
            (snapshot / name).symlink_to(file)
        gone += missing[:1]
    for name in gone:
        (snapshot / name).resolve().unlink()
        (snapshot / name).unlink()
    hub.asked.clear()
    async with client() as one:
        assert (await opened(one, "ann/sharded"))[-2:] == [("opened", {"name": "sharded"}), ("done", {})]
    assert {path.rpartition("/")[2] for path in hub.asked if "/resolve/" in path} == set(gone)
    assert hub_service.found_in_cache("ann/sharded") == snapshot


async def test_a_folder_of_the_models_directory_is_opened(client: Client, hub: Hub) -> None:
    async with client() as one:
        listed = (await one.get("/api/open")).json()
        assert listed["allowed"]
        assert "little" in listed["folders"]
        assert await opened(one, "little") == [("opened", {"name": "little"}), ("done", {})]
        for outside in ("../little", "/etc", "..", "little/../little"):
            error_of(await one.post("/api/open", json={"model": outside}), 422, "not_on_hub")
        assert hub.asked == []


@pytest.mark.parametrize(
    ("model", "code", "said"),
    [
        ("ann/nothing", "not_on_hub", "The hub has no model ann/nothing"),
        ("ann/gated", "gated", "accept its terms"),
        ("ann/pickles", "broken_model", "ann/pickles has no weights as safetensors."),
        ("ann/adapter", "broken_model", "is an adapter"),
    ],
)
async def test_what_the_hub_does_not_give_is_refused_before_a_download(
    client: Client, hub: Hub, model: str, code: str, said: str
) -> None:
    async with client() as one:
        error = error_of(await one.post("/api/open", json={"model": model}), 422, code)
        assert said in error["message"]
        if code == "broken_model":
            assert error["got"] == f"{error['message']} {error['hint']}", "whole sentences, for the page's own"
        assert not any("/resolve/" in path for path in hub.asked)


async def test_a_model_that_cannot_be_used_says_why(client: Client, hub: Hub) -> None:
    """The same sentence as at the start of the server."""
    async with client() as one:
        found = await opened(one, "ann/mamba")
        assert found[-1][0] == "error"
        error = found[-1][1]["error"]
        assert error["code"] == "broken_model"
        assert "attention" in error["message"]
        assert "mamba" not in [model["name"] for model in (await one.get("/api/models")).json()["models"]]


async def test_a_model_that_is_too_large_is_refused(client: Client, hub: Hub) -> None:
    hub.sizes["model.safetensors"] = 10**9
    async with client(download_bytes=10**8) as one:
        error = error_of(await one.post("/api/open", json={"model": "ann/little"}), 422, "download_too_large")
        assert (error["limit"], "1.0 GB" in error["message"]) == (10**8, True)
    hub.sizes["model.safetensors"] = 2 * hub_service.free_bytes(Path("/"))
    async with client(download_bytes=2**62) as one:
        error = error_of(await one.post("/api/open", json={"model": "ann/little"}), 422, "disk_full")
        assert "has no room for ann/little" in error["message"]


async def test_without_a_network_it_says_so(client: Client, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    async with client() as one:
        error = error_of(await one.post("/api/open", json={"model": "ann/little"}), 422, "hub_unreachable")
        assert "Check the network" in error["hint"]


def test_a_download_for_which_there_is_no_room_says_so(hub: Hub) -> None:
    """A real process whose writes fail, as on a full disk. What failed is no folder."""
    download = hub_service.Download(hub_service.look_up("ann/little", 10**9))
    with room_for(20_000):
        download.start()
        assert download.process is not None
        download.process.wait()
    with pytest.raises(AppError) as refused:
        download.folder()
    assert refused.value.code == "disk_full"
    assert hub_service.found_in_cache("ann/little") is None


def test_a_full_disk_and_a_broken_download_are_told() -> None:
    """The failures of the process that downloads, by what the system or the hub says."""
    assert hub_service.failed("a/b", "OSError", "[Errno 28] No space left on device", 28).code == "disk_full"
    assert hub_service.failed("a/b", "OSError", "read-only", 30).code == "no_download"
    assert hub_service.failed("a/b", "LocalEntryNotFoundError", "cut off", None).code == "hub_unreachable"


async def test_closing_the_connection_stops_the_download(three: Library, hub: Hub, folders: Path) -> None:
    """On a real server: meanwhile no other model is opened; then the next one may be."""
    hub.slow = 0.2
    big = folders / "little" / "model-extra.safetensors"
    big.write_bytes(os.urandom(64 * 65536))
    try:
        with served(create_app(Settings(device="cpu", open_models=True), three)) as url:
            async with AsyncClient(base_url=url, timeout=60) as one:
                async with one.stream("POST", "/api/open", json={"model": "ann/little"}) as answer:
                    assert answer.status_code == 200
                    async for line in answer.aiter_lines():
                        if line.startswith("data: ") and json.loads(line[6:]).get("seconds_left"):
                            break
                    other = await one.post("/api/open", json={"model": "ann/mamba"})
                    error_of(other, 409, "opening_another")
                hub.slow = 0
                for _ in range(200):
                    again = await one.post("/api/open", json={"model": "ann/pickles"})
                    if again.status_code != 409:
                        break
                    await asyncio.sleep(0.05)
                error_of(again, 422, "broken_model")
    finally:
        big.unlink()


LOCAL = {"x-forwarded-for": "203.0.113.1"}


@pytest.mark.parametrize(
    ("settings", "address", "headers", "allowed"),
    [
        ({}, "127.0.0.1", {}, True),
        ({}, "::1", {}, True),
        ({}, "192.168.1.9", {}, False),
        ({}, "127.0.0.1", LOCAL, False),
        ({}, "127.0.0.1", {"forwarded": "for=203.0.113.1"}, False),
        ({}, "127.0.0.1", {"x-forwarded-prefix": "/user/ann"}, False),
        ({"host": "0.0.0.0"}, "127.0.0.1", {}, False),
        ({"host": "localhost"}, "127.0.0.1", {}, True),
        ({"open_models": True, "host": "0.0.0.0"}, "192.168.1.9", LOCAL, True),
        ({"open_models": False}, "127.0.0.1", {}, False),
        ({}, "127.0.0.1", {"origin": "http://localhost"}, True),
        ({}, "127.0.0.1", {"origin": "http://evil.example"}, False),
        ({}, "127.0.0.1", {"origin": "http://localhost:8001"}, False),
        ({}, "127.0.0.1", {"sec-fetch-site": "same-site"}, False),
        ({"open_models": True}, "127.0.0.1", {"sec-fetch-site": "cross-site"}, False),
        ({"open_models": True}, "127.0.0.1", {"sec-fetch-site": "same-origin", "origin": "https://hub.example"}, True),
    ],
)
async def test_who_may_open_models(
    client: Client, hub: Hub, settings: dict[str, Any], address: str, headers: dict[str, str], allowed: bool
) -> None:
    async with client(address=address, **settings) as one:
        listed = (await one.get("/api/open", headers=headers)).json()
        assert listed["allowed"] == allowed
        answer = await one.post("/api/open", json={"model": "little"}, headers=headers)
        if allowed:
            assert events(answer)[-1] == ("done", {})
        else:
            assert listed["folders"] == []
            error_of(answer, 403, "may_not_open")
        assert hub.asked == []


async def test_other_workers_see_what_one_has_opened(
    client: Client, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two apps that share a folder, as workers do; the other one is asked by name, then for the list."""
    monkeypatch.setenv(MANY, str(tmp_path))
    async with client(workers=2) as first, client(workers=2) as second:
        assert (await opened(first, "ann/mamba"))[-1][0] == "error"
        assert (await second.get("/api/models/mamba")).status_code == 404
    async with client(workers=2) as first, client(workers=2) as second, client(workers=2) as third:
        name = (await opened(first, "ann/little"))[-2][1]["name"]
        trace = await second.post("/api/trace", json={"model": name, "text": "hello", "want": ["logits"]})
        assert trace.status_code == 200
        assert name in [model["name"] for model in (await third.get("/api/models")).json()["models"]]
        with opening.Openings(Library([], "", torch.device("cpu"), 0), Settings(workers=2)).turn("x"):
            error_of(await third.post("/api/open", json={"model": "ann/pickles"}), 409, "opening_another")


async def test_replicas_open_no_models_and_the_page_learns_why(client: Client, hub: Hub) -> None:
    async with client(ray=True, open_models=True) as one:
        assert (await one.get("/api/open")).json() == {"allowed": False, "replicas": True, "folders": []}
        error_of(await one.post("/api/open", json={"model": "little"}), 403, "may_not_open")
    async with client(open_models=False) as one:
        assert (await one.get("/api/open")).json() == {"allowed": False, "replicas": False, "folders": []}

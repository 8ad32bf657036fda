"""A PNG or JPEG as the pixels that a ViT of transformers reads: bounds, and files that are not pictures; real bytes."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
import safetensors.torch
import torch
from httpx import ASGITransport, AsyncClient, Response
from PIL import Image
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil
from typer.testing import CliRunner

import chumoku
from chumoku.app.cli.program import cli
from chumoku.app.main import create_app
from chumoku.app.page_files import STATIC
from chumoku.app.services import discovery
from chumoku.app.services.memory_budget import Size
from chumoku.app.services.run_cache import RunCache
from chumoku.app.settings import Settings
from chumoku.model.run import Run
from chumoku.model.traceable import source_of
from chumoku.model.traceable.huggingface.processing import FILE as PROCESSOR
from tests.app.helpers import error_of, parse_events, trace
from tests.toys import huggingface as toys

SIDE = 12
LIMIT, PIXELS = 40_000, 1_000_000
BLANK = base64.b64encode(bytes(SIDE * SIDE * 3)).decode()
RED = (255, 0, 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return toys.save(tmp_path_factory.mktemp("hf") / "tiny-vit", toys.random_numbers(toys.vit()), toys.pictures())


@pytest.fixture
async def client(folder: Path) -> AsyncIterator[AsyncClient]:
    settings = Settings(device="cpu", models=(folder,), upload_limit=LIMIT, upload_pixels=PIXELS)
    app = create_app(settings, discovery.discover(settings))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app=app), base_url="http://localhost") as client,
    ):
        yield client


def saved(image: Image.Image, kind: str = "PNG", **more: Any) -> bytes:
    file = BytesIO()
    image.save(file, kind, **more)
    return file.getvalue()


def noise(width: int = 40, height: int = 30, mode: str = "RGB") -> Image.Image:
    bands = len(Image.new(mode, (1, 1)).getbands())
    values = np.random.default_rng(1).integers(0, 256, (height, width, bands), dtype=np.uint8)
    return Image.fromarray(values.squeeze(-1) if bands == 1 else values, mode)


async def sent(client: AsyncClient, file: bytes, model: str = "tiny-vit") -> Response:
    return await client.post(f"/api/models/{model}/pixels", content=file, headers={"content-type": "image/png"})


async def pixels(client: AsyncClient, file: bytes) -> np.ndarray[Any, Any]:
    """What is answered, [row column channel]."""
    answer = await sent(client, file)
    assert answer.status_code == 200, answer.text
    found = np.frombuffer(base64.b64decode(answer.json()["pixels"]), np.uint8)
    return found.reshape(SIDE, SIDE, 3)


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
async def test_a_picture_becomes_the_pixels_of_transformers_processor(client: AsyncClient, kind: str) -> None:
    file = saved(noise(), kind)
    theirs = ViTImageProcessorPil(size={"height": SIDE, "width": SIDE}, do_rescale=False, do_normalize=False)
    expected = theirs(Image.open(BytesIO(file)))["pixel_values"][0].transpose(1, 2, 0)
    assert np.array_equal(await pixels(client, file), expected)


async def test_its_pixels_are_a_run(client: AsyncClient, folder: Path) -> None:
    """Traced over HTTP and by a script, with hidden patches; the answer says the run again."""
    found = (await sent(client, saved(noise()))).json()
    assert (found["width"], found["height"]) == (40, 30)
    asked = {"pixels": found["pixels"], "pad": {"hidden": [4]}}
    tensors, meta = await trace(client, **asked, want=["*"], text=None)
    assert meta["run"]["input"] == {"pixels": found["pixels"]}
    assert [one["text"] for one in meta["tokens"][:5]] == ["[CLS]", "0,0", "0,1", "0,2", "1,0"]
    assert [one["name"] for one in meta["classes"]] == ["cat", "dog", "bird"]
    assert not tensors["layers.0.attn.pattern"][..., 4].any()
    own = chumoku.load(folder).trace(pixels=found["pixels"], pad={"hidden": [4]})
    assert np.array_equal(own["logits"].numpy(), tensors["logits"])
    again, _ = await trace(client, **meta["run"], want=["logits"], text=None)
    assert np.array_equal(again["logits"], tensors["logits"])


async def test_its_lens_and_its_effects(client: AsyncClient) -> None:
    """What the river darkens its lines by, over HTTP: an effect is what the same cut does as an intervention."""
    asked = {"pixels": (await sent(client, saved(noise()))).json()["pixels"]}
    lens = (await client.post("/api/explain/lens", json=asked | {"k": 2})).json()
    _, meta = await trace(client, **asked, want=["logits"], text=None)
    answer = max(range(3), key=lambda index: meta["classes"][index]["logit"])
    assert lens["classes"] == ["cat", "dog", "bird"]
    assert lens["top"][-1][0][0] == answer
    assert lens["probability"][-1][0][0] == pytest.approx(meta["classes"][answer]["probability"], rel=1e-5)
    answered = await client.post("/api/explain/effects", json=asked | {"n": 4})
    (_, start), *effects, (last, _) = parse_events(answered.text)
    assert (start["answer"], start["edges"], last) == (answer, 4, "done")
    assert start["p"] == pytest.approx(meta["classes"][answer]["probability"], rel=1e-5)
    (_, one), *_ = effects
    cut = {"kind": "mask", "where": {name: one[name] for name in ("layer", "query", "key")}, "allow": False}
    _, after = await trace(client, **asked, want=["logits"], text=None, interventions=[cut])
    assert one["p"] == pytest.approx(after["classes"][answer]["probability"], rel=1e-5)
    error = await client.post("/api/explain/effects", json=asked | {"answer": 3})
    assert error_of(error, 422, "bad_class")["limit"] == 2


def test_a_script_reads_a_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "noise.png").write_bytes(saved(noise()))
    model = chumoku.load(folder)
    run = model.trace(picture=tmp_path / "noise.png")
    assert model.trace(pixels=run.run["input"]["pixels"])["logits"].equal(run["logits"])
    (tmp_path / "no.png").write_bytes(b"no")
    with pytest.raises(ValueError, match="only PNG and JPEG are read"):
        model.trace(picture=tmp_path / "no.png")


def test_the_command_line_reads_a_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "noise.png").write_bytes(saved(noise()))
    out = tmp_path / "noise.safetensors"
    options = ["--model", str(folder), "-o", str(out), "--pad-left", "0"]
    said = CliRunner().invoke(cli, ["trace", "--picture", str(tmp_path / "noise.png"), *options])
    assert said.exit_code == 0, said.output
    expected = chumoku.load(folder).trace(picture=tmp_path / "noise.png")
    found = safetensors.torch.load_file(out)
    assert found.keys() == expected.tensors.keys()
    assert all(found[name].equal(x) for name, x in expected.tensors.items())
    assert f"tensors of {len(expected.metadata['tokens'])} tokens" in said.stdout
    for neither_or_both in ([], ["a cat", "--picture", str(tmp_path / "noise.png")]):
        said = CliRunner().invoke(cli, ["trace", *neither_or_both, *options])
        assert said.exit_code == 2
        assert "give a sentence, a picture or a chat" in " ".join(said.stderr.replace("│", " ").split())


def test_two_pictures_are_not_taken_for_each_other(folder: Path) -> None:
    """Their ids are the same, and recent runs are kept."""
    source = source_of(folder)
    assert source is not None
    model = source.open(folder, torch.device("cpu"))
    kept, pattern = RunCache(1_000_000).over(model), model.description.attention("self").tap("pattern", 0)
    runs = [Run([*range(9)], pixels=bytes([shade]) * SIDE * SIDE * 3) for shade in (0, 9, 0)]
    found = [kept.trace(run, [pattern]).tensors[pattern] for run in runs]
    assert torch.equal(found[1], model.trace(runs[1], [pattern]).tensors[pattern])
    assert not torch.equal(found[0], found[1])
    assert found[2].data_ptr() == found[0].data_ptr()  # the same picture is computed once


def test_a_picture_is_not_kept_with_what_it_gave(folder: Path) -> None:
    source = source_of(folder)
    assert source is not None
    model = source.open(folder, torch.device("cpu"))
    kept, pixels = RunCache(1_000_000).over(model), bytes([7]) * SIDE * SIDE * 3
    before = sys.getrefcount(pixels)
    kept.trace(Run([*range(9)], pixels=pixels), [model.description.attention("self").tap("pattern", 0)])
    assert sys.getrefcount(pixels) == before


async def test_its_river_is_told(client: AsyncClient) -> None:
    found = (await sent(client, saved(noise()))).json()["pixels"]
    answer = await client.post("/api/explain/route", json={"model": "tiny-vit", "pixels": found})
    assert answer.status_code == 200, answer.text


WHOLE = saved(noise(100, 80))


async def test_a_picture_at_the_limits_is_read(client: AsyncClient) -> None:
    file = saved(Image.new("RGB", (1000, 1000), RED))
    assert (await pixels(client, file + bytes(LIMIT - len(file))) == RED).all()  # what follows the picture is ignored
    error = error_of(await sent(client, file + bytes(LIMIT - len(file) + 1)), 413, "upload_too_large")
    assert (error["limit"], error["got"]) == (LIMIT, LIMIT + 1)


async def test_other_bodies_keep_their_limit(folder: Path) -> None:
    settings = Settings(device="cpu", models=(folder,), body_limit=2000)
    app = create_app(settings, discovery.discover(settings))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app=app), base_url="http://localhost") as client,
    ):
        assert len(WHOLE) > 2000
        assert (await sent(client, WHOLE)).status_code == 200
        error_of(await client.post("/api/trace", content=WHOLE), 413, "body_too_large")
        error_of(await client.post("/api/models", content=WHOLE), 413, "body_too_large")


@pytest.mark.parametrize("side", [512, 1024])
async def test_the_largest_pictures_are_traced_and_patched(tmp_path: Path, side: int) -> None:
    """Their bytes alone are as long as other bodies may be."""
    made = toys.random_numbers(toys.vit(image_size=side, patch_size=side // 2, hidden_size=3, num_hidden_layers=1))
    large = toys.save(tmp_path / "large", made, toys.pictures(side))
    settings = Settings(device="cpu", models=(large,))
    app = create_app(settings, discovery.discover(settings))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app=app), base_url="http://localhost") as client,
    ):
        one, two = [(await sent(client, saved(noise(mode=mode)), "large")).json()["pixels"] for mode in ("RGB", "L")]
        assert len(one) >= settings.body_limit
        patch = {"kind": "patch", "where": {"layer": 0, "role": "z"}, "from": {"model": "large", "pixels": two}}
        asked = {"model": "large", "pixels": one, "want": ["logits"], "text": None}
        plain, _ = await trace(client, **asked)
        patched, meta = await trace(client, **asked, interventions=[patch])
        assert meta["run"]["input"]["pixels"] == one
        assert not np.array_equal(plain["logits"], patched["logits"])
        too_long = {"model": "large", "pixels": one + two + "a" * settings.body_limit}
        error_of(await client.post("/api/trace", json=too_long), 413, "body_too_large")


async def test_a_picture_that_would_become_too_long_is_refused(tmp_path: Path) -> None:
    by_side = toys.pictures(SIDE).to_dict() | {"size": {"shortest_edge": SIDE}, "do_center_crop": True}
    lines = toys.save(tmp_path / "lines", toys.random_numbers(toys.vit()), toys.pictures())
    (lines / PROCESSOR).write_text(json.dumps(by_side | {"crop_size": SIDE}))
    settings = Settings(device="cpu", models=(lines,))
    app = create_app(settings, discovery.discover(settings))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app=app), base_url="http://localhost") as client,
    ):
        error = error_of(await sent(client, saved(noise(2000, 1)), "lines"), 422, "narrow_picture")
        assert error["message"] == "A picture of 2000 × 1 pixels is too narrow for this model."


async def test_a_server_without_pillow_cannot(client: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be the same at another try: no 503."""
    monkeypatch.setitem(sys.modules, "PIL.JpegImagePlugin", None)
    error = error_of(await sent(client, WHOLE), 501, "cannot")
    assert error["message"] == "The server has no PIL.JpegImagePlugin."


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_what_is_refused_has_words_on_the_page(lang: str) -> None:
    words = json.loads((STATIC / "i18n" / f"{lang}.json").read_text("utf-8"))
    codes = ["wrong_format", "not_a_picture", "damaged_picture", "too_many_pixels", "upload_too_large"]
    assert all(words[f"error.{code}"] for code in (*codes, "narrow_picture", "body_too_large"))


async def test_pictures_wait_for_memory_to_be_decoded(folder: Path) -> None:
    """Their answers wait with them, reserved like all others."""
    settings = Settings(device="cpu", models=(folder,), upload_pixels=PIXELS)
    app = create_app(settings, discovery.discover(settings))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app=app), base_url="http://localhost") as client,
    ):
        decoding, answers = app.state.chumoku.decoding, app.state.chumoku.work.budget
        async with anyio.create_task_group() as group:
            with decoding.claim() as first, anyio.fail_after(20):
                first.take(Size(12 * PIXELS, "It is the largest."))
                group.start_soon(pixels, client, WHOLE)
                while not decoding.waiting:
                    await anyio.sleep(0)
                assert decoding.waiting[0].wanted == 12 * 100 * 80
                assert answers.taken > len(BLANK)
        assert (decoding.taken, answers.taken) == (0, 0)


async def test_what_is_no_picture_is_refused_in_words(client: AsyncClient) -> None:
    error = error_of(await sent(client, saved(noise(), "GIF")), 422, "wrong_format")
    assert (error["message"], error["got"]) == ("The file is GIF: only PNG and JPEG are read.", "GIF")
    assert error["hint"] == "Save it as PNG or JPEG and send that."
    error_of(await sent(client, WHOLE[:500]), 422, "damaged_picture")
    error = error_of(await sent(client, saved(Image.new("RGB", (1001, 1000)))), 422, "too_many_pixels")
    assert (error["got"], error["limit"]) == ("1001 × 1000", 1.0)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a", ""]
)
async def test_what_another_site_could_send_is_refused(client: AsyncClient, kind: str) -> None:
    """These types need no preflight: a browser sends them to any server."""
    headers = {"content-type": kind} if kind else {}
    answer = await client.post("/api/models/tiny-vit/pixels", content=WHOLE, headers=headers)
    assert "Content-Type: image/png" in error_of(answer, 422, "invalid_request")["hint"]


async def test_a_file_s_kind_is_told_by_its_bytes(client: AsyncClient) -> None:
    for kind in ("application/octet-stream", "image/jpeg", "IMAGE/PNG"):
        answer = await client.post("/api/models/tiny-vit/pixels", content=WHOLE, headers={"content-type": kind})
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(("model", "words"), [("stories-gpt", "reads text"), ("digits-vit", "drawn pictures of 8 × 8")])
async def test_only_a_model_of_such_pictures_takes_them(client: AsyncClient, model: str, words: str) -> None:
    assert words in error_of(await sent(client, WHOLE, model), 422, "wrong_input")["message"]


async def test_a_run_without_its_pixels_is_refused(client: AsyncClient) -> None:
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"pixels": "AAAA"}, "bad_picture", "432 bytes in base64, got 3"),
        ({"pixels": "not base64"}, "bad_picture", "this is not base64"),
        ({"pixels": [[0] * SIDE] * SIDE}, "bad_picture", "12 rows of 12 pixels of 3 bytes"),
        ({"pixels": "AAAA", "model": "digits-vit"}, "bad_picture", "8 rows of 8 whole numbers"),
        ({"pixels": "AAAA", "model": "stories-gpt"}, "wrong_input", "reads text"),
        ({"token_ids": [*range(9)]}, "bad_picture", "only where they are"),
        ({"text": "cat"}, "wrong_input", "reads pictures"),
        ({"pixels": BLANK, "pad": {"hidden": [10]}}, "bad_pad", "no patch at position 10"),
        ({"pixels": BLANK, "pad": {"count": 1}}, "bad_pad", "PADs cannot be added"),
    ]
    for body, code, words in cases:
        answer = await client.post("/api/trace", json={"model": "tiny-vit"} | body)
        assert words in error_of(answer, 422, code)["message"]


async def test_it_says_what_it_reads(client: AsyncClient) -> None:
    about = (await client.get("/api/models/tiny-vit")).json()
    shape = {"size": SIDE, "patch": 4, "levels": 256, "channels": 3}
    assert about["picture"] == shape | {"before": ["[CLS]"]}
    assert about["description"]["picture"] == shape
    assert about["uploads"] == {"bytes": LIMIT, "pixels": PIXELS}
    assert (await client.get("/api/models/digits-vit")).json()["uploads"] is None
    assert (about["example"], about["special"]["first"]) == (None, {"id": 9, "text": "[CLS]"})

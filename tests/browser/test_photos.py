"""A ViT of transformers on the page: a PNG is uploaded, read, hidden in part, and carried by a link."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import expect

from chumoku.model.run import Run
from chumoku.model.trace import Padding
from chumoku.model.traceable import TraceableModel, source_of
from tests.browser.helpers import flaws, open_more, overflows, serious_in_both_themes, settled, wait_for_run
from tests.conftest import served

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.warm
LIMIT = 104_858  # 0.1 MB

MOUNT = """async ([id, given]) => {
  const { mount } = await import("/static/page.js");
  const { createStore, DEFAULTS } = await import("/static/state/store.js");
  const api = await import("/static/data/api.js");
  const { createModels } = await import("/static/data/models.js");
  const models = createModels(await api.models(), api);
  await models.load(given.model);
  const root = Object.assign(document.createElement("div"), { className: "page", id });
  document.body.append(root);
  window[id] = createStore({ ...DEFAULTS, ...given });
  await mount(root, window[id], { models, examples: { examples: [] } }).drawn;
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.toys import huggingface as toys

    return toys.save(tmp_path_factory.mktemp("hf") / "tiny-vit", toys.random_numbers(toys.vit()), toys.pictures())


@pytest.fixture(scope="module")
def traceable(folder: Path) -> TraceableModel:
    source = source_of(folder)
    assert source is not None
    return source.open(folder, torch.device("cpu"))


@pytest.fixture(scope="module")
def app_url(folder: Path) -> Iterator[str]:
    from chumoku.app.main import create_app
    from chumoku.app.settings import Settings
    from tests.toys import huggingface as toys

    words = toys.save(folder.parent / "tiny-gpt2", toys.random_numbers(toys.gpt2()), toys.byte_level())

    with served(create_app(Settings(models=(folder, words), device="cpu", upload_limit=LIMIT))) as url:
        yield url


def picture(colour: int = 0) -> Image.Image:
    """A patch of each colour, each with a corner of its own."""
    values = np.random.default_rng(colour).integers(0, 256, (24, 24, 3), dtype=np.uint8)
    return Image.fromarray(values)


def png(image: Image.Image) -> bytes:
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def pixels_of(traceable: TraceableModel, image: Image.Image) -> bytes:
    assert traceable.about.fit is not None
    return traceable.about.fit(image)


def answer(traceable: TraceableModel, image: Image.Image, **how: Any) -> list[float]:
    run = Run(list(range(9)), pixels=pixels_of(traceable, image), **how)
    found: list[float] = traceable.trace(run, ["logits"]).tensors["logits"].double().softmax(-1).tolist()
    return found


def open_empty(page: Page, query: str = "") -> None:
    page.goto(f"/?model=tiny-vit&{query}")
    page.wait_for_selector('body[data-state="empty"]')
    page.get_by_test_id("picture-choose").wait_for()


def open_photo(page: Page, traceable: TraceableModel, query: str = "", **pad: object) -> None:
    pixels = base64.b64encode(pixels_of(traceable, picture())).decode()
    run = {"model": "tiny-vit", "input": {"pixels": pixels}} | ({"pad": pad} if pad else {})
    page.goto(f"/?{query}#run={quote(json.dumps(run))}")
    page.wait_for_selector('body[data-state="ready"]')
    page.get_by_test_id("board").wait_for()


def shown(page: Page) -> list[float]:
    settled(page)
    return [float(bar.get_attribute("data-probability") or "nan") for bar in page.get_by_test_id("class").all()]


def give(page: Page, how: str, *files: bytes, at: str = "body") -> None:
    """Drops or pastes files, one after the other, before any is read."""
    page.evaluate(
        """([how, files, at]) => {
          for (const bytes of files) {
            const data = new DataTransfer();
            data.items.add(new File([Uint8Array.from(bytes)], "cat.png", { type: "image/png" }));
            const event = how === "drop"
              ? new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })
              : new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
            document.querySelector(at).dispatchEvent(event);
          }
        }""",
        [how, [list(file) for file in files], at],
    )


def test_a_chosen_picture_is_read_and_its_link_reads_it_again(page: Page, traceable: TraceableModel) -> None:
    open_empty(page)
    with page.expect_file_chooser() as chooser:
        page.get_by_test_id("picture-choose").press("Enter")
    chooser.value.set_files({"name": "cat.png", "mimeType": "image/png", "buffer": png(picture())})
    page.get_by_test_id("class").first.wait_for()
    assert shown(page) == pytest.approx(answer(traceable, picture()), abs=1e-5)
    read = page.get_by_test_id("board").evaluate(
        """async (board) => {
          const image = new Image();
          image.src = board.querySelector("image").getAttribute("href");
          await image.decode();
          const canvas = Object.assign(document.createElement("canvas"), { width: 12, height: 12 });
          const pen = canvas.getContext("2d");
          pen.drawImage(image, 0, 0);
          return [...pen.getImageData(0, 0, 12, 12).data].filter((_, i) => i % 4 < 3);
        }"""
    )
    assert bytes(read) == pixels_of(traceable, picture())
    page.wait_for_timeout(400)
    page.reload()
    page.get_by_test_id("class").first.wait_for()
    assert shown(page) == pytest.approx(answer(traceable, picture()), abs=1e-5)


@pytest.mark.parametrize("how", ["drop", "paste"])
def test_a_picture_can_be_dropped_and_pasted(page: Page, traceable: TraceableModel, how: str) -> None:
    """One after the other: the first is on the empty page, the second in place of the first."""
    open_empty(page)
    for colour in (1, 2):
        give(page, how, png(picture(colour)))
        expected = answer(traceable, picture(colour))
        page.wait_for_function(
            """(p) => Math.abs(document.querySelector('[data-testid="class"]')?.dataset.probability - p) < 1e-4""",
            arg=expected[0],
        )
        assert shown(page) == pytest.approx(expected, abs=1e-5)


def test_what_is_no_picture_is_said_and_the_last_one_stays(
    page: Page, traceable: TraceableModel, page_errors: list[str]
) -> None:
    open_photo(page, traceable)
    before = shown(page)
    problem = page.get_by_test_id("photo-problem")
    gif = BytesIO()
    picture().save(gif, "GIF")
    give(page, "drop", gif.getvalue())
    expect(problem).to_contain_text("The file is GIF: only PNG and JPEG can be read.")
    page_errors.clear()  # the browser's console has the 422
    give(page, "drop", png(picture()) + bytes(LIMIT))
    expect(problem).to_contain_text("the limit is 0.1 MB")
    assert shown(page) == before
    give(page, "drop", png(picture(1)))
    expect(problem).to_be_hidden()


def test_a_file_that_is_too_large_does_not_disturb_the_one_that_is_being_read(
    page: Page, traceable: TraceableModel
) -> None:
    open_empty(page)
    give(page, "drop", png(picture()), bytes(LIMIT + 1))
    expect(page.get_by_test_id("photo-problem")).to_contain_text("the limit is 0.1 MB")
    page.get_by_test_id("board").wait_for()
    assert shown(page) == pytest.approx(answer(traceable, picture()), abs=1e-5)
    expect(page.locator(".picture-kind.busy")).to_have_count(0)


@pytest.mark.cold
def test_a_picture_is_for_the_page_that_it_is_given_to(page: Page, traceable: TraceableModel) -> None:
    """Below a page of pictures, another one and a page of text, which speaks of sentences whichever drew last."""
    open_empty(page)
    page.evaluate(MOUNT, ["photo", {"model": "tiny-vit"}])
    page.evaluate(MOUNT, ["words", {"model": "tiny-gpt2", "level": "everything"}])
    for how, colour in (("drop", 1), ("paste", 2)):
        give(page, how, png(picture(colour)), at="#photo .main")
        page.wait_for_function(
            "([one, pixels]) => window[one].get().pixels === pixels",
            arg=["photo", base64.b64encode(pixels_of(traceable, picture(colour))).decode()],
        )
    page.wait_for_selector('#photo[data-state="ready"]')
    assert page.evaluate("document.body.dataset.state") == "empty"
    assert not page.locator(".file-banner").first.is_visible()
    words = page.locator("#words")
    open_more(words)
    words.get_by_test_id("export").click()
    expect(words.get_by_test_id("export-panel")).to_contain_text("type a sentence first")


def test_a_patch_is_hidden_with_pointer_and_keyboard(page: Page, traceable: TraceableModel) -> None:
    open_photo(page, traceable)
    board = page.get_by_test_id("board")
    box = board.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 6)  # the middle of the first row
    page.get_by_test_id("picture-about").get_by_text("1 patch is hidden").wait_for()
    assert shown(page) == pytest.approx(answer(traceable, picture(), pad=Padding(hidden=(2,))), abs=1e-5)
    board.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    page.get_by_test_id("picture-about").get_by_text("2 patches are hidden").wait_for()
    assert shown(page) == pytest.approx(answer(traceable, picture(), pad=Padding(hidden=(2, 5))), abs=1e-5)
    page.get_by_test_id("picture-show").click()
    wait_for_run(page, "!run.pad")
    assert shown(page) == pytest.approx(answer(traceable, picture()), abs=1e-5)


def test_every_head_s_look_is_over_the_photo(page: Page, traceable: TraceableModel) -> None:
    """The deepest colour is the largest weight; patches stand where they are."""
    open_photo(page, traceable)
    settled(page)
    taps = [traceable.description.attention("self").tap("pattern", layer) for layer in range(2)]
    found = traceable.trace(Run(list(range(9)), pixels=pixels_of(traceable, picture())), taps).tensors
    cells = page.get_by_test_id("cls-row").all()
    assert len(cells) == 6
    for cell in cells:
        layer, head = (int(cell.get_attribute(f"data-{name}") or -1) for name in ("layer", "head"))
        row = found[taps[layer]][head, 0, 1:]
        depths = cell.locator("canvas").evaluate(
            "(one) => [...one.getContext('2d').getImageData(0, 0, 3, 3).data].filter((_, i) => i % 4 === 3)"
        )
        full = float(row.max()) / max(depths)
        assert depths == pytest.approx([float(x) / full for x in row], abs=2)


@pytest.mark.parametrize("view", ["tokens", "embedding", "qkv", "attention", "av", "ffn", "computation"])
def test_every_station_shows_a_photo(page: Page, traceable: TraceableModel, view: str) -> None:
    open_photo(page, traceable, f"view={view}", hidden=[4])
    settled(page)
    assert flaws(page) == []


def test_a_saved_trace_of_a_photo_opens(page: Page, traceable: TraceableModel, tmp_path: Path) -> None:
    open_photo(page, traceable, "")
    pixels = base64.b64encode(pixels_of(traceable, picture(3))).decode()
    saved = page.request.post(
        "/api/trace", data={"model": "tiny-vit", "pixels": pixels, "want": ["*"], "describe": True}
    )
    assert saved.ok, saved.text()
    path = tmp_path / "photo.safetensors"
    path.write_bytes(saved.body())
    page.get_by_test_id("file-input").set_input_files(path)
    page.get_by_test_id("file-banner").wait_for()
    assert shown(page) == pytest.approx(answer(traceable, picture(3)), abs=1e-5)
    assert not page.get_by_test_id("picture-choose").is_visible()
    assert page.get_by_test_id("token").nth(3).locator("image").count() == 1


def test_photos_are_for_everyone(page: Page, traceable: TraceableModel) -> None:
    open_photo(page, traceable, "view=model", hidden=[2])
    settled(page)
    assert serious_in_both_themes(page, ".sentence") == []
    assert overflows(page, (360, 390, 1440)) == []
    open_empty(page, "view=model")
    assert serious_in_both_themes(page, ".sentence") == []
    assert overflows(page, (360, 390, 1440)) == []

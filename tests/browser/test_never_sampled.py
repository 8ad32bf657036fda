"""PAD and START have no share in any probability on the page: live, compared, or from a file."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import safetensors.numpy

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.sampling import SamplingSettings, distribution
from chumoku.model.trace import Masks, trace
from chumoku.model.translate import beam_search
from tests.browser.helpers import drawn, link, loaded

if TYPE_CHECKING:
    from playwright.sync_api import Page

SENTENCES = ("I ate a banana in the morning.", "She is reading a book.", "What time is it now?", "Good morning.")
TARGET = "私は朝バナナを食べた。"

pytestmark = pytest.mark.warm


@pytest.fixture(scope="module")
def translator() -> Checkpoint:
    return loaded("encoder-decoder")


def show(page: "Page", model: Checkpoint, text: str, **state: Any) -> None:
    page.goto(link({"model": model.name, "text": text, "drawer": "generation"} | state))
    drawn(page)


def number(page: "Page", testid: str, name: str = "value") -> float:
    return float(page.get_by_test_id(testid).get_attribute(f"data-{name}") or "nan")


def cut_off(model: Checkpoint, text: str, target: str) -> str:
    """How many tokens the settings cut off in the last row, as the page writes it."""
    encode = model.tokenizer.encode
    logits = trace(model, encode(text), ["logits"], target=encode(target)).tensors["logits"][-1]
    found = distribution(logits, SamplingSettings(0.8, 20, 0.95), model.tokenizer.never_sampled)
    return f"{model.config.vocab_size - len(model.tokenizer.never_sampled) - found.n_kept:,}"


def test_what_is_cut_off_is_counted_without_them(page: "Page", translator: Checkpoint) -> None:
    show(page, translator, SENTENCES[0], target=TARGET)
    assert (
        f"{cut_off(translator, SENTENCES[0], TARGET)} tokens excluded" in page.get_by_test_id("next-rest").inner_text()
    )


@pytest.mark.parametrize("text", SENTENCES[::2])
def test_the_compare_panel_and_the_server_agree(page: "Page", translator: Checkpoint, text: str) -> None:
    ids = translator.tokenizer.encode(text)
    (best,) = beam_search(translator, ids, beams=1)
    written = best.ids[:-1] if best.ended else best.ids
    show(page, translator, text, compare="on", query=len(written))
    runs = [trace(translator, ids, ["logits"], target=written, use=Masks(causal=causal)) for causal in (True, False)]
    logits = [run.tensors["logits"][-1].double() for run in runs]
    keep = [i for i in range(len(logits[0])) if i not in translator.tokenizer.never_sampled]
    log_p, log_q = (row[keep].log_softmax(0) for row in logits)
    kl = float((log_p.exp() * (log_p - log_q)).sum() / math.log(2))

    assert number(page, "softmax-check", "gap") < 1e-6
    assert "✓" in page.get_by_test_id("softmax-check").inner_text()
    assert number(page, "kl") == pytest.approx(kl, rel=1e-3, abs=1e-6)


def saved(model: Checkpoint, path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A trace as `chumoku trace` writes it, with its metadata changed."""
    from typer.testing import CliRunner

    from chumoku.app.cli import cli

    arguments = ["trace", SENTENCES[0], "--model", model.name, "--target", TARGET, "-o", str(path)]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0, result.output
    with safetensors.safe_open(path, "np") as opened:
        meta = json.loads(opened.metadata()["chumoku"])
        arrays = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (no iterator)
    change(meta)
    path.write_bytes(safetensors.numpy.save(arrays, {"chumoku": json.dumps(meta)}))
    return path


def of_another_model(meta: dict[str, Any]) -> None:
    """A model that the server does not have: everything must come from the file."""
    meta["model"] = "my-own"


def without_the_list(meta: dict[str, Any]) -> None:
    """As in files from before the list existed."""
    of_another_model(meta)
    del meta["never_sampled"]


@pytest.mark.parametrize("change", [of_another_model, without_the_list])
def test_an_opened_file_leaves_them_out(
    page: "Page", translator: Checkpoint, tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    path = saved(translator, tmp_path / "banana.safetensors", change)
    show(page, translator, "Good morning.")
    page.get_by_test_id("file-input").set_input_files(path)
    page.wait_for_function("() => (document.body.dataset.traced ?? '').includes('banana')")
    drawn(page)
    assert (
        f"{cut_off(translator, SENTENCES[0], TARGET)} tokens excluded" in page.get_by_test_id("next-rest").inner_text()
    )

"""Models are loaded once, when first used, and dropped when memory is needed, but never while in use."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from chumoku.app.errors import AppError
from chumoku.app.services.library import Entry, Library
from chumoku.model.traceable import About, TraceableModel
from tests.toys.traceable import BigramFolders

N_BYTES = 29 * 29 * 4
"""The size of one toy in memory."""


class Gate(BigramFolders):
    """A source that opens a model when the test lets it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go = threading.Semaphore(0), threading.Event()
        self.go.set()

    def open(self, folder: Path, device: torch.device) -> TraceableModel:
        self.asked.release()
        assert self.go.wait(10)
        return super().open(folder, device)


@pytest.fixture
def source() -> Gate:
    return Gate()


def library(folder: Path, source: Gate, names: str, limit: int) -> Library:
    entries = []
    for name in names:
        (folder / name).mkdir()
        (folder / name / "bigram.txt").write_text("abc")
        about: About = source.about(folder / name)
        entries.append(Entry(about, folder / name, source))
    return Library(entries, names[0], torch.device("cpu"), limit)


def test_those_who_ask_at_once_wait_for_one_load(tmp_path: Path, source: Gate) -> None:
    models, got = library(tmp_path, source, "ab", 10 * N_BYTES), []
    source.go.clear()

    def ask(name: str) -> None:
        with models.use(models.find(name)) as traceable:
            got.append(traceable)

    threads = [threading.Thread(target=ask, args=(name,)) for name in "aaaab"]
    for thread in threads:
        thread.start()
    for _ in "ab":  # both models are being loaded at the same time
        assert source.asked.acquire(timeout=10)
    assert got == []
    source.go.set()
    for thread in threads:
        thread.join(10)
    assert sorted(source.opened) == ["a", "b"]
    assert len(got) == 5
    assert len(set(map(id, got))) == 2


def use(models: Library, names: str) -> None:
    for name in names:
        with models.use(models.find(name)):
            pass


def test_the_least_recently_used_is_dropped(tmp_path: Path, source: Gate) -> None:
    models = library(tmp_path, source, "abc", 2 * N_BYTES)
    assert models.loaded == []
    use(models, "aba")
    assert models.loaded == ["a", "b"]
    use(models, "c")
    assert models.loaded == ["a", "c"]
    use(models, "b")
    assert models.loaded == ["b", "c"]
    assert source.opened == ["a", "b", "c", "b"]


def test_what_is_in_use_stays(tmp_path: Path, source: Gate) -> None:
    models = library(tmp_path, source, "abc", N_BYTES)
    with models.use(models.find("a")) as mine, models.use(models.find("a")) as also_mine:
        use(models, "bc")
        assert models.loaded == ["a"]
        assert mine is also_mine
        with models.use(models.find("b")):  # above the bound while both are in use
            assert models.loaded == ["a", "b"]
    use(models, "a")
    assert models.loaded == ["a"]
    assert source.opened == ["a", "b", "c", "b"]


def test_no_room_at_all_still_answers(tmp_path: Path, source: Gate) -> None:
    models = library(tmp_path, source, "a", 0)
    with models.use(models.find("a")):
        assert models.loaded == ["a"]
    assert models.loaded == []


def test_a_model_that_does_not_mention_beams_translates_nothing(tmp_path: Path, source: Gate) -> None:
    models = library(tmp_path, source, "ab", N_BYTES)
    able = {**models.entries["b"].about.description.can, "beams": True}
    for name, can in (("a", {}), ("b", able)):
        entry = models.entries[name]
        entry.about = replace(entry.about, description=replace(entry.about.description, can=can))
    assert models.translator(None).name == "b"


def test_a_failed_load_does_not_count_as_use(tmp_path: Path, source: Gate, caplog: pytest.LogCaptureFixture) -> None:
    models = library(tmp_path, source, "ab", N_BYTES)
    (tmp_path / "b" / "bigram.txt").write_text("")
    for _ in range(2):
        with pytest.raises(AppError) as refusal, models.use(models.find("b")):
            raise AssertionError
        assert (refusal.value.code, refusal.value.known) == ("broken_model", ["a"])
    assert "b is unavailable: b: no letters to count." in caplog.text
    assert models.names == ["a"]
    (tmp_path / "b" / "bigram.txt").write_text("abc")
    use(models, "b")
    assert (models.loaded, models.names) == (["b"], ["a", "b"])


def test_a_model_with_bad_files_is_not_opened_again_until_they_change(tmp_path: Path, source: Gate) -> None:
    models = library(tmp_path, source, "ab", N_BYTES)
    (tmp_path / "a" / "bigram.txt").write_text("")
    for _ in range(3):
        with pytest.raises(AppError, match="no letters to count"):
            use(models, "a")
    assert source.opened == ["a"]
    assert models.default == "b", "requests without a name get a model that works"


@pytest.mark.parametrize(
    "error",
    [MemoryError(), torch.OutOfMemoryError("no memory"), PermissionError(13, "Permission denied"), OSError(24, "?")],
)
def test_a_model_that_did_not_load_this_time_stays_available(
    tmp_path: Path, source: Gate, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(folder: Path, device: torch.device) -> TraceableModel:
        raise error

    models = library(tmp_path, source, "ab", N_BYTES)
    with monkeypatch.context() as patch:
        patch.setattr(source, "open", fail)
        with pytest.raises(AppError) as refusal:
            use(models, "a")
    assert (refusal.value.code, refusal.value.known) == ("not_loaded", ["a", "b"])
    assert (models.default, models.problems) == ("a", [])
    use(models, "a")
    assert models.loaded == ["a"]

"""What a serving process keeps out of garbage collections, and what it still frees."""

import gc
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from chumoku.app.services.discovery import entry_of
from chumoku.app.services.library import Library
from chumoku.model.traceable.zoo import ZooFolders
from tests.app.families import save
from tests.app.test_library import N_BYTES
from tests.model.helpers import tiny_checkpoint
from tests.toys.traceable import Bigram, BigramFolders


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Nothing is collected unless it is asked for. Afterwards everything is frozen, as conftest.py leaves it."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


class Circle(BigramFolders):
    """A model that refers to itself."""

    def open(self, folder: Path, device: torch.device) -> Bigram:
        traceable = super().open(folder, device)
        traceable.itself = traceable  # type: ignore[attr-defined]
        return traceable


def circles(folder: Path, names: str) -> Library:
    """Models of which one has room."""
    for name in names:
        (folder / name).mkdir()
        (folder / name / "bigram.txt").write_text("abc")
    return Library([entry_of(folder / name, Circle(), name) for name in names], names[0], torch.device("cpu"), N_BYTES)


def loaded(models: Library, name: str) -> "weakref.ref[object]":
    with models.use(models.find(name)) as traceable:
        return weakref.ref(traceable)


@pytest.mark.usefixtures("uncollected")
def test_a_process_that_does_not_serve_freezes_nothing(tmp_path: Path) -> None:
    models, before = circles(tmp_path, "ab"), gc.get_freeze_count()
    first = loaded(models, "a")
    loaded(models, "b")
    assert gc.get_freeze_count() <= before
    assert first() is not None  # found by the next collection, as any garbage


@pytest.mark.usefixtures("uncollected")
def test_a_model_that_is_loaded_is_kept_out_and_one_that_is_dropped_is_given_back(tmp_path: Path) -> None:
    models = circles(tmp_path, "ab")
    models.gc_freeze.freeze()
    before = gc.get_freeze_count()
    first = loaded(models, "a")
    assert gc.get_freeze_count() > before
    loaded(models, "b")
    assert models.loaded == ["b"]
    assert first() is None
    assert len(gc.get_objects()) < before / 10


@pytest.mark.usefixtures("uncollected")
def test_a_model_of_ours_that_is_dropped_needs_no_collection(tmp_path: Path) -> None:
    folder = save(tmp_path, tiny_checkpoint())
    entry = entry_of(folder, ZooFolders(), folder.name)
    models = Library([entry], "tiny", torch.device("cpu"), limit=0)
    models.gc_freeze.freeze()
    with models.use(entry) as traceable:
        checkpoint = traceable.checkpoint
        assert checkpoint is not None
        parts = [weakref.ref(one) for one in (*checkpoint.model.modules(), *checkpoint.model.parameters())]
    del traceable, checkpoint
    assert models.loaded == []
    assert [part() for part in parts if part() is not None] == []


@pytest.mark.usefixtures("uncollected")
def test_a_collection_may_release_a_model(tmp_path: Path) -> None:
    """Garbage that holds a lease: with the library's lock held, its release would wait forever."""
    models = circles(tmp_path, "ab")
    models.gc_freeze.freeze()

    class Left:
        def __init__(self) -> None:
            self.itself, self.lease = self, models.lease(models.find("b"))
            _ = self.lease.__enter__().traceable

    Left()
    assert models.find("b").users == 1
    dropping = threading.Thread(target=loaded, args=(models, "a"), daemon=True)  # a has no room beside b
    dropping.start()
    dropping.join(20)
    assert not dropping.is_alive()
    assert (models.find("a").users, models.find("b").users) == (0, 0)

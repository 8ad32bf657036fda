"""Models that are opened while the server runs: a folder of its models directory, or an id of Hugging Face's hub.

With several workers, what one opens is written into the folder that they share; another reads it when it is asked for a
name that it does not know, or for the list. No code of a folder runs, and no pickle is read, as at the start.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import monotonic

import anyio
from anyio import to_thread

from chumoku.app.errors import AppError, written
from chumoku.app.services import discovery, hub
from chumoku.app.services.hub import Download, Repository
from chumoku.app.services.library import Entry, Library
from chumoku.app.services.metrics import MANY
from chumoku.app.services.problems import Problem
from chumoku.app.services.wire import Event
from chumoku.app.settings import Settings
from chumoku.model.files import write_whole
from chumoku.model.traceable import place_of, source_of

EVERY_S, SPEED_AFTER_S = 0.25, 1.5
"""Seconds between two reports of a download, and before its speed is known."""


@dataclass(frozen=True)
class Found:
    """What is to be opened: a folder, or what must be downloaded first."""

    name: str
    folder: Path | None
    repository: Repository | None


class Openings:
    """Opens models one at a time, whichever worker is asked, and adds them to the library."""

    def __init__(self, library: Library, settings: Settings, on_added: Callable[[], None] = lambda: None) -> None:
        self.library, self.settings, self.on_added = library, settings, on_added
        shared = os.environ.get(MANY)
        self.shared = Path(shared) if shared and settings.workers > 1 else None
        self.read: int | None = None
        self._turn = Lock()
        library.refresh = self.refresh

    def folders(self) -> list[str]:
        """The folders of the models directory that seem to contain a model and are not open."""
        there = [path for folder in self.settings.models_dir for path in sorted(folder.iterdir()) if path.is_dir()]
        return [one.name for one in there if one.name not in self.library.entries and source_of(one) is not None]

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Held while a model is opened. Raises `opening_another` (409) while another one is."""
        if not self._turn.acquire(blocking=False):
            raise opening_another(name)
        try:
            if self.shared is None:
                yield
                return
            import fcntl  # workers are processes of a POSIX system

            with open(self.shared / "opening.lock", "w") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise opening_another(name) from None
                yield
        finally:
            self._turn.release()

    def find(self, name: str) -> Found:
        """Where a model is: open already, in the models directory, in the cache, or on the hub. Raises `AppError`."""
        self.refresh()
        if name in self.library.entries:
            return Found(name, self.library.entries[name].folder, None)
        if Path(name).name == name and name not in ("", ".", ".."):
            for folder in self.settings.models_dir:
                if (folder / name).is_dir():
                    return Found(name, folder / name, None)
        if not hub.is_id(name):
            raise hub.refusal(
                "not_on_hub",
                f"{written(name)} is no folder of the models directory, and no id of the hub.",
                "An id is owner/name, such as openai-community/gpt2.",
            )
        cached = hub.found_in_cache(name)
        return Found(name, cached, None if cached else hub.look_up(name, self.settings.download_bytes))

    async def events(self, found: Found) -> AsyncGenerator[Event, None]:
        """`start` and `progress` of a download; `opened` with the model's name; `done`. Closing stops the download."""
        folder = found.folder
        if found.repository is not None:
            download = Download(found.repository)
            try:
                await to_thread.run_sync(download.start)
                yield Event("start", {"model": found.name, "bytes": found.repository.nbytes})
                began, first = monotonic(), await to_thread.run_sync(lambda: download.done)
                while not download.ended():
                    await anyio.sleep(EVERY_S)
                    yield progress(await to_thread.run_sync(lambda: download.done), download, began, first)
                folder = await to_thread.run_sync(download.folder)
            finally:
                download.stop()
        assert folder is not None
        yield Event("opened", {"name": (await to_thread.run_sync(self.add, found.name, folder)).name})
        yield Event("done", {})

    def add(self, asked: str, folder: Path) -> Entry:
        """The entry of a folder, added to the library, and to that of the other workers when they look. Raises
        `broken_model` with the reason why it cannot be used."""
        entry = self.entry_of(asked, folder)
        self.library.add(entry)
        self.on_added()
        if self.shared is not None:
            known = self.recorded()
            if str(folder) not in known:
                write_whole(self.shared / "opened.json", json.dumps([*known, str(folder)]).encode())
        return entry

    def entry_of(self, asked: str, folder: Path) -> Entry:
        for known in self.library.entries.values():
            if known.source is not None and known.folder.resolve() == folder.resolve():
                return known
        name = place_of(str(folder))[0]
        if name in self.library.entries:
            name = asked.replace("/", "--")
        source = source_of(folder)
        found = Problem(name, "It is no model that can be opened.") if source is None else None
        looked = found or discovery.look(folder, source, name)  # type: ignore[arg-type]
        if isinstance(looked, Problem):
            hint = "Open another model, or repair its files."
            message = f"The model {written(asked)!r} cannot be opened. {looked.reason}"
            raise AppError("broken_model", message, hint, where="model", got=looked.reason)
        return looked

    def recorded(self) -> list[str]:
        """The folders that some worker has opened."""
        assert self.shared is not None
        try:
            found: list[str] = json.loads((self.shared / "opened.json").read_text("utf-8"))
        except FileNotFoundError:
            return []
        return found

    def refresh(self) -> None:
        """Adds what other workers have opened since. It reads one small file if that has changed."""
        if self.shared is None:
            return
        try:
            stamp = (self.shared / "opened.json").stat().st_mtime_ns
        except FileNotFoundError:
            return
        if stamp == self.read:
            return
        self.read = stamp
        for folder in map(Path, self.recorded()):
            self.library.add(self.entry_of(place_of(str(folder))[0], folder))
        self.on_added()


def progress(done: int, download: Download, began: float, first: int) -> Event:
    """`seconds_left` at the speed so far; null until there is one."""
    total, seconds = download.repository.nbytes, monotonic() - began
    left = (total - done) * seconds / (done - first) if done > first and seconds > SPEED_AFTER_S else None
    return Event("progress", {"bytes": done, "of": total, "seconds_left": None if left is None else round(left, 1)})


def opening_another(name: str) -> AppError:
    message = "This server is opening another model."
    return AppError("opening_another", message, "Try again when it is open.", status=409, where="model", got=name)

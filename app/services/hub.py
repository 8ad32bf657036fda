"""Downloads of Hugging Face's hub into its cache, in a process of its own: it can be stopped at any byte.

Only what `FILES` names is downloaded: no pickle, no code.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from chumoku.app.errors import AppError
from chumoku.app.services import download_process
from chumoku.model.traceable import ID, cache_folder, cached

FILES = [
    "model*.safetensors", "model.safetensors.index.json", "config.json", "preprocessor_config.json",
    "tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "source.spm", "target.spm", "vocab.json",
]  # fmt: skip
"""Files to download: no pickle, no code."""
READERS = ("tokenizer.json", "source.spm", "preprocessor_config.json")
"""A model needs at least one of these."""
PATIENCE_S = 15
SPARE = 256 * 1024**2
"""Bytes that stay free on the disk."""


@dataclass(frozen=True)
class Repository:
    """A model of the hub: its files, as far as they are downloaded, with their bytes."""

    id: str
    files: dict[str, int]
    names: tuple[str, ...]

    @property
    def nbytes(self) -> int:
        return sum(self.files.values())


def look_up(id: str, limit: int) -> Repository:
    """What would be downloaded of an id. Raises `AppError` if the hub does not have it or does not give it, does not
    answer, or has more bytes than `limit` or the disk."""
    try:
        from huggingface_hub import HfApi
    except ModuleNotFoundError:
        raise refusal("no_download", "This server cannot download models: transformers is not installed.",
                      "Install the extra: pip install -c constraints.txt -e '.[hf]'.") from None  # fmt: skip
    try:
        api = HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None)
        found = api.model_info(id, files_metadata=True, timeout=PATIENCE_S)
    except Exception as error:  # a network has many ways to fail
        raise failed(id, type(error).__name__, str(error), getattr(error, "errno", None)) from None
    siblings = {one.rfilename: one.size or 0 for one in found.siblings or []}
    files = {name: size for name, size in siblings.items() if any(fnmatch(name, one) for one in FILES)}
    repository = Repository(id, files, tuple(siblings))
    check_files(repository)
    if repository.nbytes > limit:
        message = f"{id} is {in_gb(repository.nbytes)} to download, more than this server takes."
        raise refusal("download_too_large", message,
                      "Take a smaller model, or start the server with a larger CHUMOKU_DOWNLOAD_BYTES.",
                      got=repository.nbytes, limit=limit)  # fmt: skip
    free = free_bytes(cache_folder()) - SPARE
    if repository.nbytes > free:
        raise disk_full(id, repository.nbytes, max(free, 0))
    return repository


def check_files(repository: Repository) -> None:
    """Raises `AppError` for a repository without what a model needs, by the names of its files."""
    names, id = repository.names, repository.id
    lacks = None
    if "adapter_config.json" in names:
        lacks = "is an adapter (LoRA or another of peft's), not a whole model", "Merge it into its model first."
    elif "model_index.json" in names:
        lacks = "is a pipeline of diffusers, which makes pictures", "Open a model of text, or a ViT."
    elif any(name.endswith(".gguf") for name in names) and not any(name.endswith(".safetensors") for name in names):
        lacks = "is in GGUF, the format of llama.cpp, whose numbers are rounded", "Open the model it was made from."
    elif "config.json" not in names:
        lacks = "has no config.json", "Open a model that transformers opens."
    elif not any(name.endswith(".safetensors") for name in repository.files):
        lacks = (
            "has no weights as safetensors",
            "Pickles can run code, and are never read: convert it where you trust it.",
        )
    if lacks is not None:
        raise refusal("broken_model", f"{id} {lacks[0]}.", lacks[1], got=f"{id} {lacks[0]}. {lacks[1]}")


def free_bytes(folder: Path) -> int:
    """Of the disk on which a folder is, or will be."""
    there = next(one for one in (folder, *folder.parents) if one.exists())
    return shutil.disk_usage(there).free


@dataclass
class Download:
    """A download under way, in a process of its own. Its bytes are those of the cache's files."""

    repository: Repository
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    @property
    def blobs(self) -> Path:
        return cache_folder() / f"models--{self.repository.id.replace('/', '--')}" / "blobs"

    def start(self) -> None:
        # -P: nothing is imported from the script's folder.
        script = [sys.executable, "-P", download_process.__file__]
        command = [*script, self.repository.id, str(cache_folder()), *FILES]
        # Without Xet, whose chunks arrive elsewhere: the bytes of the cache's files are the progress.
        quiet = {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=os.environ | quiet,
        )  # fmt: skip

    def stored(self) -> int:
        total = 0
        try:
            with os.scandir(self.blobs) as inside:
                for one in inside:
                    try:
                        total += one.stat().st_size
                    except FileNotFoundError:  # renamed meanwhile
                        continue
        except OSError:
            return 0
        return total

    @property
    def done(self) -> int:
        """Bytes that have arrived, at most all."""
        return min(self.stored(), self.repository.nbytes)

    def ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def folder(self) -> Path:
        """The folder of what has arrived, once it has ended. Raises `AppError` if it failed."""
        assert self.process is not None
        said, _ = self.process.communicate()
        report: dict[str, Any] = json.loads(said) if said.strip().startswith("{") else {}
        if "folder" in report:
            return Path(report["folder"])
        kind, text = report.get("kind", ""), report.get("said", f"the download ended ({self.process.returncode})")
        raise failed(self.repository.id, kind, text, report.get("errno"))

    def stop(self) -> None:
        """Ends the process. What has arrived stays, so that another try goes on from there where the hub allows."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            if self.process.stdout is not None:
                self.process.stdout.close()


def failed(id: str, kind: str, said: str, number: int | None) -> AppError:
    """What a failure of huggingface_hub means, from its class, its text and its `errno`."""
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or "No space left" in said:
        return disk_full(id, None, None)
    if kind == "GatedRepoError":
        return refusal("gated", f"{id} is gated: its owner gives it to those who accept its terms.",
                       "Accept them on its page at huggingface.co, and start the server with HF_TOKEN.")  # fmt: skip
    if kind in ("RepositoryNotFoundError", "HFValidationError"):
        return refusal("not_on_hub", f"The hub has no model {id}, or it is private.",
                       "Check the id: owner/name, as on its page at huggingface.co.")  # fmt: skip
    if kind == "OfflineModeIsEnabled":
        hint = "Start the server without HF_HUB_OFFLINE, or open what is in the cache."
        return refusal("hub_unreachable", "This server is offline (HF_HUB_OFFLINE).", hint)
    if number in (errno.EACCES, errno.EROFS):
        return refusal("no_download", f"Hugging Face's cache, {cache_folder()}, cannot be written.",
                       "Name another folder in HF_HOME.")  # fmt: skip
    short = " ".join(said.split())[:200]
    return refusal("hub_unreachable", f"The hub did not give {id}: {short or kind}.",
                   "Check the network of the server, and try again.")  # fmt: skip


def refusal(code: str, message: str, hint: str, **more: Any) -> AppError:
    return AppError(code, message, hint, where="model", **more)


def disk_full(id: str, needed: int | None, free: int | None) -> AppError:
    size = "" if needed is None or free is None else f": it takes {in_gb(needed)}, and {in_gb(free)} are free"
    return refusal("disk_full", f"The server's disk has no room for {id}{size}.",
                   f"Make room where the cache is, {cache_folder()}, or name another folder in HF_HOME.",
                   got=needed, limit=free)  # fmt: skip


def in_gb(n: int) -> str:
    return f"{n / 1e9:.1f} GB" if n >= 1e8 else f"{n / 1e6:.1f} MB"


def is_id(name: str) -> bool:
    return ID.fullmatch(name) is not None and ".." not in name


def found_in_cache(id: str) -> Path | None:
    """The cached folder of an id, if it has weights that are opened and can read an input."""
    folder = cached(id)
    return folder if folder and reads(folder) and any(folder.glob("*.safetensors")) else None


def reads(folder: Path) -> bool:
    """Whether a cached folder has what turns a text or a picture into numbers: another program may have asked for the
    weights alone."""
    return any((folder / name).is_file() for name in READERS)

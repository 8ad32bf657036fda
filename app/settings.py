"""All settings, from the environment: `CHUMOKU_` and the name in capitals."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

log = logging.getLogger("chumoku")

PREFIX = "CHUMOKU_"
NAME = re.compile(r"[\w.-]+|(?=.*:.*:)[\da-f:.]+", re.ASCII | re.IGNORECASE)
"""A host's name or address."""
Seconds = Annotated[float, Field(gt=0, le=86_400)]


class Settings(BaseSettings):
    """The app's settings. Raises pydantic's `ValidationError` for a value out of range."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True)

    host: str = Field(default="127.0.0.1", description="Address to listen on; 0.0.0.0 lets other machines in.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Host names accepted besides localhost and the machine's own, joined by ','; * accepts any.",
    )
    token: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.~-]+$")] | None = Field(
        default=None, description="Token that clients must send; the printed link contains it."
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        default="auto", description="auto, cpu, cuda or mps; auto uses a GPU if there is one."
    )
    models_dir: Annotated[tuple[Path, ...], NoDecode] = Field(
        default=(), description=f"Folders with your own models, searched before the zoo; joined by {os.pathsep!r}."
    )
    models: Annotated[tuple[Path, ...], NoDecode] = Field(
        default=(), description=f"Folders that each are one model, before all others; joined by {os.pathsep!r}."
    )
    default_model: str | None = Field(
        default=None,
        description="Model for requests without a name; default: the first of models, else stories-gpt.",
    )
    model_cache: int = Field(
        default=2 * 1024**3, ge=0, description="Bytes for loaded models; above it, idle models are dropped."
    )
    prefix_cache: int = Field(
        default=128 * 1024**2,
        ge=0,
        description="Bytes of KV caches kept for the next step, and an eighth for predictions; 0: none.",
    )
    trace_cache: int = Field(
        default=64 * 1024**2,
        ge=0,
        description="Bytes of tensors kept of recent runs; 0: none.",
    )
    max_text_chars: int = Field(default=20_000, ge=1, description="Longest accepted text, in characters.")
    max_new_tokens: int = Field(default=256, ge=1, description="Most tokens of one generation.")
    model_threads: int = Field(default=2, ge=1, le=256, description="Jobs (traces, generation steps) that run at once.")
    queue: int = Field(
        default=320,
        ge=0,
        description="Jobs that may wait (and as many expensive ones); one more gets 503.",
    )
    streams: int = Field(
        default=320,
        ge=1,
        description="Generations and effects open at once; one more gets 503.",
    )
    open_models: bool | None = Field(
        default=None,
        description="Whether the page may open more models; default: only on this machine, without a proxy.",
    )
    download_bytes: int = Field(default=8 * 1000**3, ge=0, description="Most bytes of a model that the page downloads.")
    rooms_dir: Path | None = Field(
        default=None, description="Folder of the file of rooms, on a local disk; default: a private temporary one."
    )
    workers: int = Field(
        default=1, ge=1, le=64, description="Processes that serve the port, each with its own models and limits."
    )
    ray: bool = Field(default=False, description="Serve with replicas on Ray Serve instead of workers.")
    replicas: Annotated[str, StringConstraints(pattern=r"^[1-9]\d*(-[1-9]\d*)?$")] = Field(
        default="1-4",
        description="Replicas with --ray: 2 for always two, 1-4 to follow the load.",
    )
    torch_threads: int = Field(
        default=0, ge=0, le=256, description="CPU threads per job; 0 divides the cores among the jobs."
    )
    body_limit: int = Field(
        default=1024**2,
        ge=1024,
        description="Largest request body, in bytes; a model of photos adds two of its pictures.",
    )
    upload_limit: int = Field(
        default=5 * 1024**2, ge=1024, description="Largest uploaded picture (PNG or JPEG), in bytes."
    )
    upload_pixels: int = Field(
        default=16_000_000, ge=1, description="Most pixels of an uploaded picture, checked before decoding."
    )
    answer_limit: int = Field(default=64 * 1024**2, ge=1024, description="Largest answer, in bytes.")
    answer_room: int = Field(
        default=256 * 1024**2, ge=1024, description="Memory budget of all answers, in bytes; requests wait for it."
    )
    answer_cache: int = Field(default=64 * 1024**2, ge=0, description="Bytes of the response cache; 0: none.")
    head_seconds: Seconds = Field(default=10, description="Seconds that the head of a request may take to arrive.")
    body_seconds: Seconds = Field(default=30, description="Seconds that the body of a request may take to arrive.")
    idle_seconds: Seconds = Field(default=5, description="Seconds that a connection stays open between requests.")
    stalled_seconds: Seconds = Field(default=30, description="Seconds that a client may leave its answer unread.")
    connections: int = Field(
        default=0, ge=0, description="Connections open at once; 0: as many as the file limit allows."
    )
    log_level: Literal["critical", "error", "warning", "info", "debug"] = Field(
        default="info",
        description="critical, error, warning, info (requests) or debug (also files and health checks).",
    )
    log_text: bool = Field(default=False, description="Also log what people typed, and the messages of errors.")

    @field_validator("models_dir", "models", mode="before")
    @classmethod
    def split_folders(cls, value: object) -> object:
        """`a:b` → (a, b), as in PATH."""
        return tuple(part for part in value.split(os.pathsep) if part) if isinstance(value, str) else value

    @field_validator("hosts", mode="before")
    @classmethod
    def split_names(cls, value: object) -> object:
        """`a, b` → (a, b)."""
        return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value

    @field_validator("hosts")
    @classmethod
    def names_alone(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """With a scheme, a port or a path, a name would match no request."""
        for one in value:
            if one != "*" and NAME.fullmatch(one) is None:
                name = NAME.search(one.partition("://")[2] or one)
                meant = f", such as {name[0]}" if name else ""
                raise ValueError(f"{one!r} is not a name: give it without http://, port and path{meant}")
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("*", mode="before")
    @classmethod
    def visible(cls, value: object) -> object:
        """A file with the line ends of Windows gives every value a CR, which no terminal shows.
        Of the validators before, the last one comes first."""
        if isinstance(value, str) and any(ord(one) < 32 or ord(one) == 127 for one in value):
            raise ValueError("it has a control character, such as the CR of a file with Windows line ends")
        return value

    @field_validator("replicas")
    @classmethod
    def rising(cls, value: str) -> str:
        least, _, most = value.partition("-")
        if most and int(most) < int(least):
            raise ValueError(f"the first number is the smaller one, as in {most}-{least}")
        return value

    @property
    def threads_per_job(self) -> int:
        """How many CPU threads torch uses for one job."""
        processes = self.replica_range[1] if self.ray else self.workers
        return self.torch_threads or max(1, (os.cpu_count() or 1) // (processes * self.model_threads))

    @property
    def replica_range(self) -> tuple[int, int]:
        """The least and the most replicas."""
        least, _, most = self.replicas.partition("-")
        return int(least), int(most or least)


def from_environment(**overrides: object) -> Settings:
    """Settings from the environment; `overrides` win if not None. Raises `ValueError` naming the first bad one.

    A variable `CHUMOKU_…` that is not a setting is named in the log, with the nearest that is.
    """
    for name in unknown_variables(os.environ):
        log.warning("%s", name)
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        settings = Settings(**given)  # type: ignore[arg-type]
        for folder in settings.models_dir:
            check_folder(folder)
        check_processes(settings, given)
        return settings
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        where = f"--{name}" if name in given else f"CHUMOKU_{name.upper()}"
        shown = "" if name == "token" else f"={first['input']!r}"
        raise ValueError(f"{where}{shown}: {first['msg']}") from None


def unknown_variables(names: Iterable[str]) -> Iterator[str]:
    """A warning for each variable that looks like a setting and is not one, in any case."""
    known = [name.upper() for name in Settings.model_fields]
    for name in names:
        short = name.upper().removeprefix(PREFIX)
        if name.upper().startswith(PREFIX) and short not in known:
            yield f"{name} is not a setting.{nearest(short, known, PREFIX)}"


def check_folder(folder: Path) -> None:
    """Raises `ValueError` for a folder of models that does not exist, naming the closest match."""
    if not folder.is_dir():
        beside = [str(path) for path in folder.parent.glob("*") if path.is_dir()]
        raise ValueError(f"CHUMOKU_MODELS_DIR: there is no folder {folder}.{nearest(str(folder), beside)}")


def check_processes(settings: Settings, given: Iterable[str]) -> None:
    """Raises `ValueError` for --workers with --ray, and for --replicas without it."""
    if settings.ray and settings.workers > 1:
        raise ValueError(
            f"--ray and --workers (CHUMOKU_WORKERS={settings.workers}) exclude each other. "
            f"On Ray Serve, the processes are replicas: chumoku serve --ray --replicas {settings.workers}"
        )
    if "replicas" in given and not settings.ray:
        raise ValueError(
            f"--replicas is for Ray Serve: chumoku serve --ray --replicas {settings.replicas}. "
            "Without it, the processes are workers: --workers"
        )


def nearest(name: str, known: list[str], prefix: str = "") -> str:
    close = get_close_matches(name, known, n=1, cutoff=0.7)
    return f" Did you mean {prefix}{close[0]}?" if close else ""

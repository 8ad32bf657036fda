"""A folder's chat template, and the text that it makes of turns: `tokenizer.apply_chat_template`, from a process with
limits (`chat_process.py`)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chumoku.model.files import read_bytes
from chumoku.model.traceable.huggingface import chat_process
from chumoku.model.traceable.protocols import ChatTemplate

FILE, KEY = "chat_template.jinja", "chat_template"
DEFAULT = "default"
"""Of several templates, the one for a plain chat."""
LARGEST = 2**20
"""Most bytes of a template."""
WAIT = 15
"""Seconds for the process, from its start: on a busy machine it waits for its turn, too."""
ENVIRONMENT = ("LD_LIBRARY_PATH", "SYSTEMROOT")
"""What the process sees of ours."""


def chat_template(folder: Path, named: Mapping[str, Any]) -> ChatTemplate | None:
    """The template in a folder's file, or in its `tokenizer_config.json` (`named`); None without one that can be used.
    Raises `ValueError` for one that is too large or no text."""
    source = named.get(KEY)
    if (folder / FILE).is_file():
        try:
            source = read_bytes(folder / FILE, LARGEST).decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{folder / FILE} is not text in UTF-8: {error}") from None
    if isinstance(source, list):
        several = {one.get("name"): one.get("template") for one in source if isinstance(one, dict)}
        source = several.get(DEFAULT)
    if not isinstance(source, str) or not source or len(source) > LARGEST:
        return None
    names = ((role, content_of(value)) for role, value in named.items() if role.endswith("_token"))
    return ChatTemplate(source, tuple((role, name) for role, name in names if name is not None))


def content_of(token: Any) -> str | None:
    """The name of a special token, which may be an object with more about it."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else None


def rendered(
    template: ChatTemplate, messages: Sequence[Mapping[str, str]], most: int, *, generation_prompt: bool = True
) -> str:
    """The text of these turns, each {role, content}, at most `most` characters; with a `generation_prompt`, what begins
    the assistant's next turn. Raises `ValueError` with what the template says against them, and `Unusable` where it is
    the template that fails: by its form, or by a limit that it exceeds."""
    asked = {"source": template.source, "messages": [dict(one) for one in messages], "names": dict(template.names),
             "generation_prompt": generation_prompt, "most": most}  # fmt: skip
    command = [sys.executable, "-I", chat_process.__file__]
    seen = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
    try:
        done = subprocess.run(command, input=json.dumps(asked), capture_output=True, encoding="utf-8", timeout=WAIT,
                              env=seen, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unusable(f"it took longer than {WAIT} seconds") from None
    if done.returncode != 0:
        raise Unusable(why_ended(done.returncode, done.stderr))
    found: dict[str, str] = json.loads(done.stdout)
    if "refused" in found:
        raise ValueError(found["refused"])
    if "failed" in found:
        raise Unusable(found["failed"])
    return found["text"]


class Unusable(ValueError):
    """A chat template that makes no text of any turns like these: it fails, or exceeds a limit."""


def why_ended(code: int, stderr: str) -> str:
    """Why a process that rendered a template ended without an answer: from its return code, which is minus a signal's
    number, and from what it wrote last."""
    last = stderr.strip().splitlines()[-1:] or ["no reason was given"]
    if code == -signal.SIGXCPU:
        return f"it took longer than {chat_process.SECONDS} seconds of processor time"
    if last[0].startswith("MemoryError"):
        return f"it took more than {chat_process.MEMORY // 2**20} MiB"
    if code < 0:
        return f"the system ended it ({signal.Signals(-code).name}), as it does when memory is short"
    return f"the process that renders it failed: {last[0][: chat_process.SAID]}"

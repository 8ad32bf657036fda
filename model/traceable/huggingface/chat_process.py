"""Renders a chat template in a process of its own: `python -I chat_process.py`, JSON in and JSON out.

A template is a program from a folder that nobody has read. Here it has seconds of processor time, bounded memory, no
files to write, and jinja2's sandbox (no attributes that begin with _, nothing it may change). It gets what transformers
gives it. This file imports nothing of ours: the process starts in a fraction of a second.
"""

from __future__ import annotations

import contextlib
import json
import sys
from datetime import datetime
from typing import Any

SECONDS, MEMORY = 3, 512 * 2**20
"""Of processor time, and bytes of address space: the interpreter with jinja2 takes a tenth of it."""
SAID = 300
"""Characters of an error that are passed on."""


def limit() -> None:
    """Bounds this process. Where a system has no such limit, the one who waits still has a time limit."""
    with contextlib.suppress(ImportError):
        import resource

        # A second between SIGXCPU, which names this limit, and SIGKILL, which a system without memory also sends.
        limits = {"CPU": (SECONDS, SECONDS + 1), "AS": (MEMORY, MEMORY), "FSIZE": (0, 0), "CORE": (0, 0)}
        for what, soft_and_hard in limits.items():
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, f"RLIMIT_{what}"), soft_and_hard)


class RaisedByTemplate(Exception):
    """What a template says with `raise_exception`."""


def environment() -> Any:
    """The environment of transformers' `apply_chat_template`."""
    import jinja2
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """`{% generation %}`, which marks what an assistant wrote: here its text alone."""

        tags = {"generation"}  # noqa: RUF012 - jinja2's own

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("inside"), [], [], body).set_lineno(line)

        def inside(self, caller: Any) -> Any:
            return caller()

    def raise_exception(message: str) -> None:
        raise RaisedByTemplate(message)

    def tojson(x: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False,
    ) -> str:  # fmt: skip
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    found = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    found.filters["tojson"] = tojson
    found.globals |= {"raise_exception": raise_exception, "strftime_now": lambda form: datetime.now().strftime(form)}
    return found


def answer(asked: dict[str, Any]) -> dict[str, str]:
    """{text}; {refused}, what the template itself says against these turns; or {failed}, why it makes no text."""
    try:
        template = environment().from_string(asked["source"])
        messages, prompt = asked["messages"], asked["generation_prompt"]
        text = template.render(messages=messages, tools=None, documents=None, add_generation_prompt=prompt,
                               **asked["names"])  # fmt: skip
        if len(text) > asked["most"]:
            return {"failed": f"it makes {len(text):,} characters, and at most {asked['most']:,} are read"}
    except MemoryError:
        return {"failed": f"it took more than {MEMORY // 2**20} MiB"}
    except RecursionError:
        return {"failed": "it calls itself without end"}
    except Exception as error:  # a template can raise anything
        said = " ".join(f"{error}".split())[:SAID].rstrip(".") or type(error).__name__
        return {"refused" if isinstance(error, RaisedByTemplate) else "failed": said}
    return {"text": text}


if __name__ == "__main__":
    limit()
    sys.stdout.write(json.dumps(answer(json.load(sys.stdin))))

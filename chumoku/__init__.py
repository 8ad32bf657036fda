"""Chumoku: see, with a trained Transformer's own numbers, how attention turns a sentence into the next token.

    import chumoku
    trace = chumoku.load("stories-gpt").trace("Once upon a time")
    chumoku.show(trace)

In a checkout `chumoku/app`, `model`, `static` and `templates` are links to the folders beside this one; an
installed package holds the folders themselves. Either way a notebook's own `model.py` shadows none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chumoku.app.notebook.model import Model, Trace, load
    from chumoku.app.notebook.server import Served, serve
    from chumoku.app.notebook.show import Document, compare, show
    from chumoku.app.notebook.tree import Tree, tree

__all__ = ["Document", "Model", "Served", "Trace", "Tree", "compare", "load", "serve", "show", "tree"]

PLACES = {"load": "model", "Model": "model", "Trace": "model", "show": "show", "compare": "show", "Document": "show",
          "serve": "server", "Served": "server", "tree": "tree", "Tree": "tree"}  # fmt: skip


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def __getattr__(name: str) -> Any:
    """What `__all__` lists, imported when it is first used: torch takes seconds, and `chumoku --help` needs none."""
    if name not in PLACES:
        raise AttributeError(f"module 'chumoku' has no attribute {name!r}")
    return getattr(import_module(f"chumoku.app.notebook.{PLACES[name]}"), name)

"""A tree of texts as JSON: what the page's *Save* writes, and what a link of it has (static/state/text_tree.js)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import parse_qs, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from chumoku.app.api.schema import MAX_SEED

How = Literal["prompt", "edited", "given", "greedy", "drawn", "taken", "typed"]
HOWS: tuple[How, ...] = ("prompt", "edited", "given", "greedy", "drawn", "taken", "typed")
"""In the order in which a link counts them (static/state/page_fields.js)."""
NUMBERS = ("p", "after", "u", "seed", "settings")
LARGEST = 5_000_000
"""Bytes of the largest file that is read, as on the page."""
Index = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class WritingRun(BaseModel):
    """Under which a text was written. `text`: the sentence that was typed, or that is translated."""

    model_config = ConfigDict(extra="allow")

    model: str
    text: str
    causal: bool | None = None
    interventions: list[dict[str, Any]] = []


class Word(BaseModel):
    """How a token is written: its text, and its bytes in hexadecimal."""

    text: str
    bytes: str
    partial: bool = False
    special: bool = False


class Node(BaseModel):
    """A token of a tree, or the beginning of its texts. `up`: the node before it, -1 for a beginning; `p`: the model's
    probability of it, `after`: with the sampling settings; `u` in [0, 1) drew it, which follows from `seed` and its
    index."""

    up: Annotated[int, Field(ge=-1)]
    run: Index
    ids: list[Index]
    how: How
    p: Share | None = None
    after: Share | None = None
    u: Share | None = None
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    settings: Index | None = None
    name: str | None = None
    folded: bool | None = None


class TextTree(BaseModel):
    """A tree as JSON: `TextTree` of static/state/text_tree.js."""

    runs: list[WritingRun]
    settings: list[dict[str, Any]]
    words: dict[str, Word]
    nodes: list[Node] = Field(min_length=1)
    tip: Annotated[int, Field(ge=-1)]
    pair: list[Index] = Field(default=[], max_length=2)

    @model_validator(mode="after")
    def refers_to_what_is_there(self) -> Self:
        n_runs, n_settings = len(self.runs), len(self.settings)
        for at, node in enumerate(self.nodes):
            n_ids = len(node.ids) >= 1 if node.up < 0 else len(node.ids) == (node.how != "edited")
            told = node.run < n_runs and (node.settings is None or node.settings < n_settings)
            if not (node.up < at and told and n_ids):
                raise ValueError(f"node {at} does not fit into its tree")
        if any(at >= len(self.nodes) for at in (self.tip, *self.pair)):
            raise ValueError("the shown or a compared node is not in the tree")
        return self

    def way(self, at: int) -> list[int]:
        """The nodes from the beginning to this one."""
        found = [at]
        while self.nodes[found[-1]].up >= 0:
            found.append(self.nodes[found[-1]].up)
        return found[::-1]

    def ids(self, at: int) -> list[int]:
        """The text at a node: all ids from the beginning."""
        return [id for one in self.way(at) for id in self.nodes[one].ids]

    @property
    def ends(self) -> list[int]:
        """The nodes that nothing follows."""
        ups = {node.up for node in self.nodes}
        return [at for at in range(len(self.nodes)) if at not in ups]

    def to_json(self) -> dict[str, Any]:
        """As the page has it: what is not known is left out."""
        return {
            **self.model_dump(include={"settings", "words", "tip", "pair"}),
            "runs": [run.model_dump(exclude_defaults=True) for run in self.runs],
            "nodes": [node.model_dump(exclude_none=True) for node in self.nodes],
            "past": [],
        }


def in_file(path: Path) -> Any:
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path} is larger than {LARGEST / 1e6:.0f} MB: no page saved it")
    try:
        file = json.loads(path.read_text("utf-8"))
    except ValueError:
        file = None
    if not isinstance(file, dict) or file.get("chumoku") != "tree" or "tree" not in file:
        raise ValueError(f"{path} is not a tree that the page saved (under Tree, Save)")
    return file["tree"]


def in_link(link: str) -> Any:
    """A link's tree: a line of numbers for each node, the rest as JSON (static/state/page_fields.js)."""
    found = parse_qs(urlsplit(link).fragment).get("tree")
    if not found:
        raise ValueError("this link has no tree: its text never parted, or it was too long, and a file has it")
    rows, _, rest = found[0].partition("__")
    try:
        told = json.loads(rest)
        words = {id: word_in(word) for id, word in told["words"].items()}
        return told | {"words": words, "nodes": [node_in(row) for row in rows.split("_")]}
    except (AttributeError, LookupError, TypeError, ValueError):
        raise ValueError("this link's tree is damaged") from None


def word_in(word: Any) -> Any:
    """A word is its text alone where the rest follows from it."""
    return {"text": word, "bytes": word.encode().hex()} if isinstance(word, str) else word


def node_in(row: str) -> dict[str, Any]:
    up, run, ids, how, *more = row.split("*")
    numbers = dict(zip(NUMBERS, more, strict=False))
    name, folded = (*more[len(NUMBERS) :], "", "")[:2]
    whole = ("seed", "settings")
    return {
        "up": int(up),
        "run": int(run),
        "ids": [int(id) for id in ids.split(".") if id],
        "how": dict(enumerate(HOWS))[int(how)],
        **{key: int(one) if key in whole else float(one) for key, one in numbers.items() if one},
        **({"name": unquote(name)} if name else {}),
        **({"folded": True} if folded else {}),
    }

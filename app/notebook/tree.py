"""The tree of texts as a value in a script: `chumoku.tree`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from chumoku.app.api.run import RunRequest
from chumoku.app.notebook.model import Model, as_value_error, load, said_of
from chumoku.app.notebook.tree_value import Node, TextTree, WritingRun, in_file, in_link
from chumoku.app.notebook.tree_writing import Growing, Replay, word_of
from chumoku.app.services.capabilities import CLASSIFIES, check_can
from chumoku.app.services.plan import plan_writing
from chumoku.app.services.tokens import text_of
from chumoku.model.files import write_whole


@dataclass(frozen=True)
class Branch:
    """One text of a tree, from its beginning to an end: all `ids`, of which `n_prompt` were given, what the rest
    spells, and the probability of each written token (None: not known)."""

    at: int
    name: str | None
    ids: list[int]
    n_prompt: int
    text: str
    probabilities: list[float | None]
    interventions: list[dict[str, Any]]


class Tree:
    """Texts that begin alike and part where another token was taken: `tree.branches`. A value: what changes it gives
    another one. `model` None: that of its runs is loaded when it is first needed."""

    def __init__(self, written: TextTree, model: Model | None = None) -> None:
        self.written, self._model = written, model

    @property
    def nodes(self) -> list[Node]:
        return self.written.nodes

    @property
    def model(self) -> Model:
        if self._model is None:
            self._model = load(self.written.runs[0].model)
        return self._model

    @property
    def branches(self) -> list[Branch]:
        return [self.branch(at) for at in self.written.ends]

    def branch(self, at: int) -> Branch:
        """The text at a node."""
        nodes = [self.nodes[one] for one in self.written.way(at)]
        given = [node.how in ("prompt", "edited") or node.up < 0 for node in nodes]
        first = given.index(False) if False in given else len(nodes)
        ids, n_prompt = self.written.ids(at), sum(len(node.ids) for node in nodes[:first])
        wrote = [node for node in nodes[first:] if node.ids]
        text = text_of(self.model.traceable.tokenizer, ids[n_prompt:])
        run = self.written.runs[nodes[-1].run]
        return Branch(at, nodes[-1].name, ids, n_prompt, text, [node.p for node in wrote], run.interventions)

    def to_json(self) -> dict[str, Any]:
        """As the page has it, with how each token is written."""
        missing = {id for node in self.nodes for id in node.ids} - {int(id) for id in self.written.words}
        words = self.written.words | {str(id): word_of(self.model, id) for id in sorted(missing)}
        return self.written.model_copy(update={"words": words}).to_json()

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the file that the page opens, under *Tree*."""
        file = {"chumoku": "tree", "version": 1, "tree": self.to_json()}
        write_whole(Path(path), json.dumps(file, ensure_ascii=False).encode())
        return Path(path)

    def write(
        self,
        n: int = 10,
        *,
        at: int | None = None,
        seed: int = 7,
        ways: int = 1,
        interventions: Sequence[Mapping[str, Any]] | None = None,
        **sampling: Any,
    ) -> Tree:
        """With `n` more tokens after a node (None: the end that is shown), drawn with `seed`, `seed` + 1, … for each of
        several `ways`, under other `interventions` (None: as before). `sampling`: temperature, top_k, top_p, min_p,
        repetition_penalty, banned. Ends early at END or when the window is full. Raises `ValueError`."""
        start = self.written.tip if at is None else at
        if not 0 <= start < len(self.nodes):
            raise ValueError(f"there is no node {start}: nodes run from 0 to {len(self.nodes) - 1}")
        with as_value_error(), torch.inference_mode():
            growing = Growing(self.written, self.model, sampling, interventions)
            tips = [growing.grow(start, n, seed + way) for way in range(ways)]
        return Tree(growing.tree(tips[0] if tips else start), self._model)

    def replay(self) -> Tree:
        """The same tree, in which the model chooses again every token that it chose: the most likely one, or the one
        that the same seed draws. Texts differ only where rounding decides (a `u` within 1e-5 of a border, two tokens as
        likely as each other)."""
        with as_value_error(), torch.inference_mode():
            nodes = Replay(self.written, self.model).nodes()
        return Tree(self.written.model_copy(update={"nodes": nodes}), self._model)

    def _repr_html_(self) -> str:
        from chumoku.app.notebook.show import show

        return show(self)._repr_html_()

    def __repr__(self) -> str:
        return f"<chumoku tree: {len(self.written.ends)} texts, {sum(len(node.ids) for node in self.nodes)} tokens>"


def tree(source: Model | str | PathLike[str], text: str | None = None) -> Tree:
    """A tree of texts: from a file that the page saved, from a link of the page, or, with a model and a text, one that
    has only this beginning, to which `write` adds.

    Raises `ValueError` for a file or a link that has no tree.
    """
    if isinstance(source, Model):
        if text is None:
            raise ValueError('a new tree needs its beginning: chumoku.tree(model, "Once upon a time")')
        return begun(source, text)
    is_link = isinstance(source, str) and ("://" in source or "#tree=" in source or "&tree=" in source)
    try:
        found = in_link(str(source)) if is_link else in_file(Path(fspath(source)))
        return Tree(TextTree.model_validate(found))
    except ValidationError as error:
        raise ValueError(f"this is no tree of texts: {said_of(error)}") from None


def begun(model: Model, text: str) -> Tree:
    with as_value_error():
        check_can(model.traceable, "generate", CLASSIFIES)
        asked = RunRequest.model_validate({"model": model.name, "input": {"text": text}})
        plan = plan_writing(model.traceable, asked, model.settings.max_text_chars)
    ids = list(model.traceable.start(plan.run, []).prompt)
    node = Node(up=-1, run=0, ids=ids, how="prompt")
    words = {str(id): word_of(model, id) for id in ids}
    run = WritingRun(model=model.name, text=text)
    return Tree(TextTree(runs=[run], settings=[], words=words, nodes=[node], tip=0), model)

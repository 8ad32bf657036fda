"""A tree of texts grows, or is written again: the model reads its texts node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from chumoku.app.api.run import RunRequest
from chumoku.app.api.schema import Sampling
from chumoku.app.notebook.model import Model
from chumoku.app.notebook.tree_value import How, Node, TextTree, Word, WritingRun
from chumoku.app.services.plan import plan_writing
from chumoku.app.services.predictions import settings_of
from chumoku.app.services.tokens import tokens_json
from chumoku.model.sampling import Distribution, distribution, draw, most_likely, uniform
from chumoku.model.session import Session


class TextReader:
    """Reads texts under the runs of a tree, going on from the one before where it can."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.run: WritingRun | None = None
        self.session: Session | None = None
        self.logits = torch.empty(0)

    def read(self, run: WritingRun, ids: list[int]) -> torch.Tensor:
        """The logits [vocab] of the token after `ids`."""
        session = self.session
        n = len(session.ids) if session else 0
        if session is None or self.run != run or session.ids != ids[:n] or n > len(ids):
            self.run, session = run, self.started(run, ids)
            self.session, n = session, 0
        if n < len(ids):
            self.logits = session.step(ids[n:]).logits
        return self.logits

    def started(self, run: WritingRun, ids: list[int]) -> Session:
        traceable = self.model.traceable
        is_target = traceable.description.writes == "target"
        text = {"input": {"text": run.text}, "target_ids": ids} if is_target else {"input": {"token_ids": ids}}
        masks = {} if run.causal is None else {"masks": {"causal": run.causal}}
        asked = RunRequest.model_validate(
            {"model": self.model.name, **text, **masks, "interventions": run.interventions}
        )
        plan = plan_writing(traceable, asked, self.model.settings.max_text_chars)
        return traceable.start(plan.run, [])

    def distribution(self, sampling: Mapping[str, Any], seed: int, ids: list[int]) -> Distribution:
        """Of the token after `ids`, which was read."""
        traceable = self.model.traceable
        settings = settings_of(Sampling.model_validate(dict(sampling)), traceable, seed)
        return distribution(self.logits, settings, traceable.tokenizer.never_sampled, ids)


class Replay:
    """A tree that is written again, node by node."""

    def __init__(self, tree: TextTree, model: Model) -> None:
        self.tree, self.reader = tree, TextReader(model)
        self.banned = model.traceable.tokenizer.never_sampled
        self.found: dict[int, Node] = {}

    def nodes(self) -> list[Node]:
        for end in self.tree.ends:
            ids: list[int] = []
            for at in self.tree.way(end):
                if at not in self.found:
                    self.found[at] = self.again(self.tree.nodes[at], ids)
                ids = ids + self.found[at].ids
        return [self.found[at] for at in range(len(self.tree.nodes))]

    def again(self, node: Node, ids: list[int]) -> Node:
        """The node, after the text that the replay has so far."""
        if node.up < 0 or node.how in ("prompt", "edited"):
            return node
        logits = self.reader.read(self.tree.runs[node.run], ids)
        if node.settings is None:
            id = most_likely(logits, self.banned) if node.how == "greedy" else node.ids[0]
            return node.model_copy(update={"ids": [id]})
        sampling, seed = self.tree.settings[node.settings], node.seed or 0
        dist = self.reader.distribution(sampling, seed, ids)
        u = uniform(seed, len(ids)) if node.u is not None else None
        id = node.ids[0] if u is None else draw(dist, u)
        told = {"ids": [id], "p": float(dist.before[id]), "after": float(dist.after[id]), "u": u}
        return node.model_copy(update=told)


class Growing:
    """A tree that grows under one run and one choice of sampling settings."""

    def __init__(
        self,
        tree: TextTree,
        model: Model,
        sampling: Mapping[str, Any],
        interventions: Sequence[Mapping[str, Any]] | None,
    ) -> None:
        self.sampling = Sampling.model_validate(dict(sampling)).model_dump()
        self.model, self.reader = model, TextReader(model)
        self.interventions = None if interventions is None else [dict(one) for one in interventions]
        self.runs, self.settings = list(tree.runs), list(tree.settings)
        self.nodes, self.words = list(tree.nodes), dict(tree.words)
        self.before = tree

    def grow(self, at: int, n: int, seed: int) -> int:
        """Adds up to `n` tokens after a node, or follows those that are there. Returns the last."""
        run = self.runs[self.nodes[at].run]
        if self.interventions is not None and self.interventions != run.interventions:
            run = run.model_copy(update={"interventions": self.interventions})
            at = self.child(Node(up=at, run=place(self.runs, run), ids=[], how="edited"))
        ids, end = self.tree(at).ids(at), self.model.traceable.tokenizer.special.end
        for _ in range(n):
            if len(ids) > 1 and ids[-1] == end:
                break
            self.reader.read(run, ids)
            session = self.reader.session
            if session is None or len(session.ids) >= session.window:
                break
            dist, u = self.reader.distribution(self.sampling, seed, ids), uniform(seed, len(ids))
            id = draw(dist, u)
            how: How = "drawn" if self.sampling["temperature"] else "greedy"
            node = Node(
                up=at,
                run=place(self.runs, run),
                ids=[id],
                how=how,
                p=float(dist.before[id]),
                after=float(dist.after[id]),
                u=u,
                seed=seed,
                settings=place(self.settings, self.sampling),
            )
            at = self.child(node)
            self.words[str(id)] = word_of(self.model, id)
            ids = [*ids, id]
        return at

    def child(self, node: Node) -> int:
        """The place of a node with this token under this run after the one before it: an old one, or this one."""
        for at, old in enumerate(self.nodes):
            if (old.up, old.run, old.ids) == (node.up, node.run, node.ids):
                return at
        self.nodes.append(node)
        return len(self.nodes) - 1

    def tree(self, tip: int) -> TextTree:
        """The tree as it is now, shown up to `tip`."""
        parts = {"runs": self.runs, "settings": self.settings, "nodes": self.nodes, "words": self.words}
        return self.before.model_copy(update=parts | {"tip": tip})


def place(all_of: list[Any], one: Any) -> int:
    """Its index, added at the end if it is not there."""
    if one not in all_of:
        all_of.append(one)
    return all_of.index(one)


def word_of(model: Model, id: int) -> Word:
    told = tokens_json(model.traceable.tokenizer, [id])[0]
    return Word.model_validate({name: told[name] for name in Word.model_fields})

"""Pictures of traces for notebooks: each is one HTML document, drawn by the page's own modules."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from chumoku.app.notebook.cuts import Measured, measured
from chumoku.app.notebook.document import document, texts
from chumoku.app.notebook.model import Trace, as_value_error
from chumoku.app.notebook.saved import Saved, entry, saved

VIEWS: dict[str, dict[str, Any]] = {
    "river": {"level": "look"},
    "weights": {"view": "attention", "own": {"attention": {"step": "weights"}}},
    "scores": {"view": "attention", "own": {"attention": {"step": "scaled"}}},
    "lines": {"view": "attention", "own": {"attention": {"step": "weights", "as": "lines"}}},
    "qkv": {"view": "qkv"},
    "av": {"view": "av"},
}
"""The state of the page that is each view."""
HEIGHTS = {"river": 640}
HEIGHT = 720

LAYERS = 10_000
"""More than any model has."""
LARGEST = 8_000_000
"""Bytes of a picture. Above them it brings the open layer's numbers alone, and above that it is refused."""

Language = Literal["en", "ja"]
Theme = Literal["light", "dark"]


@dataclass(frozen=True, repr=False)
class Picture:
    """One HTML document. Notebooks show it; `save` writes it as a file that works offline."""

    html: str
    title: str
    height: int

    def save(self, path: str | PathLike[str]) -> Path:
        Path(path).write_text(self.html, "utf-8")
        return Path(path)

    @property
    def nbytes(self) -> int:
        return len(self.html.encode())

    def _repr_html_(self) -> str:
        """In a frame of its own: neither its style nor its scripts meet the notebook's."""
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts" srcdoc="{escape(self.html)}" '
            f'style="width: 100%; height: {self.height}px; border: 0" loading="lazy"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<chumoku picture: {self.title}, {self.nbytes / 1e6:.1f} MB>"


def show(
    trace: Trace,
    view: str = "river",
    *,
    attention: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    key: int | None = None,
    lang: Language = "en",
    theme: Theme | None = None,
    height: int | None = None,
) -> Picture:
    """A picture of a trace: the river, or a view of one head (`VIEWS`), in which every head can be opened.

    `theme` None follows the reader's system. Raises `ValueError` for a view, a layer or a head that there is not, and
    for a picture above `LARGEST` bytes.
    """
    chosen = {"attention": attention, "layer": layer, "head": head, "query": query, "key": key}
    state = state_of(trace, view, chosen)
    return picture([trace], state, view, layer, lang=lang, theme=theme, height=height)


def compare(
    a: Trace,
    b: Trace,
    view: str = "river",
    *,
    layer: int | None = None,
    head: int | None = None,
    names: tuple[str, str] | None = None,
    lang: Language = "en",
    theme: Theme | None = None,
    height: int | None = None,
) -> Picture:
    """The same sentence in two runs, side by side: two models, or one with and without a mask or an intervention.

    `names` stand over the two; None: the models' names, or what changes each run. Raises
    `ValueError` if the two did not read the same sentence, and what `show` raises.
    """
    if a.text != b.text:
        raise ValueError(f"compare takes one sentence in two runs, got {a.text!r} and {b.text!r}: show each by itself")
    state = state_of(a, view, {"layer": layer, "head": head}) | {"level": "everything", "beside": beside(b)}
    named = names or names_of(a, b)
    return picture([a, b], state, view, layer, names=named, lang=lang, theme=theme, height=height)


def names_of(a: Trace, b: Trace) -> tuple[str, str]:
    """The models' names; of two runs of one model, what changes each."""
    if a.model.name != b.model.name:
        return a.model.name, b.model.name
    return changes(a), changes(b)


def changes(trace: Trace) -> str:
    """What changes a run, in a few words: its masks, PADs and interventions."""
    masks, pads, edits = trace.run["masks"], trace.run["pad"]["count"], trace.run["interventions"]
    trained = any(one.causal for one in trace.model.subject.description.attentions)
    parts = [
        *(["causal mask" if masks["causal"] else "no causal mask"] if masks["causal"] != trained else []),
        *([f"{pads} PADs" if masks["padding"] else f"{pads} PADs, not masked"] if pads else []),
        *(edited(edit) for edit in edits[:2]),
        *(["…"] if len(edits) > 2 else []),
    ]
    return f"{trace.model.name}: {', '.join(parts)}" if parts else trace.model.name


def edited(intervention: dict[str, Any]) -> str:
    where = intervention["where"]
    head = where.get("head")
    return f"{intervention['kind']} layer {where['layer']}" + ("" if head is None else f" head {head}")


def beside(trace: Trace) -> dict[str, Any]:
    """The patch that makes the second run out of the first."""
    return {name: trace.run[name] for name in ("model", "masks", "pad", "interventions")}


def state_of(trace: Trace, view: str, chosen: dict[str, Any]) -> dict[str, Any]:
    """The page's state for a view of the chosen head and cell."""
    if view not in VIEWS:
        raise ValueError(f"unknown view {view!r}; known are {', '.join(VIEWS)}")
    attentions = {one.id: one for one in trace.model.subject.description.attentions}
    open_one = attentions.get(chosen.get("attention") or next(reversed(attentions)))
    if open_one is None:
        raise ValueError(f"unknown attention {chosen['attention']!r}; known are {', '.join(attentions)}")
    bounds = {"layer": open_one.n_layer, "head": open_one.n_head}
    for name, bound in bounds.items():
        given = chosen.get(name)
        if given is not None and not 0 <= given < bound:
            raise ValueError(f"{name} {given} is not there: {trace.model.name} has {name}s 0 to {bound - 1}")
    state: dict[str, Any] = {"level": "everything", **VIEWS[view]}
    if view != "river":
        state["own"] = state.get("own", {}) | {"river": {"shown": False}}
    return state | {name: value for name, value in chosen.items() if value is not None}


def picture(
    traces: list[Trace],
    state: dict[str, Any],
    view: str,
    layer: int | None,
    *,
    names: tuple[str, str] | None = None,
    lang: Language,
    theme: Theme | None,
    height: int | None,
) -> Picture:
    if lang not in ("en", "ja"):
        raise ValueError(f"unknown language {lang!r}; known are en, ja")
    if theme not in (None, "light", "dark"):
        raise ValueError(f"unknown theme {theme!r}; known are light, dark")
    title = f"{' | '.join(dict.fromkeys(one.model.name for one in traces))}: {traces[0].text}"
    effects = [measured(one) if view == "river" else None for one in traces]
    for open_layers in (range(LAYERS), [layer or 0]):
        with as_value_error():
            parts = [*saved_runs(traces, effects, open_layers)]
        html = written(traces, parts, state, view=view, names=names, title=title, lang=lang, theme=theme)
        found = Picture(html, title, height or HEIGHTS.get(view, HEIGHT))
        if found.nbytes <= LARGEST:
            return found
    raise ValueError(
        f"this picture has {found.nbytes / 1e6:.1f} MB, more than {LARGEST / 1e6:.0f}: trace a shorter sentence"
    )


def saved_runs(traces: list[Trace], effects: list[Measured | None], open_layers: Container[int]) -> Iterator[Saved]:
    """Each run; beside one alone, the run that its sentence offers to cut."""
    for trace, found in zip(traces, effects, strict=True):
        cut = found.cut if found and len(traces) == 1 else None
        yield saved(trace, open_layers, None if found is None else found.effects | ({} if cut else {"look": None}))
        if cut:
            yield saved(cut, [])


def written(
    traces: list[Trace],
    parts: list[Saved],
    state: dict[str, Any],
    *,
    view: str,
    names: tuple[str, str] | None,
    title: str,
    **reader: Any,
) -> str:
    models = {one.model.name: entry(one.model) for one in traces}
    about = {
        "models": list(models.values()),
        "run": traces[0].run,
        "state": state | {"lang": reader["lang"], "theme": reader["theme"] or "system"},
        "view": view,
        "names": names,
        "texts": texts(reader["lang"]),
        "answers": [one.answers for one in parts],
    }
    return document(about, [one.tensors for one in parts], title=title, **reader)

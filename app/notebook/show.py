"""Documents for notebooks: a trace or two, drawn by the page's own modules in one HTML file."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args, overload

from chumoku.app.notebook.arrays import trace_of
from chumoku.app.notebook.contents import Shown, entry_of, explanations
from chumoku.app.notebook.document import html_of, texts
from chumoku.app.notebook.figures import PLANS, Figure
from chumoku.app.notebook.knockouts import knockout_effects
from chumoku.app.notebook.model import Trace, as_value_error
from chumoku.app.notebook.tree import Tree
from chumoku.app.services.wire import Json
from chumoku.model.attribution.summaries import How
from chumoku.model.describe import Attention
from chumoku.model.files import write_whole


@dataclass(frozen=True)
class View:
    """A view as the page's state; `roles`: what an attention must have (`overview`: what its small pictures show)."""

    state: Json
    roles: frozenset[str]
    height: int = 720


VIEWS = {
    "river": View({"level": "look"}, frozenset(), 640),
    "weights": View({"view": "attention", "viewState": {"attention": {"step": "weights"}}}, frozenset({"overview"})),
    "scores": View({"view": "attention", "viewState": {"attention": {"step": "scaled"}}}, frozenset({"scores"})),
    "lines": View(
        {"view": "attention", "viewState": {"attention": {"step": "weights", "as": "lines"}}}, frozenset({"overview"})
    ),
    "qkv": View({"view": "qkv"}, frozenset({"q", "k", "v"})),
    "av": View({"view": "av"}, frozenset({"pattern", "v", "z"})),
}

WITH_ALL_HEADS = 8_000_000
"""Bytes above which a document has the numbers of the open layer alone."""
LARGEST = 16_000_000
"""Bytes above which a document is refused."""

FIGURES = f"Figures are {', '.join(PLANS)}."
ONLY_BROWSER = "only the browser draws this picture"

Language = Literal["en", "ja"]
Theme = Literal["light", "dark"]


@dataclass(frozen=True, repr=False)
class Document:
    """One HTML document. Notebooks show it; `save` writes it as a file that works offline."""

    html: str
    title: str
    height: int
    figure: Figure | None = None

    def savefig(self, path: str | PathLike[str], *, width: float | None = None, dpi: float = 300) -> Path:
        """Writes the same picture as .svg, .pdf or .png, `width` inches wide. Raises `ValueError` for a picture that
        only the browser draws, and what `Figure.savefig` raises."""
        if self.figure is None:
            raise ValueError(f"{ONLY_BROWSER}: save it from the page, or .save() it as HTML. {FIGURES}")
        return self.figure.savefig(path, width=width, dpi=dpi)

    def save(self, path: str | PathLike[str]) -> Path:
        write_whole(Path(path), self.html.encode())
        return Path(path)

    @property
    def nbytes(self) -> int:
        return len(self.html.encode())

    def _repr_html_(self) -> str:
        """In a frame, so that its style and scripts stay apart from the notebook's."""
        return (
            f'<iframe title="{escape(self.title)}" sandbox="allow-scripts" srcdoc="{escape(self.html)}" '
            f'style="width: 100%; height: {self.height}px; border: 0" loading="lazy"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<chumoku document: {self.title}, {self.nbytes / 1e6:.1f} MB>"


@overload
def show(
    trace: Trace | Any,
    tokens: Sequence[str] | str | None = None,
    view: str | None = None,
    *,
    static: Literal[False] = False,
    attention: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    key: int | None = None,
    lang: Language = "en",
    theme: Theme | None = None,
    height: int | None = None,
) -> Document: ...


@overload
def show(
    trace: Trace | Any,
    tokens: Sequence[str] | str | None = None,
    view: str | None = None,
    *,
    static: Literal[True],
    attention: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    how: How = "mean",
    lang: Language = "en",
    theme: Theme | None = None,
) -> Figure: ...


def show(
    trace: Trace | Any,
    tokens: Sequence[str] | str | None = None,
    view: str | None = None,
    *,
    static: bool = False,
    attention: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    query: int | None = None,
    key: int | None = None,
    how: How = "mean",
    lang: Language = "en",
    theme: Theme | None = None,
    height: int | None = None,
) -> Document | Figure:
    """A trace as a document: the river (without one, the weights), or a view of one head (`VIEWS`), in which every head
    can be opened:
    `show(trace)`, `show(trace, "lines")`. Or weights from anywhere, [layer head query key], over these tokens:
    `show(attentions, tokens)`, `show(attentions, tokens, "lines")`.

    With `static` it is a `Figure`, a PNG for viewers that run no scripts: `heads`, `weights`, `scores`, `lines`,
    `averages` (`how` "mean" or "max" over what was not chosen: the heads of a layer, the layers of a head, or all) or
    `rollout`. `.savefig("fig.pdf")` writes either, as far as it is one of these.

    A `chumoku.tree` is drawn as on the page: walked with the arrow keys, folded, two texts compared.

    `theme` None follows the reader's system. Raises `ValueError` for a view that the model does not have, for a layer,
    head or token that does not exist, and for a document above `LARGEST` bytes.
    """
    if isinstance(trace, Tree):
        return document_of_tree(trace, lang=lang, theme=theme, height=height)
    if isinstance(trace, Trace):
        view = view or (tokens if isinstance(tokens, str) else None) or ("heads" if static else first_view(trace))
    else:
        if tokens is None or isinstance(tokens, str):
            raise ValueError('weights from anywhere need their tokens: chumoku.show(attentions, ["The", " cat"])')
        trace, view = trace_of(trace, tokens), view or ("heads" if static else "weights")
    if static:
        return figure_of(trace, view, attention, layer, head, how=how, lang=lang, theme=theme)
    state = state_of(trace, view, attention, {"layer": layer, "head": head, "query": query, "key": key})
    with as_value_error():
        runs = [Shown(trace, trace.model.name, explanations(trace))]
        effects = knockout_effects(trace) if view == "river" else None
        if effects:
            runs[0].answers["effects"] = effects.effects
        if effects and effects.knocked_out:  # the run that its sentence offers
            runs.append(Shown(effects.knocked_out, trace.model.name, explanations(effects.knocked_out), opens=False))
    document = document_of(runs, state, view, None, lang=lang, theme=theme, height=height)
    if view not in PLANS:
        return document
    figure = figure_of(trace, view, attention, layer, head, how=how, lang=lang, theme=theme)
    return replace(document, figure=figure)


def document_of_tree(tree: Tree, *, lang: Language, theme: Theme | None, height: int | None) -> Document:
    """The page's picture of a tree of texts."""
    check_words(lang, theme)
    about = {
        "models": [entry_of(tree.model)],
        "tree": tree.to_json(),
        "view": "tree",
        "texts": texts(lang),
    }
    title = f"{tree.model.name}: {tree.written.runs[0].text}"
    return Document(
        html_of(about, [], title=title, lang=lang, theme=theme),
        title,
        height or min(640, 190 + 56 * len(tree.written.ends)),
    )


def figure_of(
    trace: Trace,
    view: str,
    attention: str | None,
    layer: int | None,
    head: int | None,
    *,
    how: How,
    lang: Language,
    theme: Theme | None,
) -> Figure:
    """Raises `ValueError` for a picture that is no figure, and for what the model does not have."""
    if view not in PLANS:
        what = ONLY_BROWSER if view in VIEWS else f"unknown view {view!r}"
        raise ValueError(f"{what}. {FIGURES}")
    check_words(lang, theme)
    if how not in get_args(How):
        raise ValueError(f'how is "mean" or "max", got {how!r}')
    opened = attention_of(trace, attention)
    needed = "scores" if view == "scores" else "overview"
    if not VIEWS["scores" if view == "scores" else "weights"].roles <= roles_of(opened):
        raise ValueError(f"{trace.model.name} has no {needed} to draw {view!r} from")
    if view == "rollout" and opened.queries != opened.keys:
        raise ValueError(f"attention rollout is of self-attention, not of {opened.id!r}")
    check_chosen(trace, opened, {"layer": layer, "head": head})
    return Figure(trace, view, opened, layer, head, how, lang, theme or "light")


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
) -> Document:
    """The same input in two runs, side by side: two models, or one with and without a mask or an intervention.

    `names` are their headings; None: the models' names, or what changes each run. Raises `ValueError` if the two were
    not given the same sentence, and what `show` raises.
    """
    if input_of(a) != input_of(b):
        raise ValueError(f"compare takes one sentence in two runs, got {a.text!r} and {b.text!r}: show each by itself")
    if names is not None and not (len(names) == 2 and all(type(name) is str and is_text(name) for name in names)):
        raise ValueError(f"names are two texts, got {names!r}")
    second = b.model.name if b.model.name != a.model.name else f"{b.model.name} (2)"
    beside = {"beside": b.run | {"model": second}, "level": "everything"}
    state = state_of(a, view, None, {"layer": layer, "head": head}) | beside
    with as_value_error():
        runs = [Shown(a, a.model.name, explanations(a)), Shown(b, second, explanations(b))]
        for run in runs if view == "river" else []:
            if effects := knockout_effects(run.trace):
                run.answers["effects"] = effects.effects | {"look": None}  # knockouts are not saved for two
    return document_of(runs, state, view, names or names_of(a, b), lang=lang, theme=theme, height=height)


def is_text(name: str) -> bool:
    """Whether it contains no lone surrogate, half of a character."""
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def input_of(trace: Trace) -> Any:
    """What was given to a run: two tokenizers may spell the same text differently."""
    given = trace.run["input"]
    return given.get("pixels") or (given.get("text") or trace.text).strip()


def names_of(a: Trace, b: Trace) -> tuple[str, str]:
    """The models' names; of two runs of one model, what changes each."""
    if a.model.name != b.model.name:
        return a.model.name, b.model.name
    return changes(a), changes(b)


def changes(trace: Trace) -> str:
    """A short description of a run's masks, PADs and interventions."""
    masks, pads, edits = trace.run["masks"], trace.run["pad"]["count"], trace.run["interventions"]
    trained = any(one.causal for one in trace.model.traceable.description.attentions)
    words = [
        *(["causal mask" if masks["causal"] else "no causal mask"] if masks["causal"] != trained else []),
        *([f"{pads} PADs" if masks["padding"] else f"{pads} PADs, not masked"] if pads else []),
        *(intervention_words(edit) for edit in edits[:2]),
        *(["…"] if len(edits) > 2 else []),
    ]
    return f"{trace.model.name}: {', '.join(words)}" if words else trace.model.name


def intervention_words(intervention: Json) -> str:
    where, words = intervention["where"], str(intervention["kind"]).replace("_", " ")
    if "layer" not in where:
        return words
    layer, head = where["layer"], where.get("head")
    role = f" {where.get('role')}" if intervention["kind"] == "ablate" and head is None else ""
    value = next((f" {intervention[name]:g}" for name in ("temperature", "size") if name in intervention), "")
    layers = "all layers" if layer is None else f"layer {layer}"
    return f"{words}{role}{value} {layers}" + ("" if head is None else f" head {head}")


def state_of(trace: Trace, view: str, attention: str | None, chosen: Mapping[str, int | None]) -> Json:
    """The page's state for a view of the chosen head and cell."""
    opened = attention_of(trace, attention)
    offered = [name for name in VIEWS if has_view(trace, opened, name)]
    if view not in offered:
        static = f"; with static=True also {', '.join(PLANS.keys() - VIEWS)}" if view in PLANS else ""
        raise ValueError(f"{trace.model.name} has no view {view!r}; it has {', '.join(offered)}{static}")
    check_chosen(trace, opened, chosen)
    folded = {} if view == "river" else {"river": {"shown": False}}
    state: Json = {"level": "everything", "attention": attention, **VIEWS[view].state}
    state["viewState"] = state.get("viewState", {}) | folded
    return state | {name: value for name, value in chosen.items() if value is not None}


def attention_of(trace: Trace, id: str | None) -> Attention:
    """The attention of this id; None: the last."""
    attentions = {one.id: one for one in trace.model.traceable.description.attentions}
    opened = attentions.get(id or next(reversed(attentions)))
    if opened is None:
        raise ValueError(f"unknown attention {id!r}; known are {', '.join(attentions)}")
    return opened


def check_chosen(trace: Trace, opened: Attention, chosen: Mapping[str, int | None]) -> None:
    lengths = {"source": len(trace.tokens), "target": len(trace.target_tokens or [])}
    bounds = {
        "layer": opened.n_layer,
        "head": opened.n_head,
        "query": lengths[opened.queries],
        "key": lengths[opened.keys],
    }
    for name, given in chosen.items():
        if given is not None and not (type(given) is int and 0 <= given < bounds[name]):
            raise ValueError(f"{name} {given!r} is not there: {name} is a whole number from 0 to {bounds[name] - 1}")


def first_view(trace: Trace) -> str:
    """The river, or for a model without one the first view that its last attention has."""
    opened = attention_of(trace, None)
    return next((name for name in VIEWS if has_view(trace, opened, name)), "river")


def has_view(trace: Trace, attention: Attention, view: str) -> bool:
    if view == "river":
        return trace.model.traceable.description.can.get("route", False)
    return VIEWS[view].roles <= roles_of(attention)


def roles_of(attention: Attention) -> set[str]:
    """Its roles, and `overview` if it has one."""
    return attention.roles.keys() | ({"overview"} if attention.overview else set())


def check_words(lang: str, theme: str | None) -> None:
    if lang not in ("en", "ja"):
        raise ValueError(f"unknown language {lang!r}; known are en, ja")
    if theme not in (None, "light", "dark"):
        raise ValueError(f"unknown theme {theme!r}; known are light, dark")


def document_of(
    runs: Sequence[Shown],
    state: Json,
    view: str,
    names: tuple[str, str] | None,
    *,
    lang: Language,
    theme: Theme | None,
    height: int | None,
) -> Document:
    check_words(lang, theme)
    first = runs[0].trace
    title = f"{' | '.join(dict.fromkeys(one.trace.model.name for one in runs))}: {first.text}"
    about = {
        "models": [*{one.name: one.entry for one in runs}.values()],
        "run": first.run,
        "state": state | {"lang": lang, "theme": theme or "system"},
        "view": view,
        "names": names,
        "texts": texts(lang),
        "answers": [one.answers for one in runs],
    }
    every = range(max(one.n_layer for run in runs for one in run.trace.model.traceable.description.attentions))
    choices: list[tuple[Container[int], int]] = [(every, WITH_ALL_HEADS), ([state.get("layer", 0)], LARGEST)]
    for open_layers, most in choices:
        html = html_of(about, [one.tensors(open_layers) for one in runs], title=title, lang=lang, theme=theme)
        found = Document(html, title, height or VIEWS[view].height)
        if found.nbytes <= most:
            return found
    raise ValueError(f"this would be {found.nbytes / 1e6:.1f} MB, more than {LARGEST / 1e6:.0f}: trace a shorter text")

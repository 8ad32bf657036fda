"""Models and traces for scripts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from pydantic import ValidationError
from torch import Tensor

from chumoku.app.api.requests import ChatRequest
from chumoku.app.api.run import RunRequest
from chumoku.app.errors import AppError
from chumoku.app.services import discovery, pictures, tracing, wire
from chumoku.app.services.chat import chat
from chumoku.app.services.library import Entry
from chumoku.app.settings import Settings
from chumoku.model.attribution import summaries
from chumoku.model.attribution.rollout import Edge
from chumoku.model.attribution.summaries import How, Over
from chumoku.model.checkpoint import pick_device
from chumoku.model.files import write_whole
from chumoku.model.traceable import TraceableModel, source_of


def load(name: str | PathLike[str] | Any | None = None, tokenizer: Any = None, *, device: str = "auto") -> Model:
    """A model of the zoo by name, any model by its folder, or by its id if it is in Hugging Face's cache: nothing is
    downloaded. None: the default. Or a model of transformers that is in memory, with its tokenizer: it stays as it is,
    and its numbers are shared.

    A folder is one of ours, or one written by transformers' `save_pretrained` (extra `hf`). Raises `ValueError` that
    lists the known names, or says what is wrong with the folder.
    """
    with as_value_error():
        settings = Settings(device=device)  # type: ignore[arg-type]  # pydantic refuses others
    if name is not None and not isinstance(name, str | PathLike):
        return in_memory(name, tokenizer, settings)
    if tokenizer is not None:
        raise ValueError("a tokenizer goes with a model in memory: chumoku.load(model, tokenizer)")
    if name is not None and Path(name).is_dir() and source_of(Path(name)) is None:
        raise ValueError(f"{name} is not the folder of a model: it has no config.json that Chumoku can open.")
    with as_value_error():
        entry = discovery.find_entry(None if name is None else str(name), settings)
        return Model(entry, discovery.opened(entry, settings), settings)


def in_memory(model: Any, tokenizer: Any, settings: Settings) -> Model:
    """A model of transformers. Raises `ValueError` for another object, and without a tokenizer."""
    if tokenizer is None:
        kind = type(model).__name__
        raise ValueError(f"a {kind} needs its tokenizer: chumoku.load(model, tokenizer). Or give a name or a folder.")
    from chumoku.model.traceable.huggingface.in_memory import open_in_memory

    return model_of(open_in_memory(model, tokenizer, pick_device(settings.device)), settings)


def model_of(traceable: TraceableModel, settings: Settings) -> Model:
    """One that is open already."""
    return Model(Entry(traceable.about, Path(), None, traceable), traceable, settings)


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A loaded model."""

    entry: Entry
    traceable: TraceableModel
    settings: Settings

    @property
    def name(self) -> str:
        return self.traceable.name

    @property
    def taps(self) -> Mapping[str, str]:
        """The name and the dimensions of every tensor that a trace has."""
        return {name: place.dims for name, place in self.traceable.description.taps.items()}

    def trace(
        self,
        text: str | None = None,
        pair: str | None = None,
        *,
        token_ids: Sequence[int] | None = None,
        pixels: Sequence[Sequence[int]] | str | None = None,
        picture: str | PathLike[str] | None = None,
        token_type_ids: Sequence[int] | None = None,
        target: str | None = None,
        special: bool = False,
        add_special_tokens: bool = True,
        causal: bool | None = None,
        padding: bool = True,
        pad: Mapping[str, Any] | None = None,
        interventions: Sequence[Mapping[str, Any]] = (),
    ) -> Trace:
        """Run a sentence, as text or as token ids, and keep every tensor of the run. A model of pictures takes the rows
        of one, as `pixels`, or the file of a PNG or JPEG, as `picture`: `trace(picture="cat.jpg")`.

        `pair` is a second text that the model reads with the first (premise and hypothesis, question and context);
        `token_type_ids` says which of `token_ids` belong to it. `target` is what a translator has written so far; None:
        its own greedy translation. With `special`, names of special tokens in the text ([MASK]) are these tokens;
        without `add_special_tokens` none is put around it.
        `causal` and `padding` switch masks (None: as trained), `pad` adds PADs ({"count": 2, "side": "left"}), and
        `interventions` change the run: [{"kind": "ablate", "where": {"layer": 3, "head": 5}}]. Raises `ValueError`
        for what cannot be run, and warns if only the end of a long text is read.
        """
        ids = None if token_ids is None else list(token_ids)
        with as_value_error():
            rows = as_lists(pixels) if picture is None else self.pixels_of(picture)
            types = None if token_type_ids is None else list(token_type_ids)
            read = {"text": text, "pair": pair, "token_ids": ids, "token_type_ids": types, "pixels": rows}
            sentence = {name: value for name, value in read.items() if value is not None}
            sentence |= {"special": True} if special else {}
            sentence |= {} if add_special_tokens else {"add_special_tokens": False}
            given: dict[str, Any] = {"input": sentence, "target": target}
            changes = {
                "masks": {"causal": causal, "padding": padding},
                "pad": dict(pad or {}),
                "interventions": [dict(one) for one in interventions],
            }
            asked = {name: value for name, value in given.items() if value is not None}
            run = RunRequest.model_validate({**asked, **changes, "model": self.name})
            trace = Trace(self, self.file_of(run))
        for note in trace.notes:
            if note["code"] == "windowed":
                said = f"{self.name} read the last {note['n_read']} of {note['n_tokens']} tokens: shorten the text"
                warnings.warn(said, stacklevel=2)
            if note["code"] == "special" and not note["read"]:
                said = f"read as text: {', '.join(note['names'])}; with special=True, as special tokens"
                warnings.warn(said, stacklevel=2)
        return trace

    def chat(self, messages: Sequence[Mapping[str, str]], *, generation_prompt: bool = True, **run: Any) -> Trace:
        """The trace of a chat: turns, each {"role": "user", "content": "Hi"}, as the model's chat template writes them;
        with a `generation_prompt`, the assistant's next turn is begun. `run`: as in `trace`. Raises `ValueError` for a
        model without a template, or what the template refuses."""
        turns = {"messages": [dict(one) for one in messages], "generation_prompt": generation_prompt}
        with as_value_error():
            asked = ChatRequest.model_validate(turns)
            found = chat(self.traceable.about, asked, self.settings.max_text_chars)
        return self.trace(**found["input"], **run)

    def pixels_of(self, picture: str | PathLike[str]) -> Any:
        """The `pixels` of a run, from the file of a PNG or JPEG."""
        file = Path(picture).read_bytes()
        return pictures.fitted(self.traceable.about, file, self.settings.upload_pixels)["pixels"]

    def file_of(self, run: RunRequest) -> bytes:
        """A saved trace: every tensor, and what each position predicts."""
        return bytes(tracing.saved(self.traceable, run, self.settings.max_text_chars))

    def __repr__(self) -> str:
        n = sum(len(stack.layers) for stack in self.traceable.description.stacks)
        return f"<chumoku model {self.name}: {n} layers, {self.traceable.about.n_parameters:,} parameters>"


def as_lists(pixels: Sequence[Sequence[int]] | str | None) -> list[list[int]] | str | None:
    return pixels if pixels is None or isinstance(pixels, str) else [list(row) for row in pixels]


class Trace:
    """One run of a model, with every tensor: `trace["layers.3.attn.pattern"]`. It knows its model and its tokens."""

    def __init__(self, model: Model, file: bytes) -> None:
        self.model, self._bytes = model, file
        self.metadata = wire.metadata_of(file)
        self.tensors: Mapping[str, Tensor] = safetensors.torch.load(file)

    def __getitem__(self, name: str) -> Tensor:
        if name not in self.tensors:
            raise KeyError(f"{name!r} is not a tensor of this trace; `trace.dims` lists all {len(self.tensors)}")
        return self.tensors[name]

    @property
    def dims(self) -> Mapping[str, str]:
        """The dimensions of each tensor, by its name."""
        dims: dict[str, str] = self.metadata["dims"]
        return dims

    @property
    def run(self) -> dict[str, Any]:
        """What was asked: the run as the API, a link and a saved file have it."""
        run: dict[str, Any] = self.metadata["run"]
        return run

    @property
    def asked(self) -> dict[str, Any]:
        """The same run as a request: a target that the model wrote is given by its ids."""
        return self.run | {"target": None} if self.run["target_ids"] else self.run

    def without(self, edges: Iterable[Edge]) -> Trace:
        """The same run, in which queries do not see keys, in all heads of a layer."""
        knockouts = [{"kind": "mask", "where": edge.where | {"role": "mask"}, "allow": False} for edge in edges]
        asked = self.asked | {"interventions": [*self.run["interventions"], *knockouts]}
        return Trace(self.model, self.model.file_of(RunRequest.model_validate(asked)))

    @property
    def text(self) -> str:
        """What the tokens spell."""
        text: str = self.metadata["read_text"]
        return text

    @property
    def tokens(self) -> list[str]:
        return [token["text"] for token in self.metadata["tokens"]]

    @property
    def target_tokens(self) -> list[str] | None:
        """What a translator's decoder read; None in the other families."""
        written = self.metadata["target_tokens"]
        return None if written is None else [token["text"] for token in written]

    @property
    def predictions(self) -> list[dict[str, Any]]:
        """What each position predicts: the candidates with their probabilities."""
        predictions: list[dict[str, Any]] = self.metadata["predictions"]
        return predictions

    @property
    def notes(self) -> list[dict[str, Any]]:
        """What a reader should know about the run, each with a `code`."""
        notes: list[dict[str, Any]] = self.metadata["notes"]
        return notes

    def average(
        self, over: Over = "both", how: How = "mean", *, layer: int = 0, head: int = 0, attention: str | None = None
    ) -> Tensor:
        """Several heads as one matrix [query key]: over the `heads` of `layer`, over the `layers` of `head`, or over
        `both`; the `mean` of their weights or, cell by cell, the `max`. `attention`: by id; None: the last."""
        found = summaries.summarised(torch.stack(self.weights_by_layer(attention)), over, how)
        return (found if over == "both" else found[layer if over == "heads" else head]).float()

    def rollout(self, attention: str | None = None) -> Tensor:
        """Attention rollout [layer query key] (Abnar & Zuidema 2020): how much of each token is in each query after a
        layer, if half of what a layer passes on is its own. Raises `ValueError` for a cross-attention."""
        return summaries.rollout(torch.stack(self.weights_by_layer(attention))).float()

    def weights_by_layer(self, attention: str | None) -> list[Tensor]:
        """The weights [head query key] of an attention's layers."""
        described = self.model.traceable.description
        one = described.attentions[-1] if attention is None else described.attention(attention)
        if one.overview is None:
            raise ValueError(f"attention {one.id!r} has no weights")
        return [self[tap] for tap in one.roles[one.overview].taps]

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the trace as a safetensors file, which the page and safetensors open."""
        write_whole(Path(path), self._bytes)
        return Path(path)

    def __repr__(self) -> str:
        return f"<chumoku trace of {self.model.name}: {len(self.tokens)} tokens, {len(self.tensors)} tensors>"


@contextmanager
def as_value_error() -> Iterator[None]:
    """The app's refusals as a script expects them."""
    try:
        yield
    except AppError as error:
        known = f" Known: {', '.join(map(str, error.known))}." if error.known else ""
        raise ValueError(f"{error.message} {error.hint}{known}") from None
    except ValidationError as error:
        raise ValueError(said_of(error)) from None


def said_of(error: ValidationError) -> str:
    """The first of what is wrong, and where."""
    first = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    said = first["msg"].removeprefix("Value error, ")
    return f"{place}: {said}" if place else said

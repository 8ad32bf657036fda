"""The commands that use a model. Imported late, because torch takes seconds."""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from chumoku.app.api.requests import ChatRequest, GenerateRequest
from chumoku.app.api.run import RunRequest
from chumoku.app.cli.console import need_training, need_transformers
from chumoku.app.errors import written
from chumoku.app.services import discovery, pictures, plan, tokens, tracing
from chumoku.app.services.capabilities import CLASSIFIES, check_can, explained
from chumoku.app.services.chat import chat
from chumoku.app.services.generation import forced_ids
from chumoku.app.services.interventions import Intervention
from chumoku.app.services.models import all_models
from chumoku.app.services.plan import plan_writing
from chumoku.app.services.predictions import check_left, sequences
from chumoku.app.settings import Settings
from chumoku.model import checkpoint
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.files import read_bytes, write_whole
from chumoku.model.generate import Generator, Step, completes, steps
from chumoku.model.run import Run
from chumoku.model.sampling import SamplingSettings
from chumoku.model.traceable import TraceableModel


def open_model(name: str, settings: Settings) -> Checkpoint:
    """Load one of our own models, by name or folder, on the device that is set."""
    return explained(discovery.open_traceable(name, settings))


def export_model(model: str, folder: Path, to: str, settings: Settings) -> str:
    """Write one of our own models to `folder`; returns a line about it. `to` names the library: only hf."""
    exported = need_transformers().export(open_model(model, settings), folder)
    opened = f'{exported.opened_by}.from_pretrained("{exported.folder}")'
    return f"{exported.folder}: {exported.architecture} and its tokenizer; open it with {opened}"


def write_units(model: str, data: Path, settings: Settings) -> str:
    """Count a model's FFN units over texts that it never saw, add the counts to its card, and return them as lines."""
    folder = discovery.locate(model, settings)
    units = need_training().add_units(folder, data, checkpoint.pick_device(settings.device))
    lines = [
        f"  {one['path']}: {one['n_dead']} of {one['n_units']} never fire, {one['n_always_on']} always do"
        for one in units["layers"]
    ]
    return "\n".join([f"{folder / 'card.json'}: units over {units['on']}", *lines])


def write_lengths(model: str, data: Path, settings: Settings) -> str:
    """Measure a model over lengths on texts that it never saw, add that to its card, and return it as lines."""
    folder = discovery.locate(model, settings)
    lengths = need_training().add_lengths(folder, data, checkpoint.pick_device(settings.device))
    columns = (lengths[name] for name in ("length", "loss", "apart", "error"))
    lines = [
        f"  {n:5,} tokens: {loss:.3f} nats, {apart:+.3f} ± {error:.3f}"
        for n, loss, apart, error in zip(*columns, strict=True)
    ]
    return "\n".join([f"{folder / 'card.json'}: loss over lengths on {lengths['on']}", *lines])


def write_speed(model: str, settings: Settings) -> str:
    """Time a training step of a model beside its baseline's, add both to its card, and return them as lines."""
    folder = discovery.locate(model, settings)
    speed = need_training().add_speed(folder, checkpoint.pick_device(settings.device))
    of_both = f"{1000 * speed['seconds']:.0f} against {1000 * speed['seconds_of_baseline']:.0f} ms"
    step = f"forward and backward pass over {speed['tokens']:,} tokens on {speed['hardware']}"
    return f"{folder / 'card.json'}: {step}\n  {speed['times']:.2f} × {speed['like']}'s: {of_both}"


def write_seeds(model: str, runs: list[Path], settings: Settings) -> str:
    """Adds to a model's card what the same training reached from other seeds, and returns it as lines."""
    folder = discovery.locate(model, settings)
    seeds = need_training().add_seeds(folder, runs)
    lines = [
        f"  seed {one['seed']}: "
        + ", ".join(f"{name.replace('_', ' ')} {x:.3f}" for name, x in one.items() if isinstance(x, float))
        for one in seeds
    ]
    return "\n".join([f"{folder / 'card.json'}: other seeds", *lines])


BEAMS, ALPHA = 4, 0.6


def write_trace(
    sentence: dict[str, Any], model: str | None, out: Path, settings: Settings, turns: Sequence[str] = (), **asked: Any
) -> str:
    """Write every tensor of a sentence and every position's prediction to `out`; returns a line about it.

    The file is an .npz or .html (a page that draws it) if named so, otherwise safetensors. `sentence`: a request's
    `input`, or `turns` of a chat, as in `turns_of`; `asked`: its `target`, `masks`, `pad` and `interventions`.
    """
    loaded, limit = discovery.open_traceable(model, settings), settings.max_text_chars
    if turns:
        sentence = chat_input(loaded, turns, limit)
    run = RunRequest.model_validate({"input": sentence, **asked})
    planned = plan.plan_run(loaded, run, limit)
    n, target = len(planned.padded), planned.run.target
    cut = tokens.unread(loaded, run, n)
    of_more = f" (the last of {cut['n_tokens']:,})" if cut else ""
    count = f"{n}{of_more}" + (f" source and {len(target)} target" if target else "")
    unread = [name for note in tokens.notes(loaded, run, n) if note.get("read") is False for name in note["names"]]
    hint = f"\nread as text: {written(', '.join(unread))}; with --special, as special tokens" if unread else ""
    return write_run(loaded, run, settings, out, count) + hint


def chat_input(loaded: TraceableModel, turns: Sequence[str], limit: int) -> dict[str, Any]:
    """The `input` of a run that reads these turns, as the model's chat template writes them."""
    asked = ChatRequest.model_validate({"messages": [turn for one in turns for turn in turns_of(one)]})
    read: dict[str, Any] = chat(loaded.about, asked, limit)["input"]
    return read


def turns_of(spelt: str) -> list[Any]:
    """A turn of a chat, written as ROLE:TEXT, or all in a JSON file: [{"role": "user", "content": "Hi"}]. Raises
    `OSError`, and `ValueError` for anything else."""
    role, colon, content = spelt.partition(":")
    if spelt.endswith(".json") and (not colon or is_file(spelt)):  # a turn may end so, too
        found = json.loads(read_bytes(Path(spelt)))
        if not isinstance(found, list):
            raise ValueError(f'--chat {spelt}: the file must be a list of turns: [{{"role": "user", "content": "Hi"}}]')
        return found
    if not colon or not role.strip():
        raise ValueError(f"--chat {spelt}: use ROLE:TEXT, as in 'user:Hi', or a .json file")
    return [{"role": role.strip(), "content": content.strip()}]


def is_file(name: str) -> bool:
    """Whether there is such a file; a long text is no name of one."""
    try:
        return Path(name).is_file()
    except OSError:
        return False


def write_trace_of_picture(picture: Path, model: str | None, out: Path, settings: Settings, **asked: Any) -> str:
    """The same for a PNG or JPEG, with a model that reads pictures."""
    loaded = discovery.open_traceable(model, settings)
    pixels = pictures.fitted(loaded.about, picture.read_bytes(), settings.upload_pixels)["pixels"]
    run = RunRequest.model_validate({"pixels": pixels, **asked})
    return write_run(loaded, run, settings, out, f"{loaded.description.max_seq_len}")


def write_run(loaded: TraceableModel, run: RunRequest, settings: Settings, out: Path, count: str) -> str:
    """The file, and what to do with it."""
    if out.suffix in PICTURED:
        return write_document(loaded, run, out, settings, count)
    body = tracing.saved(loaded, run, settings.max_text_chars, "npz" if out.suffix == ".npz" else "safetensors")
    write_whole(out, body)
    about = f"{out}: {len(loaded.description.taps)} tensors of {count} tokens, {len(body) / 1e6:.1f} MB"
    return f"{about}\nto see them: drop the file onto the page, or write a page of its own with -o {out.stem}.html"


PICTURED = (".html", ".htm")


def write_document(loaded: TraceableModel, run: RunRequest, out: Path, settings: Settings, count: str) -> str:
    """The run as the notebook's `show` draws it, in one file for a browser, and the line about it."""
    from chumoku.app.notebook.model import Trace, model_of
    from chumoku.app.notebook.show import show

    model = model_of(loaded, settings)
    document = show(Trace(model, model.file_of(run.model_copy(update={"model": model.name}))))
    document.save(out)
    return f"{out}: attention over {count} tokens, {document.nbytes / 1e6:.1f} MB: open it in a browser"


def padding(left: int, right: int, *, follow: bool) -> dict[str, Any]:
    """The `pad` of a trace. Raises `ValueError` for PADs on both sides, which a request cannot have."""
    if left and right:
        raise ValueError("PADs go on one side: use --pad-left or --pad-right")
    return {"count": left or right, "side": "right" if right else "left", "follow": follow}


SAMPLING: dict[str, Any] = {"temperature": 0.8, "top_k": 20, "top_p": 0.95, "seed": 7}
N_NEW = 64


def print_generated(
    text: str | None,
    model: str | None,
    settings: Settings,
    drawing: dict[str, Any],
    n: int | None,
    beams: int | None,
    *,
    cache: bool = True,
    turns: Sequence[str] = (),
) -> None:
    """Print the continuation or the translation of `text`, or the answer to the `turns` of a chat.

    `drawing` has None for each sampling setting that was not given, and for `banned`, `stop` and `begin`. A translation
    uses beam search with `beams`, unless one of them or `n` was given: then it is sampled.
    """
    given = {name: value for name, value in drawing.items() if value is not None}
    numbers = {name: value for name, value in given.items() if name not in told(given)}
    sampling = SamplingSettings(**SAMPLING | numbers)
    check_options(n, beams, drawn=bool(given) or n is not None)
    loaded = discovery.open_traceable(model, settings)
    check_can(loaded, "generate", CLASSIFIES)
    can_search = loaded.description.can["beams"]
    if beams is not None and not can_search:
        raise ValueError(f"--beam is for a translator; {loaded.name} is {loaded.description.family}")
    read = chat_input(loaded, turns, settings.max_text_chars) if turns else {"text": text}
    asked = GenerateRequest.model_validate({"input": read, **told(given)})
    run = replace(plan_writing(loaded, asked, settings.max_text_chars).run, cache=cache)
    if loaded.description.writes == "source" and text is not None:
        sys.stdout.write(text)
    if can_search and not given and not n:
        print(written(searched(loaded, run, beams or BEAMS), keep="\n\t"))
    else:
        tokenizer, session = loaded.tokenizer, loaded.start(run, [])
        check_left(tokenizer, banned := sequences(loaded, asked.banned))
        forced = forced_ids(loaded, asked, session.prompt, settings.max_text_chars)
        generator = Generator(session, replace(sampling, banned=banned), tokenizer.never_sampled, forced)
        stops = partial(completes, texts=asked.stop, token_bytes=tokenizer.token_bytes)
        print_steps(loaded, steps(generator, tokenizer.special.end, n or N_NEW, stops))


def told(given: dict[str, Any]) -> dict[str, Any]:
    """The texts among the options, as fields of a request."""
    return {name: value for name, value in given.items() if name in ("banned", "stop", "begin")}


def searched(traceable: TraceableModel, run: Run, beams: int) -> str:
    """The most likely target that beam search finds."""
    with torch.inference_mode():
        search = traceable.search(run, beams, ALPHA)
        while search.open:
            search.step()
    found = search.best[0]
    return tokens.text_of(traceable.tokenizer, found.ids)


def check_options(n: int | None, beams: int | None, *, drawn: bool) -> None:
    """Raise `ValueError` for options that are out of range or cannot be combined."""
    if n is not None and n < 1:
        raise ValueError(f"-n must be at least 1, got {n}")
    if drawn and beams is not None:
        raise ValueError("a beam search does not sample: use --beam, or -n, --temperature, --top-k, --top-p and --seed")


def print_steps(loaded: TraceableModel, steps: Iterator[Step]) -> None:
    """Print new tokens as they come. A character appears with its last byte."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for step in steps:
        newest = step.ids[-1]
        if step.drawn is not None and newest != loaded.tokenizer.special.end:
            sys.stdout.write(written(decoder.decode(loaded.tokenizer.token_bytes(newest)), keep="\n\t"))
        sys.stdout.flush()
    sys.stdout.write(decoder.decode(b"", final=True) + "\n")


def list_models(settings: Settings, *, as_json: bool) -> None:
    """Print the models as a table, or as the JSON of `/api/models`."""
    listed = all_models(discovery.discover(settings))
    if as_json:
        print(json.dumps(listed, ensure_ascii=False, indent=2))
        return
    console = Console()
    console.print(models_table(listed["models"], listed["default"]))
    for problem in listed["problems"]:
        console.print(f"unavailable: {problem['name']}. {problem['reason']}", markup=False, highlight=False)


def models_table(described: list[dict[str, Any]], default: str) -> Table:
    """One line a model, within 80 columns; the default's name is bold."""
    caption = "shape: layers × heads × d_model; * the default; more with --json"
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, caption=caption, caption_justify="left")
    for title in ("model", "family", "shape", "vocab", "params", "held-out"):
        table.add_column(title, no_wrap=True, justify="left" if title in ("model", "family") else "right")
    for about in described:
        table.add_row(
            f"[bold]{escape(about['name'])}[/] *" if about["name"] == default else escape(about["name"]),
            about["family"],
            f"{about['n_layer']} × {about['n_head']} × {about['d_model']}",
            f"{about['vocab_size']:,}",
            f"{about['n_parameters'] / 1e6:.1f} M",
            figure(about["card"].get("evaluation", {})),
        )
    return table


def figure(evaluation: dict[str, Any]) -> str:
    """A card's main figure with its unit; empty if it has none."""
    beam = evaluation.get("beam_4")
    bits, accuracy = evaluation.get("bits_per_byte"), evaluation.get("accuracy")
    chrf = (beam if isinstance(beam, dict) else evaluation).get("chrf")
    if isinstance(bits, int | float):
        return f"{bits:.3f} bits/byte"
    if isinstance(accuracy, int | float):
        return f"accuracy {100 * accuracy:.1f} %"
    return f"chrF {chrf:.1f}" if isinstance(chrf, int | float) else ""


KNOCKOUT = re.compile(r"knockout:(?:([^:]+):)?([0-9]{1,9}):([0-9]{1,9}):([0-9]{1,9})")
OFF = re.compile(r"off:(head|ffn|attention):(?:([^:]*[^:0-9][^:]*):)?([0-9]{1,9})(?::([0-9]{1,9}))?")
FORM = (
    "use knockout:LAYER:QUERY:KEY, off:head:LAYER:HEAD, off:ffn:LAYER or off:attention:LAYER (where there are several "
    "attentions, its name stands before LAYER), no-positions, freeze-norms, or JSON as in a request's interventions"
)


def interventions(edits: Sequence[str]) -> list[dict[str, Any]]:
    """The interventions of a request. Raises `ValueError` naming the first invalid one."""
    return [checked(edit, spelt(edit)) for edit in edits]


def spelt(edit: str) -> Any:
    """An edit in its short form, or its JSON."""
    if edit.startswith("knockout:"):
        return knockout(edit)
    if off := OFF.fullmatch(edit):
        part, attention, layer, head = off.groups()
        role = {"role": {"head": "z", "ffn": "out", "attention": "attn_out"}[part]}
        where = {"attention": attention, "layer": int(layer), **role} | ({"head": int(head)} if head else {})
        return {"kind": "ablate", "where": where} if (head is not None) == (part == "head") else from_json(edit)
    return {"kind": edit.replace("-", "_")} if edit in ("no-positions", "freeze-norms") else from_json(edit)


def knockout(edit: str) -> dict[str, Any]:
    """A connection knocked out in all heads of a layer."""
    found = KNOCKOUT.fullmatch(edit)
    if found is None:
        raise wrong(edit)
    attention, *cell = found.groups()
    where = dict(zip(("layer", "query", "key"), map(int, cell), strict=True))
    return {"kind": "mask", "where": {"attention": attention, **where}, "allow": False}


def from_json(edit: str) -> Any:
    try:
        return json.loads(edit)
    except json.JSONDecodeError:
        raise wrong(edit) from None


def checked(edit: str, intervention: Any) -> dict[str, Any]:
    try:
        TypeAdapter(Intervention).validate_python(intervention)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"][1:]))  # after the kind
        raise ValueError(f"--edit {edit}: {at + ': ' if at else ''}{first['msg']}") from None
    found: dict[str, Any] = intervention
    return found


def wrong(edit: str) -> ValueError:
    return ValueError(f"--edit {edit}: {FORM}")

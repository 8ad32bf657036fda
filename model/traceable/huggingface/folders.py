"""Folders written by transformers' `save_pretrained`: configs, headers of weights, and opening a model.

Only `open` imports transformers, which takes seconds the first time. A folder is refused here (family, class, code of
its own, pickles); for a setting in `transformers_config.py`, its tokenizer in `tokenizer_files.py`, its weights in
`loading.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

import torch

from chumoku.model.describe.parameters import references
from chumoku.model.files import Shapes, read_json, read_small, shapes_in
from chumoku.model.pictures.tokenizer import PlaceTokenizer
from chumoku.model.traceable.huggingface.chat import FILE as CHAT
from chumoku.model.traceable.huggingface.chat import chat_template
from chumoku.model.traceable.huggingface.families import FAMILIES, heads, others
from chumoku.model.traceable.huggingface.layout import Adapter, attributing, drawable, typed
from chumoku.model.traceable.huggingface.processing import FILE as PROCESSOR
from chumoku.model.traceable.huggingface.tokenizer_files import ROLES, TOKENIZERS, tokenizer_of
from chumoku.model.traceable.huggingface.transformers_config import KINDS, MOST, TransformersConfig, kind_of_angles
from chumoku.model.traceable.huggingface.unopened import CONVERT, PICKLES, WITHOUT_ATTENTION, reason
from chumoku.model.traceable.places import INDEX, WEIGHTS
from chumoku.model.traceable.protocols import About, TraceableModel, Weight

FLOAT32, SPARE = 4, 1.2
"""Bytes per number, and how much memory loading needs relative to the weights."""
MEMINFO = Path("/proc/meminfo")


def available() -> int | None:
    """Bytes of free memory; None if the system does not say."""
    try:
        lines = MEMINFO.read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def check_memory(name: str, n_parameters: int) -> None:
    """Raise `OSError` for a model that needs more memory than is free: a later request may find more."""
    needed, free = int(FLOAT32 * SPARE * n_parameters), available()
    if free is not None and needed > free:
        raise OSError(
            f"{name} needs {gigabytes(needed)} in float32, and {gigabytes(free)} of memory are free: "
            "stop other programs, or take a smaller model"
        )


def gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.1f} GB"


CONFIG = "config.json"
READ_PICTURES = ("vit", "deit", "dinov2", "dinov2_with_registers")
"""The families that read pictures, prepared by an image processor."""


FORMERLY_CODE = ("falcon",)
"""Families whose repositories still name the code that they came with; transformers has it since."""


def is_folder(folder: Path) -> bool:
    """Whether its config names a model type of transformers, or it is something that people take for such a folder. Our
    own configs have no `model_type`."""
    try:
        if "model_type" in read_small(folder / CONFIG):
            return True
    except (OSError, ValueError):
        pass
    return reason(folder) is not None


def read_settings(folder: Path) -> TransformersConfig:
    """A folder's config. Raises `ValueError` for a family or a class that we cannot show, listing those that we can."""
    if (why := reason(folder)) is not None:
        raise ValueError(why)
    values = read_small(folder / CONFIG)
    model_type, given = str(values["model_type"]), values.get("architectures")
    if model_type in WITHOUT_ATTENTION:
        raise ValueError(
            f"{folder}: a {model_type} has no attention, so there is nothing of it to see: open another model"
        )
    if not given:
        usual = FAMILIES.get(model_type, (("a class of transformers",),))[0][0]
        raise ValueError(
            f"{folder / CONFIG} names no architectures, so it is not known which class its weights belong to: add it "
            f'(such as "architectures": ["{usual}"]), or save the model again with save_pretrained'
        )
    if not isinstance(given, list):
        raise ValueError(f"{folder / CONFIG}: architectures must be a list of names, got {str(given)[:40]}")
    reads_pictures = model_type in READ_PICTURES and (folder / PROCESSOR).is_file()
    found = TransformersConfig(
        model_type, str(given[0]), values, read_small(folder / PROCESSOR) if reads_pictures else {}
    )
    if values.get("auto_map") and model_type not in FORMERLY_CODE:
        raise ValueError(f"{folder / CONFIG} names custom code, which is never run: only models of transformers open")
    found.refuse("quantization_config")
    if found.model_type not in FAMILIES and others.is_decoder(found.architecture):
        return found
    if found.model_type not in FAMILIES:
        raise ValueError(f"{folder}: {found.model_type} models cannot be shown yet; known are {', '.join(FAMILIES)}")
    found, (names, _) = replace(found, architecture=heads.loaded(found.architecture)), FAMILIES[found.model_type]
    try:
        heads.usual_of(found.architecture, names)
    except LookupError:
        raise ValueError(
            f"{folder}: a {found.architecture} cannot be shown; of {found.model_type}, {', '.join(names)} can"
        ) from None
    return found


def adapt(folder: Path, shapes: Shapes | None = None) -> tuple[TransformersConfig, Adapter]:
    """A folder's config and its adapter; `shapes`: of the weights, if they are not there. Raises `OSError` or
    `ValueError`."""
    settings = read_settings(folder)
    check_counts(settings, all_shapes(folder) if shapes is None else shapes)
    names, make = FAMILIES.get(settings.model_type, ((settings.architecture,), others.adapt))
    usual, head = heads.usual_of(settings.architecture, names)
    if heads.predicts_no_class(settings):
        usual, head = next(name for name in names if not name.endswith(heads.CLASSIFIER)), heads.HEADS[heads.CLASSIFIER]
    if others.is_decoder(settings.architecture) and kind_of_angles(settings) not in KINDS:
        make = others.adapt  # their angles have no formula here
    found = typed(make(replace(settings, architecture=usual)), settings)
    return settings, attributing(drawable(found if head is None else heads.with_head(found, head, settings)))


LEAST = 64
"""Small numbers are never wrong here: a folder may leave out what it does not use."""
LAYERS, LABELS = re.compile(r"layers?$"), re.compile(r"num_(labels|classes)$")
COUNTS = re.compile(r"^(num|n)_|_dim$|_size$|experts|heads|rank$")
NO_COUNTS = re.compile("token|param|length|position|window|ctx|context")


def check_counts(settings: TransformersConfig, shapes: Shapes) -> None:
    """Raise `ValueError` for more layers than stored tensors, more classes than any tensor has rows, or another count
    that no model has: a description of each, or a list in transformers, would be built before anything is compared."""
    rows = max((shape[0] for shape in shapes.values() if shape), default=0)
    for name, value in settings.values.items():
        if type(value) is not int or value <= LEAST:
            continue
        if LAYERS.search(name) and value > len(shapes):
            raise ValueError(f"config.json: {name} is {value:,}, and its weights have {len(shapes):,} tensors")
        if LABELS.search(name) and value > rows:
            raise ValueError(f"config.json: {name} is {value:,}, and no tensor of its weights has as many rows")
        if value > MOST and COUNTS.search(name) and not NO_COUNTS.search(name):
            raise ValueError(f"config.json: {name} must be a whole number up to {MOST:,}, got {value:,}")


def all_shapes(folder: Path) -> Shapes:
    """The shapes of all stored tensors of a type that weights have."""
    return {name: shape for path in weight_files(folder) for name, shape in shapes_in(path, lambda _: False).items()}


def weight_files(folder: Path) -> list[Path]:
    """The files of the weights: one, or those that an index lists. Raises `ValueError` if there are only pickles."""
    if (folder / INDEX).is_file():
        listed = read_json(folder / INDEX).get("weight_map", {})
        if not isinstance(listed, dict):
            raise ValueError(f"{folder / INDEX}: weight_map must be an object, got {str(listed)[:40]}")
        return [folder / Path(str(name)).name for name in sorted(set(listed.values()))]
    if not (folder / WEIGHTS).exists():
        if other := next((x for x in PICKLES if (folder / x).exists()), None):
            raise ValueError(f"{folder} has its weights in {other}, {CONVERT}")
        raise ValueError(
            f"{folder} has no weights ({WEIGHTS}), only what describes them: copy or download it whole; if it "
            f"has only pickles ({PICKLES[0]}), convert these where you trust them (from_pretrained, then "
            "save_pretrained)"
        )
    return [folder / WEIGHTS]


def stored_shapes(folder: Path, adapter: Adapter) -> Shapes:
    """The shapes of the stored numbers, from the headers; of buffers of another type, only if the model takes them."""
    found, taken = dict[str, tuple[int, ...]](), {name for one in adapter.stored() for name in names_of(one.theirs)}
    for path in weight_files(folder):
        found |= shapes_in(path, taken.__contains__)
    return {name: shape for name, shape in found.items() if not name.endswith(adapter.unused or ("\0",))}


def names_of(parameter: str) -> tuple[str, ...]:
    """The names under which files have a parameter: with the name of the model without its head in front, or not."""
    return parameter, parameter.partition(".")[2]


def n_parameters(shapes: Shapes) -> int:
    return sum(map(math.prod, shapes.values()))


TOKEN_TYPES = "token_type_embeddings.weight"
"""How the name of the table of token types ends, in every family that has one."""
EXTRA = "pip install -c constraints.txt -e '.[hf]'"


class HuggingFaceFolders:
    """Models of transformers. Only local files and safetensors are read, and no code in a folder is run."""

    def can_open(self, folder: Path) -> bool:
        return is_folder(folder)

    def about(self, folder: Path) -> About:
        settings, adapter = adapt(folder)
        return about(folder, settings, adapter)

    def files(self, folder: Path) -> list[Path]:
        try:
            weights = weight_files(folder)
        except (OSError, ValueError):
            weights = []
        return [*weights, *(folder / name for name in (CONFIG, INDEX, PROCESSOR, *TOKENIZERS, CHAT))]

    def open(self, folder: Path, device: torch.device) -> TraceableModel:
        settings, adapter = adapt(folder)
        known = about(folder, settings, adapter)
        check_memory(known.name, known.n_parameters)
        try:
            from chumoku.model.traceable.huggingface.loading import load
        except ModuleNotFoundError as error:
            raise needs(error) from None
        return load(folder, known, settings, adapter, device)


def about(folder: Path, settings: TransformersConfig, adapter: Adapter, shapes: Shapes | None = None) -> About:
    shapes = stored_shapes(folder, adapter) if shapes is None else shapes
    try:
        tokenizer = tokenizer_of(folder, settings, adapter.description)
    except ModuleNotFoundError as error:
        raise needs(error) from None
    check_stored(folder, adapter, shapes)
    special = tokenizer.special
    config = dict(settings.values) | {"tie_embeddings": adapter.tied}
    if adapter.description.picture is not None:
        config["picture"] = asdict(adapter.description.picture)
    first = None if special.first is None else tokenizer.tokens([special.first])[0].text
    weights = described(adapter)
    named = read_json(folder / ROLES) if (folder / ROLES).is_file() else {}
    chat = chat_template(folder, named) if adapter.description.writes == "source" else None
    fit = adapter.processing.fitted if adapter.processing and isinstance(tokenizer, PlaceTokenizer) else None
    return About(folder.name, adapter.description, special, tokenizer.never_sampled, {}, config, weights,
                 n_parameters(shapes), n_positions=adapter.n_positions, fit=fit, first_name=first,
                 n_lacking=getattr(tokenizer, "n_lacking", 0), chat=chat,
                 reads_pairs=getattr(tokenizer, "pair", None) is not None,
                 n_token_types=next((x[0] for name, x in shapes.items() if name.endswith(TOKEN_TYPES)), 0))  # fmt: skip


def check_stored(folder: Path, adapter: Adapter, shapes: Shapes) -> None:
    """Raise `ValueError` for a stored parameter of another shape than the config needs. One that the file has under
    another name is checked when it is loaded."""
    needed = described(adapter)
    for one in adapter.stored():
        name = next((name for name in names_of(one.theirs) if name in shapes), None)
        if name is None:
            continue
        try:
            found = tuple(one.take(torch.empty(shapes[name], device="meta")).shape)
        except (RuntimeError, IndexError):  # it cannot be split into the parts that are read from it
            found = None
        if found != (shape := tuple(needed[one.ours].shape)):
            raise ValueError(
                f"{folder}: its weights do not fit its config: {name} is {shapes[name]}, "
                f"and the config needs {shape} for {one.ours}"
            )


def described(adapter: Adapter) -> Mapping[str, Weight]:
    """The parameters that the description names, as they are shown."""
    found = references(adapter.description, adapter.dims)
    return {
        name: Weight([adapter.size(dim) for dim in reference.dims.split()], reference.dims)
        for name, reference in found.items()
    }


def needs(error: ModuleNotFoundError) -> ValueError:
    return ValueError(f"a model of Hugging Face's needs {error.name}: {EXTRA}")

"""A folder that `save_pretrained` wrote, before transformers is imported: its config and its weights' headers."""

from __future__ import annotations

import math
from pathlib import Path

from chumoku.model.files import read_json
from chumoku.model.traceable.huggingface.angles import KINDS, kind_of
from chumoku.model.traceable.huggingface.families import FAMILIES, others
from chumoku.model.traceable.huggingface.layout import Adapter, drawable
from chumoku.model.traceable.huggingface.processing import FILE as PROCESSOR
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig
from chumoku.model.weights_file import Shapes, shapes_in

CONFIG, INDEX, WEIGHTS = "config.json", "model.safetensors.index.json", "model.safetensors"
VIT = "vit"
"""The family that reads pictures, as an image processor makes them."""
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack")


def is_folder(folder: Path) -> bool:
    """Whether its config names a model type of transformers. (Ours have no such name.)"""
    try:
        return "model_type" in read_json(folder / CONFIG)
    except (OSError, ValueError):
        return False


def read_settings(folder: Path) -> TransformersConfig:
    """Raises `ValueError` for a family or a class that we cannot show, listing those that we can."""
    values = read_json(folder / CONFIG)
    given = values.get("architectures") or [None]
    if not isinstance(given, list):
        raise ValueError(f"{folder / CONFIG}: architectures must be a list of names, got {str(given)[:40]}")
    model_type = str(values["model_type"])
    reads_pictures = model_type == VIT and (folder / PROCESSOR).is_file()
    found = TransformersConfig(
        model_type, str(given[0]), values, read_json(folder / PROCESSOR) if reads_pictures else {}
    )
    if values.get("auto_map"):
        raise ValueError(
            f"{folder / CONFIG} names code of its own, which is never run: only models of transformers open"
        )
    found.refuse("quantization_config")
    if found.model_type not in FAMILIES and others.is_decoder(found.architecture):
        return found
    if found.model_type not in FAMILIES:
        raise ValueError(f"{folder}: {found.model_type} models cannot be shown yet; known are {', '.join(FAMILIES)}")
    names, _ = FAMILIES[found.model_type]
    if found.architecture not in names:
        raise ValueError(
            f"{folder}: a {found.architecture} cannot be shown; of {found.model_type}, {', '.join(names)} can"
        )
    return found


def adapt(folder: Path) -> tuple[TransformersConfig, Adapter]:
    """Raises `OSError` or `ValueError`."""
    settings = read_settings(folder)
    _, make = FAMILIES.get(settings.model_type, ((), others.adapt))
    if others.is_decoder(settings.architecture) and kind_of(settings) not in KINDS:
        make = others.adapt  # their angles have no formula here
    return settings, drawable(make(settings))


def weight_files(folder: Path) -> list[Path]:
    """The files of the weights: one, or those that an index lists. Raises `ValueError` if there are only pickles."""
    if (folder / INDEX).is_file():
        listed = read_json(folder / INDEX).get("weight_map", {})
        if not isinstance(listed, dict):
            raise ValueError(f"{folder / INDEX}: weight_map must be an object, got {str(listed)[:40]}")
        return [folder / Path(str(name)).name for name in sorted(set(listed.values()))]
    if not (folder / WEIGHTS).exists() and (other := next((x for x in PICKLES if (folder / x).exists()), None)):
        raise ValueError(
            f"{folder} has its weights in {other}, which can run code when it is opened: "
            "convert it where you trust it (from_pretrained, then save_pretrained, which writes safetensors)"
        )
    return [folder / WEIGHTS]


def stored_shapes(folder: Path, adapter: Adapter) -> Shapes:
    """The parameters' shapes, from the headers."""
    found: dict[str, tuple[int, ...]] = {}
    for path in weight_files(folder):
        found |= shapes_in(path)
    return {name: shape for name, shape in found.items() if not name.endswith(adapter.unused or ("\0",))}


def n_parameters(shapes: Shapes) -> int:
    return sum(map(math.prod, shapes.values()))

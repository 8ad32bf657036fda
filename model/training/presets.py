"""What to train: a preset is a model, its data and how to learn from them. A new one is one entry in PRESETS."""

from __future__ import annotations

from dataclasses import dataclass

from model.config import ModelConfig


@dataclass(frozen=True)
class Source:
    """A file of documents below the data folder, its share of the training rows, and what the card says of it."""

    file: str
    weight: float
    what: str
    licence: str
    held_out: float = 0.02


@dataclass(frozen=True)
class Preset:
    name: str
    config: ModelConfig
    sources: tuple[Source, ...]
    validate_on: str
    batch_size: int = 8
    peak_rate: float = 1.5e-3
    warm_up: float = 0.02
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.98)
    clip_norm: float = 1.0
    label_smoothing: float = 0.0
    ema_decay: float = 0.998


STORIES_GPT = Preset(
    name="stories-gpt",
    config=ModelConfig(vocab_size=4096, n_layer=6, n_head=8, d_model=256, d_ff=1024, max_seq_len=256),
    sources=(
        Source("tinystories.txt", 0.42, "TinyStories (Eldan & Li 2023)", "CDLA-Sharing-1.0"),
        Source("fables.txt", 0.16, "synthetic fables for ages 4-7, klusai/tinyfabulist", "MIT"),
        Source("storybooks_pb.txt", 0.05, "picture books, global-asp/pb-source", "CC BY 4.0"),
        Source("storybooks_asp.txt", 0.03, "African Storybook, global-asp/asp-source", "CC BY"),
        Source("fairytaleqa.txt", 0.06, "fairy tales, uci-soe/FairytaleQAData", "Apache-2.0"),
        Source("gutenberg_children.txt", 0.28, "children's books of Project Gutenberg, rcdm-uga/Gutenberg_Text",
               "public domain in the USA"),
    ),
    validate_on="tinystories.txt",
)  # fmt: skip

PRESETS = {preset.name: preset for preset in (STORIES_GPT,)}

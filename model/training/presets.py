"""What to train: a preset is a model, its data and a recipe. A new one is one entry in PRESETS."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from chumoku.model.config import ModelConfig
from chumoku.model.pictures.picture import Picture
from chumoku.model.training.recipe import SmoothingForm, WarmUpThenLinear, WarmUpThenRoot

GPT_SCHEDULE = WarmUpThenLinear(peak_rate=1.5e-3, warm_up=0.02)


OWN = Path(__file__).parent / "enja"
"""Lists that come with the project."""
Reads = Literal["documents", "pairs", "labelled", "package", "own"]
"""The form of a file. `package`: no file, but data that come with a Python package; `own`: pairs in a file of this
project, not of the data folder."""
HeldOut = Literal["random", "last"]
"""Which pictures are held out: a random fifth, by a fixed seed, or the last fifth."""


@dataclass(frozen=True)
class DataSource:
    """A file in the data folder, its share of the training rows, and its description for the card. `held_out` is the
    fraction of it that is held out, `reads` its form if a task reads several forms; `which` says which pictures are
    held out."""

    file: str
    weight: float
    what: str
    licence: str
    held_out: float = 0.02
    reads: Reads = "documents"
    which: HeldOut = "random"

    def path(self, data: Path) -> Path:
        """Where the file is."""
        return (OWN if self.reads == "own" else data) / self.file


@dataclass(frozen=True)
class Preset:
    """A model, its data and a recipe.

    `batch_size` counts rows of a whole window, or padded tokens where examples differ in length (a translator's: target
    tokens). `last_checkpoints` (how many, every how many steps) are averaged instead of an EMA. `token_dropout` is the
    fraction of a classifier's tokens that are replaced by PAD or hidden, drawn anew for every batch. `gap_share` is the
    fraction of the tokens that a masked language model has to predict. `bpe_dropout` is the fraction of merges left out
    when a translator's batch is split into tokens; with `both_directions` the translator also learns to translate back.
    `tokenizer` names a model of the zoo whose vocabulary is used; None: it is learned from the data. `baseline` names
    the preset that this one differs from in one thing.
    """

    name: str
    config: ModelConfig
    sources: tuple[DataSource, ...]
    validate_on: str
    languages: tuple[str, ...] = ("en",)
    batch_size: int = 8
    schedule: WarmUpThenLinear | WarmUpThenRoot = GPT_SCHEDULE
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.98)
    adam_eps: float = 1e-8
    clip_norm: float = 1.0
    label_smoothing: float = 0.0
    smoothing_form: SmoothingForm = "all"
    ema_decay: float = 0.998
    last_checkpoints: tuple[int, int] | None = None
    token_dropout: float = 0.0
    gap_share: float = 0.15
    bpe_dropout: float = 0.0
    both_directions: bool = False
    tokenizer: str | None = None
    baseline: str | None = None

    def check_data(self, data: Path) -> None:
        """Raise `ValueError` naming the files that `data` lacks."""
        files = [source.file for source in self.sources if source.reads not in ("package", "own")]
        missing = [file for file in files if not (data / file).is_file()]
        if missing:
            raise ValueError(f"{data} lacks {', '.join(missing)}, which {self.name} is trained on")


STORIES_GPT = Preset(
    name="stories-gpt",
    config=ModelConfig(vocab_size=4096, n_layer=6, n_head=8, d_model=256, d_ff=1024, max_seq_len=256, dropout=0.1),
    sources=(
        DataSource("tinystories.txt", 0.55, "TinyStories (Eldan & Li 2023)", "CDLA-Sharing-1.0"),
        DataSource("fables.txt", 0.15, "synthetic fables for ages 4-7, klusai/tinyfabulist", "MIT"),
        DataSource("storybooks_pb.txt", 0.05, "picture books, global-asp/pb-source", "CC BY 4.0"),
        DataSource("storybooks_asp.txt", 0.03, "African Storybook, global-asp/asp-source", "CC BY"),
        DataSource("fairytaleqa.txt", 0.05, "fairy tales, uci-soe/FairytaleQAData", "Apache-2.0"),
        DataSource("gutenberg_children.txt", 0.17, "children's books of Project Gutenberg, rcdm-uga/Gutenberg_Text",
               "public domain in the USA"),
    ),
    validate_on="tinystories.txt",
    batch_size=16,
)  # fmt: skip

# "Attention Is All You Need", smaller: post-norm, sinusoids, one matrix for all embeddings, its smoothing. Both
# directions are in one model: the script of a sentence says in which direction to translate it. The batch is a GPU's:
# in 9 minutes of an H200 it read every pair some 45 times. This is the recipe of the first of the trainings on the
# card, which only the last one gave common.tsv.
TRANSLATE_ENJA = Preset(
    name="translate-enja",
    config=ModelConfig(
        vocab_size=8192, n_layer=3, n_head=8, d_model=320, d_ff=1280, max_seq_len=128, family="encoder-decoder",
        position="sinusoidal", norm_order="post", dropout=0.2, scale_embeddings=True,
    ),
    sources=(
        DataSource("pairs.tsv", 0.56, "English-Japanese sentence pairs, Tatoeba by way of manythings.org/anki",
               "CC BY 2.0 (France)"),
        DataSource("tanaka.tsv", 0.27, "further pairs, the Tanaka corpus by way of odashi/small_parallel_enja",
               "public domain"),
        DataSource("common.tsv", 0.03, "words that a visitor types first, written for this project", "the project's",
               held_out=0.0, reads="own"),
        DataSource("greetings.tsv", 0.02, "greetings, questions and famous first sentences, written for this project",
               "the project's", held_out=0.0, reads="own"),
        DataSource("words.tsv", 0.12, "common words with a gloss each, JMdict's ichi1 entries, © EDRDG, by way of "
               "jamdict-data 1.5", "CC BY-SA 3.0", held_out=0.0, reads="own"),
    ),
    validate_on="pairs.tsv",
    languages=("en", "ja"),
    batch_size=12288,
    schedule=WarmUpThenLinear(peak_rate=8e-4, warm_up=0.1),
    weight_decay=0.01,
    adam_eps=1e-9,
    label_smoothing=0.1,
    last_checkpoints=(8, 200),
    bpe_dropout=0.1,
    both_directions=True,
)  # fmt: skip

# BERT's shape, trained on the task itself.
SENTIMENT_ENCODER = Preset(
    name="sentiment-encoder",
    config=ModelConfig(
        vocab_size=8192, n_layer=4, n_head=4, d_model=256, d_ff=1024, max_seq_len=128, family="encoder-only",
        dropout=0.15, classes=("negative", "positive"), text_form="treebank",
    ),
    sources=(
        DataSource("train.tsv", 0.9, "Stanford Sentiment Treebank, GLUE's SST-2, phrases", "not stated", held_out=0.12),
        DataSource("dev.tsv", 0.1, "the same, another part", "not stated", held_out=0.12),
    ),
    validate_on="train.tsv",
    batch_size=2048,
    schedule=WarmUpThenLinear(peak_rate=3e-4, warm_up=0.06),
    label_smoothing=0.1,
    token_dropout=0.15,
)  # fmt: skip

# All our English text, with the text form and the sizes of the classifier that starts from it. It holds out twice as
# many sentences as the classifier, so the second half can be used to try things out on sentences that it never saw.
MASKED_LM = Preset(
    name="masked-lm",
    config=ModelConfig(
        vocab_size=8192, n_layer=4, n_head=4, d_model=256, d_ff=1024, max_seq_len=128, family="encoder-only",
        dropout=0.05, text_form="treebank", mask_token=True,
    ),
    sources=(
        DataSource("sst2/train.tsv", 0.30, "Stanford Sentiment Treebank, GLUE's SST-2, phrases", "not stated", 0.24,
               "labelled"),
        DataSource("sst2/dev.tsv", 0.05, "the same, another part", "not stated", 0.24, "labelled"),
        DataSource("enja/pairs.tsv", 0.16, "the English of English-Japanese sentence pairs, Tatoeba by way of "
               "manythings.org/anki", "CC BY 2.0 (France)", reads="pairs"),
        *(replace(source, file=f"stories/{source.file}", weight=weight) for source, weight in
          zip(STORIES_GPT.sources, (0.06, 0.05, 0.03, 0.02, 0.05, 0.28), strict=True)),
    ),
    validate_on="sst2/train.tsv",
    batch_size=4096,
    schedule=WarmUpThenLinear(peak_rate=1e-3, warm_up=0.03),
    weight_decay=0.05,
    gap_share=0.2,
)  # fmt: skip


# A ViT for pictures of 8 × 8 pixels with 17 levels of grey. During training, patches are hidden and pictures are moved
# by up to a pixel, because there are only 1,437 of them.
DIGITS_VIT = Preset(
    name="digits-vit",
    config=ModelConfig(
        vocab_size=17**4 + 3, n_layer=3, n_head=4, d_model=64, d_ff=128, max_seq_len=17, family="encoder-only",
        classes=tuple("0123456789"), picture=Picture(size=8, patch=2, levels=17),
    ),
    sources=(
        DataSource("sklearn.datasets.load_digits", 1.0, "handwritten digits of 13 people, 8 × 8 pixels: the test set "
               "of UCI's Optical Recognition of Handwritten Digits (Alpaydin & Kaynak 1998), as scikit-learn has it",
               "CC BY 4.0", held_out=0.2, reads="package"),
    ),
    validate_on="sklearn.datasets.load_digits",
    languages=(),
    batch_size=64,
    schedule=WarmUpThenLinear(peak_rate=4e-3, warm_up=0.05),
    weight_decay=0.01,
    ema_decay=0.99,
    token_dropout=0.15,
)  # fmt: skip
DIGITS_VIT_LAST = replace(
    DIGITS_VIT, name="digits-vit-last", sources=tuple(replace(source, which="last") for source in DIGITS_VIT.sources)
)


def minis() -> list[Preset]:
    """Models that differ from `mini-softmax` in one thing each, trained on the same batches in the same order."""
    plain = replace(
        STORIES_GPT,
        name="mini-softmax",
        config=replace(STORIES_GPT.config, n_layer=4, n_head=4, d_model=128, d_ff=512, max_seq_len=128, dropout=0.0),
        batch_size=32,
        tokenizer="stories-gpt",
        baseline="mini-softmax",
    )
    changes: dict[str, dict[str, Any]] = {
        "post-norm": {"norm_order": "post"},
        "res-post": {"norm_order": "res-post"},
        # With the paper's scale (section 3.4). Without it the sines are 35 times as large as new embeddings: after 7
        # million tokens such a model had 1.39 bits per byte, where mini-softmax had 1.03.
        "sinusoidal": {"position": "sinusoidal", "scale_embeddings": True},
        "no-position": {"position": "none"},
        "relative": {"mechanism": "relative", "position": "none"},
        "rotary": {"mechanism": "rotary", "position": "none"},
        "single-head": {"n_head": 1},
        "no-mask": {"causal_mask": False},
        **{name: {"mechanism": name} for name in ("aft-full", "aft-local", "aft-simple", "aft-conv")},
        "wkv": {"mechanism": "wkv", "position": "none"},
    }
    others = [replace(plain, name=f"mini-{n}", config=replace(plain.config, **c)) for n, c in changes.items()]
    return [plain, *others]


ALL = (STORIES_GPT, TRANSLATE_ENJA, SENTIMENT_ENCODER, MASKED_LM, DIGITS_VIT, DIGITS_VIT_LAST, *minis())
PRESETS = {preset.name: preset for preset in ALL}


def difference(preset: Preset) -> dict[str, Any] | None:
    """The settings of a preset's config that differ from its baseline's; None without a baseline."""
    if preset.baseline is None:
        return None
    ours, theirs = asdict(preset.config), asdict(PRESETS[preset.baseline].config)
    return {name: ours[name] for name in ours if ours[name] != theirs[name]}

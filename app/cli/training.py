"""The commands that train and evaluate a model: `chumoku train | evaluate | units | lengths | speed | seeds`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chumoku.app.cli import options as opt
from chumoku.app.cli.console import clear_errors, need_training

training = typer.Typer()


TRAIN_HELP = """Train a model. After Ctrl+C or a crash, the same command resumes.

Presets, and the files each one reads (UTF-8). The files are not in the repository: docs/cli.md and the models'
cards name their sources.

`stories-gpt` writes stories. `tinystories.txt`, `fables.txt`, `storybooks_pb.txt`, `storybooks_asp.txt`,
`fairytaleqa.txt`, `gutenberg_children.txt`: documents, separated by lines of `<|endoftext|>`.

`translate-enja` translates between English and Japanese. `pairs.tsv`, `tanaka.tsv`: lines of `English<TAB>Japanese`.

`sentiment-encoder` classifies sentences. `train.tsv`, `dev.tsv`: a header line, then `sentence<TAB>label`; 1 is
positive, 0 negative.

`masked-lm` fills gaps, and a classifier can start from its weights. The files of the three above, in folders
`stories/`, `enja/` and `sst2/`.

`digits-vit` reads pictures of handwritten digits: they come with scikit-learn, and no file is read. `digits-vit-last`
is the same with the last fifth held out, which other people wrote.

`mini-softmax` and its variants differ in one thing each: `mini-post-norm`, `mini-res-post`, `mini-sinusoidal`,
`mini-no-position`, `mini-relative`, `mini-rotary`, `mini-single-head`, `mini-no-mask`, `mini-aft-full`,
`mini-aft-local`, `mini-aft-simple`, `mini-aft-conv`, `mini-wkv`. They read what `stories-gpt` reads and share its
tokenizer; 3,000 steps are 12 million tokens.

    chumoku train stories-gpt --data data/stories --minutes 120

    chumoku train translate-enja --data data/enja --minutes 100 --warm-start model/zoo/translate-enja

    chumoku train sentiment-encoder --data data/sst2 --minutes 10

    chumoku train masked-lm --data data --steps 3000

    chumoku train sentiment-encoder --data data/sst2 --steps 600 --warm-start runs/masked-lm/masked-lm

    chumoku train digits-vit --minutes 3

    chumoku train stories-gpt --data data/stories --steps 200 --warm-start model/zoo/stories-gpt

    chumoku train mini-softmax --data data/stories --steps 3000 --snapshots 8
"""


@training.command(help=TRAIN_HELP)
def train(
    preset: opt.Preset,
    data: Annotated[Path, typer.Option(help="The folder with the files named above.")] = Path("data"),
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.", envvar="CHUMOKU_DEVICE")] = "auto",
    minutes: Annotated[float, typer.Option(help="How long to train, over all resumed runs.", min=0)] = 120.0,
    steps: Annotated[int, typer.Option(help="Train this many steps instead; 0: use minutes.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the weights, the batches and the dropout.", min=0)] = 0,
    out: opt.RunFolder = None,
    warm_start: opt.WarmStart = None,
    precision: opt.Precision = None,
    rate_scale: Annotated[float, typer.Option(help="Multiplies the preset's learning rates.")] = 1.0,
    snapshots: Annotated[
        int, typer.Option(help="How many snapshots of the model to keep, step 0 and the end included.", min=0)
    ] = 0,
    revive: Annotated[
        bool, typer.Option("--revive", help="With --warm-start: reset the FFN units that its card lists as dead.")
    ] = False,
) -> None:
    with clear_errors():
        need_training().run_training(
            preset=preset,
            data=data,
            device=device,
            minutes=minutes,
            steps=steps,
            seed=seed,
            out=out,
            warm_start=warm_start,
            precision=precision,
            rate_scale=rate_scale,
            snapshots=snapshots,
            revive=revive,
        )


@training.command()
def evaluate(
    model: opt.Name,
    data: opt.Data,
    beam: opt.Beam = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only the figures, as JSON.")] = False,
    device: opt.Device = None,
) -> None:
    """Measure a model on data it has not seen.

    A model that continues text: bits per byte, lower is better, over documents separated by lines of
    `<|endoftext|>`. A translator: chrF and BLEU (by character), on
    lines of `source<TAB>reference`. A classifier: accuracy, on lines of `sentence<TAB>label` below a header line.

        chumoku evaluate stories-gpt --data held-out.txt --json

        chumoku evaluate translate-enja --data pairs.tsv --beam 4 --json

        chumoku evaluate sentiment-encoder --data dev.tsv --json
    """
    with clear_errors():
        from chumoku.app.cli import evaluation
        from chumoku.app.settings import from_environment

        score = evaluation.evaluate(model, data, from_environment(device=device), beam)
        typer.echo(score.json if as_json else score.line)


@training.command()
def units(
    model: opt.Name,
    data: Annotated[Path, typer.Option(help="The folder that the model was trained on.", show_default=False)],
    device: opt.Device = None,
) -> None:
    """Count which FFN units never fire and which always do, over texts that a model never saw; add it to its card.

    `chumoku train` does this at the end; use this for a card without the counts.

        chumoku units stories-gpt --data data/stories

        chumoku units runs/stories-gpt/stories-gpt --data data/stories
    """
    with clear_errors():
        from chumoku.app.cli import commands
        from chumoku.app.settings import from_environment

        typer.echo(commands.write_units(model, data, from_environment(device=device)))


@training.command()
def lengths(
    model: opt.Name,
    data: Annotated[Path, typer.Option(help="The folder that the model was trained on.", show_default=False)],
    device: opt.Device = None,
) -> None:
    """Measure the loss of the same tokens at the end of texts of several lengths, beyond those of the training where
    the model can read them; add it to its card. For decoders that continue text.

    `chumoku train` does this at the end; use this for a card without it.

        chumoku lengths mini-relative --data data/stories
    """
    with clear_errors():
        from chumoku.app.cli import commands
        from chumoku.app.settings import from_environment

        typer.echo(commands.write_lengths(model, data, from_environment(device=device)))


@training.command()
def speed(model: opt.Name, device: opt.Device = None) -> None:
    """Time a training step (a forward and a backward pass) against one of the baseline model; add both to its card. The
    median of several alternating pairs, with random weights and tokens. Run nothing else meanwhile.

        chumoku speed mini-wkv
    """
    with clear_errors():
        from chumoku.app.cli import commands
        from chumoku.app.settings import from_environment

        typer.echo(commands.write_speed(model, from_environment(device=device)))


@training.command()
def seeds(
    model: opt.Name,
    runs: Annotated[list[Path], typer.Argument(help="Folders of the same model, trained with --seed.")],
) -> None:
    """Add to a model's card what the same training reached from other seeds, which shows the noise in its figures. Name
    all of them: they replace those on the card.

        chumoku train mini-softmax --data data/stories --steps 3000 --seed 1 --out runs/softmax-1

        chumoku seeds mini-softmax runs/softmax-1/mini-softmax
    """
    with clear_errors():
        from chumoku.app.cli import commands
        from chumoku.app.settings import from_environment

        typer.echo(commands.write_seeds(model, runs, from_environment()))

"""The command line: `chumoku serve | trace | generate | train | evaluate | units | models`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app import options as opt
from app.console import clear_errors, need_training

# Heavy libraries are imported inside the commands, so that --help answers at once.

cli = typer.Typer(
    name="chumoku",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="See, with a trained Transformer's own numbers, how attention turns a sentence into the next token.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@cli.command()
def serve(
    host: opt.Host = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", show_default="8000")] = None,
    device: opt.Device = None,
) -> None:
    """Serve the page and the API.

    Every setting is also an environment variable, `CHUMOKU_PORT` for example: app/README.md lists them.

        chumoku serve

        chumoku serve --host 0.0.0.0 --port 9000
    """
    with clear_errors():
        from app import serving
        from app.settings import from_environment

        serving.serve(from_environment(host=host, port=port, device=device))


@cli.command()
def trace(
    text: opt.Text,
    out: Annotated[Path, typer.Option("--out", "-o", help="What to write; .npz too.")] = Path("trace.safetensors"),
    model: opt.Model = None,
    device: opt.Device = None,
    target: opt.Target = None,
    causal: opt.Causal = None,
    padding_mask: Annotated[bool, typer.Option(help="Apply the padding mask.")] = True,
    pad_left: Annotated[int, typer.Option(help="Put so many PADs before the sentence ...", min=0)] = 0,
    pad_right: Annotated[int, typer.Option(help="... or after it.", min=0)] = 0,
    follow: Annotated[bool, typer.Option(help="Let position ids skip the PADs that are masked.")] = True,
) -> None:
    """Write every tensor of one sentence's forward pass as safetensors, float32.

    Tensors are named by their taps; tokens, dimension names and predictions are JSON in the metadata, under `chumoku`.

        chumoku trace "Once upon a time" -o once.safetensors

        chumoku trace "Once upon a time" --model stories-gpt --no-causal -o both-ways.safetensors

        chumoku trace "Once upon a time" --pad-left 3 --no-padding-mask -o leaking.npz

        chumoku trace "I like cats." --model translate-enja --target 猫が好き -o cats.safetensors
    """
    masks = {"causal": causal, "padding": padding_mask}
    with clear_errors():
        from app import commands
        from app.settings import from_environment

        pad = commands.padding(pad_left, pad_right, follow=follow)
        settings = from_environment(device=device)
        typer.echo(commands.write_trace(text, model, out, settings, target=target, masks=masks, pad=pad))


@cli.command()
def generate(
    text: opt.Text,
    model: opt.Model = None,
    n: opt.N = None,
    temperature: opt.Temperature = None,
    top_k: opt.TopK = None,
    top_p: opt.TopP = None,
    seed: opt.Seed = None,
    beam: opt.Beam = None,
    device: opt.Device = None,
) -> None:
    """Let the model write on, token by token; or translate.

    A translator searches for the likeliest translation with `--beam`; with any other option, it draws token by token.

        chumoku generate "Once upon a time"

        chumoku generate "The little dog" -n 100 --temperature 1.0 --seed 3

        chumoku generate "I ate a banana in the morning." --model translate-enja --beam 4
    """
    with clear_errors():
        from app import commands
        from app.settings import from_environment

        drawing = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
        commands.print_generated(text, model, from_environment(device=device), drawing, n, beam)


@cli.command()
def train(
    preset: opt.Preset,
    data: Annotated[Path, typer.Option(help="The folder with the training texts.", show_default=False)],
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.", envvar="CHUMOKU_DEVICE")] = "auto",
    minutes: Annotated[float, typer.Option(help="How long to train, all sittings together.", min=0)] = 120.0,
    steps: Annotated[int, typer.Option(help="Train so many steps instead; 0: go by minutes.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Of the weights, the batches and the dropout.", min=0)] = 0,
    out: opt.RunFolder = None,
    warm_start: opt.WarmStart = None,
) -> None:
    """Train a model; after Ctrl+C or a crash the same command goes on where it was.

    Presets: `stories-gpt` writes stories, `translate-enja` translates English to Japanese, `sentiment-encoder` tells
    praise from complaint.

        chumoku train stories-gpt --data ../shared/data/stories --minutes 120

        chumoku train translate-enja --data ../shared/data/enja --minutes 100

        chumoku train sentiment-encoder --data ../shared/data/sst2 --minutes 10

        chumoku train stories-gpt --data ../shared/data/stories --steps 200 --warm-start model/zoo/stories-gpt
    """
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
        )


@cli.command()
def evaluate(
    model: opt.Name,
    data: opt.Data,
    beam: opt.Beam = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON and nothing else.")] = False,
    device: opt.Device = None,
) -> None:
    """Measure a model on data it has not seen.

    A model that writes on: bits per byte, less is better. A translator: chrF and BLEU, on lines of
    `source<TAB>reference`. A classifier: accuracy, on lines of `sentence<TAB>label` below a header line.

        chumoku evaluate stories-gpt --data held-out.txt --json

        chumoku evaluate translate-enja --data pairs.tsv --beam 4 --json

        chumoku evaluate sentiment-encoder --data dev.tsv --json
    """
    with clear_errors():
        from app import evaluation
        from app.settings import from_environment

        score = evaluation.evaluate(model, data, from_environment(device=device), beam)
        typer.echo(score.json if as_json else score.line)


@cli.command()
def units(
    model: opt.Name,
    data: Annotated[Path, typer.Option(help="The folder that the model was trained on.", show_default=False)],
    device: opt.Device = None,
) -> None:
    """Count over texts that a model never saw which FFN units never fire and which always do; write it onto its card.

    `chumoku train` does so at its end; this is for a card that lacks it.

        chumoku units stories-gpt --data ../shared/data/stories

        chumoku units runs/stories-gpt/stories-gpt --data ../shared/data/stories
    """
    with clear_errors():
        from app import commands
        from app.settings import from_environment

        typer.echo(commands.write_units(model, data, from_environment(device=device)))


@cli.command()
def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print what GET /api/models answers.")] = False,
) -> None:
    """List the models: the zoo's, and those in the folders of `CHUMOKU_MODELS_DIR`.

    chumoku models

    chumoku models --json
    """
    with clear_errors():
        from app import commands
        from app.settings import from_environment

        commands.list_models(from_environment(device="cpu"), as_json=as_json)


def main() -> None:
    """The entry point `chumoku`."""
    cli(prog_name="chumoku")


if __name__ == "__main__":
    main()

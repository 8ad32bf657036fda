"""The command line: `chumoku serve | trace | generate | train | evaluate | models`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.console import clear_errors

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

Model = Annotated[
    str | None, typer.Option("--model", "-m", help="A name of `chumoku models`, or a model's folder; else the default.")
]
Device = Annotated[
    str | None, typer.Option(help="auto, cpu, cuda or mps.", show_default="CHUMOKU_DEVICE, else auto", metavar="NAME")
]
Text = Annotated[str, typer.Argument(help="The sentence.", show_default=False)]


@cli.command()
def serve(
    host: Annotated[
        str | None,
        typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.", show_default="127.0.0.1"),
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", show_default="8000")] = None,
    device: Device = None,
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
    text: Text,
    out: Annotated[Path, typer.Option("--out", "-o", help="What to write; .npz too.")] = Path("trace.safetensors"),
    model: Model = None,
    device: Device = None,
    causal: Annotated[bool, typer.Option(help="Apply the causal mask.")] = True,
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
    """
    masks = {"causal": causal, "padding": padding_mask}
    with clear_errors():
        from app import commands
        from app.settings import from_environment

        pad = commands.padding(pad_left, pad_right, follow=follow)
        typer.echo(commands.write_trace(text, model, out, from_environment(device=device), masks=masks, pad=pad))


@cli.command()
def generate(
    text: Text,
    model: Model = None,
    n: Annotated[int, typer.Option("-n", help="Most tokens to add.")] = 64,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest token always.")] = 0.8,
    top_k: Annotated[int, typer.Option(help="Draw from the k likeliest; 0: from all.")] = 20,
    top_p: Annotated[float, typer.Option(help="Draw from the likeliest that sum up to this; 1: from all.")] = 0.95,
    seed: Annotated[int, typer.Option(help="The same seed writes the same text.")] = 7,
    device: Device = None,
) -> None:
    """Let the model write on, token by token.

    chumoku generate "Once upon a time"

    chumoku generate "The little dog" -n 100 --temperature 1.0 --seed 3
    """
    with clear_errors():
        from app import commands
        from app.settings import from_environment
        from model.sampling import Settings

        sampling = Settings(temperature, top_k, top_p, seed)
        commands.print_generated(text, model, from_environment(device=device), sampling, n)


@cli.command()
def train(
    preset: Annotated[str, typer.Argument(help="What to train, stories-gpt for example.", show_default=False)],
    data: Annotated[Path, typer.Option(help="The folder with the training texts.", show_default=False)],
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.", envvar="CHUMOKU_DEVICE")] = "auto",
    minutes: Annotated[float, typer.Option(help="How long to train, all sittings together.", min=0)] = 120.0,
    steps: Annotated[int, typer.Option(help="Train so many steps instead; 0: go by minutes.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Of the weights, the batches and the dropout.", min=0)] = 0,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder; a run that is there goes on.", show_default="runs/PRESET")
    ] = None,
    warm_start: Annotated[
        Path | None, typer.Option(help="A model's folder whose weights to begin with.", show_default="fresh weights")
    ] = None,
) -> None:
    """Train a model; after Ctrl+C or a crash the same command goes on where it was.

    chumoku train stories-gpt --data ../shared/data/stories --minutes 120

    chumoku train stories-gpt --data ../shared/data/stories --steps 200 --warm-start model/zoo/stories-gpt
    """
    with clear_errors():
        from app.console import need_training

        run_training = need_training()
        run_training(
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
    model: Annotated[str, typer.Argument(help="A name of `chumoku models`, or a model's folder.", show_default=False)],
    data: Annotated[
        Path, typer.Option(help="Documents, separated by lines that say <|endoftext|>.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help='Print {"bits_per_byte": ...} and nothing else.')] = False,
    device: Device = None,
) -> None:
    """Measure a model in bits per byte on text it has not seen; less is better.

    chumoku evaluate stories-gpt --data held-out.txt

    chumoku evaluate runs/try/stories-gpt --data held-out.txt --json
    """
    with clear_errors():
        import json

        from app import commands
        from app.settings import from_environment

        bits, count = commands.evaluate(model, data, from_environment(device=device))
        typer.echo(json.dumps({"bits_per_byte": bits}) if as_json else f"{bits:.4f} bits per byte, {count} documents")


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

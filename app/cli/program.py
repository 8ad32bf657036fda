"""The command line: `chumoku serve | trace | generate | export | models`, and what trains (training.py):
`train | evaluate | units | lengths | speed | seeds`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from chumoku.app import VERSION
from chumoku.app.cli import options as opt
from chumoku.app.cli.console import clear_errors
from chumoku.app.cli.training import training

# Heavy libraries are imported inside the commands, so that --help is instant.

cli = typer.Typer(
    name="chumoku",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    help="See how attention turns a sentence into the next token, with the real numbers of a trained Transformer.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
cli.add_typer(training)


def show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"chumoku {VERSION}")
        raise typer.Exit


@cli.callback()
def chumoku(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@cli.command()
def serve(
    host: opt.Host = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.", show_default="8000")] = None,
    model: opt.Models = None,
    device: opt.Device = None,
    token: Annotated[bool, typer.Option("--token", help="Only those who have the printed link can use it.")] = False,
    workers: Annotated[
        int | None, typer.Option(help="Processes, each with its own models.", show_default="1", min=1)
    ] = None,
    ray: Annotated[bool, typer.Option("--ray", help="Serve with replicas on Ray Serve.")] = False,
    replicas: Annotated[
        str | None, typer.Option(help="How many: 2, or 1-8 to follow the load.", show_default="1-4", metavar="N")
    ] = None,
) -> None:
    """Serve the page and the API.

    Every setting is also an environment variable, `CHUMOKU_PORT` for example: docs/settings.md lists them.

        chumoku serve

        chumoku serve --host 0.0.0.0 --port 9000

        chumoku serve --model openai-community/gpt2 --model mine=path/to/checkpoint-500

        chumoku serve --host 0.0.0.0 --token

        chumoku serve --host 0.0.0.0 --workers 4

        chumoku serve --host 0.0.0.0 --ray --replicas 1-8
    """
    with clear_errors():
        from chumoku.app.cli import given_models, serving
        from chumoku.app.settings import from_environment

        settings = from_environment(
            host=host, port=port, device=device, workers=workers, ray=ray or None, replicas=replicas,
            models=tuple(map(given_models.folder_of, model)) if model else None,
        )  # fmt: skip
        serving.serve(serving.with_token(settings) if token else settings)


@cli.command()
def trace(
    text: opt.OptionalText = None,
    out: opt.TraceFile = Path("trace.safetensors"),
    model: opt.Model = None,
    device: opt.Device = None,
    pair: opt.Pair = None,
    chat: opt.Chat = None,
    target: opt.Target = None,
    causal: opt.Causal = None,
    padding_mask: Annotated[bool, typer.Option(help="Apply the padding mask.")] = True,
    pad_left: Annotated[int, typer.Option(help="Put this many PADs before the sentence ...", min=0)] = 0,
    pad_right: Annotated[int, typer.Option(help="... or after it.", min=0)] = 0,
    follow: Annotated[bool, typer.Option(help="Position ids skip masked PADs.")] = True,
    edit: opt.Edit = None,
    picture: opt.Picture = None,
    special: Annotated[bool, typer.Option("--special", help="Read [MASK] and other special tokens as such.")] = False,
) -> None:
    """Write every tensor of one sentence's forward pass as safetensors, float32, or a page that shows its attention.

    Tensors are named by their taps; tokens, dimension names and predictions are JSON in the metadata, under `chumoku`.

        chumoku trace "Once upon a time" -o once.safetensors

        chumoku trace "Once upon a time" -o once.html

        chumoku trace "Once upon a time" --model stories-gpt --no-causal -o both-ways.safetensors

        chumoku trace "Once upon a time" --pad-left 3 --no-padding-mask -o leaking.npz

        chumoku trace "I like cats." --model translate-enja --target 猫が好き -o cats.safetensors

        chumoku trace "Tom lost his red ball. Mom found the red" --edit knockout:5:9:4 -o knockout.safetensors

        chumoku trace "A man plays." --pair "A man sleeps." --model FOLDER -o pair.html

        chumoku trace --chat "system:Be brief." --chat "user:Hi" --model FOLDER -o chat.html

        chumoku trace --model FOLDER --picture cat.jpg -o cat.safetensors
    """
    if (text is not None) + (picture is not None) + bool(chat) != 1:
        raise typer.BadParameter("give a sentence, a picture or a chat, one of the three",
                                 param_hint="TEXT|--picture|--chat")  # fmt: skip
    masks = {"causal": causal, "padding": padding_mask}
    with clear_errors():
        from chumoku.app.cli import commands, given_models
        from chumoku.app.settings import from_environment

        changes = commands.interventions(edit or [])
        pad = commands.padding(pad_left, pad_right, follow=follow)
        settings = from_environment(device=device)
        asked = {"masks": masks, "pad": pad, "interventions": changes}
        name = given_models.named(model, settings)
        if picture is not None:
            typer.echo(commands.write_trace_of_picture(picture, name, out, settings, target=target, **asked))
        else:
            sentence = {"text": text, "special": special, "pair": pair}
            typer.echo(commands.write_trace(sentence, name, out, settings, turns=chat or [], target=target, **asked))


@cli.command()
def generate(
    text: opt.OptionalText = None,
    model: opt.Model = None,
    chat: opt.Chat = None,
    n: opt.N = None,
    temperature: opt.Temperature = None,
    top_k: opt.TopK = None,
    top_p: opt.TopP = None,
    min_p: opt.MinP = None,
    repetition_penalty: opt.RepetitionPenalty = None,
    ban: opt.Ban = None,
    stop: opt.Stop = None,
    begin: opt.Begin = None,
    seed: opt.Seed = None,
    beam: opt.Beam = None,
    cache: opt.Cache = True,
    device: opt.Device = None,
) -> None:
    """Continue a text token by token, or translate.

    A translator uses beam search (`--beam`); with any sampling option, it draws token by token.

        chumoku generate "Once upon a time"

        chumoku generate "The little dog" -n 100 --temperature 1.0 --seed 3

        chumoku generate "Once upon a time" --begin " there was" --ban girl --stop .

        chumoku generate "I bought a car yesterday." --model translate-enja --beam 4

        chumoku generate --chat "user:Hi" --model FOLDER
    """
    if (text is None) != bool(chat):
        raise typer.BadParameter("give a text or a chat, one of the two", param_hint="TEXT|--chat")
    with clear_errors():
        from chumoku.app.cli import commands, given_models
        from chumoku.app.settings import from_environment

        drawing: dict[str, object] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
        drawing |= {"min_p": min_p, "repetition_penalty": repetition_penalty}
        drawing |= {"banned": ban or None, "stop": stop or None, "begin": begin}
        settings = from_environment(device=device)
        name = given_models.named(model, settings)
        commands.print_generated(text, name, settings, drawing, n, beam, cache=cache, turns=chat or [])


@cli.command()
def export(
    model: opt.Name,
    folder: Annotated[Path, typer.Argument(help="A new folder for it.", show_default=False)],
    to: Annotated[opt.Form, typer.Option("--to", help="For which library: hf is Hugging Face's transformers.")] = "hf",
) -> None:
    """Write a model for another library, with its tokenizer: the same logits, ids and greedy text.

    As GPT-2, Marian, Megatron's BERT or a ViT. Relative positions, AFT and some others have no counterpart there.

        chumoku export stories-gpt exported/stories-gpt

        chumoku export translate-enja exported/translate-enja --to hf
    """
    with clear_errors():
        from chumoku.app.cli import commands
        from chumoku.app.settings import from_environment

        typer.echo(commands.export_model(model, folder, to, from_environment(device="cpu")))


@cli.command()
def models(
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer of GET /api/models.")] = False,
) -> None:
    """List the models of the zoo and of the folders in `CHUMOKU_MODELS_DIR`.

    chumoku models

    chumoku models --json
    """
    with clear_errors():
        from chumoku.app.cli import commands
        from chumoku.app.settings import from_environment

        commands.list_models(from_environment(device="cpu"), as_json=as_json)


def main() -> None:
    """The entry point `chumoku`."""
    cli(prog_name="chumoku")

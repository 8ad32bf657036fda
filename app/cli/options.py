"""The options of the command line, as types: their names and help texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Form = Literal["hf"]

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="A name from `chumoku models`, a folder, or a Hugging Face id (from its cache, else downloaded).",
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        help="A model's folder, ours or Hugging Face's, or a Hugging Face id, from its cache or downloaded. "
        "NAME=FOLDER calls it NAME. Can be repeated.",
        metavar="[NAME=]FOLDER|ID",
        show_default="CHUMOKU_MODELS",
    ),
]
Name = Annotated[str, typer.Argument(help="A name from `chumoku models`, or a model's folder.", show_default=False)]
Device = Annotated[
    str | None, typer.Option(help="auto, cpu, cuda or mps.", show_default="CHUMOKU_DEVICE, else auto", metavar="NAME")
]
Text = Annotated[str, typer.Argument(help="The sentence.", show_default=False)]
TraceFile = Annotated[
    Path, typer.Option("--out", "-o", help="Output: safetensors, .npz, or .html, a page that shows it.")
]
OptionalText = Annotated[str | None, typer.Argument(help="The sentence.", show_default=False)]
Picture = Annotated[
    Path | None,
    typer.Option(help="A PNG or JPEG instead of the sentence, for a model that reads pictures.", metavar="FILE"),
]
Beam = Annotated[
    int | None,
    typer.Option("--beam", help="Beams of a translation's beam search; 1 is greedy.", show_default="4", min=1, max=16),
]

N = Annotated[int | None, typer.Option("-n", help="Most new tokens.", show_default="64")]
Temperature = Annotated[float | None, typer.Option(help="0 always takes the most likely token.", show_default="0.8")]
TopK = Annotated[int | None, typer.Option(help="Draw from the k most likely tokens; 0: from all.", show_default="20")]
TopP = Annotated[
    float | None,
    typer.Option(
        help="Draw from the most likely tokens that reach this probability; 1: from all.", show_default="0.95"
    ),
]
MinP = Annotated[
    float | None,
    typer.Option(help="Drop tokens less likely than this share of the most likely one; 0: none.", show_default="0"),
]
RepetitionPenalty = Annotated[
    float | None,
    typer.Option(help="Above 1, tokens that the text has already become less likely.", show_default="1"),
]
Ban = Annotated[
    list[str] | None,
    typer.Option("--ban", help="A text that is not written. Can be repeated.", metavar="TEXT", show_default="none"),
]
Stop = Annotated[
    list[str] | None,
    typer.Option("--stop", help="End once this is written. Can be repeated.", metavar="TEXT", show_default="none"),
]
Begin = Annotated[str | None, typer.Option(help="The answer begins with this text.", metavar="TEXT")]
Seed = Annotated[int | None, typer.Option(help="The same seed writes the same text.", show_default="7")]

Cache = Annotated[
    bool, typer.Option("--cache/--no-cache", help="Keep keys and values, or read every token again at each step.")
]

Pair = Annotated[
    str | None,
    typer.Option(help="A second text that the model reads with the first: a hypothesis, a context.", metavar="TEXT"),
]
Chat = Annotated[
    list[str] | None,
    typer.Option(
        "--chat",
        help="A turn of a chat, or all of them in a .json file, instead of the sentence: written by the model's chat "
        "template. Can be repeated.",
        metavar="ROLE:TEXT",
    ),
]
Target = Annotated[
    str | None, typer.Option(help="The start of the target, for a translator.", show_default="its translation")
]
Causal = Annotated[
    bool | None,
    typer.Option("--causal/--no-causal", help="Apply the causal mask.", show_default="as in training"),
]
Edit = Annotated[
    list[str] | None,
    typer.Option(
        "--edit",
        help="Hide a key from a query in all heads of a layer: knockout:LAYER:QUERY:KEY; switch a part off: "
        "off:head:LAYER:HEAD, off:ffn:LAYER, off:attention:LAYER (an ATTENTION may stand before LAYER); no-positions; "
        "freeze-norms; or an intervention as JSON. Can be repeated, and applies in this order.",
        metavar="EDIT",
    ),
]
Data = Annotated[
    Path,
    typer.Option(
        help="Documents separated by lines of <|endoftext|>; or a .tsv, as described above.", show_default=False
    ),
]

Host = Annotated[
    str | None, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.", show_default="127.0.0.1")
]

Preset = Annotated[
    str,
    typer.Argument(
        help="The preset: stories-gpt, translate-enja, sentiment-encoder, masked-lm or mini-…", show_default=False
    ),
]
RunFolder = Annotated[
    Path | None,
    typer.Option("--out", help="The folder of the run; an existing run resumes.", show_default="runs/PRESET"),
]
Precision = Annotated[
    str | None,
    typer.Option(help="Precision of matrix products: float32 or bfloat16. Default: the faster, as timed."),
]
WarmStart = Annotated[
    Path | None, typer.Option(help="A model's folder, to start from its weights.", show_default="fresh weights")
]

"""The options of the command line, as types: what each is called, and its line in the help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[
    str | None, typer.Option("--model", "-m", help="A name of `chumoku models`, or a model's folder; else the default.")
]
Name = Annotated[str, typer.Argument(help="A name of `chumoku models`, or a model's folder.", show_default=False)]
Device = Annotated[
    str | None, typer.Option(help="auto, cpu, cuda or mps.", show_default="CHUMOKU_DEVICE, else auto", metavar="NAME")
]
Text = Annotated[str, typer.Argument(help="The sentence.", show_default=False)]
Beam = Annotated[
    int | None,
    typer.Option("--beam", help="Beams of a translation's search; 1 is greedy.", show_default="4", min=1, max=16),
]

N = Annotated[int | None, typer.Option("-n", help="Most tokens to add.", show_default="64")]
Temperature = Annotated[float | None, typer.Option(help="0 takes the likeliest token always.", show_default="0.8")]
TopK = Annotated[int | None, typer.Option(help="Draw from the k likeliest; 0: from all.", show_default="20")]
TopP = Annotated[
    float | None, typer.Option(help="Draw from the likeliest that sum up to this; 1: from all.", show_default="0.95")
]
Seed = Annotated[int | None, typer.Option(help="The same seed writes the same text.", show_default="7")]

Target = Annotated[
    str | None, typer.Option(help="What a translator reads as written so far.", show_default="its translation")
]
Causal = Annotated[
    bool | None,
    typer.Option("--causal/--no-causal", help="Apply the causal mask.", show_default="as the model was trained"),
]
Data = Annotated[
    Path, typer.Option(help="Documents between lines of <|endoftext|>; or a .tsv, as below.", show_default=False)
]

Host = Annotated[
    str | None, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.", show_default="127.0.0.1")
]

Preset = Annotated[
    str, typer.Argument(help="What to train: stories-gpt, translate-enja or sentiment-encoder.", show_default=False)
]
RunFolder = Annotated[
    Path | None,
    typer.Option("--out", help="The run's folder; a run that is there goes on.", show_default="runs/PRESET"),
]
Precision = Annotated[
    str | None,
    typer.Option(help="Of matrix products: float32 or bfloat16. By default both are timed and the faster is taken."),
]
WarmStart = Annotated[
    Path | None, typer.Option(help="A model's folder whose weights to begin with.", show_default="fresh weights")
]

"""The loss curve of a run, drawn with plotly from its `metrics.jsonl`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots


def read_metrics(run_folder: Path) -> list[dict[str, Any]]:
    """The lines of `metrics.jsonl`, each step once.

    A run resumed after a kill repeats the steps that it had not saved; the later line counts.
    """
    file = run_folder / "metrics.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return [metrics for _, metrics in sorted({metrics["step"]: metrics for metrics in lines}.items())]


def draw_curve(run_folder: Path) -> Path:
    """Write `curve.html`: training loss in nats a token, validation in bits per byte, over tokens seen."""
    metrics = read_metrics(run_folder)
    figure = make_subplots(specs=[[{"secondary_y": True}]])
    figure.add_scatter(
        x=[m["tokens"] for m in metrics], y=[m["loss"] for m in metrics], name="loss of a batch, nats a token"
    )
    validated = [m for m in metrics if "bits_per_byte" in m]
    figure.add_trace(
        go.Scatter(
            x=[m["tokens"] for m in validated],
            y=[m["bits_per_byte"] for m in validated],
            name="held-out, bits per byte",
        ),
        secondary_y=True,
    )
    figure.update_layout(
        title=run_folder.name, xaxis_title="tokens seen", template="simple_white", hovermode="x unified"
    )
    figure.update_yaxes(title_text="nats a token", secondary_y=False)
    figure.update_yaxes(title_text="bits per byte", secondary_y=True)
    path = run_folder / "curve.html"
    figure.write_html(path, include_plotlyjs=True)
    return path

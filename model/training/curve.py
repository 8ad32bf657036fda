"""The loss curve of a run, drawn with plotly from its `metrics.jsonl`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots


def read_metrics(run_folder: Path) -> list[dict[str, Any]]:
    """The lines of `metrics.jsonl`, each step once.

    A run that resumes after a kill repeats the steps that it had not saved; the later line counts. An incomplete line
    is skipped, together with anything that was appended to it.
    """
    file = run_folder / "metrics.jsonl"
    found: dict[int, dict[str, Any]] = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            metrics = json.loads(line)
        except ValueError:
            continue
        found[metrics["step"]] = metrics
    return [metrics for _, metrics in sorted(found.items())]


def draw_curve(run_folder: Path, metric: str) -> Path:
    """Write `curve.html`: the training loss and the held-out `metric` against tokens seen."""
    metrics = read_metrics(run_folder)
    validated = [m for m in metrics if metric in m]
    words = metric.replace("_", " ")
    figure = make_subplots(specs=[[{"secondary_y": True}]])
    for secondary, key, name, points in (
        (False, "loss", "loss of a batch, nats", metrics),
        (True, metric, f"held-out, {words}", validated),
    ):
        line = go.Scatter(x=[m["tokens"] for m in points], y=[m[key] for m in points], name=name)
        figure.add_trace(line, secondary_y=secondary)
    figure.update_layout(
        title=run_folder.name, xaxis_title="tokens seen", template="simple_white", hovermode="x unified"
    )
    figure.update_yaxes(title_text="nats", secondary_y=False)
    figure.update_yaxes(title_text=words, secondary_y=True)
    path = run_folder / "curve.html"
    figure.write_html(path, include_plotlyjs=True)
    return path

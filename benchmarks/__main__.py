"""`python -m benchmarks`: prints the table of measurements and writes `benchmarks/results.json`."""

from __future__ import annotations

import json
import os
import platform
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.measure import Row
from chumoku.app.settings import Settings

PARTS = (
    *("capture", "generation", "wire", "effects", "page", "river", "explain", "start", "load", "lag", "scaling", "kin"),
    *("kin_capture", "replicas", "memory", "long"),
)
RESULTS = Path(__file__).parent / "results.json"


def show(rows: list[Row]) -> Table:
    table = Table("what", "figure", "bar", "", "note", title="Chumoku, measured in one run on this machine")
    marks = {True: "[green]holds[/]", False: "[red]misses[/]", None: ""}
    for row in rows:
        bar = "" if row.bar is None else f"{'≤' if row.at_most else '≥'} {row.bar:g}"
        table.add_row(row.what, f"{row.value:.3g} {row.unit}", bar, marks[row.holds], row.note)
    return table


def main(parts: list[str]) -> None:
    """Measure the `parts` named on the command line, or all of them."""
    torch.set_num_threads(Settings().threads_per_job)  # as in the app, and the same for everything it is compared with
    rows = [row for part in parts or PARTS for row in import_module(f"benchmarks.{part}").measure()]
    Console(width=150).print(show(rows))
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    results: dict[str, object] = {"measured": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine}
    results["rows"] = [asdict(row) for row in rows]
    RESULTS.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])

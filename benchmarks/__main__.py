"""`python -m benchmarks`: prints the table of measurements and writes them to `benchmarks/results.json`."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.measure import Row
from chumoku.app.settings import Settings

Json = dict[str, Any]
PARTS = (
    *("capture", "generation", "wire", "effects", "page", "river", "explain", "start", "load", "lag", "scaling"),
    *("peers", "peers_capture", "replicas", "memory", "long", "rooms"),
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
    """Measure the `parts` named on the command line, or all of them. Rows of other parts stay in the results."""
    torch.set_num_threads(Settings().threads_per_job)  # as in the app, and equal for both sides of a comparison
    found = {part: list(told(import_module(f"benchmarks.{part}").measure())) for part in parts or PARTS}
    Console(width=150).print(show([row for rows in found.values() for row in rows]))
    known = json.loads(RESULTS.read_text("utf-8"))
    RESULTS.write_text(json.dumps(merged(known, found), indent=2, ensure_ascii=False) + "\n", "utf-8")


def told(rows: Iterable[Row]) -> Iterator[Row]:
    """Each row as soon as it is measured: a part may take minutes."""
    for row in rows:
        print(f"{row.what}: {row.value:.3g} {row.unit}", flush=True)
        yield row


def merged(known: list[Json], found: Mapping[str, Sequence[Row]]) -> list[Json]:
    """All rows in the order of `PARTS`. New rows say when and on which machine they were measured; they replace all old
    rows of their part, even if rows were renamed."""
    about = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
    }
    kept = [row for row in known if row["part"] not in found]
    new = [{"part": part, **asdict(row), **about} for part, rows in found.items() for row in rows]
    return sorted([*kept, *new], key=lambda row: PARTS.index(row["part"]))


if __name__ == "__main__":
    main(sys.argv[1:])

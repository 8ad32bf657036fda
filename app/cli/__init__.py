"""The command line. Heavy libraries are imported inside the commands, so that `--help` answers at once."""

from app.cli.program import cli, main

__all__ = ["cli", "main"]

"""The command line. Heavy libraries are imported inside the commands, so that `--help` is instant."""

from chumoku.app.cli.program import cli, main

__all__ = ["cli", "main"]

"""Chumoku in a notebook or a script: `chumoku.load`, `.trace`, `chumoku.show`, `chumoku.compare`."""

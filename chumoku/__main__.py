"""`python -m chumoku`, if the command `chumoku` is not on the path."""

from chumoku.app.cli import main

main()

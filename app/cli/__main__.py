"""`python -m app.cli`, if `chumoku` is not on the path."""

from app.cli import main

main()

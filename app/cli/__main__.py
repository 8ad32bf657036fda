"""`python -m app.cli`, where `chumoku` is not on the path."""

from app.cli import main

main()

"""The source of the README's figures: `make bench`. Both sides of a ratio are measured in the same run."""

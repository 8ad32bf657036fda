"""The source of the figures in docs/benchmarks.md: `make bench`. Both sides of a ratio are measured in the same run."""

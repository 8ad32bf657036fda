"""What the README's figures come from: `make bench`. Ratios are measured side by side in one run."""

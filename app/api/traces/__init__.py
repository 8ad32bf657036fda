"""One sentence through one model."""

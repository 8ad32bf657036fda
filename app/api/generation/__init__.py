"""A text that grows."""

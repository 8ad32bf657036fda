"""Generation: a text that grows."""

"""A sentence in another language."""

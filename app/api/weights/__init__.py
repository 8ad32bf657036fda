"""A model's parameters."""

"""Explanations: why a model answers as it does."""

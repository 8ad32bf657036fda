"""Explanations: what `model.explain` says of a run, or of a model alone, as JSON."""

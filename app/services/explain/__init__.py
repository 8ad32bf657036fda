"""Explanations: what `model.explain` computes from a run, or from a model alone, as JSON."""

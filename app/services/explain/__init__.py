"""Explanations: what `chumoku.model.explain` computes from a run, or from a model alone, as JSON."""

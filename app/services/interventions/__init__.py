"""Interventions: what a run changes while the model computes. One file a kind, one line in `registry.py`."""

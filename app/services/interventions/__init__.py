"""Interventions: what a run changes while the model computes. One file per kind, one line in `registry.py`."""

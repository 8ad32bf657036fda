"""Writes a model of ours for other programs."""

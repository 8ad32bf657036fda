"""Traces: one sentence through one model."""

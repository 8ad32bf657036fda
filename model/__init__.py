"""The Transformer, its taps and its training: torch, and nothing of HTTP."""

"""The Transformer, its taps and its training: plain torch, no HTTP."""

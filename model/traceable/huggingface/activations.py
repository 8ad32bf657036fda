"""What transformers calls its activations, and what the description does."""

from __future__ import annotations

NAMES = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
"""gelu is x Φ(x), gelu_tanh its approximation by a tanh (Hendrycks and Gimpel 2016), silu is x σ(x). The page has the
formulas of these."""


def activation_of(theirs: str) -> str:
    """The description's name. One without a formula of ours keeps its own: its numbers are shown, not explained."""
    return NAMES.get(theirs, theirs)

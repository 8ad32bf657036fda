"""What a model is, from its config alone. No other code spells the names of taps and parameters."""

from chumoku.model.describe.build import describe
from chumoku.model.describe.description import Description, Predicts, TapPlace
from chumoku.model.describe.parameters import ParameterRef, own_parameters, parameters
from chumoku.model.describe.parts import (
    Attention,
    AttentionSublayer,
    FfnSublayer,
    Layer,
    Logits,
    Norm,
    Role,
    Side,
    Stack,
    Sublayer,
    TapRef,
)

__all__ = [
    "Attention",
    "AttentionSublayer",
    "Description",
    "FfnSublayer",
    "Layer",
    "Logits",
    "Norm",
    "ParameterRef",
    "Predicts",
    "Role",
    "Side",
    "Stack",
    "Sublayer",
    "TapPlace",
    "TapRef",
    "describe",
    "own_parameters",
    "parameters",
]

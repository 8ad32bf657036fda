"""The model families by name. A new one is one class in its own file and one line in FAMILIES."""

from __future__ import annotations

from collections.abc import Callable

from chumoku.model.config import ModelConfig
from chumoku.model.decoder_only import DecoderOnly
from chumoku.model.encoder_decoder import EncoderDecoder
from chumoku.model.encoder_only import EncoderOnly

__all__ = ["FAMILIES", "DecoderOnly", "EncoderDecoder", "EncoderOnly", "Transformer", "build"]

Transformer = DecoderOnly | EncoderOnly | EncoderDecoder

FAMILIES: dict[str, Callable[[ModelConfig], Transformer]] = {
    "decoder-only": DecoderOnly,
    "encoder-only": EncoderOnly,
    "encoder-decoder": EncoderDecoder,
}


def build(config: ModelConfig) -> Transformer:
    """An untrained model of the family that `config` names."""
    return FAMILIES[config.family](config)

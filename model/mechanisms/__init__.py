"""The ways to attend, by name. A new one is one file in this folder and one line here."""

from model.mechanisms.mixer import Mixer, MixerCache, fuse_attention, mixers
from model.mechanisms.softmax import MultiHeadAttention

__all__ = ["MECHANISMS", "Mixer", "MixerCache", "fuse_attention", "mixers"]

MECHANISMS: dict[str, type[Mixer]] = {"softmax": MultiHeadAttention}

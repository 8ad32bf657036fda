"""The ways to attend, by name. A new one is one file in this folder and one line here."""

from chumoku.model.mechanisms.aft import AftConv, AftFull, AftLocal, AftSimple
from chumoku.model.mechanisms.mixer import Mixer, MixerCache, fuse_attention, mixers
from chumoku.model.mechanisms.relative import RelativeAttention
from chumoku.model.mechanisms.rotary import RotaryAttention
from chumoku.model.mechanisms.softmax import MultiHeadAttention
from chumoku.model.mechanisms.wkv import Wkv

__all__ = ["MECHANISMS", "Mixer", "MixerCache", "fuse_attention", "mixers"]

MECHANISMS: dict[str, type[Mixer]] = {
    "softmax": MultiHeadAttention,
    "relative": RelativeAttention,
    "rotary": RotaryAttention,
    "aft-full": AftFull,
    "aft-local": AftLocal,
    "aft-simple": AftSimple,
    "aft-conv": AftConv,
    "wkv": Wkv,
}

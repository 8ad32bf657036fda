"""The ways to attend, by name. A new one is one file in this folder and one line here."""

from model.mechanisms.aft import AftFull, AftLocal, AftSimple
from model.mechanisms.aft_conv import AftConv
from model.mechanisms.mixer import Mixer, MixerCache, fuse_attention, mixers
from model.mechanisms.relative import RelativeAttention
from model.mechanisms.rotary import RotaryAttention
from model.mechanisms.softmax import MultiHeadAttention
from model.mechanisms.wkv import Wkv

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

"""Small random mixers in float64, whose numbers all differ."""

from __future__ import annotations

import torch

from chumoku.model.config import ModelConfig
from chumoku.model.mechanisms import MECHANISMS, Mixer
from tests.model.helpers import randomise

SEQ_LEN = 7
CONFIG = {"vocab_size": 258, "n_layer": 2, "n_head": 3, "d_model": 12, "d_ff": 10, "max_seq_len": 16, "reach": 3,
          "rank": 5}  # fmt: skip


def small_mixer(mechanism: str, **changes: int) -> Mixer:
    """A mixer of three heads of width four that tells distances below three apart."""
    mixer = MECHANISMS[mechanism].build(ModelConfig(**CONFIG | changes, mechanism=mechanism))
    return randomise(mixer.to(torch.float64)).requires_grad_(False).eval()

"""RWKV's time mixing and Llama's rotary attention, as Hugging Face computes them, with our weights."""

import torch
from transformers import LlamaConfig, RwkvConfig
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding
from transformers.models.rwkv.modeling_rwkv import RwkvSelfAttention

from chumoku.model import masks
from chumoku.model.taps import name_taps, record
from tests.model.helpers import close, randn
from tests.model.mechanisms.small import SEQ_LEN, small_mixer


def test_wkv_is_rwkv_4() -> None:
    mixer, x = small_mixer("wkv"), randn(2, SEQ_LEN, 12)
    theirs = RwkvSelfAttention(RwkvConfig(hidden_size=12, attention_hidden_size=12, num_hidden_layers=2)).double()
    with torch.no_grad():
        for name, w, mix in (("receptance", mixer.w_r, mixer.mix_r), ("key", mixer.w_k, mixer.mix_k),
                             ("value", mixer.w_v, mixer.mix_v)):  # fmt: skip
            getattr(theirs, name).weight.copy_(w.weight)
            getattr(theirs, f"time_mix_{name}").copy_(mix)
        theirs.output.weight.copy_(mixer.w_o.weight)
        theirs.time_decay.copy_(mixer.decay)
        theirs.time_first.copy_(mixer.bonus)
        expected, _ = theirs.eval()(x)
    places, mask = torch.arange(SEQ_LEN)[None], masks.causal(SEQ_LEN, SEQ_LEN)[None, None]
    close(mixer(x, x, mask, places, places), expected, 1e-6)  # theirs sums in float32


def test_rotary_is_llama_s() -> None:
    mixer, x = small_mixer("rotary"), randn(2, SEQ_LEN, 12)
    name_taps(mixer)
    config = LlamaConfig(hidden_size=12, num_attention_heads=3, num_key_value_heads=3, attention_bias=True,
                         max_position_embeddings=16, attn_implementation="eager")  # fmt: skip
    theirs = LlamaAttention(config, 0).double().eval()
    with torch.no_grad():
        for ours, linear in ((mixer.w_q, theirs.q_proj), (mixer.w_k, theirs.k_proj), (mixer.w_v, theirs.v_proj),
                             (mixer.w_o, theirs.o_proj)):  # fmt: skip
            linear.load_state_dict(ours.state_dict())
    places, mask = torch.arange(SEQ_LEN)[None], masks.causal(SEQ_LEN, SEQ_LEN)
    forbidden = torch.where(mask == 0, 0.0, -torch.inf).double()[None, None]
    with torch.no_grad():
        expected, weights = theirs(x, LlamaRotaryEmbedding(config)(x, places), forbidden)
    with record(["pattern"]) as recording:
        found = mixer(x, x, mask[None, None], places, places)
    close(found, expected, 1e-6)  # theirs takes its angles in float32
    close(recording.tensors["pattern"], weights, 1e-6)

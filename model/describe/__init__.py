"""What a model is, from its config alone. No other code spells the names of taps and parameters.

A tap names a tensor where it is computed; its name is its module path. N is a layer, `d_head = d_model / n_head`, E
the token embedding, and LayerNorm(x) = (x − mean) / √(variance + ε) · gain + bias over d_model. Its place is the norm
order: `pre` x + f(LayerNorm(x)), `post` LayerNorm(x + f(x)), `res-post` x + LayerNorm(f(x)), whose gains begin at 0.

Decoder-only:

  embedding [position d_model]: E[id], times √d_model where the config says `scale_embeddings`
  positional [position d_model]: the position vector: a learned row, sines and cosines, or zeros
  layers.N.resid_pre [position d_model]: the residual stream entering the block; in layer 0 `embedding + positional`
  layers.N.attn_residual.norm.input [position d_model]: pre: `resid_pre`; post: `resid_pre + attn_out`; res-post:
      `attn_out`
  layers.N.attn_residual.norm.out [position d_model]: LayerNorm of it; pre: the input of W_Q, W_K, W_V; post:
      `resid_mid`
  layers.N.attn.q [head position d_head]: x W_Q + b_Q, split into heads
  layers.N.attn.k [kv_head position d_head]: x W_K + b_K; with a cache, of all positions so far
  layers.N.attn.v [kv_head position d_head]: x W_V + b_V; with a cache, of all positions so far
  layers.N.attn.scores [head query key]: q kᵀ / √d_head, before the mask: always finite
  layers.N.attn.mask [head query key]: uint8 reasons, 0 = may attend (masks.py)
  layers.N.attn.pattern [head query key]: softmax over the allowed keys, before dropout; forbidden cells are exactly
      0
  layers.N.attn.z [head position d_head]: pattern v
  layers.N.attn.head_out [head position d_model]: z_i W_O,i, what each head writes; computed only when requested
  layers.N.attn.attn_out [position d_model]: Concat(z) W_O + b_O
  layers.N.resid_mid [position d_model]: pre: `resid_pre + attn_out`; post: LayerNorm of that; res-post: `resid_pre`
      + LayerNorm(`attn_out`)
  layers.N.ffn_residual.norm.input [position d_model]: pre: `resid_mid`; post: `resid_mid + ffn.out`; res-post:
      `ffn.out`
  layers.N.ffn_residual.norm.out [position d_model]: LayerNorm of it; pre: the FFN's input; post: `resid_post`
  layers.N.ffn.pre [position d_ff]: x W_1 + b_1
  layers.N.ffn.post [position d_ff]: max(0, pre)
  layers.N.ffn.out [position d_model]: post W_2 + b_2
  layers.N.resid_post [position d_model]: pre: `resid_mid + ffn.out`; post: LayerNorm of that; res-post: `resid_mid`
      + LayerNorm(`ffn.out`)
  final_norm.input [position d_model]: the last `resid_post` (not in post-norm models)
  final_norm.out [position d_model]: LayerNorm of it (not in post-norm models)
  logits [position vocab]: the last state times Eᵀ, or times a separate unembedding if `tie_embeddings` is off

Encoder-only: the same, except for

  logits [class]: W x + b of [CLS]'s last state x; in a masked language model as above, without classes

Models that tell two texts apart (BERT and its variants; none of ours) also have `token_types` [position d_model], a
learned row for each token's type, which is added to `embedding + positional`.

With a `picture` in its config there is also `token_embedding.patches` [position pixel], the pixels x of each patch
from 0 to 1 (zeros for [CLS]); `embedding` is then x W + b, and for [CLS] a learned row.

Encoder-decoder: `encoder.` or `decoder.` before each name except `logits`, and between `resid_mid` and the FFN
of a decoder

  decoder.layers.N.cross_attn_residual.norm.input [position d_model]: pre: `resid_mid`; post: `resid_mid +
      cross_attn.attn_out`; res-post: that `attn_out`
  decoder.layers.N.cross_attn_residual.norm.out [position d_model]: LayerNorm of it
  decoder.layers.N.cross_attn.q [head position d_head]: of the target: x W_Q + b_Q
  decoder.layers.N.cross_attn.k [kv_head position d_head]: of the source: x W_K + b_K, x the end of the encoder's
      stream
  decoder.layers.N.cross_attn.v [kv_head position d_head]: of the source: x W_V + b_V
  decoder.layers.N.cross_attn.scores [head query key]: query = target, key = source
  decoder.layers.N.cross_attn.mask [head query key]: the source's PADs; never causal
  decoder.layers.N.cross_attn.pattern [head query key]: as above
  decoder.layers.N.cross_attn.z [head position d_head]: pattern v
  decoder.layers.N.cross_attn.head_out [head position d_model]: as above
  decoder.layers.N.cross_attn.attn_out [position d_model]: as above
  decoder.layers.N.resid_cross [position d_model]: the stream after cross-attention
"""

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

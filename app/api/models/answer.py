"""The description of a model in the list of models."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


class TapInfo(BaseModel):
    name: str = Field(examples=["layers.0.attn.pattern"])
    dims: str = Field(description="Names of the dimensions, in order.", examples=["head query key"])


class AttentionInfo(BaseModel):
    """One attention in every layer of a stack."""

    id: str = Field(examples=["self"])
    path: str = Field(description="The prefix of its taps.", examples=["layers.{layer}.attn"])
    queries: Literal["source", "target"] = Field(description="The side of the queries.")
    keys: Literal["source", "target"] = Field(description="The side of the keys.")
    causal: bool = Field(description="Whether it was trained with a causal mask.")


class FirstToken(BaseModel):
    """The special token at the start of a classifier's text or an encoder-decoder's target."""

    id: int
    text: str = Field(examples=["[CLS]"])


class ModelInfo(BaseModel):
    name: str
    family: str = Field(description="A word for people; `description.can` says what it can do.")
    predicts: str = Field(description="What a row is about: `next`, `same`, `classes` or `none`.")
    n_layer: int
    n_head: int
    d_model: int
    d_head: int
    d_ff: int
    vocab_size: int
    max_seq_len: int
    position: str | None = None
    norm_order: str | None = None
    tie_embeddings: bool | None = None
    scale_embeddings: bool | None = None
    layer_norm_eps: float | None = None
    text_form: str | None = Field(
        default=None, description="How text is normalised before tokenizing.", examples=["natural"]
    )
    attentions: list[AttentionInfo] = Field(description="Where it attends, in the order of the forward pass.")
    classes: list[str] = Field(description="The classes of a classifier; empty in other families.")
    languages: list[str] = Field(
        description="The languages it was trained on; for an encoder-decoder, the source's, then the target's."
    )
    n_parameters: int
    end_id: int | None = Field(description="The id that ends a text, or a target.")
    pad_id: int | None
    first: FirstToken | None
    never_sampled: list[int] = Field(description="Ids with probability 0 in every prediction: PAD, and START or [CLS].")
    device: str
    card: dict[str, Any] = Field(description="What the model was trained on, how, and its quality.")
    units: dict[str, Any] | None = Field(
        description="From the card: the FFN units that never fire, and those that always do, over a corpus."
    )
    weights: dict[str, list[int]] = Field(
        description="Names and shapes of the parameters, for `POST /api/weights`.",
        examples=[{"layers.0.attn.w_q.weight": [256, 256]}],
    )
    taps: list[TapInfo] = Field(description="The tensors that a trace can return.")


class SpecialIds(BaseModel):
    """The special ids that the tokenizer has."""

    pad: int | None
    end: int | None
    first: FirstToken | None


class ModelDetail(ModelInfo):
    special: SpecialIds
    description: dict[str, Any] = Field(
        description="What the model is, whatever its weights: stacks, sublayers, attentions, roles, taps, parameters."
    )


class ModelsResponse(BaseModel):
    default: str = Field(description="The model used for a request without a name.")
    models: list[ModelInfo]

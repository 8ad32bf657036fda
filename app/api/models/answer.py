"""What a model looks like in the list of models."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field


class TapInfo(BaseModel):
    name: str = Field(examples=["layers.0.attn.pattern"])
    dims: str = Field(description="Names of the dimensions, in order.", examples=["head query key"])


class AttentionInfo(BaseModel):
    """One attention that every layer of a stack has."""

    id: str = Field(examples=["self"])
    path: str = Field(description="Its taps, without their last part.", examples=["layers.{layer}.attn"])
    queries: Literal["source", "target"] = Field(description="Whose tokens ask.")
    keys: Literal["source", "target"] = Field(description="Whose tokens are asked.")
    causal: bool = Field(description="Whether it was trained under a causal mask.")


class FirstToken(BaseModel):
    """The special token that a classifier's text, or an encoder-decoder's target, begins with."""

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
        default=None, description="How text is written before it is cut into tokens.", examples=["natural"]
    )
    attentions: list[AttentionInfo] = Field(description="Where it attends, in the order of the forward pass.")
    classes: list[str] = Field(description="What a classifier tells apart; none in the other families.")
    languages: list[str] = Field(description="What it was trained on; an encoder-decoder's source, then its target.")
    n_parameters: int
    end_id: int | None = Field(description="The id that ends a text, or a target.")
    pad_id: int | None
    first: FirstToken | None
    never_sampled: list[int] = Field(description="Ids with probability 0 in every prediction: PAD, and START or [CLS].")
    device: str
    card: dict[str, Any] = Field(description="What the model was trained on, how, and how good it is.")
    units: dict[str, Any] | None = Field(
        description="The card's summary of FFN units over a corpus: of each FFN, which never fire and which always do."
    )
    weights: dict[str, list[int]] = Field(
        description="The parameters' names and shapes, for `POST /api/weights`.",
        examples=[{"layers.0.attn.w_q.weight": [256, 256]}],
    )
    taps: list[TapInfo] = Field(description="The tensors that a trace can give.")


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
    default: str = Field(description="The model that a request without a name gets.")
    models: list[ModelInfo]

"""A model in the list of models, and its details."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class PhotoInfo(BaseModel):
    """Square pictures of bytes, too many different patches to count: their ids say where they are."""

    size: int
    patch: int = Field(description="Width and height, in pixels, of the patch that is a token.")
    levels: int
    channels: int = Field(description="Bytes of a pixel: 1 (grey) or 3 (red, green, blue).")
    before: list[str] = Field(description="The names of the tokens before the patches: [CLS], and registers.")


class UploadInfo(BaseModel):
    bytes: int
    pixels: int


class PictureInfo(BaseModel):
    """Square pictures of `size` × `size` pixels, whole numbers from 0 (paper) to `levels` − 1 (ink)."""

    size: int
    patch: int = Field(description="Width and height, in pixels, of the patch that is a token.")
    levels: int


class ModelInfo(BaseModel):
    """A model in the list: names, shapes and the card."""

    name: str
    family: str = Field(description="A label for people; `description.can` says what it can do.")
    predicts: str = Field(description="What a row is about: `next`, `same`, `classes` or `none`.")
    sides: list[str] = Field(description="What it reads and writes: `source`, and `target` if it writes beside it.")
    n_layer: int
    n_head: int
    d_model: int
    d_head: int
    d_ff: int
    vocab_size: int
    max_seq_len: int
    n_parameters: int
    languages: list[str] = Field(
        description="The languages it was trained on; for an encoder-decoder, the source's, then the target's."
    )
    directions: list[tuple[str, str]] = Field(
        description="A translator's directions, each from one language to another. The language of the "
        "source chooses one."
    )
    classes: list[str] = Field(description="The classes of a classifier; empty in other families.")
    picture: PhotoInfo | PictureInfo | None = Field(
        description="The kind of pictures that it reads; null: it reads text."
    )
    chat: bool = Field(description="Whether it has a chat template: `POST /api/models/{name}/chat`.")
    pairs: bool = Field(description="Whether it reads two texts together: a run's `input.pair`.")
    card: dict[str, Any] = Field(
        description="What the model was trained on, how, and its quality; of one with a snapshot of step 0, the "
        "gradients of its sublayers there (`gradients_at_start`)."
    )


class TapInfo(BaseModel):
    name: str = Field(examples=["layers.0.attn.pattern"])
    dims: str = Field(description="Names of the dimensions, in order.", examples=["head query key"])


class FirstToken(BaseModel):
    """The special token at the start of an encoder-only model's text or an encoder-decoder's target."""

    id: int
    text: str = Field(examples=["[CLS]"])


class SpecialIds(BaseModel):
    """The special ids that the tokenizer has."""

    pad: int | None
    end: int | None = Field(description="The id that ends a text, or a target.")
    first: FirstToken | None
    mask: int | None = Field(description="[MASK], which hides a token of a text; null if the model knows none.")


class SnapshotInfo(BaseModel):
    """A model at a step of its training: the parameters of that step, not their average."""

    model_config = ConfigDict(extra="allow")

    model: str = Field(description="Its name in requests.", examples=["mini-softmax@140"])
    step: int
    tokens: int | None = Field(default=None, description="Tokens seen until then.")
    held_out: dict[str, float] | None = Field(
        default=None, description="The figure on held-out text, by the name of its measure."
    )
    loss: float | None = Field(default=None, description="On the run's first batch, in nats, as the gradients.")
    gradient_norm: float | None = None
    gradients: dict[str, list[list[float]]] | None = Field(
        default=None, description="The norm of the gradient of each sublayer's parameters, by stack: [layer][sublayer]."
    )
    problem: str | None = Field(default=None, description="Why it is unavailable; known once it has been requested.")


class ExampleInfo(BaseModel):
    pixels: list[list[int]] = Field(description="Its rows, as in a run's `input.pixels`.")
    label: int = Field(description="Its class, as an index.")
    index: int = Field(description="Its index in the data that it was held out of.")


class StoredMeans(BaseModel):
    n: int = Field(description="How many windows.")
    positions: int = Field(
        description="How many first positions have their own mean; later ones get that over all of them."
    )
    on: str = Field(description="The file of the corpus that they are from.")


class ModelDetail(ModelInfo):
    """A model's details: its entry in the list, and everything that follows from its config and its card."""

    description: dict[str, Any] = Field(
        description="What the model is, whatever its weights: stacks, sublayers, attentions, roles, taps, parameters."
    )
    special: SpecialIds
    never_sampled: list[int] = Field(
        description="Ids with probability 0 in every prediction: PAD, START or [CLS], and [MASK]."
    )
    weights: dict[str, list[int]] = Field(
        description="Names and shapes of the parameters, for `POST /api/weights`.",
        examples=[{"layers.0.attn.w_q.weight": [256, 256]}],
    )
    taps: list[TapInfo] = Field(description="The tensors that a trace can return.")
    units: dict[str, Any] | None = Field(
        description="From the card: the FFN units that never fire, and those that always do, over a corpus."
    )
    snapshots: list[SnapshotInfo] = Field(description="Snapshots of the model, by training step.")
    example: ExampleInfo | None = Field(description="For a model that reads pictures: an example to start with.")
    uploads: UploadInfo | None = Field(description="Limits of a picture that is sent; null: it takes no files.")
    means: StoredMeans | None = Field(
        description="The windows over which `ablate` takes a mean; null: none are stored."
    )
    snapshot_of: str | None = Field(description="The model that this is a snapshot of.")
    log: dict[str, list[float]] | None = Field(
        description="From the card: loss of a batch and learning rate by training step, as columns."
    )
    device: str
    position: str | None = None
    norm_order: str | None = None
    tie_embeddings: bool | None = None
    scale_embeddings: bool | None = None
    layer_norm_eps: float | None = None
    dropout: float | None = Field(default=None, description="Dropout probability in training.")
    text_form: str | None = Field(
        default=None, description="How text is normalised before tokenizing.", examples=["natural"]
    )
    reach: int | None = Field(
        default=None,
        description="The largest distance that relative, aft-local and aft-conv tell apart; others ignore it.",
    )


class PicturesResponse(BaseModel):
    """Pictures that the model never saw."""

    source: str = Field(description="Their source.")
    pictures: list[ExampleInfo]


class PixelsResponse(BaseModel):
    """An uploaded picture as a model reads it."""

    model: str
    pixels: str = Field(description="Its bytes [row column channel] in base64: `input.pixels` of a run.")
    width: int = Field(description="Of the uploaded picture, upright.")
    height: int


class ChatResponse(BaseModel):
    """A chat as a model reads it."""

    model: str
    input: dict[str, str | bool] = Field(
        description="The `input` of a run: the `text` that the chat template makes. Its special tokens are read as "
        "such, and none is added.",
    )


class ProblemInfo(BaseModel):
    name: str
    reason: str = Field(
        description="One sentence: which file, and what is wrong with it.",
        examples=["weights.safetensors is cut: logits ends at byte 4,096 of 1,024."],
    )


class ModelsResponse(BaseModel):
    default: str = Field(description="The model used for a request without a name.")
    models: list[ModelInfo]
    problems: list[ProblemInfo] = Field(description="Unavailable models.")

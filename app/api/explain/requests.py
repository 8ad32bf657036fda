"""Requests for explanations."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from chumoku.app.api.run import MAX_IDS, RunRequest
from chumoku.app.api.schema import Index, ModelRequest, Request
from chumoku.app.services.interventions.site import Where

MAX_K = 100
Stack = Annotated[
    str | None,
    Field(
        max_length=20,
        description="`encoder` or `decoder`; leave it out for a model with one stack.",
        examples=["decoder"],
    ),
]


class LensRequest(RunRequest):
    k: int = Field(default=5, ge=1, le=MAX_K, description="How many of the most likely answers to list.")


class AnswerRequest(RunRequest):
    """A run, and the answer to explain."""

    answer: Index | None = Field(
        default=None,
        description="A token id, or the index of a class in `classes`. Default: the model's own first choice.",
    )
    row: Index | None = Field(
        default=None, description="The position that predicts, PADs counted. Default: the last, or [CLS]."
    )


class ContributionsRequest(AnswerRequest):
    against: Index | Literal["mean", "second"] | None = Field(
        default=None,
        description="Explain logit[answer] − logit[against]; `mean`: the mean logit of all answers that can be given; "
        "`second`: that of the most likely other answer.",
    )
    by_key: bool = Field(default=False, description="Also split the term of each head into what each key brings.")
    units_of: Index | None = Field(
        default=None, description="A layer: also split the term of its FFN into the units that write most."
    )


class WritesRequest(AnswerRequest, Where):
    head: Index
    k: int = Field(default=3, ge=1, le=MAX_K, description="How many favoured answers of each key to list.")


class GradientsRequest(AnswerRequest):
    pass


class HeadsRequest(RunRequest):
    pass


class UnitsRequest(RunRequest):
    k: int = Field(default=8, ge=1, le=MAX_K, description="How many units of a token, or tokens of a unit, to list.")
    unit: Index | None = Field(default=None, description="Also list the strongest tokens of this unit; needs `layer`.")
    layer: Index | None = Field(default=None, description="The layer of `unit`.")
    stack: Stack = Field(default=None, description="The stack of `unit`: `encoder` or `decoder`. Default: the first.")

    @model_validator(mode="after")
    def unit_of_a_layer(self) -> Self:
        if (self.unit is None) != (self.layer is None):
            raise ValueError("give unit and layer together, or neither")
        return self


class SwapRequest(RunRequest):
    i: Index = Field(description="A position in the source, PADs and [CLS] counted.", examples=[1])
    j: Index = Field(description="The other.", examples=[2])


class ResidualRequest(RunRequest):
    pass


class RouteRequest(RunRequest):
    pass


Found = Annotated[list[Index | None], Field(max_length=MAX_IDS, fail_fast=True)]


class Places(Request):
    """Index of each token of the run before in the run after; null if it is missing. A null side is not compared."""

    source: Found | None = None
    target: Found | None = None


class ChangesRequest(RunRequest):
    """The run after."""

    before: RunRequest = Field(
        description="The run before, of the same model.",
        examples=[{"text": "Once upon a time"}],
    )
    places: Places | None = Field(
        default=None,
        description="Which tokens correspond. Default: the sentences' own tokens, in their order.",
    )


class ForcingRequest(RunRequest):
    pass


class PrefixRequest(RunRequest):
    row: Index | None = Field(default=None, description="The row to compare. Default: the last.")
    k: int = Field(default=5, ge=1, le=MAX_K, description="How many of the most likely tokens of each run to list.")


class DropoutRequest(RunRequest):
    seed: int = Field(default=0, ge=0, le=2**31, description="The seed of the first run; the next has the next one.")
    n: int = Field(default=3, ge=1, le=8, description="How many runs.")


MAX_EDGES = 256


class EdgeRequest(Where):
    """A connection from a query to a key, in all heads of a layer or in one."""

    query: Index
    key: Index
    head: Index | None = Field(default=None, description="Default: all heads of the layer.")


class EffectsRequest(AnswerRequest):
    edges: Annotated[list[EdgeRequest], Field(max_length=MAX_EDGES, fail_fast=True)] | None = Field(
        default=None,
        description="The connections to knock out, one at a time. Default: the `n` widest on the way to `row`.",
        examples=[[{"layer": 3, "query": 3, "key": 1}]],
    )
    n: int = Field(
        default=64,
        ge=1,
        le=MAX_EDGES,
        description="How many, without `edges`. Fewer for a large Hugging Face model: each is a whole pass.",
    )


class RowRequest(Where):
    """A row of an attention, in all heads of its layer or in one."""

    query: Index
    head: Index | None = Field(default=None, description="Default: all heads of the layer.")


class AblationsRequest(AnswerRequest):
    keys_of: RowRequest | None = Field(
        default=None, description="Instead of heads and FFNs: the connections from this query to each of its keys."
    )


class ReceiverRequest(Where):
    """A head's q, k or v, where paths end."""

    head: Index
    role: Literal["q", "k", "v"]


class PathsRequest(Request):
    """Paths from each head and each FFN to one receiver."""

    to: ReceiverRequest | None = Field(default=None, description="Default: the answer.")
    ffns: bool = Field(default=False, description="Whether the path also passes the FFNs between, which else are kept.")


class PatchesRequest(AnswerRequest):
    """The run that is patched."""

    source: RunRequest = Field(
        alias="from",
        description="The other run, of the same model and length; by default with this run's target, if it has one.",
        examples=[{"text": "Once upon a day"}],
    )
    against: Index | None = Field(
        default=None,
        description="The answer to compare with. Default: the first choice of the other run, besides the answer.",
    )
    paths: PathsRequest | None = Field(
        default=None,
        description="Instead of activations: what each head and each FFN writes, seen by one receiver alone.",
        examples=[{"to": {"layer": 3, "head": 5, "role": "k"}}],
    )


class CachingRequest(RunRequest):
    """The text, or the target, that is read token by token."""


class NeighboursRequest(ModelRequest):
    token_id: Index = Field(description="The token whose neighbours to list.", examples=[100])
    k: int = Field(default=10, ge=1, le=MAX_K, description="How many.")
    measure: Literal["cosine", "dot"] = Field(
        default="cosine", description="What ranks them; both measures are returned."
    )


class VocabularyRequest(ModelRequest, Where):
    head: Index
    token_id: Index = Field(description="The token whose query matches, and whose value writes.", examples=[100])
    k: int = Field(default=8, ge=1, le=MAX_K, description="How many tokens to list of each.")


class InductionRequest(ModelRequest):
    pass


class PositionsRequest(ModelRequest):
    length: int | None = Field(default=None, ge=1, description="Number of positions. Default: the model's window.")
    stack: Stack = Field(default=None, description="`encoder` or `decoder`. Default: the stack of the source.")


class ParametersRequest(ModelRequest):
    pass


class CostRequest(ModelRequest):
    pass


class TimingsRequest(ModelRequest):
    pass

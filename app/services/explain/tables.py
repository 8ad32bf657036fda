"""Tables of a model without a sentence: embeddings, positions, parameters, and a head over the vocabulary."""

from __future__ import annotations

from chumoku.app.api.explain.requests import (
    InductionRequest,
    NeighboursRequest,
    ParametersRequest,
    PositionsRequest,
    VocabularyRequest,
)
from chumoku.app.errors import AppError, check_index
from chumoku.app.services import wire
from chumoku.app.services.capabilities import OTHER_MODEL, attention_of, explained
from chumoku.app.services.explain.shared import plain, refusing, stack_of, tokens_by_id
from chumoku.app.services.memory_budget import Reserve, Size
from chumoku.app.services.sizes import NUMBER
from chumoku.app.services.tokens import TOKEN_BYTES
from chumoku.app.services.wire import Json
from chumoku.model.attribution.induction import induction_of
from chumoku.model.attribution.vocabulary import head_vocabulary
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.explain.embeddings import MAX_TIMES, position_table
from chumoku.model.explain.embeddings import neighbours as neighbours_of
from chumoku.model.explain.parameters import count_parameters
from chumoku.model.positions import POSITIONS
from chumoku.model.traceable import TraceableModel

COUNT = 300
"""Most bytes of JSON for the count of one parameter."""
MAX_LENGTH = 4096
"""The similarity matrix of this many positions takes 64 MB."""


def neighbours(traceable: TraceableModel, request: NeighboursRequest, reserve: Reserve) -> Json:
    checkpoint = explained(traceable)
    reserve(Size((request.k + 1) * (3 * NUMBER + TOKEN_BYTES) + 1024, "Ask for fewer (`k`).", "k"))
    last = checkpoint.config.vocab_size - 1
    hint = f"Ids run from 0 to {last}."
    with refusing("bad_token", hint, where="token_id", got=request.token_id, limit=last):
        found = neighbours_of(checkpoint, request.token_id, k=request.k, measure=request.measure)
    return plain(found) | {"tokens": tokens_by_id(checkpoint, [found.id, *found.ids.tolist()])}


def vocabulary(traceable: TraceableModel, request: VocabularyRequest, reserve: Reserve) -> Json:
    checkpoint = explained(traceable)
    reserve(Size(2 * request.k * (NUMBER + TOKEN_BYTES) + 1024, "Ask for fewer (`k`).", "k"))
    attention = attention_of(traceable.description, request.attention, request.layer, "attention", "layer")
    check_index("head", request.head, attention.n_head, "head")
    last = checkpoint.config.vocab_size - 1
    if request.token_id > last:
        message, hint = f"Token id {request.token_id} is not one of 0 to {last}.", f"Take one from 0 to {last}."
        raise AppError("bad_token", message, hint, where="token_id", got=request.token_id, limit=last)
    with refusing("unsupported", "Ask about an attention that reads the tokens it predicts.", where="attention"):
        found = head_vocabulary(
            checkpoint, request.token_id, attention=attention.id, layer=request.layer, head=request.head, k=request.k
        )
    return plain(found) | {"tokens": tokens_by_id(checkpoint, [*found.matches, *found.writes])}


def induction(traceable: TraceableModel, request: InductionRequest, reserve: Reserve) -> Json:
    n_heads = sum(one.n_layer * one.n_head for one in traceable.description.attentions)
    reserve(Size(COUNT * n_heads + 1024, "This model has too many heads."))
    with refusing("unsupported", OTHER_MODEL, where="model"):
        found = induction_of(traceable)
    return vars(found) | {"heads": [vars(head) for head in found.heads]}


def parameters(traceable: TraceableModel, request: ParametersRequest, reserve: Reserve) -> Json:
    checkpoint = explained(traceable)
    reserve(Size(COUNT * len(traceable.about.weights) + 1024, "This model has too many parts."))
    found = count_parameters(checkpoint.model)
    return plain(found) | {"counts": [vars(count) for count in found.counts]}


def positions(traceable: TraceableModel, request: PositionsRequest, reserve: Reserve) -> bytearray:
    checkpoint = explained(traceable)
    stack = stack_of(checkpoint, request.stack, "stack")
    window, limit = checkpoint.config.max_seq_len, longest(checkpoint)
    length = min(window, limit) if request.length is None else request.length
    hint = f"Use {limit} or fewer."
    if length > MAX_LENGTH:
        message = f"A table of {length} positions is too large to send."
        raise AppError("too_long", message, hint, where="length", got=length, limit=limit)
    reserve(Size(4 * length * (length + checkpoint.config.d_model) + 1024, "Ask for fewer positions.", "length"))
    with refusing("too_long", hint, where="length", got=length, limit=limit):
        found = position_table(checkpoint, length, stack=stack.id)
    arrays = {"table": found.table.numpy(), "similarity": found.similarity.float().numpy()}
    dims = {"table": "position d_model", "similarity": "position position"}
    about = {"kind": found.kind, "trained": found.trained, "beyond": found.beyond, "dims": dims}
    return wire.encode(arrays, about | {"stack": stack.id})


def longest(checkpoint: Checkpoint) -> int:
    """The longest table that exists for the model's kind of positions and can be sent."""
    window, kind = checkpoint.config.max_seq_len, POSITIONS[checkpoint.config.position]
    rows = window if kind.parameter else MAX_TIMES * window if kind.formula else MAX_LENGTH
    return min(rows, MAX_LENGTH)

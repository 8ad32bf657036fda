"""Answers a trace request: chooses the tensors, runs the model, encodes the bytes and what describes them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from time import perf_counter
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from chumoku.app import VERSION
from chumoku.app.api.requests import TraceRequest
from chumoku.app.api.run import RunRequest
from chumoku.app.errors import AppError, check_index, inside, unknown_name
from chumoku.app.services import pairs, sizes, tokens, wire
from chumoku.app.services.capabilities import check_tokens
from chumoku.app.services.languages import Languages, codes, notes
from chumoku.app.services.memory_budget import Reserve, unlimited
from chumoku.app.services.plan import Origin, RunPlan, plan_run
from chumoku.app.services.predictions import check_positions, classes, predict
from chumoku.app.services.request_coalescing import Answer
from chumoku.model import pooling
from chumoku.model.describe import Description, TapPlace
from chumoku.model.taps import keeping, match_names
from chumoku.model.trace import Trace, pad_ids
from chumoku.model.traceable import About, TraceableModel

Format = Literal["safetensors", "npz"]
NONE: Languages = {}
N_CANDIDATES = 20
"""How many next tokens a saved trace lists for each position, as the page does."""


def answer(
    traceable: TraceableModel,
    request: TraceRequest,
    max_chars: int,
    loaded: Languages = NONE,
    reserve: Reserve = unlimited,
) -> Answer:
    """Run the request. Raises `AppError` if it is invalid. `loaded`: models that a note may point to."""
    start = perf_counter()
    names, more = prepare(traceable, request)
    plan = plan_run(traceable, request, max_chars)
    check_positions(request.predict, plan.lengths["source" if plan.run.target is None else "target"])
    check_queries(plan, request, names)
    pool = pooling.block_of(traceable.description, plan.lengths) if request.pooled else 1
    reserve(sizes.of_trace(plan, request, names, more, pool))
    traced, exact = run(plan, request, names, dict.fromkeys(name for own in more.values() for name in own), pool)
    seconds = perf_counter() - start
    arrays = arrays_of(traced, request, names, traceable)
    dims = {name: traced.dims[name] for name in names}
    about = metadata(plan, request, traced)
    for field, part in request.exact.items():  # under a prefix: the same tap may also be an overview of all heads
        arrays |= {f"{field}/{name}": x for name, x in arrays_of(exact, part, more[field], traceable).items()}
        dims |= {f"{field}/{name}": exact.dims[name] for name in more[field]}
    if request.detail is not None:
        about["detail"] = {"heads": request.detail.heads}
    about |= {
        "dims": dims,
        "scale": wire.scales(names, request.dtype, traceable.description.overviews),
        "pool": pool,
        "seconds": seconds,
        **outcome(traceable, request, traced),
    }
    of_text = tokens.notes(traceable, request, len(plan.padded))
    of_types = pairs.notes(plan.read, before_first(plan))
    of_codes = codes(traceable.tokenizer, plan.run.ids, plan.run.target)
    about["notes"] = [*of_text, *of_types, *of_codes, *notes(traceable.about, about["text"], loaded)]
    body = wire.ENCODERS[request.format](arrays, about)
    return Answer(body, len(traced.ids), seconds, perf_counter() - start - seconds)


def saved(
    traceable: TraceableModel, run: RunRequest, max_chars: int, format: Format = "safetensors"
) -> bytes | bytearray:
    """A run as a file that describes itself: every tensor, and what each position predicts."""
    plan = plan_run(traceable, run, max_chars)
    rows = list(range(plan.lengths["source" if plan.run.target is None else "target"]))
    predicts = traceable.description.predicts in ("next", "same")
    wanted = {
        "want": ["*"],
        "describe": True,
        "format": format,
        "predict": {"positions": rows, "n": N_CANDIDATES} if predicts else None,
    }
    request = TraceRequest.model_validate(run.model_dump(exclude_unset=True) | wanted)
    return answer(traceable, request, max_chars).body


def prepare(traceable: TraceableModel, request: TraceRequest) -> tuple[list[str], dict[str, list[str]]]:
    """Check what the request wants before the run starts. Returns the names of its tensors, and of those that it wants
    exact, by the field that asks for them."""
    description = traceable.description
    names = wanted_names(request, description)
    wire.check_dtype(names, request.dtype, description.overviews | description.masks)
    if request.predict is not None:
        check_tokens(traceable, "predict")
    exact, more = request.exact, {}
    if "detail" in exact:
        with inside("detail"):
            more["detail"] = wanted_names(exact["detail"], description)
    if "whole" in exact:
        more["whole"] = wanted_names(exact["whole"], description, "whole")
    return names, more


def arrays_of(
    traced: Trace, request: TraceRequest, names: Sequence[str], traceable: TraceableModel
) -> dict[str, np.ndarray]:
    """The wanted tensors to send: the requested heads, in the requested dtype."""
    return {name: wire.convert(name, chosen_heads(traced, name, request, traceable), request.dtype) for name in names}


def run(
    plan: RunPlan, request: TraceRequest, names: list[str], more: Collection[str], pool: int = 1
) -> tuple[Trace, Trace]:
    """One forward pass that keeps only what the answer needs: `names`, and `more` as the model has them.

    Where pictures are pooled or rows chosen, `more` takes a separate pass.
    """
    description = plan.traceable.description
    kept = pooling.pooling(description, names, pool)
    if request.queries is not None:
        kept = pooling.rows(description, names, request.queries)
    if description.logits.tap not in names and (request.predict is not None or description.classes):
        names = [*names, description.logits.tap]
    with keeping(kept):
        traced = plan.traceable.trace(plan.run, names if kept else list(dict.fromkeys([*names, *more])))
    return traced, plan.traceable.trace(plan.run, list(more)) if kept and more else traced


def outcome(traceable: TraceableModel, request: TraceRequest, traced: Trace) -> dict[str, Any]:
    """The requested predictions, or a classifier's classes."""
    description, logits = traceable.description, traced.tensors.get(traceable.description.logits.tap)
    if logits is None:
        return {"predictions": [], "classes": None}
    is_pad = traced.pads("source" if traced.target_ids is None else "target")
    ids = traced.ids if traced.target_ids is None else traced.target_ids
    return {
        "predictions": predict(traceable, logits, request.predict, ids, is_pad) if request.predict else [],
        "classes": classes(traceable, logits) if description.classes else None,
    }


def wanted_names(request: TraceRequest, description: Description, field: str = "want") -> list[str]:
    """The taps that `want` and `layers` name, in the model's order. Without `want`, every overview. `field` is where
    errors say that they were named.

    Raises `unknown_tensor` listing the known ones, `bad_layer` and `bad_head`.
    """
    known = description.taps
    n_layer = max((len(stack.layers) for stack in description.stacks), default=0)
    n_head = max((one.n_head for one in description.attentions), default=0)
    for index, layer in enumerate(request.layers or []):
        check_index("layer", layer, n_layer, f"layers[{index}]")
    for index, head in enumerate(request.heads or []):
        check_index("head", head, n_head, f"heads[{index}]")
    want = [name for name in known if name in description.overviews] if request.want is None else request.want
    for index, pattern in enumerate(want):
        try:
            match_names([pattern], known)
        except KeyError:
            raise unknown_name("unknown_tensor", "tensor", pattern, list(known), where=f"{field}[{index}]") from None
    names = [name for name in match_names(want, known) if in_layers(description.taps[name], request.layers)]
    if want and not names:
        message = f"Nothing that `want` names is in layers {request.layers}."
        raise AppError("unknown_tensor", message, "Request a tensor of these layers.", where=field, known=list(known))
    return names


def in_layers(place: TapPlace, layers: list[int] | None) -> bool:
    """Whether a tap passes the `layers` selection; a tap outside the layers always does."""
    return layers is None or place.layer is None or place.layer in layers


def chosen_heads(traced: Trace, name: str, request: TraceRequest, traceable: TraceableModel) -> Tensor:
    """A wanted tensor with the requested heads only."""
    tensor, dims = traced.tensors[name], traced.dims[name]
    place = traceable.description.taps[name]
    if request.heads is None or place.attention is None:
        return tensor
    attention = traceable.description.attention(place.attention)
    return select_heads(tensor, dims, request.heads, attention.n_head // attention.n_kv_head)


def select_heads(tensor: Tensor, dims: str, heads: list[int], group: int = 1) -> Tensor:
    """The requested query heads, in the requested order, and each key-value head that they share once.

    `group` query heads share a key-value head (Ainslie et al. 2023). A tensor without heads is unchanged.
    """
    names = dims.split()
    if "head" in names:
        return tensor.index_select(names.index("head"), torch.tensor(heads))
    if "kv_head" in names:
        shared = list(dict.fromkeys(head // group for head in heads))
        return tensor.index_select(names.index("kv_head"), torch.tensor(shared))
    return tensor


def check_queries(plan: RunPlan, request: TraceRequest, names: list[str]) -> None:
    """Raise `bad_position` for a query that some wanted tensor lacks; if none has queries, one beyond the text."""
    description = plan.traceable.description
    wanted = {description.taps[name].attention for name in names}
    sides = [one.queries for one in description.attentions if one.id in wanted]
    fewest = min((plan.lengths[side] for side in sides), default=max(plan.lengths.values()))
    for index, query in enumerate(request.queries or []):
        check_index("position", query, fewest, f"queries[{index}]")


def metadata(plan: RunPlan, request: TraceRequest, traced: Trace) -> dict[str, Any]:
    """Metadata about the model, its input and output, and the request."""
    traceable = plan.traceable
    return {
        "version": wire.VERSION,
        "produced_by": f"chumoku {VERSION}",
        **about_model(traceable),
        **about_text(traceable, request, traced),
        **about_pair(plan),
        **about_target(traceable, traced, plan.target_from),
        **about_request(plan, request),
        **described(traceable.description, request.describe),
    }


def described(description: Description, whole: bool) -> dict[str, Any]:
    """The id of the description that names the tensors; with `whole`, the description too."""
    return {"description_id": description.id} | ({"description": description.to_json()} if whole else {})


def about_model(traceable: TraceableModel) -> dict[str, Any]:
    special = traceable.tokenizer.special
    return {
        "model": traceable.name,
        "family": traceable.description.family,
        "config": config_of(traceable.about),
        "special": {"pad": special.pad, "end": special.end, "first": special.first, "mask": special.mask},
        "never_sampled": traceable.tokenizer.never_sampled,
        "max_seq_len": traceable.description.max_seq_len,
    }


def config_of(about: About) -> dict[str, Any]:
    """The author's config, and the width of a head, which follows from it."""
    widths = {one.d_head for one in about.description.attentions}
    return dict(about.config) | ({"d_head": widths.pop()} if len(widths) == 1 else {})


def about_text(traceable: TraceableModel, request: TraceRequest, traced: Trace) -> dict[str, Any]:
    """`text` is the requested text, `read_text` what the tokens spell and their offsets refer to."""
    read_text = tokens.text_of(traceable.tokenizer, traced.ids)
    sentence = request.sentence
    text = read_text if sentence.text is None else sentence.text
    typed = sentence.text if sentence.pair is None else None
    return {
        "text": text,
        "read_text": read_text,
        "tokens": tokens.tokens_json(traceable.tokenizer, traced.ids, typed, special=sentence.special),
        "n_characters": len(text) + len(sentence.pair or ""),
        "position_ids": traced.position_ids,
    }


def about_pair(plan: RunPlan) -> dict[str, Any]:
    """Where the second of two texts begins, and the token types that the model read; null for one text, and for a model
    that tells no types apart. Positions count PADs."""
    read = plan.read
    types = list(read.token_types) or [0] * len(read.ids)
    return {
        "second": None if read.second is None else read.second + before_first(plan),
        "token_type_ids": pad_ids(types, plan.run.pad, 0) if plan.traceable.about.n_token_types > 1 else None,
    }


def before_first(plan: RunPlan) -> int:
    """How many PADs stand before the text."""
    return plan.run.pad.count if plan.run.pad.side == "left" else 0


def about_target(traceable: TraceableModel, traced: Trace, target_from: Origin | None) -> dict[str, Any]:
    """What an encoder-decoder's decoder read, START first; all null in the other families."""
    if traced.target_ids is None:
        return dict.fromkeys(("target_tokens", "target_position_ids", "target_text", "target_from"))
    return {
        "target_tokens": tokens.tokens_json(traceable.tokenizer, traced.target_ids),
        "target_position_ids": list(range(len(traced.target_ids))),
        "target_text": tokens.text_of(traceable.tokenizer, traced.target_ids),
        "target_from": target_from,
    }


def about_request(plan: RunPlan, request: TraceRequest) -> dict[str, Any]:
    """`run` can be requested again unchanged; `masks`, `pad` and `interventions` are copies from it."""
    run = plan.resolved(request)
    return {
        "run": run,
        "heads": request.heads,
        **{part: run[part] for part in ("masks", "pad", "interventions")},
        "dtype": request.dtype,
    }

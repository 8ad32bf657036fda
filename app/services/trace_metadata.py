"""Everything in a trace's answer that is not a tensor. With it, a file describes itself."""

from __future__ import annotations

from typing import Any

from chumoku.app import VERSION
from chumoku.app.api.traces.schema import TraceRequest
from chumoku.app.services import tokens, wire
from chumoku.app.services.plan import RunPlan
from chumoku.app.services.targets import Target
from chumoku.model.describe import Description
from chumoku.model.trace import Trace
from chumoku.model.traceable import About, TraceableModel


def metadata(plan: RunPlan, request: TraceRequest, traced: Trace) -> dict[str, Any]:
    """The model, what it read and wrote, and the request."""
    traceable = plan.traceable
    return {
        "version": wire.VERSION,
        "produced_by": f"chumoku {VERSION}",
        **about_model(traceable),
        **about_text(traceable, request, traced),
        **about_target(traceable, traced, plan.target),
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
    asked = request.sentence.text
    text = read_text if asked is None else asked
    return {
        "text": text,
        "read_text": read_text,
        "tokens": tokens.tokens_json(traceable.tokenizer, traced.ids, asked),
        "n_characters": len(text),
        "position_ids": traced.position_ids,
    }


def about_target(traceable: TraceableModel, traced: Trace, target: Target | None) -> dict[str, Any]:
    """What an encoder-decoder's decoder read, START first; all null in the other families."""
    if target is None or traced.target_ids is None:
        return dict.fromkeys(("target_tokens", "target_position_ids", "target_text", "target_from"))
    return {
        "target_tokens": tokens.tokens_json(traceable.tokenizer, traced.target_ids),
        "target_position_ids": list(range(len(traced.target_ids))),
        "target_text": tokens.text_of(traceable.tokenizer, traced.target_ids),
        "target_from": target.origin,
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

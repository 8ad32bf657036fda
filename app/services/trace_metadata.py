"""Everything of a trace's answer that is no tensor: with it a file says by itself what it is a trace of, and how."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app import VERSION
from app.api.traces.schema import TraceRequest
from app.services import tokens, wire
from app.services.plan import RunPlan
from app.services.targets import Target
from model.attentions import attentions
from model.checkpoint import Checkpoint
from model.describe import describe
from model.trace import Trace


def metadata(plan: RunPlan, request: TraceRequest, traced: Trace) -> dict[str, Any]:
    """The model, what it read and wrote, and what was asked for."""
    checkpoint = plan.checkpoint
    return {
        "version": wire.VERSION,
        "produced_by": f"chumoku {VERSION}",
        **about_model(checkpoint),
        **about_text(checkpoint, request, traced),
        **about_target(checkpoint, traced, plan.target),
        **about_request(plan, request),
        **described(checkpoint, request.describe),
    }


def described(checkpoint: Checkpoint, whole: bool) -> dict[str, Any]:
    """Which description the tensors are named by; all of it, where the request asks for that."""
    description = describe(checkpoint.config)
    return {"description_id": description.id} | ({"description": description.to_json()} if whole else {})


def about_model(checkpoint: Checkpoint) -> dict[str, Any]:
    return {
        "model": checkpoint.name,
        "family": checkpoint.config.family,
        "config": checkpoint.config.to_json() | {"d_head": checkpoint.config.d_head},
        "attentions": [asdict(attention) for attention in attentions(checkpoint.config)],
        "end_id": checkpoint.tokenizer.end_id,
        "pad_id": checkpoint.tokenizer.pad_id,
        "first_id": checkpoint.tokenizer.first_id if checkpoint.tokenizer.first_id >= 0 else None,
        "never_sampled": checkpoint.tokenizer.never_sampled,
        "max_seq_len": checkpoint.config.max_seq_len,
    }


def about_text(checkpoint: Checkpoint, request: TraceRequest, traced: Trace) -> dict[str, Any]:
    """`text` is what was asked for, `read_text` what the tokens spell, in which they count their places."""
    read_text = tokens.text_of(checkpoint.tokenizer, traced.ids)
    asked = request.sentence.text
    text = read_text if asked is None else asked
    return {
        "text": text,
        "read_text": read_text,
        "tokens": tokens.tokens_json(checkpoint.tokenizer, traced.ids),
        "n_characters": len(text),
        "position_ids": traced.position_ids,
    }


def about_target(checkpoint: Checkpoint, traced: Trace, target: Target | None) -> dict[str, Any]:
    """What an encoder-decoder's decoder read, START first; all null in the other families."""
    if target is None or traced.target_ids is None:
        return dict.fromkeys(("target_tokens", "target_position_ids", "target_text", "target_from"))
    return {
        "target_tokens": tokens.tokens_json(checkpoint.tokenizer, traced.target_ids),
        "target_position_ids": list(range(len(traced.target_ids))),
        "target_text": tokens.text_of(checkpoint.tokenizer, traced.target_ids),
        "target_from": target.origin,
    }


def about_request(plan: RunPlan, request: TraceRequest) -> dict[str, Any]:
    """`run` can be asked for again as it is; `masks`, `pad` and `interventions` are its own."""
    run = plan.resolved(request)
    return {
        "run": run,
        "heads": request.heads,
        **{part: run[part] for part in ("masks", "pad", "interventions")},
        "dtype": request.dtype,
    }

"""Everything of a trace's answer that is no tensor: with it a file says by itself what it is a trace of, and how."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app import VERSION
from app.api.traces.schema import TraceRequest
from app.services import tokens, wire
from app.services.targets import Target
from model.attentions import attentions
from model.checkpoint import Checkpoint
from model.trace import Trace


def metadata(checkpoint: Checkpoint, request: TraceRequest, traced: Trace, target: Target | None) -> dict[str, Any]:
    """The model, what it read and wrote, and what was asked for."""
    return {
        "version": wire.VERSION,
        "produced_by": f"chumoku {VERSION}",
        **about_model(checkpoint),
        **about_text(checkpoint, request, traced),
        **about_target(checkpoint, traced, target),
        **about_request(checkpoint, request),
    }


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
    text = read_text if request.text is None else request.text
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


def about_request(checkpoint: Checkpoint, request: TraceRequest) -> dict[str, Any]:
    """`masks.causal` is what was in force, and an intervention names its attention."""
    causal = checkpoint.config.is_causal if request.masks.causal is None else request.masks.causal
    first = attentions(checkpoint.config)[0].id
    return {
        "heads": request.heads,
        "masks": request.masks.model_dump() | {"causal": causal},
        "pad": request.pad.model_dump(),
        "interventions": [item.model_dump() | {"attention": item.attention or first} for item in request.interventions],
        "dtype": request.dtype,
    }

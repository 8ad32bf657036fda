"""The response of a trace, for `/docs`."""

from __future__ import annotations

from typing import Any

TRACE_ANSWER: dict[str, Any] = {
    "description": "A safetensors (or .npz) body; the metadata's `chumoku` is JSON text: version, produced_by, model, "
    "family, config, special, never_sampled, max_seq_len, text, read_text, tokens, "
    "n_characters, position_ids, target_tokens, target_position_ids, target_text, target_from, heads, run, masks, pad, "
    "interventions, dtype, dims, scale, seconds, predictions, classes, notes.",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}

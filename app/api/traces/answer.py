"""The response of a trace, for `/docs`."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo

from chumoku.app.api.answer import ErrorResponse
from chumoku.app.api.traces.address import TEXTS
from chumoku.app.api.traces.schema import TraceRequest

TRACE_ANSWER: dict[str, Any] = {
    "description": "A safetensors (or .npz) body; the metadata's `chumoku` is JSON text: version, produced_by, model, "
    "family, config, special, never_sampled, max_seq_len, text, read_text, tokens, "
    "n_characters, position_ids, target_tokens, target_position_ids, target_text, target_from, heads, run, masks, pad, "
    "interventions, dtype, dims, scale, seconds, predictions, classes, notes; and `detail`, if there is one.",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
UNCHANGED = {"description": "The client's answer is still right (`If-None-Match`)."}
CROSS_SITE = {"model": ErrorResponse, "description": "`cross_site`: a page of another site asked."}


def parameter(name: str, field: FieldInfo) -> dict[str, Any]:
    """A field of the request as a parameter of the query."""
    example = "Once upon a time" if name == "text" else None
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": ("" if name in TEXTS else "JSON. ") + (field.description or ""),
        "schema": {"type": "string"} | ({"example": example} if example else {}),
    }


ADDRESS: dict[str, Any] = {"parameters": [parameter(*one) for one in TraceRequest.model_fields.items()]}

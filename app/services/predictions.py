"""What the model thinks comes next, as lists of candidates."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from app.schemas import Predict, Sampling
from app.services.edits import check_index
from model.checkpoint import Checkpoint
from model.sampling import Distribution, Settings, distribution
from model.tokenizer import Tokenizer


def predict(checkpoint: Checkpoint, logits: Tensor, request: Predict) -> list[dict[str, Any]]:
    """One prediction for each position asked for; logits [position vocab]."""
    settings = Settings(request.temperature, request.top_k, request.top_p)
    banned = [checkpoint.tokenizer.pad_id]
    return [
        prediction_json(checkpoint.tokenizer, distribution(logits[t], settings, banned), t, request.n, request)
        for t in request.positions
    ]


def check_positions(request: Predict | None, seq_len: int) -> None:
    """Raise `bad_position` for a position that the sentence does not have."""
    for n, position in enumerate(request.positions if request else []):
        check_index("position", position, seq_len, f"predict.positions[{n}]")


def prediction_json(
    tokenizer: Tokenizer, dist: Distribution, position: int, n: int, settings: Sampling
) -> dict[str, Any]:
    """The `n` likeliest tokens after `position`, before the sampling settings, in order; ties by the lower id."""
    n = min(n, int((dist.before > 0).sum()))  # PAD is no candidate
    ids: list[int] = dist.before.argsort(descending=True, stable=True)[:n].tolist()
    return {
        "position": position,
        "next_index": position + 1,
        "candidates": [candidate_json(tokenizer, dist, i) for i in ids],
        "n_kept": dist.n_kept,
        "mass_cut": dist.mass_cut,
        "entropy_bits": dist.entropy_bits,
        "settings": {"temperature": settings.temperature, "top_k": settings.top_k, "top_p": settings.top_p},
    }


def candidate_json(tokenizer: Tokenizer, dist: Distribution, token_id: int) -> dict[str, Any]:
    """One candidate: `before` is the model's own probability, `after` what is sampled from (0: cut)."""
    (token,) = tokenizer.tokens([token_id])
    return {
        "id": token_id,
        "text": token.text,
        "bytes": token.bytes.hex(),
        "partial": token.partial,
        "special": token.special,
        "before": float(dist.before[token_id]),
        "after": float(dist.after[token_id]),
        "kept": bool(dist.kept[token_id]),
    }

"""The model's predictions as lists of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from chumoku.app.api.requests import Predict
from chumoku.app.api.schema import Sampling
from chumoku.app.errors import check_index
from chumoku.app.services import tokens
from chumoku.model.sampling import Distribution, SamplingSettings, distribution, likeliest
from chumoku.model.stopping import check
from chumoku.model.traceable import TraceableModel, TraceableTokenizer


def predict(
    traceable: TraceableModel, logits: Tensor, request: Predict, is_pad: Sequence[bool]
) -> list[dict[str, Any]]:
    """One prediction for each requested position, or for the last that is not a PAD; logits [position vocab]. A row is
    about the next token, or about its own (`predicts: "same"`)."""
    settings = SamplingSettings(request.temperature, request.top_k, request.top_p)
    banned, ahead = traceable.tokenizer.never_sampled, int(traceable.description.predicts == "next")
    found = []
    last = max(t for t, pad in enumerate(is_pad) if not pad)
    for t in [last] if request.positions is None else request.positions:
        check()
        row = prediction_json(traceable.tokenizer, distribution(logits[t], settings, banned), request.n, request)
        found.append({"position": t, "next_index": t + ahead} | row)
    return found


def classes(traceable: TraceableModel, logits: Tensor) -> list[dict[str, Any]]:
    """A classifier's answer; logits [class], the softmax in float64."""
    probabilities = logits.double().softmax(-1).tolist()
    rows = zip(traceable.description.classes, logits.tolist(), probabilities, strict=True)
    return [{"name": name, "logit": logit, "probability": p} for name, logit, p in rows]


def first(traceable: TraceableModel, logits: Tensor) -> int:
    """The model's first choice: a token that can be sampled, or a class; logits [vocab] or [class]."""
    if traceable.description.classes:
        return int(logits.argmax())
    return int(likeliest(distribution(logits, SamplingSettings(), traceable.tokenizer.never_sampled).before, 1)[0])


def check_positions(request: Predict | None, seq_len: int) -> None:
    """Raise `bad_position` for a row that the sentence (an encoder-decoder's target) does not have."""
    for n, position in enumerate((request.positions if request else None) or []):
        check_index("position", position, seq_len, f"predict.positions[{n}]")


def prediction_json(tokenizer: TraceableTokenizer, dist: Distribution, n: int, settings: Sampling) -> dict[str, Any]:
    """The `n` most likely tokens, before the sampling settings, in order; ties by the lower id."""
    n = min(n, int((dist.before > 0).sum()))  # what is never sampled is not a candidate
    return {
        "candidates": candidates_json(tokenizer, dist, likeliest(dist.before, n)),
        "n_kept": dist.n_kept,
        "mass_cut": dist.mass_cut,
        "entropy_bits": dist.entropy_bits,
        "settings": {"temperature": settings.temperature, "top_k": settings.top_k, "top_p": settings.top_p},
    }


def candidates_json(tokenizer: TraceableTokenizer, dist: Distribution, ids: Tensor) -> list[dict[str, Any]]:
    """`before` is the model's own probability, `after` what is sampled from (0: cut)."""
    columns = (column[ids].tolist() for column in (dist.before, dist.after, dist.kept))
    found = tokens.vocabulary_tokens(tokenizer, ids.tolist())
    return [
        {**token, "before": before, "after": after, "kept": kept}
        for token, before, after, kept in zip(found, *columns, strict=True)
    ]

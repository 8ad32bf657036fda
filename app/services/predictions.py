"""The model's predictions as lists of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from chumoku.app.api.requests import Predict
from chumoku.app.api.schema import LONGEST_TEXT, Sampling
from chumoku.app.errors import AppError, check_index
from chumoku.app.services import tokens
from chumoku.model.sampling import FILTERS, Distribution, SamplingSettings, distribution, likeliest, most_likely
from chumoku.model.stopping import check
from chumoku.model.traceable import TraceableModel, TraceableTokenizer


def predict(
    traceable: TraceableModel, logits: Tensor, request: Predict, ids: Sequence[int], is_pad: Sequence[bool]
) -> list[dict[str, Any]]:
    """One prediction for each requested position of `ids`, or for the last that is not a PAD; logits [position vocab].
    A row is about the next token, or about its own (`predicts: "same"`)."""
    settings = settings_of(request, traceable)
    banned, ahead = traceable.tokenizer.never_sampled, int(traceable.description.predicts == "next")
    found = []
    last = max(t for t, pad in enumerate(is_pad) if not pad)
    for t in [last] if request.positions is None else request.positions:
        check()
        dist = distribution(logits[t], settings, banned, ids[: t + ahead])
        row = prediction_json(traceable.tokenizer, dist, request.n, request)
        actual = float(dist.before[ids[t + ahead]]) if t + ahead < len(ids) else None
        found.append({"position": t, "next_index": t + ahead, "actual": actual} | row)
    return found


def settings_of(request: Sampling, traceable: TraceableModel, seed: int = 0) -> SamplingSettings:
    """Raises `AppError` for banned texts that leave no token."""
    banned = sequences(traceable, request.banned)
    check_left(traceable.tokenizer, banned)
    return SamplingSettings(
        request.temperature, request.top_k, request.top_p, seed, request.min_p, request.repetition_penalty, banned
    )


def check_left(tokenizer: TraceableTokenizer, banned: Sequence[Sequence[int]]) -> None:
    """Raise `bad_token` if no token might be left to draw."""
    if len({one[-1] for one in banned} | set(tokenizer.never_sampled)) >= tokenizer.vocab_size:
        raise AppError("bad_token", "Every token is banned.", "Leave out one of these texts.", where="banned")


def sequences(traceable: TraceableModel, texts: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """The ids of each text that is not written, as it stands and after a space: words begin with one in most
    vocabularies."""
    where = tokens.TARGET if traceable.description.writes == "target" else "banned"
    forms = [form for text in texts for form in (text, f" {text}")]
    found = (tuple(tokens.encode(traceable.tokenizer, form, LONGEST_TEXT + 1, where)) for form in forms)
    return tuple(sorted({ids for ids in found if ids}))


def classes(traceable: TraceableModel, logits: Tensor) -> list[dict[str, Any]]:
    """A classifier's answer; logits [class], the softmax in float64."""
    probabilities = logits.double().softmax(-1).tolist()
    rows = zip(traceable.description.classes, logits.tolist(), probabilities, strict=True)
    return [{"name": name, "logit": logit, "probability": p} for name, logit, p in rows]


def first(traceable: TraceableModel, logits: Tensor) -> int:
    """The model's first choice: a token that can be sampled, or a class; logits [vocab] or [class]."""
    if traceable.description.classes:
        return int(logits.argmax())
    return most_likely(logits, traceable.tokenizer.never_sampled)


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
        "masses_cut": dict(zip(FILTERS, dist.masses, strict=True)),
        "entropy_bits": dist.entropy_bits,
        "settings": {name: getattr(settings, name) for name in Sampling.model_fields},
    }


def candidates_json(tokenizer: TraceableTokenizer, dist: Distribution, ids: Tensor) -> list[dict[str, Any]]:
    """`before` is the model's own probability, `after` what is sampled from (0: cut), `cut` the filter that cut it."""
    columns = (column[ids].tolist() for column in (dist.before, dist.after, dist.kept, dist.cut))
    found = tokens.vocabulary_tokens(tokenizer, ids.tolist())
    return [
        {**token, "before": before, "after": after, "kept": kept, "cut": FILTERS[cut - 1] if cut else None}
        for token, before, after, kept, cut in zip(found, *columns, strict=True)
    ]

"""What a run reads, as ids with their token types: one text, or two that the model's tokenizer joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chumoku.app.api.run import RunRequest
from chumoku.app.errors import AppError
from chumoku.app.services import tokens
from chumoku.model.pairs import PairTemplate
from chumoku.model.traceable import TraceableModel


@dataclass(frozen=True)
class Read:
    """The ids that a model reads, without PADs. `second`: where the second of two texts begins; `token_types`: empty
    for 0 everywhere; `assumed`: whether they follow from ids alone."""

    ids: list[int]
    second: int | None = None
    token_types: Sequence[int] = ()
    assumed: bool = False


def read(traceable: TraceableModel, run: RunRequest, max_chars: int, *, grows: bool = False) -> Read:
    """What a run reads. Raises what `tokens.read` raises, `cannot` for two texts that the model does not read together,
    and `bad_token` for a token type that it does not have."""
    sentence, inside = run.sentence, "input." if run.input is not None else ""
    if sentence.pair is not None:
        return joined(traceable, run, max_chars, inside)
    ids = tokens.read(traceable, run, max_chars, grows=grows)
    if sentence.token_ids is not None and sentence.token_type_ids is not None:
        types = checked(traceable, sentence.token_ids, sentence.token_type_ids, ids, f"{inside}token_type_ids")
        second = next((n for n, kind in enumerate(types) if kind != types[0]), None)
        return Read(ids, second, types if any(types) else ())
    template = template_of(traceable)
    second = None if template is None else template.split(ids)
    if template is None or second is None:
        return Read(ids)
    types = token_types(traceable, template, len(ids), second)
    return Read(ids, second, types, assumed=any(types))


def template_of(traceable: TraceableModel) -> PairTemplate | None:
    """How the model's tokenizer joins two texts; None if it reads one."""
    found: PairTemplate | None = getattr(traceable.tokenizer, "pair", None)
    return found


def joined(traceable: TraceableModel, run: RunRequest, max_chars: int, inside: str) -> Read:
    """Two texts as one list of ids."""
    template, sentence = template_of(traceable), run.sentence
    if template is None:
        message = f"{traceable.name!r} does not read two texts together."
        hint = "Leave pair out, or use a model whose `pairs` is true in GET /api/models."
        raise AppError("cannot", message, hint, where=f"{inside}pair")
    both = [
        tokens.encode(traceable.tokenizer, text or "", max_chars, f"{inside}{name}", special=sentence.special)
        for name, text in (("text", sentence.text), ("pair", sentence.pair))
    ]
    if not both[0]:
        raise AppError(
            "empty_text", "The first text has no tokens.", "Type at least one character.", where=f"{inside}text"
        )
    ids, second = template.joined(*both)
    limit = traceable.description.max_seq_len
    tokens.check_length(len(ids) + run.pad.count, limit, f"{inside}pair", run.pad.count, "tokens of both texts")
    return Read(ids, second, token_types(traceable, template, len(ids), second))


def token_types(traceable: TraceableModel, template: PairTemplate, n: int, second: int) -> list[int]:
    """The token types of two texts; none for a model that does not tell them apart."""
    found = template.token_types(n, second)
    return found if any(found) and max(found) < traceable.about.n_token_types else []


def checked(
    traceable: TraceableModel, given: Sequence[int], types: Sequence[int], ids: Sequence[int], where: str
) -> list[int]:
    """The token types of `ids`, what the model reads: what was added around the `given` ids gets its neighbour's."""
    n = max(traceable.about.n_token_types, 1)
    wrong = next((at for at, kind in enumerate(types) if kind >= n), None)
    if wrong is not None:
        kind = types[wrong]
        message = f"{traceable.name!r} has no token type {kind}."
        hint = f"Use 0 to {n - 1}." if n > 1 else "Leave token_type_ids out."
        raise AppError("bad_token", message, hint, where=f"{where}[{wrong}]", got=kind, limit=n - 1)
    before = int(ids[0] != given[0])
    after = len(ids) - len(given) - before
    return [*[types[0]] * before, *types, *[types[-1]] * after]


def notes(read: Read, n_pad: int) -> list[dict[str, Any]]:
    """A note where ids were given without their token types, which then follow from the ids."""
    return [{"code": "token_types", "second": (read.second or 0) + n_pad}] if read.assumed else []

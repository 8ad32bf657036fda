"""Interventions on the command line: `cut:LAYER:QUERY:KEY`, or JSON as in a request."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from chumoku.app.services.interventions import Intervention

CUT = re.compile(r"cut:(?:([^:]+):)?([0-9]{1,9}):([0-9]{1,9}):([0-9]{1,9})")
FORM = "use cut:LAYER:QUERY:KEY, cut:ATTENTION:LAYER:QUERY:KEY, or JSON as in a request's interventions"


def interventions(edits: Sequence[str]) -> list[dict[str, Any]]:
    """The interventions of a request. Raises `ValueError` naming the first invalid one."""
    return [checked(edit, cut(edit) if edit.startswith("cut:") else from_json(edit)) for edit in edits]


def cut(edit: str) -> dict[str, Any]:
    """One look of all heads of a layer, forbidden."""
    found = CUT.fullmatch(edit)
    if found is None:
        raise wrong(edit)
    attention, *cell = found.groups()
    where = dict(zip(("layer", "query", "key"), map(int, cell), strict=True))
    return {"kind": "mask", "where": {"attention": attention, **where}, "allow": False}


def from_json(edit: str) -> Any:
    try:
        return json.loads(edit)
    except json.JSONDecodeError:
        raise wrong(edit) from None


def checked(edit: str, intervention: Any) -> dict[str, Any]:
    try:
        TypeAdapter(Intervention).validate_python(intervention)
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"][1:]))  # after the kind
        raise ValueError(f"--edit {edit}: {at + ': ' if at else ''}{first['msg']}") from None
    found: dict[str, Any] = intervention
    return found


def wrong(edit: str) -> ValueError:
    return ValueError(f"--edit {edit}: {FORM}")

"""Text to tokens."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from app.deps import LibraryDep, SettingsDep
from app.responses import REFUSALS, TokenizeResponse
from app.schemas import TokenizeRequest
from app.services import tokens

router = APIRouter(prefix="/api", tags=["tokens"])


# No `async`: FastAPI runs it in a thread of its own pool, so that counting never waits behind a model.
@router.post("/tokenize", response_model=TokenizeResponse, responses=REFUSALS)
def tokenize(request: TokenizeRequest, library: LibraryDep, settings: SettingsDep) -> dict[str, Any]:
    """The tokens of a text: id, bytes, text, and which characters they stand for.

    A text that is longer than the model's window is counted, not refused.
    """
    return tokens.tokenize(library.get(request.model), request.text, settings.max_text_chars)

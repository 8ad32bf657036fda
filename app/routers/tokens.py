"""Text to tokens."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from app.deps import LibraryDep, SeenDep, SettingsDep
from app.responses import REFUSALS, TokenizeResponse
from app.schemas import TokenizeRequest
from app.services import encodings, tokens

router = APIRouter(prefix="/api", tags=["tokens"])


# No `async`: FastAPI runs it in a thread of its own pool, so that counting never waits behind a model. The answer is
# written there too: for a long text it has megabytes, which FastAPI would check and write on the event loop.
@router.post("/tokenize", response_model=TokenizeResponse, responses=REFUSALS)
def tokenize(request: TokenizeRequest, library: LibraryDep, settings: SettingsDep, seen: SeenDep) -> JSONResponse:
    """The tokens of a text: id, bytes, text, and which characters they stand for.

    A text that is longer than the model's window is counted, not refused. With `compare`, `encodings` says how many
    tokens tiktoken's public encodings make of it; nothing is downloaded for that.
    """
    checkpoint = library.get(request.model)
    seen.model, seen.text = checkpoint.name, request.text
    found = tokens.tokenize(checkpoint, request.text, settings.max_text_chars)
    seen.n_tokens = found["n_tokens"]
    return JSONResponse(found | {"encodings": encodings.compare(request.text) if request.compare else []})

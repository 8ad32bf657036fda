"""Text to tokens."""

from __future__ import annotations

from fastapi import APIRouter, Response

from chumoku.app.api.answer import REFUSALS
from chumoku.app.api.tokens.answer import TokenizeResponse
from chumoku.app.api.tokens.schema import TokenizeRequest
from chumoku.app.http.backpressure import SlicedResponse
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.deps import ClaimDep, LibraryDep, SeenDep, SettingsDep, WorkDep
from chumoku.app.services import encodings, tokens
from chumoku.app.services.wire import to_json

router = APIRouter(prefix="/api", tags=["tokens"], route_class=JsonRoute)


@router.post("/tokenize", response_model=TokenizeResponse, responses=REFUSALS)
async def tokenize(
    request: TokenizeRequest,
    library: LibraryDep,
    settings: SettingsDep,
    work: WorkDep,
    claim: ClaimDep,
    seen: SeenDep,
) -> Response:
    """The tokens of a text: id, bytes, text, and which characters they stand for.

    A text longer than the model's window is counted, not refused. With `compare`, `encodings` has the number of
    tokens under tiktoken's public encodings; nothing is downloaded for that.
    """
    entry = library.find(request.model)
    seen.model, seen.text = entry.name, request.text

    # The answer is serialised in the thread too: for a long text it has megabytes, which FastAPI would validate and
    # serialise on the event loop.
    def count() -> bytes:
        with library.use(entry) as traceable:
            found = tokens.tokenize(traceable, request.text, settings.max_text_chars, claim.take)
        seen.n_tokens = found["n_tokens"]
        return to_json(found | {"encodings": encodings.compare(request.text) if request.compare else []})

    body = await work.aside(count)
    claim.settle(len(body))
    return SlicedResponse(body, media_type="application/json")

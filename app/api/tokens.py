"""Text to tokens."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from chumoku.app.api.answers import REFUSALS, TokenInfo
from chumoku.app.api.requests import TokenizeRequest
from chumoku.app.http.backpressure import SlicedResponse
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.deps import ClaimDep, JobQueueDep, LibraryDep, SeenDep, SettingsDep
from chumoku.app.services import encodings, tokens
from chumoku.app.services.wire import to_json


class EncodingCount(BaseModel):
    name: str = Field(examples=["cl100k_base"])
    available: bool = Field(description="Whether its files are on the server.")
    n_tokens: int | None = Field(description="The number of tokens for this text.")
    hint: str | None = Field(description="How to get missing files.")


class TokenizeResponse(BaseModel):
    model: str
    text: str
    read_text: str = Field(
        description="The text that the tokens spell and their offsets refer to: normalised to the model's text form."
    )
    tokens: list[TokenInfo] = Field(description="The tokens. A classifier's begin with [CLS].")
    n_tokens: int
    n_characters: int = Field(description="Of `text`.")
    max_seq_len: int = Field(description="The largest number of tokens that the model reads.")
    encodings: list[EncodingCount] = Field(description="With `compare`: the same text under tiktoken's encodings.")


router = APIRouter(prefix="/api", tags=["tokens"], route_class=JsonRoute)


@router.post("/tokenize", response_model=TokenizeResponse, responses=REFUSALS)
async def tokenize(
    request: TokenizeRequest,
    library: LibraryDep,
    settings: SettingsDep,
    work: JobQueueDep,
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

    body = await work.without_model(count)
    claim.settle(len(body))
    return SlicedResponse(body, media_type="application/json")

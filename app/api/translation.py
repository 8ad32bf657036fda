"""Beam search: translations, and any text that goes on."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from chumoku.app.api.answers import BUSY, REFUSALS, Note, TokenInfo
from chumoku.app.api.requests import BeamsRequest, TranslateRequest
from chumoku.app.http.backpressure import SlicedResponse
from chumoku.app.http.bodies import JsonRoute
from chumoku.app.http.deps import ClaimDep, JobQueueDep, LibraryDep, SeenDep, SettingsDep, WantedDep
from chumoku.app.services import sizes
from chumoku.app.services.beams import BeamsSession
from chumoku.app.services.translation import TranslationSession
from chumoku.app.services.wire import to_json


class HypothesisInfo(BaseModel):
    text: str
    tokens: list[TokenInfo] = Field(description="Without START; with END if it `ended`.")
    log_p: float = Field(description="ln p(target | source).")
    score: float = Field(description="log_p / ((5 + n_tokens) / 6)^alpha, which ranks them.")
    ended: bool = Field(description="Whether the model ended it. Otherwise a `stop` text or the token limit did.")


class TranslateResponse(BaseModel):
    model: str
    run: dict[str, Any] = Field(description="The request's run, resolved.")
    tokens: list[TokenInfo] = Field(description="Those of the source, PADs included.")
    hypotheses: list[HypothesisInfo] = Field(description="Best first, at most `beams`.")
    beams: int
    alpha: float
    seconds: float = Field(description="The time the search took, without waiting.")
    notes: list[Note]


class WordInfo(BaseModel):
    id: int
    bytes: str = Field(description="The token's bytes in hexadecimal.")
    text: str
    partial: bool
    special: bool


class ConsideredInfo(BaseModel):
    parent: int = Field(description="After which of the tokens that are `open` in the step before, in their order.")
    token: WordInfo
    log_p: float = Field(description="ln p of all new tokens up to it.")
    fate: Literal["open", "ended", "dropped"] = Field(description="`dropped`: others were more likely.")


class BeamsResponse(BaseModel):
    model: str
    run: dict[str, Any] = Field(description="The request's run, resolved.")
    tokens: list[TokenInfo] = Field(description="Those of the text (of an encoder-decoder, the source), with PADs.")
    n_prompt: int = Field(description="How many tokens the text, or the target with START, has before the search.")
    hypotheses: list[HypothesisInfo] = Field(description="Best first, at most `beams`.")
    steps: list[list[ConsideredInfo]] = Field(description="What each step considered, the most likely first.")
    beams: int
    alpha: float
    seconds: float = Field(description="The time the search took, without waiting.")


router = APIRouter(prefix="/api", tags=["translation"], route_class=JsonRoute)


@router.post("/translate", response_model=TranslateResponse, responses=REFUSALS | BUSY)
async def translate(
    request: TranslateRequest,
    library: LibraryDep,
    settings: SettingsDep,
    work: JobQueueDep,
    seen: SeenDep,
    wanted: WantedDep,
    claim: ClaimDep,
) -> Response:
    """Translate a sentence with an encoder-decoder by beam search; `hypotheses` are its results, best first.

    Without `model`, uses the first encoder-decoder. The search takes turns with other work, and closing the connection
    stops it within a step. For a translation token by token, with its attention, use `/api/generate`.
    """
    entry = library.translator(request.model)
    seen.model, seen.text = entry.name, request.sentence.text
    with work.stream(), library.lease(entry) as lease:

        def job() -> TranslationSession:
            translation = TranslationSession(lease.traceable, request, settings.max_text_chars)
            claim.take(sizes.of_translation(translation.plan, request))
            return translation

        translation = (await work.run(job, kind="search", wanted=wanted)).value
        seen.n_tokens = len(translation.source)
        while (await work.run(translation.step, kind="search", wanted=wanted, patient=True)).value:
            pass
    seen.n_new = len(translation.search.best[0].ids)
    body = to_json(translation.answer(library.languages))
    claim.settle(len(body))
    return SlicedResponse(body, media_type="application/json")


@router.post("/beams", response_model=BeamsResponse, responses=REFUSALS | BUSY)
async def beams(
    request: BeamsRequest,
    library: LibraryDep,
    settings: SettingsDep,
    work: JobQueueDep,
    seen: SeenDep,
    wanted: WantedDep,
    claim: ClaimDep,
) -> Response:
    """Continue a text, or an encoder-decoder's target, by beam search: the most likely continuations of at most
    `max_new_tokens` tokens, and what each step considered.

    The search takes turns with other work, and closing the connection stops it within a step.
    """
    entry = library.find(request.model)
    seen.model, seen.text = entry.name, request.sentence.text
    with work.stream(), library.lease(entry) as lease:

        def job() -> BeamsSession:
            found = BeamsSession(lease.traceable, request, settings.max_text_chars, settings.max_new_tokens)
            claim.take(sizes.of_beams(found.plan, request))
            return found

        search = (await work.run(job, kind="search", wanted=wanted)).value
        seen.n_tokens = len(search.prompt)
        while (await work.run(search.step, kind="search", wanted=wanted, patient=True)).value:
            pass
    seen.n_new = max(len(found.ids) for found in search.search.best)
    body = to_json(search.answer())
    claim.settle(len(body))
    return SlicedResponse(body, media_type="application/json")

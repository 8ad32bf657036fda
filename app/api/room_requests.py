"""What may be asked of a room: to join it, and the messages of its teacher and its pupils."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from chumoku.app.api.schema import Request

SAFE = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"
"""No control characters but tab and newline."""

Line = Annotated[str, StringConstraints(min_length=1, max_length=600, pattern=SAFE)]
Option = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=SAFE)]
Says = Annotated[str, StringConstraints(max_length=600, pattern=SAFE)]
Id = Annotated[int, Field(ge=1, le=2**53)]
LINK = r"^\.?/?(\?[^#]*)?(#.*)?$"
"""A query of the page itself, and what comes after `#`: never the address of another site."""
Link = Annotated[str, StringConstraints(max_length=65_536, pattern=LINK)]
"""Its size in bytes is limited by what a room takes: services/rooms/limits.py."""


class OpenRoomRequest(Request):
    """An empty object: pages of other sites cannot send JSON without asking first."""


class JoinRequest(Request):
    code: str = Field(min_length=1, max_length=40, description="As typed: case, spaces and hyphens do not matter.")
    name: str = Field(default="", max_length=24, description="A nickname for the teacher's list; may be empty.")


class ScrollPlace(Request):
    """Which part of the page is at the top of the screen, so that small screens show the same."""

    at: Annotated[str, StringConstraints(max_length=80, pattern=SAFE)] = Field(description="The name of the part.")
    by: float = Field(ge=-100, le=100, allow_inf_nan=False, description="How much of its height is above the edge.")


class LeadMessage(Request):
    """Teacher: what every screen shows."""

    kind: Literal["lead"]
    link: Link = Field(description="The page's own link, relative to it.")
    scroll: ScrollPlace | None = None
    sentence: Id | None = Field(default=None, description="The sentence that was handed in and is shown.")


class RecallMessage(Request):
    """Teacher: calls all who explore back."""

    kind: Literal["recall"]


Language = Literal["en", "ja"]
"""Of the page: pupils read the page's own questions in theirs."""


class QuestionWords(Request):
    """A question in one language."""

    ask: Line
    options: list[Option] = Field(min_length=2, max_length=8, fail_fast=True)


class AskMessage(QuestionWords):
    """Teacher: puts a question. Another one ends."""

    kind: Literal["ask"]
    others: dict[Language, QuestionWords] = Field(
        default={}, description="The same question in other languages of the page; a typed one has none."
    )

    @model_validator(mode="after")
    def same_options(self) -> Self:
        if any(len(words.options) != len(self.options) for words in self.others.values()):
            raise ValueError("the question has as many options in each language")
        return self


class AgainMessage(Request):
    """Teacher: a second vote on the same question."""

    kind: Literal["again"]


class RevealMessage(Request):
    """Teacher: ends the vote and shows its counts; `right` is the model's answer."""

    kind: Literal["reveal"]
    right: Annotated[int, Field(ge=0, le=7)] | None = None
    says: Says = ""
    others: dict[Language, Says] = Field(default={}, description="What it says in other languages of the page.")


class TurnMessage(Request):
    """Teacher: asks everybody for a sentence; null: takes no more."""

    kind: Literal["turn"]
    ask: Line | None


class DoneMessage(Request):
    """Teacher: takes the question off all screens."""

    kind: Literal["done"]


class WallMessage(Request):
    """Teacher: whether the sentences may be seen by all."""

    kind: Literal["wall"]
    shown: bool


class LockMessage(Request):
    """Teacher: whether more people may join."""

    kind: Literal["lock"]
    locked: bool


class RemoveMessage(Request):
    """Teacher: removes somebody, with sentences and votes."""

    kind: Literal["remove"]
    member: Id


class RenewMessage(Request):
    """Teacher: a new code. Those who are in stay."""

    kind: Literal["renew"]


class VoteMessage(Request):
    """Pupil: an answer; it may be changed while the vote is open."""

    kind: Literal["vote"]
    question: Id
    round: Literal[1, 2]
    choice: int = Field(ge=0, le=7)


class SentenceMessage(Request):
    """Pupil: hands in what the page shows."""

    kind: Literal["sentence"]
    turn: Id
    link: Link
    text: Annotated[str, StringConstraints(max_length=400, pattern=SAFE)] = Field(description="For the results.")
    named: bool = Field(default=False, description="Whether the nickname may be shown with it.")


class ExploreMessage(Request):
    """Pupil: whether the page follows the teacher or is looked around in."""

    kind: Literal["explore"]
    explores: bool


OfTeacher = (
    LeadMessage
    | RecallMessage
    | AskMessage
    | AgainMessage
    | RevealMessage
    | DoneMessage
    | TurnMessage
    | WallMessage
    | LockMessage
    | RemoveMessage
    | RenewMessage
)
OfPupil = VoteMessage | SentenceMessage | ExploreMessage


class RoomPost(Request):
    """One message to the room."""

    message: Annotated[OfTeacher | OfPupil, Field(discriminator="kind")]

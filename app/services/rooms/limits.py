"""The limits of rooms, and their refusals."""

from __future__ import annotations

from chumoku.app.errors import AppError

ROOMS, MEMBERS, PEOPLE = 50, 300, 1000
"""Rooms of a server, members of a room, members of a server."""
EVER = 3000
"""Members of a room in all its time: somebody who clears the browser is a new one."""
WRONG_SECONDS, WRONG_OF_ADDRESS, WRONG_OF_SERVER = 60.0, 60, 240
"""Wrong codes within a minute: a class shares one address, and a guesser may have many. With 31⁶ codes and the limit of
the whole server, finding one of 50 rooms takes more than a year."""
JOIN_SECONDS, JOINS_OF_ADDRESS = 600.0, 1000
"""Joins of one address within ten minutes, so that nobody uses a room up at once."""
ASKED = 200
"""Questions that a room keeps for its results, and as many turns."""
UNWATCHED_SECONDS = 3600.0
"""A room that nobody watched for so long gives up its place once all are taken."""
HOURS = 12
"""After which a room ends, and all that it holds is deleted."""
TEACHER_SECONDS, TEACHER_BURST = 0.1, 10
"""Between two changes of the teacher's, on average; and how many may come at once."""
PUPIL_SECONDS = 1.0
"""Between two messages of a pupil."""
LEAD_BYTES, PUPIL_BYTES = 16_384, 2048
"""Bytes in UTF-8 of the teacher's link, which goes to 300 people, and of a pupil's message as JSON."""
PRESENT_SECONDS = 30.0
"""Somebody who was not heard of for longer is away, and takes no place."""


def rooms_full() -> AppError:
    message = f"This server already has {ROOMS} rooms."
    return AppError("rooms_full", message, "End a room that is over.", status=429, limit=ROOMS)


def room_full() -> AppError:
    message = f"This room is full: {MEMBERS} people are there."
    return AppError("room_full", message, "Watch on a neighbour's screen.", status=429, limit=MEMBERS)


def server_full() -> AppError:
    message = f"This server's rooms are full: {PEOPLE} people are in them."
    return AppError("server_full", message, "Watch on a neighbour's screen.", status=429, limit=PEOPLE)


def room_used_up() -> AppError:
    message = f"This room takes nobody else: {EVER} have joined it by now."
    return AppError("room_used_up", message, "Ask the teacher to open a new room.", status=429, limit=EVER)


def too_many_tries(limit: int) -> AppError:
    message = "Too many wrong codes came within a minute."
    hint = "Wait a minute, then type the code that the teacher's screen shows."
    return AppError("too_many_tries", message, hint, status=429, limit=limit, retry_after=60)


def too_many_joins() -> AppError:
    message = f"{JOINS_OF_ADDRESS} people have joined from this address within ten minutes."
    hint = "Wait a few minutes, then join again."
    return AppError("too_many_joins", message, hint, status=429, limit=JOINS_OF_ADDRESS, retry_after=60)


def rooms_unavailable() -> AppError:
    message = "The server cannot read or write its rooms now."
    hint = "Try again in a moment. If it fails again, the server's log has the reason."
    return AppError("rooms_unavailable", message, hint, status=503, retry_after=1)


def too_many_asked() -> AppError:
    message = f"This room has had {ASKED} questions or turns."
    return AppError("too_many_asked", message, "Save its results and open a new room.", status=429, limit=ASKED)


def unknown_code() -> AppError:
    message = "No room has this code."
    return AppError("unknown_code", message, "Look at the teacher's screen: the code may be new.", status=404)


def room_over() -> AppError:
    message = "The room has ended, or you were removed from it."
    return AppError("room_over", message, "Ask the teacher for a new code.", status=404)


def room_locked() -> AppError:
    return AppError("room_locked", "The teacher has locked this room.", "Ask the teacher to unlock it.", status=403)


def only_teacher() -> AppError:
    return AppError("only_teacher", "Only the teacher of the room can do this.", "Follow, vote, answer.", status=403)


def only_pupils() -> AppError:
    return AppError("only_pupils", "The teacher does not vote or hand in.", "Join with another tab.", status=403)


def not_open(what: str) -> AppError:
    message = f"This {what} is not open: it has ended, or another one is asked."
    return AppError("not_open", message, "Look at what the teacher shows now.", status=409)


def too_fast(seconds: float) -> AppError:
    message = "Messages come faster than the room takes them."
    return AppError("too_fast", message, "Wait a moment.", status=429, limit=seconds, retry_after=1)


def message_too_large(got: int, limit: int) -> AppError:
    message = f"The teacher's link or a pupil's message is longer than the {limit} bytes that a room takes."
    return AppError("message_too_large", message, "Write less.", status=413, limit=limit, got=got)

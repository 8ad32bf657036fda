"""Text to tokens and back, with the limits of the app and errors that say what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from chumoku.app.api.run import RunRequest
from chumoku.app.errors import AppError
from chumoku.app.services.memory_budget import Reserve, Size, unlimited
from chumoku.app.services.pictures import check_reads_text, check_whole, patches
from chumoku.app.services.wire import EncodedList
from chumoku.model import typed_special as typed
from chumoku.model.tokenizer import Token, check_encodable
from chumoku.model.trace import with_first
from chumoku.model.traceable import TraceableModel, TraceableTokenizer

TOKEN_BYTES = 400
"""Most bytes of JSON for one token."""
TOKEN, BYTE, FIXED = 200, 20, 4_096
"""The same without its bytes; a byte, at most 6 in each of three texts (\\u0000) and 2 in hexadecimal; the rest of an
answer of `/api/tokenize`."""
MOST_NAMES = 3
"""Of special tokens that a note lists."""
TARGET = "target"
"""The field of a request with the text of a target."""
INVALID_BYTE = re.compile("[\udc80-\udcff]")


def encode(
    tokenizer: TraceableTokenizer, text: str, max_chars: int, where: str = "text", *, special: bool = False
) -> list[int]:
    """The ids of `text`, perhaps a target's. Raises `too_long_characters`, `invalid_text` (a lone surrogate) and
    `bad_token` (one that the model has no embedding of)."""
    if len(text) > max_chars:
        over = len(text) - max_chars
        message = f"The text has {len(text)} characters, {over} more than the limit of {max_chars}."
        hint = f"Shorten it by {over} characters."
        raise AppError("too_long_characters", message, hint, where=where, got=len(text), limit=max_chars)
    try:
        check_encodable(text)
    except ValueError as error:
        raise invalid_text(str(error), where) from None
    try:
        if special:
            return typed.encode(tokenizer, text)
        return tokenizer.encode_target(text) if where == TARGET else tokenizer.encode(text)
    except ValueError as error:
        message = f"This text cannot be read: {error}."
        raise AppError("bad_token", message, "Leave it out, or use another model.", where=where) from None


def invalid_text(why: str, where: str = "text") -> AppError:
    """Text that cannot be encoded in UTF-8."""
    return AppError("invalid_text", f"This is not valid text: {why}.", "Delete that character.", where=where)


def read(traceable: TraceableModel, run: RunRequest, max_chars: int, *, grows: bool = False) -> list[int]:
    """The ids that a run reads, from text, ids or pixels; a text that `grows` is read whole and must leave space in the
    window. Raises what `resolve` and `patches` raise."""
    sentence, inside = run.sentence, "input." if run.input is not None else ""
    if sentence.pixels is not None:
        return as_read(traceable, patches(traceable, sentence.pixels, f"{inside}pixels"))
    return resolve(traceable, sentence.text, sentence.token_ids, max_chars, run.pad.count, inside, may_cut=not grows,
                   special=sentence.special, adds=sentence.add_special_tokens)  # fmt: skip


def resolve(
    traceable: TraceableModel,
    text: str | None,
    token_ids: Sequence[int] | None,
    max_chars: int,
    n_pad: int = 0,
    inside: str = "",
    *,
    may_cut: bool = True,
    special: bool = False,
    adds: bool = True,
) -> list[int]:
    """The ids that the model reads, [CLS] included, by text or by ids (exactly one of them is given): at least one, and
    no more than fit beside `n_pad` PADs. Of a text that the model could read whole and the page cannot draw, the last
    ones (`unread`), if it `may_cut`. `inside` is where the two are, for errors; `special`: special tokens in the text
    are read as such. Unless it `adds` what stands around a text, the ids are all that is read.

    Raises `empty_text`, `too_long`, `bad_token`, `wrong_input`, `bad_picture` and what `encode` raises.
    """
    where = f"{inside}text" if token_ids is None else f"{inside}token_ids"
    if token_ids is None:
        check_reads_text(traceable, where)
        ids = encode(traceable.tokenizer, text or "", max_chars, where, special=special)
    else:
        ids = list(token_ids)
    if special or token_ids is not None:
        check_ids(traceable.tokenizer, ids, where, first_allowed=reads_first(traceable), anywhere=not adds)
    if not ids:
        hint = "Type at least one character." if token_ids is None else "Give at least one id."
        raise AppError("empty_text", "The text has no tokens.", hint, where=where)
    if adds:
        ids = as_read(traceable, ids)
    elif reads_first(traceable) and traceable.checkpoint is not None:
        message = f"{traceable.name!r} always reads its first token."
        raise AppError("cannot", message, "Leave add_special_tokens out.", where=f"{inside}add_special_tokens")
    if may_cut and token_ids is None and is_wider(traceable):
        longest = traceable.description.max_seq_len - n_pad
        ids = last_of(traceable, ids, longest) if adds else ids[-max(longest, 1) :]
    check_whole(traceable, ids, where)
    check_length(len(ids) + n_pad, traceable.description.max_seq_len, where, n_pad)
    return ids


def is_wider(traceable: TraceableModel) -> bool:
    """Whether the model reads more tokens than the page draws."""
    return traceable.about.n_positions > traceable.description.max_seq_len


def last_of(traceable: TraceableModel, ids: list[int], n: int) -> list[int]:
    """The last ids of a sentence, as the model reads one: its first token stays."""
    if not 0 < n < len(ids):
        return ids
    own = as_read(traceable, ids[-n:])
    return as_read(traceable, ids[-n:][len(own) - n :]) if len(own) > n else own


def notes(traceable: TraceableModel, run: RunRequest, n_read: int) -> list[dict[str, Any]]:
    """Notes on how a run's text was read: `windowed`; `lacking` where its tokenizer has tokens that the model lacks;
    `special` where it spells special tokens, with their names, and whether they were `read` as such."""
    cut, n = unread(traceable, run, n_read), traceable.about.n_lacking
    sentence = run.sentence
    asked = sentence.special and not sentence.add_special_tokens  # as a chat's text is read
    names = [] if asked else typed.found(traceable.tokenizer, f"{sentence.text or ''}\n{sentence.pair or ''}")
    return [
        *([cut] if cut else []),
        *([{"code": "lacking", "n_tokens": n}] if n else []),
        *([{"code": "special", "names": names[:MOST_NAMES], "read": sentence.special}] if names else []),
    ]


def unread(traceable: TraceableModel, run: RunRequest, n_read: int) -> dict[str, Any] | None:
    """A note where only the last tokens of a text were read; `n_read` of them, PADs included."""
    text = run.sentence.text
    if (
        text is None
        or run.sentence.pair is not None
        or n_read < traceable.description.max_seq_len
        or not is_wider(traceable)
    ):
        return None
    tokenizer = traceable.tokenizer
    ids = typed.encode(tokenizer, text) if run.sentence.special else tokenizer.encode(text)
    n = len(as_read(traceable, ids) if run.sentence.add_special_tokens else ids)
    n_own = n_read - run.pad.count
    return {"code": "windowed", "n_tokens": n, "n_read": n_own} if n > n_own else None


def reads_first(traceable: TraceableModel) -> bool:
    """Whether the model's input begins with [CLS]. (START begins its output.)"""
    return traceable.about.reads_first


def as_read(traceable: TraceableModel, ids: list[int]) -> list[int]:
    """`ids` with the special tokens that the model reads around a sentence: [CLS] for a classifier, also [SEP] for
    BERT."""
    special = traceable.tokenizer.special
    first = special.first if reads_first(traceable) else special.before
    ids = ids if first is None else with_first(ids, first)
    return ids if special.last is None or ids[-1] == special.last else [*ids, special.last]


def check_ids(
    tokenizer: TraceableTokenizer,
    token_ids: Sequence[int],
    name: str = "token_ids",
    *,
    first_allowed: bool,
    anywhere: bool = False,
) -> list[int]:
    """`token_ids` as a list; raises `bad_token` for an id outside the vocabulary, for a PAD, and for a [CLS] or START
    that is not at the beginning, or not `first_allowed` there, unless it may stand `anywhere`, as in a chat of several
    turns. (Some models begin a target with their END.)"""
    special = tokenizer.special
    for index, token_id in enumerate(token_ids):
        where = f"{name}[{index}]"
        if not 0 <= token_id < tokenizer.vocab_size:
            last = tokenizer.vocab_size - 1
            message = f"There is no token with id {token_id}."
            raise AppError("bad_token", message, f"Ids run from 0 to {last}.", where=where, got=token_id, limit=last)
        if is_only_pad(tokenizer, token_id):
            message = f"{token_id} is PAD, which cannot be part of a text."
            raise AppError("bad_token", message, "Use `pad` to add PADs.", where=where, got=token_id)
        begins = token_id == special.first and token_id not in (special.end, special.last)
        if begins and not anywhere and (index or not first_allowed):
            spelt = tokenizer.token_bytes(token_id).decode()
            place = "nowhere but at the beginning" if first_allowed else "in a target, never in a source"
            message = f"{token_id} is {spelt}, which stands {place}."
            raise AppError("bad_token", message, "Leave it out.", where=where, got=token_id)
    return list(token_ids)


def is_only_pad(tokenizer: TraceableTokenizer, token_id: int) -> bool:
    """Whether an id can only be a PAD: some tokenizers pad with END, START or a word."""
    special = tokenizer.special
    is_pad = token_id == special.pad and token_id not in (special.end, special.first)
    return is_pad and tokenizer.tokens([token_id])[0].special


def check_length(n_tokens: int, limit: int, where: str, n_pad: int = 0, what: str = "tokens") -> None:
    """Raise `too_long` if the tokens do not fit the model's window."""
    if n_tokens > limit:
        over = n_tokens - limit
        with_pad = f" with {n_pad} PADs" if n_pad else ""
        message = f"Got {n_tokens} {what}{with_pad}, {over} too many: the model reads up to {limit}."
        side = "target" if where.startswith("target") else "text"
        hint = f"Shorten the {side} by {over} token{'s' if over > 1 else ''}."
        raise AppError("too_long", message, hint, where=where, got=n_tokens, limit=limit)


def text_of(tokenizer: TraceableTokenizer, ids: Sequence[int]) -> str:
    """The text that the tokens' `start` and `end` refer to: special tokens have no characters, and each byte that is
    part of no character is one �."""
    piece = {i: tokenizer.token_bytes(i) for i in set(ids)} | dict.fromkeys(tokenizer.special.ids, b"")
    return INVALID_BYTE.sub("\ufffd", b"".join(piece[i] for i in ids).decode("utf-8", errors="surrogateescape"))


def token_json(token: Token) -> dict[str, Any]:
    """One token on the wire; `bytes` in hexadecimal, `start` and `end` in characters (code points)."""
    return {
        "index": token.index,
        "id": token.id,
        "bytes": token.bytes.hex(),
        "text": token.text,
        "start": token.start,
        "end": token.end,
        "partial": token.partial,
        "special": token.special,
    }


_vocabulary_tokens: WeakKeyDictionary[TraceableTokenizer, dict[int, dict[str, Any]]] = WeakKeyDictionary()
"""Created on first use, one per id: pages request the same few thousand again and again."""


def vocabulary_tokens(tokenizer: TraceableTokenizer, ids: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Tokens outside a sentence."""
    known = _vocabulary_tokens.setdefault(tokenizer, {})
    for token_id in ids:
        if token_id not in known:
            known[token_id] = vocabulary_token(tokenizer, token_id)
        yield known[token_id]


def vocabulary_token(tokenizer: TraceableTokenizer, token_id: int) -> dict[str, Any]:
    """A token outside a sentence."""
    (token,) = tokenizer.tokens([token_id])
    return {
        "id": token_id,
        "text": token.text,
        "bytes": token.bytes.hex(),
        "partial": token.partial,
        "special": token.special,
    }


def tokens_json(
    tokenizer: TraceableTokenizer, ids: Sequence[int], text: str | None = None, *, special: bool = False
) -> list[dict[str, Any]]:
    """All tokens of a sentence on the wire; of a typed `text` that was normalised, also what each covers of it."""
    found = [token_json(token) for token in tokenizer.tokens(list(ids))]
    if text is None or special or text == text_of(tokenizer, ids):
        return found
    spans = covered(tokenizer, ids, text)
    return [one | {"covers": list(span)} if span else one for one, span in zip(found, spans, strict=True)]


def grown(tokenizer: TraceableTokenizer, before: EncodedList, ids: Sequence[int]) -> EncodedList:
    """`tokens_json` of `ids`, of which `before` is that of all but the last."""
    newest, last = tokenizer.tokens([ids[-1]])[0], before[-1] if before else None
    if last is None or last["partial"] or newest.partial:  # they may share a character
        return EncodedList(tokens_json(tokenizer, ids))
    start = last["end"]
    place = {"index": len(before), "start": start, "end": start + newest.end}
    return before.grown(token_json(newest) | place)


def covered(tokenizer: TraceableTokenizer, ids: Sequence[int], typed: str) -> list[tuple[int, int] | None]:
    """For each of `ids`, what it covers of the text that was typed; None for special tokens, and where that is not
    known. Of a long text, only the last tokens may have been read."""
    spans, own = tokenizer.covers(typed), tokenizer.encode(typed)
    inside = [n for n, id in enumerate(ids) if id not in tokenizer.special.ids or id in own]
    found = list[tuple[int, int] | None]([None] * len(ids))
    for n, of in zip(reversed(inside), range(len(own) - 1, -1, -1), strict=False):
        if spans is None or ids[n] != own[of]:
            return [None] * len(ids)
        found[n] = spans[of]
    return found


def size_of(text: str, n_tokens: int) -> Size:
    """Each byte of the text is part of one token (in hexadecimal and as text), and the text itself is there twice."""
    return Size(TOKEN * n_tokens + BYTE * len(text.encode()) + FIXED, "Send a shorter text.", "text")


def tokenize(traceable: TraceableModel, text: str, max_chars: int, reserve: Reserve = unlimited) -> dict[str, Any]:
    """The answer of `/api/tokenize`. An empty text has no tokens; a text beyond the window is counted, not refused."""
    check_reads_text(traceable, "text")
    ids = encode(traceable.tokenizer, text, max_chars)
    ids = as_read(traceable, ids) if ids else ids
    reserve(size_of(text, len(ids)))
    return {
        "model": traceable.name,
        "text": text,
        "read_text": text_of(traceable.tokenizer, ids),
        "tokens": tokens_json(traceable.tokenizer, ids, text),
        "n_tokens": len(ids),
        "n_characters": len(text),
        "max_seq_len": traceable.description.max_seq_len,
    }

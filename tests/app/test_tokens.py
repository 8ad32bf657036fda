import json

import pytest
from httpx import AsyncClient
from hypothesis import given, settings
from hypothesis import strategies as st

from chumoku.app.errors import AppError
from chumoku.app.services import tokens
from chumoku.app.services.wire import EncodedList
from chumoku.app.settings import Settings
from chumoku.model.checkpoint import ZOO, Checkpoint
from chumoku.model.special_tokens import Special
from chumoku.model.tokenizer import load
from tests.app.conftest import Open
from tests.app.helpers import error_of, refused
from tests.toys.traceable import END, Letters

TOKENIZER = load(ZOO / "stories-gpt" / "tokenizer.tiktoken")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80) | st.text("aé注🙂 \n<|endoftext|>", max_size=40)


async def test_tokenize(client: AsyncClient, gpt: Checkpoint) -> None:
    text = "Once 注目 <|endoftext|>"
    answer = (await client.post("/api/tokenize", json={"text": text})).json()
    ids = [token["id"] for token in answer["tokens"]]
    assert ids == gpt.tokenizer.encode(text)
    assert gpt.tokenizer.end_id not in ids  # text that spells a special token is text
    assert answer["model"] == "stories-gpt"
    assert answer["text"] == text
    assert (answer["n_tokens"], answer["n_characters"]) == (len(ids), len(text))
    assert answer["max_seq_len"] == gpt.config.max_seq_len
    assert [token["index"] for token in answer["tokens"]] == list(range(len(ids)))
    assert any(token["partial"] for token in answer["tokens"])
    assert not any(token["special"] for token in answer["tokens"])


@given(text=TEXTS)
@settings(deadline=None)
def test_tokens_are_the_text(text: str) -> None:
    """Joined, their bytes give the text; their spans cover it, and each span contains the bytes of its token."""
    found = tokens.tokens_json(TOKENIZER, tokens.encode(TOKENIZER, text, 1000))
    assert b"".join(bytes.fromhex(token["bytes"]) for token in found).decode() == text
    covered = set()
    for token in found:
        assert bytes.fromhex(token["bytes"]) in text[token["start"] : token["end"]].encode()
        assert token["partial"] or text[token["start"] : token["end"]] == token["text"]
        covered |= set(range(token["start"], token["end"]))
    assert covered == set(range(len(text)))


@given(ids=st.lists(st.integers(0, TOKENIZER.vocab_size - 1), max_size=30))
@settings(deadline=None)
def test_spans_of_any_ids_lie_in_their_text(ids: list[int]) -> None:
    """Ids need not be valid text (broken bytes, END in the middle): the spans still refer to the text that is shown."""
    text = tokens.text_of(TOKENIZER, ids)
    text.encode()
    for token in tokens.tokens_json(TOKENIZER, ids):
        assert 0 <= token["start"] <= token["end"] <= len(text)
        if not token["partial"] and not token["special"]:
            assert text[token["start"] : token["end"]] == token["text"]


@given(ids=st.lists(st.integers(0, TOKENIZER.vocab_size - 1) | st.integers(0, 255), max_size=20))
@settings(deadline=None)
def test_a_text_that_grows_has_the_tokens_of_the_whole(ids: list[int]) -> None:
    """Each is added to those before it, as far as no character is broken."""
    found = EncodedList()
    for n in range(len(ids)):
        found = tokens.grown(TOKENIZER, found, ids[: n + 1])
        assert found == tokens.tokens_json(TOKENIZER, ids[: n + 1])
        assert json.loads(found.text) == found


async def test_an_empty_text_has_no_tokens(client: AsyncClient) -> None:
    answer = (await client.post("/api/tokenize", json={"text": ""})).json()
    assert (answer["tokens"], answer["n_tokens"], answer["n_characters"]) == ([], 0, 0)


async def test_more_than_the_window_is_counted(client: AsyncClient) -> None:
    answer = (await client.post("/api/tokenize", json={"text": "a b " * 1000})).json()
    assert answer["n_tokens"] > answer["max_seq_len"]


async def test_too_many_characters(client: AsyncClient, open_app: Open) -> None:
    error = await refused(client, "/api/tokenize", 422, "too_long_characters", text="a" * 20_003)
    assert (error["got"], error["limit"], error["where"]) == (20_003, 20_000, "text")
    assert "3 " in error["hint"]
    async with open_app(Settings(max_text_chars=5)) as small:
        await refused(small, "/api/tokenize", 422, "too_long_characters", text="sixsix")
        await refused(small, "/api/trace", 422, "too_long_characters", text="sixsix")


@pytest.mark.parametrize("path", ["/api/tokenize", "/api/trace", "/api/generate"])
async def test_a_lone_surrogate_is_invalid_text(client: AsyncClient, path: str) -> None:
    response = await client.post(path, content=rb'{"text": "a\ud800b"}', headers={"content-type": "application/json"})
    assert error_of(response, 422, "invalid_text")["where"] == "text"


async def test_unknown_model(client: AsyncClient) -> None:
    error = await refused(client, "/api/tokenize", 404, "unknown_model", text="a", model="storys-gpt")
    assert "stories-gpt" in error["known"]
    assert "stories-gpt" in error["hint"]


class Shared(Letters):
    """A tokenizer without a PAD of its own."""

    def __init__(self, pad: int) -> None:
        self.special = Special(pad=pad, end=END)


@pytest.mark.parametrize("pad", [END, 2], ids=["END", "a letter"])
def test_an_id_that_also_pads_may_be_part_of_a_text(pad: int) -> None:
    assert tokens.check_ids(Shared(pad), [0, 2, END], first_allowed=False) == [0, 2, END]


def test_an_id_that_only_pads_may_not() -> None:
    with pytest.raises(AppError, match="PAD"):
        tokens.check_ids(TOKENIZER, [0, TOKENIZER.pad_id], first_allowed=False)

"""A trace at an address: what a proxy or a browser may keep, and for how long."""

from typing import Any
from urllib.parse import unquote

import pytest
from httpx import AsyncClient

from chumoku.app.api.requests import TraceRequest
from chumoku.app.api.traces import TEXTS, query_of, request_of
from chumoku.app.settings import Settings
from tests.app.conftest import Open
from tests.app.helpers import error_of, head, metrics

TEXT = "Ünder the 大きな tree: 100% & more?"
WANTED: dict[str, Any] = {
    "text": TEXT,
    "model": "gpt",
    "want": ["layers.0.attn.pattern", "logits"],
    "masks": {"causal": False},
    "interventions": [head(layer=1)],
    "predict": {"positions": [1, 2], "n": 3},
    "dtype": "float16",
}
SPELT = [
    WANTED,
    {"text": "a"},
    {"text": ""},
    {"input": {"token_ids": [1, 2]}, "describe": True, "pad": {"count": 2}},
    {"token_ids": [97, 98], "layers": [0], "heads": [1, 0], "format": "npz", "predict": {}},
    {"text": "a", "dtype": "uint8", "detail": {"want": ["*.1.*"], "heads": [2, 0]}},
    {"text": "a", "target": "", "interventions": [
        {"kind": "mask", "where": {"layer": 0, "query": 1}, "allow": True},
        {"kind": "patch", "where": {"role": "z", "layer": 0}, "from": {"text": "b"}},
    ]},
]  # fmt: skip


@pytest.mark.parametrize("wanted", SPELT, ids=str)
def test_a_query_spells_a_request(wanted: dict[str, Any]) -> None:
    request = TraceRequest.model_validate(wanted)
    query = query_of(request)
    assert request_of(query.encode()) == request
    assert query_of(request_of(query.encode())) == query


def test_the_canonical_query() -> None:
    """As a page would write it: encodeURIComponent of each value, JSON.stringify of the others."""
    spelt = 'dtype=uint8&masks={"causal":false}&model=gpt&text=a+b é&want=["x","y"]'
    request = TraceRequest(
        text="a+b é", model="gpt", want=["x", "y"], dtype="uint8", masks={"padding": True, "causal": False}
    )  # type: ignore[arg-type]
    query = query_of(request)
    assert unquote(query) == spelt
    assert "text=a%2Bb%20%C3%A9" in query
    assert "%5B%22x%22%2C%22y%22%5D" in query


def test_what_is_written_as_it_is() -> None:
    """Fields whose JSON would be a text."""
    properties = TraceRequest.model_json_schema()["properties"]

    def is_text(about: dict[str, Any]) -> bool:
        return about.get("type") == "string" or any(map(is_text, about.get("anyOf", [])))

    assert {name for name, about in properties.items() if is_text(about)} == set(TEXTS)


async def test_it_is_the_answer_of_the_post(families: AsyncClient) -> None:
    posted = await families.post("/api/trace", json=WANTED)
    got = await families.get(f"/api/trace?{query_of(TraceRequest.model_validate(WANTED))}")
    assert (got.status_code, got.content) == (200, posted.content)
    assert got.headers["etag"] == posted.headers["etag"]
    assert posted.headers["cache-control"] == "no-store"
    assert got.headers["cache-control"] == "public, max-age=60"
    assert "vary" not in got.headers  # neither cookies nor languages change it
    assert "set-cookie" not in got.headers


async def test_every_spelling_names_the_canonical_one(families: AsyncClient) -> None:
    spellings = [
        "text=a+b&dtype=float16",
        "dtype=float16&text=a%20b",
        'masks={"causal": null}&text=a%20b&dtype=float16',
    ]
    answers = [await families.get(f"/api/trace?{one}") for one in spellings]
    assert {answer.headers["content-location"] for answer in answers} == {"trace?dtype=float16&text=a%20b"}
    assert len({answer.headers["etag"] for answer in answers}) == 1


async def test_who_has_it_gets_304(families: AsyncClient) -> None:
    path = "/api/trace?text=who%20has%20it"
    first = await families.get(path)
    before = await metrics(families)
    for said in (first.headers["etag"], f'"x", {first.headers["etag"]}', first.headers["etag"][2:], "*"):
        again = await families.get(path, headers={"if-none-match": said})
        assert (again.status_code, again.content) == (304, b"")
        for name in ("etag", "cache-control", "content-location"):
            assert again.headers[name] == first.headers[name]
    for said in ('"x"', first.headers["etag"].strip('W/"')):
        assert (await families.get(path, headers={"if-none-match": said})).status_code == 200
    assert (await families.head(path)).headers["content-length"] == str(len(first.content))
    kind = 'chumoku_work_seconds_count{kind="trace"}'
    assert (await metrics(families))[kind] == before[kind]


async def test_with_a_token_only_the_browser_may_keep_it(open_three: Open) -> None:
    async with open_three(Settings(device="cpu", token="secret")) as client:
        error_of(await client.get("/api/trace?text=a"), 401, "no_token")
        for address, headers in (("?text=a&token=secret", {}), ("?text=a", {"authorization": "Bearer secret"})):
            answer = await client.get(f"/api/trace{address}", headers=headers)
            assert answer.headers["cache-control"] == "private, max-age=60"
            assert answer.headers["content-location"] == "trace?text=a"


async def test_pages_of_other_sites_make_no_work(families: AsyncClient) -> None:
    """A POST of JSON needs the browser's preflight, which is refused; a GET needs only an <img>."""
    before = await metrics(families)
    for site in ("cross-site", "same-site"):  # the same machine, another port
        refusal = await families.get("/api/trace?text=cross", headers={"sec-fetch-site": site})
        error_of(refusal, 403, "cross_site")
        assert refusal.headers["cache-control"] == "no-store"
    kind = 'chumoku_work_seconds_count{kind="trace"}'
    assert (await metrics(families))[kind] == before[kind]
    for site in ("same-origin", "none"):
        assert (await families.get("/api/trace?text=cross", headers={"sec-fetch-site": site})).status_code == 200


@pytest.mark.parametrize(
    ("query", "code", "where"),
    [
        ("", "invalid_request", None),
        ("text=", "empty_text", "text"),
        ("text=a&text=b", "invalid_request", None),
        ("text=a&words=b", "invalid_request", "words"),
        ("text=a&want=logits", "invalid_request", "want"),
        ("text=a&want=" + "[" * 9000, "invalid_request", "want"),
        ("text=a&layers=[0.5]", "invalid_request", "layers[0]"),
        ('text=a&predict={"temperature":NaN}', "invalid_request", "predict.temperature"),
        ('text=a&masks={"causal":1}', "invalid_request", "masks.causal"),
        ("text=%ff", "invalid_text", None),
        ('input={"text":"\\ud800"}', "invalid_text", "input"),
        ("text=%ed%a0%80", "invalid_text", None),
        ("&".join(f"x{n}=1" for n in range(60)), "invalid_request", None),
        ("text=" + "a" * 21_000, "too_long_characters", "text"),
        ('text=a&want=["nothing"]', "unknown_tensor", "want[0]"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_refusals_are_those_of_the_post(families: AsyncClient, query: str, code: str, where: str | None) -> None:
    answer = await families.get(f"/api/trace?{query}")
    assert error_of(answer, 422, code).get("where") == where
    assert answer.headers["cache-control"] == "no-store"

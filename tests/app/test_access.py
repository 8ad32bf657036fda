"""The names that the server answers to, its token, and who may read /metrics."""

import logging
import socket

import pytest
from httpx import ASGITransport, AsyncClient, Response
from starlette.requests import Request

from chumoku.app.http.access import Access, is_same, known_names
from chumoku.app.http.observe import Seen
from chumoku.app.main import create_app
from chumoku.app.services.library import Library
from chumoku.app.settings import Settings, from_environment
from tests.app.conftest import Open
from tests.app.helpers import error_of

TOKEN = "correct-horse"
NAME = socket.gethostname().partition(".")[0].lower()
PAGE = {"accept": "text/html,application/xhtml+xml"}
WITH_TOKEN = Settings(device="cpu", token=TOKEN)


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "192.168.1.20", "[::1]:8000", "[fe80::1]", "localhost.",
     NAME, f"{NAME}.local:8000", "class.example.org"],
)  # fmt: skip
async def test_the_server_answers_to_addresses_and_its_own_names(open_three: Open, host: str) -> None:
    async with open_three(Settings(device="cpu", hosts=("class.example.org",))) as client:
        assert (await client.get("/api/models", headers={"host": host})).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "1", "0x7f000001", "[", "[evil]", "a b",
     "localhost:8000/static/?", "localhost:evil", "localhost@evil.example", "[::1].evil", "[::1]evil:80",
     "[localhost]", ""],
)  # fmt: skip
async def test_a_strangers_name_is_refused(open_three: Open, host: str) -> None:
    """A page of evil.example whose name is made to point here (DNS rebinding) reads nothing."""
    async with open_three(Settings(device="cpu")) as client:
        for path in ("/", "/api/models", "/metrics", "/static/main.js", "/healthz"):
            error = error_of(await client.get(path, headers={"host": host}), 421, "unknown_host")
            assert "CHUMOKU_HOSTS" in error["hint"]


def test_names_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUMOKU_HOSTS", "Class.example.org, other.example ,")
    assert known_names(from_environment().hosts) >= {"localhost", NAME, "class.example.org", "other.example"}


async def test_any_name_can_be_allowed(open_three: Open) -> None:
    async with open_three(Settings(device="cpu", hosts=("*",))) as client:
        assert (await client.get("/api/models", headers={"host": "evil.example"})).status_code == 200


def cookie_of(response: Response) -> str:
    return response.headers["set-cookie"].partition(";")[0]


async def test_the_link_becomes_a_cookie(open_three: Open) -> None:
    async with open_three(WITH_TOKEN) as client:
        opened = await client.get(f"/?text=a%20b&token={TOKEN}&lang=ja", headers=PAGE)
        assert opened.status_code == 303
        assert opened.headers["location"] == "./?text=a+b&lang=ja"
        assert "httponly" in opened.headers["set-cookie"].lower()
        assert "path" not in opened.headers["set-cookie"].lower(), "other apps of a proxy's host do not get it"
        client.cookies.clear()
        assert (await client.get("/", headers=PAGE)).status_code == 401
        for path in ("/", "/api/models", "/metrics"):
            assert (await client.get(path, headers={"cookie": cookie_of(opened)})).status_code == 200


async def test_a_link_with_a_token_never_leads_elsewhere(open_three: Open) -> None:
    async with open_three(WITH_TOKEN) as client:
        opened = await client.get(f"http://localhost//evil.example/?token={TOKEN}", headers=PAGE)
        assert opened.url.join(opened.headers["location"]) == "http://localhost/evil.example/"
        opened = await client.get(f"/a%3Fb%23c?token={TOKEN}", headers=PAGE)
        assert opened.headers["location"] == "./a%3Fb%23c"
        opened = await client.get(f"/http:%2F%2Fevil.example?token={TOKEN}", headers=PAGE)
        assert opened.url.join(opened.headers["location"]).host == "localhost"


@pytest.mark.parametrize("path", ["/api/models", "/metrics"])
def test_a_host_header_does_not_bend_the_path(path: str) -> None:
    """Glued together, they are http://localhost/static/?/api/models; /static/ needs no token."""
    scope = {"type": "http", "method": "GET", "scheme": "http", "path": path, "query_string": b""}
    scope |= {"headers": [(b"host", b"localhost/static/?")], "state": {"seen": Seen("an id")}}
    refusal = Access(lambda *_: None, TOKEN).answer_to(Request(scope))  # type: ignore[arg-type,return-value]
    assert refusal is not None
    assert refusal.status_code == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "token"])
async def test_a_program_sends_the_token_in_a_header(open_three: Open, scheme: str) -> None:
    async with open_three(WITH_TOKEN) as client:
        answer = await client.get("/api/models", headers={"authorization": f"{scheme} {TOKEN}"})
        assert answer.status_code == 200
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("given", ["", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "é", "\udcff"])
async def test_without_the_token_there_is_nothing(open_three: Open, given: str) -> None:
    async with open_three(WITH_TOKEN) as client:
        bearer = {"authorization": b"Bearer " + given.encode("utf-8", "surrogateescape")}
        for path in ("/api/models", "/readyz", "/docs", "/openapi.json"):
            answer = await client.get(path, headers=bearer)
            error_of(answer, 401, "no_token")
            assert "set-cookie" not in answer.headers
        answer = await client.post("/api/trace", json={"text": "a"}, headers=bearer)
        error_of(answer, 401, "no_token")


@pytest.mark.parametrize(("lang", "said"), [("en", "needs an access token"), ("ja", "アクセストークンを入力")])
async def test_a_browser_is_asked_for_the_token(open_three: Open, lang: str, said: str) -> None:
    async with open_three(WITH_TOKEN) as client:
        answer = await client.get("/", headers=PAGE | {"accept-language": lang})
        assert answer.status_code == 401
        assert said in answer.text
        assert 'name="token"' in answer.text
        deep = await client.get("/api/models/x%2Fy", headers=PAGE)
        assert 'src="../../static/theme.js"' in deep.text, "a proxy may have put a prefix before the path"


async def test_health_and_files_need_no_token(open_three: Open) -> None:
    async with open_three(WITH_TOKEN) as client:
        for path in ("/healthz", "/static/css/base.css"):
            assert (await client.get(path)).status_code == 200


def test_tokens_are_compared_as_bytes() -> None:
    assert is_same("é", "é")
    assert not is_same("", "é")


async def test_no_log_has_the_token(open_three: Open, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with open_three(Settings(device="cpu", token=TOKEN, log_text=True, log_level="debug")) as client:
        await client.get(f"/?token={TOKEN}", headers=PAGE)
        await client.get(f"/api/models?token={TOKEN}")
        await client.get(f"/nowhere?token={TOKEN}", headers={"authorization": f"Bearer {TOKEN}"})
    lines = [f"{record.getMessage()} {vars(record)}" for record in caplog.records if record.name == "chumoku"]
    assert len(lines) >= 3
    assert TOKEN not in " ".join(lines)


@pytest.mark.parametrize("token", ["", "a b", "a\nb", "é"])
def test_a_token_is_a_word_and_no_error_repeats_it(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("CHUMOKU_TOKEN", token)
    with pytest.raises(ValueError, match="CHUMOKU_TOKEN: ") as error:
        from_environment()
    assert not token or token not in str(error.value)


@pytest.mark.parametrize(
    ("client_host", "status"),
    [("127.0.0.1", 200), ("127.8.8.8", 200), ("::1", 200), ("::ffff:127.0.0.1", 200), ("192.168.1.9", 403), ("", 403)],
)
async def test_metrics_are_for_this_machine(three: Library, client_host: str, status: int) -> None:
    app = create_app(Settings(device="cpu"), three)
    transport = ASGITransport(app=app, client=(client_host, 1234))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        answer = await client.get("/metrics")
        assert answer.status_code == status
        if status == 403:
            error_of(answer, 403, "only_local")


async def test_metrics_with_the_token_are_for_any_machine(three: Library) -> None:
    app = create_app(WITH_TOKEN, three)
    transport = ASGITransport(app=app, client=("192.168.1.9", 1234))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        error_of(await client.get("/metrics"), 401, "no_token")
        assert (await client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})).status_code == 200

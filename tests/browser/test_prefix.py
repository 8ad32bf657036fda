"""The app under a path that a proxy strips, without a header or a setting: JupyterHub, code-server, ingress."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import httpx
import pytest
from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.browser.helpers import drawn, open_more, open_tools, settled
from tests.browser.shared_page import PATIENCE_MS
from tests.conftest import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PREFIX = "/user/ann/proxy/8010/"
HOPS = {"connection", "keep-alive", "transfer-encoding", "host"}
"""Headers of one connection, and the host, which becomes the app's address."""


def proxy_of(url: str) -> Starlette:
    """Strips the prefix and passes answers on as they come. Everything else is another app."""

    async def passed(request: Request) -> Response:
        path = request.scope["raw_path"].decode()
        if not path.startswith(PREFIX):
            return PlainTextResponse("another app", 200 if path == "/readyz" else 404)
        address = f"{url}/{path.removeprefix(PREFIX)}?{request.scope['query_string'].decode()}".rstrip("?")
        headers = [(name, value) for name, value in request.headers.items() if name not in HOPS]
        client = httpx.AsyncClient(timeout=60)
        sent = client.build_request(request.method, address, headers=headers, content=await request.body())
        answer = await client.send(sent, stream=True)

        async def parts() -> AsyncIterator[bytes]:
            try:
                async for part in answer.aiter_raw():
                    yield part
            finally:
                await answer.aclose()
                await client.aclose()

        response = StreamingResponse(parts(), answer.status_code)
        response.raw_headers = [
            (name.lower(), value) for name, value in answer.headers.raw if name.lower().decode() not in HOPS
        ]
        return response

    return Starlette(routes=[Route("/{path:path}", passed, methods=["GET", "POST", "DELETE"])])


@pytest.fixture
def behind(server_url: str) -> Iterator[str]:
    with served(proxy_of(server_url)) as proxy:
        yield proxy + PREFIX


@pytest.fixture
def beyond(browser: "Browser", behind: str) -> "Iterator[Page]":
    """A page of a reader who has never been here. An error on it, or a request beside the prefix, fails the test."""
    context = browser.new_context(locale="en-US", viewport={"width": 1440, "height": 1000})
    context.set_default_timeout(PATIENCE_MS)
    page, wrong = context.new_page(), list[str]()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: said.type == "error" and wrong.append(said.text))
    page.on("request", lambda one: one.url.startswith(("data:", "blob:", behind)) or wrong.append(one.url))
    yield page
    context.close()
    assert wrong == []


def teaches(page: "Page") -> None:
    """A room's address has the prefix, which the server never sees."""
    open_tools(page)
    page.get_by_test_id("tool-teach").click()
    expect(page.get_by_test_id("room-side")).to_contain_text(f"{PREFIX}join")
    for _ in range(2):
        page.get_by_test_id("room-end").click()
    expect(page.get_by_test_id("room-notice")).to_be_visible()


def test_the_app_works_behind_a_prefix(beyond: "Page", behind: str, tmp_path: Path) -> None:
    """Page, trace, stream, link, export, saved file, language and the API's page, one after the other."""
    page = beyond
    page.goto(f"{behind}?model=stories-gpt&view=attention&layer=2&head=5#text=The cat sat")
    drawn(page)
    assert page.url.startswith(f"{behind}?"), "the address keeps its prefix"
    assert page.locator("header .brand").evaluate("link => link.href") == behind

    tokens = page.get_by_test_id("token")
    before = tokens.count()
    page.get_by_test_id("gen-step").click()
    expect(tokens).to_have_count(before + 1)
    page.wait_for_function("text => decodeURIComponent(location.hash).length > text.length", arg="#text=The cat sat")
    drawn(page)

    open_more(page)
    page.get_by_test_id("export").click()
    with page.expect_download() as download:
        page.get_by_test_id("export-html").first.click()
    offline = tmp_path / "offline.html"
    download.value.save_as(offline)
    assert behind in offline.read_text("utf-8"), "its link leads to the page behind the proxy"
    with page.expect_download() as download:
        page.get_by_test_id("export-safetensors").first.click()
    file = tmp_path / "trace.safetensors"
    download.value.save_as(file)

    page.reload()
    drawn(page)
    expect(tokens).to_have_count(before + 1)
    page.get_by_test_id("file-input").set_input_files(file)
    expect(page.locator("body")).to_have_attribute("data-state", "ready")
    drawn(page)

    page.goto(f"{behind}?lang=ja#text=The cat")
    settled(page)
    assert page.locator("html").get_attribute("lang") == "ja"
    kept = {one["name"]: one["path"] for one in page.context.cookies()}
    assert kept["lang"] in (PREFIX, PREFIX.rstrip("/")), "other apps of this host do not get the cookie"

    teaches(page)

    page.goto(f"{behind}docs?lang=en")
    commands = page.locator("pre code")
    expect(commands.first).to_contain_text(behind)
    told = commands.all_inner_texts()
    assert [one for one in told if behind not in one] == []
    assert page.locator("header .brand").evaluate("link => link.href") == behind
    models = json.loads(page.evaluate("fetch('api/models').then((answer) => answer.text())"))
    traced = next(one for one in told if "/api/trace?" in one)
    answer = httpx.get(re.findall(r"'(http[^']+)'", traced)[0])
    assert answer.status_code == 200
    assert models["default"]
    assert unquote(answer.headers["content-location"]).startswith("trace?")
    assert httpx.get(httpx.URL(str(answer.url)).join(answer.headers["content-location"])).content == answer.content

"""Fixtures for all tests: the real app on a port, a real Chromium, and pages that tolerate no error.

Heavy libraries are imported inside the fixtures, so that a unit test does not pay for a browser.
"""

import os
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Page
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The headless shell first: the same engine without a browser's windows, for 3/4 of the CPU time.
CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
QUIET = ("gpu", "quic", "background-networking", "component-update", "sync")
DEFAULTS: Any = {"locale": "en-US", "viewport": {"width": 1440, "height": 1000}}
MEDIA = ("color_scheme", "reduced_motion")
PATIENCE_MS = 60_000  # generous: on a busy machine a second of work can take ten


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use the browser, and run them last.

    Playwright's sync API leaves an event loop running in this thread, and no async test could start under it.
    """
    for item in items:
        if {"browser", "page"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.browser)
    files = {item.path for item in items if item.get_closest_marker("browser")}
    items.sort(key=lambda item: item.path in files)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("cuda"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("no CUDA device on this machine")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def torch_as_it_was() -> Iterator[None]:
    """For a test that trains. It sets torch's seed and handling of denormals, which hypothesis rejects later."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the same sums in every process, without waiting for a second core
    with torch.random.fork_rng(devices=[]):
        yield
    torch.set_flush_denormal(False)
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def toy_mechanisms() -> Iterator[None]:
    """Registers the mechanisms of tests/toys/mechanism.py for the session."""
    from tests.toys.mechanism import registered

    with registered():
        yield


@pytest.fixture(scope="session")
def toy_models(toy_mechanisms: None, tmp_path_factory: pytest.TempPathFactory) -> "Path":
    """A folder of models without scores and pattern, for `Settings.models_dir`: `toy-gated-mean`, `toy-hidden-mean`
    (which has no overview) and `toy-translator`."""
    from tests.toys.models import write_toys

    return write_toys(tmp_path_factory.mktemp("toys"))


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """The address of the real app, served by uvicorn from a thread on a free port."""
    from app.main import create_app

    with served(create_app()) as url:
        yield url


@contextmanager
def served(app: "ASGIApp") -> Iterator[str]:
    """Context manager: serves an app with uvicorn and yields its address."""
    import uvicorn

    # No websockets: the app has none, and importing their library warns.
    config = uvicorn.Config(kept(app), log_level="warning", ws="none", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            wait_until_ready(url, thread)
            yield url
        finally:
            server.should_exit = True
            thread.join(timeout=10)


def kept(app: "ASGIApp") -> "ASGIApp":
    """The app, with static files that the browser may cache: they do not change while tests run.

    That saves about a hundred requests per page. tests/app/test_pages.py tests the app's own cache headers.
    """

    async def wrapped(scope: "Scope", receive: "Receive", send: "Send") -> None:
        async def send_kept(message: "Message") -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                headers = [(name, value) for name, value in message["headers"] if name.lower() != b"cache-control"]
                message["headers"] = [*headers, (b"cache-control", b"max-age=3600")]
            await send(message)

        static = scope["type"] == "http" and scope["path"].startswith("/static/")
        await app(scope, receive, send_kept if static else send)

    return wrapped


def wait_until_ready(url: str, thread: threading.Thread, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    answer = "no answer"
    while thread.is_alive() and time.monotonic() < deadline:
        try:
            with urlopen(f"{url}/readyz", timeout=seconds):
                return
        except HTTPError as error:  # 503 while models load
            answer = str(error)
            error.close()
        except OSError as error:
            answer = str(error)
        time.sleep(0.05)
    pytest.fail(f"the app is not ready at {url}/readyz: {answer}", pytrace=False)


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """The headless shell, a Chromium, or the browser that CHROMIUM names. Without one, tests fail; they never skip."""
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if chromium is None:
        packages = "chromium-headless-shell fonts-noto-cjk"
        pytest.fail(f"Browser tests need Chromium: apt-get install {packages}", pytrace=False)
    from playwright.sync_api import expect, sync_playwright

    # One process draws all pages of a context, so plotly.js is compiled once, not once per test.
    args = ["--no-first-run", "--process-per-site", *(f"--disable-{feature}" for feature in QUIET)]
    if os.geteuid() == 0:
        args.append("--no-sandbox")  # Chromium's sandbox does not run as root
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=args)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def app_url(server_url: str) -> str:
    """The app that a module's pages open. A module with models of its own overrides this with a server of its own."""
    return server_url


@pytest.fixture(scope="session")
def context_of(browser: "Browser") -> "Callable[[str], BrowserContext]":
    """The context of every page of one app: files stay in its cache, compiled scripts in memory.

    An idle page keeps its process alive between tests.
    """

    @cache
    def context_of(url: str) -> "BrowserContext":
        context = browser.new_context(**DEFAULTS, base_url=url)
        context.new_page().goto("/static/icon.svg")
        return context

    return context_of


@pytest.fixture(scope="module")
def shared_context(context_of: "Callable[[str], BrowserContext]", app_url: str) -> "BrowserContext":
    """The context of every page without special needs. `open_page` restores its state after each test."""
    return context_of(app_url)


@pytest.fixture
def page_errors() -> list[str]:
    """Errors on the pages of this test. A test that provokes one on purpose clears the list."""
    return []


@pytest.fixture
def open_page(
    browser: "Browser", shared_context: "BrowserContext", app_url: str, page_errors: list[str]
) -> "Iterator[Callable[..., Page]]":
    """Open a fresh page, without cookies: `open_page(viewport=..., color_scheme="dark", permissions=[...])`.

    Options of a context (`locale="ja-JP"`, `is_mobile=True`) open a new context, which takes seconds.
    Afterwards the test fails if any page raised an exception or wrote an error to its console.
    """
    opened: list[Page | BrowserContext] = []
    forget(shared_context)

    def open_page(**options: Any) -> "Page":
        if options.keys() <= {"viewport", "permissions", *MEDIA}:
            page = shared_context.new_page()
            opened.append(page)
            page.set_viewport_size(options.get("viewport", DEFAULTS["viewport"]))
            page.emulate_media(**{name: options[name] for name in MEDIA if name in options})
            if "permissions" in options:
                shared_context.grant_permissions(options["permissions"], origin=app_url)
        else:
            context = browser.new_context(**DEFAULTS | {"base_url": app_url} | options)
            opened.append(context)
            page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto = partial(goto, page)  # type: ignore[method-assign]
        page.on("pageerror", lambda error: page_errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and page_errors.append(message.text))
        return page

    yield open_page
    for one in opened:
        one.close()
    shared_context.set_offline(False)
    forget(shared_context)
    shared_context.clear_permissions()
    assert not page_errors, "the page reported: " + "\n".join(page_errors)


def forget(context: "BrowserContext") -> None:
    """Removes what the app remembers about its reader. Chromium sometimes keeps a cookie; then it tries again."""
    while context.cookies():
        context.clear_cookies()
    context.pages[0].evaluate("() => localStorage.clear()")


@pytest.fixture
def page(request: pytest.FixtureRequest) -> "Page":
    """A page of 1440 × 1000; `page.goto("/")` opens the app. Fresh, or with `pytest.mark.warm` shared by the module."""
    if request.node.get_closest_marker("warm") and not request.node.get_closest_marker("cold"):
        return request.getfixturevalue("warm_page")  # type: ignore[no-any-return]
    return request.getfixturevalue("open_page")()  # type: ignore[no-any-return]


@pytest.fixture
def warm_page(request: pytest.FixtureRequest, loaded_page: "Page", page_errors: list[str]) -> "Iterator[Page]":
    """The module's page, for tests that only look. `goto` navigates within the page, as Back does: 0.3 s instead of 2 s
    for loading the page and plotly.js. Errors that occur meanwhile count for this test.

    State that is not in the address stays as the test before left it: open tables, a zoom, undone tokens, every
    station that was ever opened (hidden), and the time of the last step for Back.
    """
    page, failed = loaded_page, request.session.testsfailed
    listeners = [("pageerror", lambda error: page_errors.append(str(error)))]
    listeners.append(("console", lambda message: message.type == "error" and page_errors.append(message.text)))
    for name, listener in listeners:
        page.on(name, listener)
    page.mouse.move(0, 0)
    yield page
    page.unroute_all()
    forget(page.context)
    for name, listener in listeners:
        page.remove_listener(name, listener)
    if page_errors or request.session.testsfailed > failed:
        load(page)  # it may be anywhere after a test
    assert not page_errors, "the page reported: " + "\n".join(page_errors)


@pytest.fixture(scope="module")
def loaded_page(shared_context: "BrowserContext") -> "Iterator[Page]":
    """A page that loads the app once. Its `goto` then changes the address, and the page follows."""
    page = shared_context.new_page()
    page.set_viewport_size(DEFAULTS["viewport"])
    page.set_default_timeout(PATIENCE_MS)
    model = page.request.get("/api/models").json()["default"]
    load(page)
    page.goto = lambda url: page.evaluate(FOLLOW, [folded(url), model])  # type: ignore[method-assign]
    yield page
    page.close()


def goto(page: "Page", url: str, **options: Any) -> Any:
    """Load an address as `folded` writes it."""
    return type(page).goto(page, folded(url), **options)


def folded(url: str) -> str:
    """An address of the app at the level *everything* with the river folded, unless it names one of both: a test of
    something else need not measure 64 cuts for each sentence. Tests of the river, of the layout and of accessibility
    say `river.shown=on`, tests of the levels `level=…`."""
    url, _, text = url.partition("#")
    path, _, query = url.partition("?")
    is_app = path in ("/", "") or re.fullmatch(r"http://[^/]+/", path)
    says = "river.shown" in query or "level=" in query
    if is_app and not says:
        url = f"{path}?{query}{'&' if query else ''}level=everything&river.shown=off"
    return f"{url}#{text}" if text else url


def load(page: "Page") -> None:
    """Load the app in this page, even where its own `goto` would not."""
    type(page).goto(page, "/?view=tokens")
    page.wait_for_selector("body[data-state=empty]")


# Through the empty page, where nothing is drawn: the next wait cannot see the previous picture.
FOLLOW = """async ([url, model]) => {
  document.dispatchEvent(new PointerEvent('pointerdown')); // menus close, as by a click beside them
  const asked = new URL(url, location);
  if (!asked.searchParams.has('model')) asked.searchParams.set('model', model);
  for (const next of ['/?text=', asked]) {
    history.pushState(null, '', next);
    dispatchEvent(new PopStateEvent('popstate'));
    if (next !== asked && document.body.dataset.state !== 'empty') throw new Error('it does not follow its address');
    await new Promise(requestAnimationFrame);
  }
  scrollTo(0, 0);
  document.activeElement?.blur();
}"""

"""What every test may use: the real app on a port, a real Chromium, and pages that tolerate no error.

Heavy libraries are imported inside the fixtures, so that a unit test does not pay for a browser.
"""

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("gpu", "quic", "background-networking", "component-update", "sync")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use the browser, and run them last.

    Playwright's sync API leaves an event loop running in this thread, under which no async test could start.
    """
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("cuda"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("no CUDA device on this machine")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """The address of the real app, served by uvicorn from a thread on a free port."""
    import uvicorn

    from app.main import create_app

    # No websockets: the app has none, and their library warns when it is imported.
    config = uvicorn.Config(create_app(), log_level="warning", ws="none", timeout_graceful_shutdown=2)
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
    """Debian's Chromium, or the one that CHROMIUM names. Without one a test fails: it never skips."""
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if chromium is None:
        pytest.fail("Browser tests need Chromium: apt-get install chromium fonts-noto-cjk", pytrace=False)
    from playwright.sync_api import sync_playwright

    args = ["--no-first-run", *(f"--disable-{feature}" for feature in QUIET)]
    if os.geteuid() == 0:
        args.append("--no-sandbox")  # Chromium's sandbox refuses root
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=args)
        yield browser
        browser.close()


@pytest.fixture
def page_errors() -> list[str]:
    """What the pages of this test complained about. A test that provokes an error on purpose clears it."""
    return []


@pytest.fixture
def open_page(browser: "Browser", server_url: str, page_errors: list[str]) -> "Iterator[Callable[..., Page]]":
    """Open a page in a context of its own: `open_page(viewport=..., color_scheme="dark", locale="ja-JP")`.

    Afterwards the test fails if any page raised an exception or wrote an error to its console.
    """
    contexts = []

    def open_page(**options: Any) -> "Page":
        defaults = {"base_url": server_url, "locale": "en-US", "viewport": {"width": 1440, "height": 1000}}
        context = browser.new_context(**defaults | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: page_errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and page_errors.append(message.text))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not page_errors, "the page reported: " + "\n".join(page_errors)


@pytest.fixture
def page(open_page: "Callable[..., Page]") -> "Page":
    """A page of 1440 × 1000; `page.goto("/")` opens the app."""
    return open_page()

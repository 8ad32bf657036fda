"""Fixtures for all tests: the real app on a port. Those of the browser are in browser/conftest.py.

Heavy libraries are imported inside the fixtures, so that a unit test does not pay for them.
"""

import gc
import resource
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Forty examples for each property, always the same. Nothing is garbage before the first test."""
    gc.disable()
    if config.pluginmanager.hasplugin("hypothesispytest"):
        from hypothesis import settings

        settings.register_profile("ci", settings.get_profile("ci"), max_examples=40)


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


def pytest_collection_finish() -> None:
    """What is imported by now stays: the garbage collector need not look at it again and again. It looks less often
    than after 700 new objects: that was some 8 % of the tests' CPU time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    gc.enable()


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
    from chumoku.app.main import create_app

    with served(create_app()) as url:
        gc.freeze()  # torch and the app
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


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may be larger: what a full disk does to a write, in this process alone."""
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, was[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)

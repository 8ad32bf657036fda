"""The app in this process, with the zoo's real models, loaded once for all its tests."""

import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient

from chumoku.app.cli.serving import server_of
from chumoku.app.main import create_app
from chumoku.app.services import discovery
from chumoku.app.services.library import Library
from chumoku.app.settings import Settings
from chumoku.model.checkpoint import Checkpoint
from tests.app.families import opened, trio

Open = Callable[[Settings], AbstractAsyncContextManager[AsyncClient]]
Serve = Callable[[Settings], AbstractContextManager[str]]


@pytest.fixture(scope="session")
def loaded() -> Library:
    return discovery.discover(Settings(device="cpu"))


@pytest.fixture(scope="session")
def gpt(loaded: Library) -> Checkpoint:
    return opened(loaded, "stories-gpt")


@pytest.fixture
def open_app(loaded: Library) -> Open:
    """`async with open_app(settings) as client`: a separate app, started and stopped."""
    return opener(loaded)


def opener(models: Library) -> Open:
    return lambda settings: client_of(create_app(settings, models))


@asynccontextmanager
async def client_of(app: FastAPI) -> AsyncIterator[AsyncClient]:
    """A client of an app that is started and stopped."""
    transport = ASGITransport(app=app)
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield client


@pytest.fixture(scope="session")
def three() -> Library:
    """A random model of each family: `gpt`, `classifier`, `translator`."""
    return trio()


@pytest.fixture
def open_three(three: Library) -> Open:
    """`open_app` around the three random models."""
    return opener(three)


# An app builds its routes at its first request, which takes 0.05 s of CPU time. So tests with default settings share
# one, and its metrics; each starts it anew.


@pytest.fixture(scope="session")
def app_of_three(three: Library) -> FastAPI:
    return create_app(Settings(device="cpu"), three)


@pytest.fixture(scope="session")
def app_of_zoo(loaded: Library) -> FastAPI:
    return create_app(Settings(device="cpu"), loaded)


@pytest.fixture
async def families(app_of_three: FastAPI) -> AsyncIterator[AsyncClient]:
    """A client of an app with the three random models."""
    async with client_of(app_of_three) as client:
        yield client


@pytest.fixture
async def client(app_of_zoo: FastAPI) -> AsyncIterator[AsyncClient]:
    async with client_of(app_of_zoo) as client:
        yield client


@pytest.fixture(scope="session")
def serve(loaded: Library) -> Serve:
    """`with serve(settings) as url`: a separate app, served in a thread as `chumoku serve` does."""

    @contextmanager
    def served(settings: Settings) -> Iterator[str]:
        server = server_of(create_app(settings, loaded), settings, files=1024, message="")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
            thread.start()
            while not server.started:
                assert thread.is_alive()
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            server.should_exit = True
            thread.join(timeout=10)

    return served

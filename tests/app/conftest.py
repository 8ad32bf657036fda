"""The app in this process, around the zoo's real models, which are loaded once for all its tests."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from httpx import ASGITransport, AsyncClient

from app.main import create_app
from app.services import library
from app.services.library import Library
from app.settings import Settings
from model.checkpoint import Checkpoint

Open = Callable[[Settings], AbstractAsyncContextManager[AsyncClient]]


@pytest.fixture(scope="session")
def loaded() -> Library:
    return library.load(Settings(device="cpu"))


@pytest.fixture(scope="session")
def gpt(loaded: Library) -> Checkpoint:
    return loaded.get("stories-gpt")


@pytest.fixture
def open_app(loaded: Library) -> Open:
    """`async with open_app(settings) as client`: an app of its own, started and stopped."""

    @asynccontextmanager
    async def opened(settings: Settings) -> AsyncIterator[AsyncClient]:
        app = create_app(settings, loaded)
        transport = ASGITransport(app=app)
        async with app.router.lifespan_context(app), AsyncClient(transport=transport, base_url="http://app") as client:
            yield client

    return opened


@pytest.fixture
async def client(open_app: Open) -> AsyncIterator[AsyncClient]:
    async with open_app(Settings(device="cpu")) as client:
        yield client

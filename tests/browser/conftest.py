"""Fixtures of the browser: a real Chromium, and pages that fail on any error."""

import os
import shutil
from collections.abc import Callable, Generator, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.shared_page import DEFAULTS, MEDIA, PATIENCE_MS, UNSEEN, WATCHED, SharedPage, forget, goto
from tests.conftest import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

# The headless shell first: the same engine without a browser's windows, for 3/4 of the CPU time.
CHROMIUMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
QUIET = ("gpu", "quic", "background-networking", "component-update", "sync")


PASSED = pytest.StashKey[bool]()
"""Of a test: whether its function has passed. A page on which one failed is not lent again."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> Generator[None, Any, Any]:
    report = yield
    if call.when == "call":
        item.stash[PASSED] = report.passed
    return report


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
def toys(toy_mechanisms: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all small models with random weights that pages open."""
    from tests.toys.models import write_toys_of_pages

    return write_toys_of_pages(tmp_path_factory.mktemp("toys"))


@pytest.fixture(scope="session")
def toys_url(toys: Path) -> Iterator[str]:
    """The address of one app for all of them: an app of its own for each module would be one more load of the page."""
    from chumoku.app.main import create_app
    from chumoku.app.settings import Settings
    from chumoku.model.traceable import SOURCES
    from tests.toys.traceable import BigramFolders

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("chumoku.model.traceable.SOURCES", [*SOURCES, BigramFolders()])
        with served(create_app(Settings(models_dir=(toys,), default_model="watched", device="cpu"))) as url:
            yield url


@pytest.fixture(scope="session")
def context_of(browser: "Browser") -> "Callable[..., BrowserContext]":
    """The context of every page of one app and of some options: files stay in its cache, compiled scripts in memory.

    An idle page keeps its process alive between tests.
    """

    @cache
    def context_of(url: str, **options: Any) -> "BrowserContext":
        context = browser.new_context(**DEFAULTS | {"base_url": url} | options)
        context.add_init_script(UNSEEN)
        context.add_init_script(WATCHED)
        context.set_default_timeout(PATIENCE_MS)
        context.new_page().goto("/static/icon.svg")
        return context

    return context_of


@pytest.fixture(scope="session")
def without_network(browser: "Browser") -> "BrowserContext":
    """The context of saved files. An idle page keeps its process alive, and the scripts that it has compiled."""
    context = browser.new_context(offline=True, viewport={"width": 1200, "height": 1000}, **MEDIA)
    context.add_init_script(UNSEEN)
    context.set_default_timeout(PATIENCE_MS)
    context.new_page().goto("data:text/html,")
    return context


@pytest.fixture(scope="session")
def shared_page_of(context_of: "Callable[[str], BrowserContext]") -> "Callable[..., SharedPage]":
    """The shared page of an app, and one of its Japanese page: another language would be a load, there and back."""
    return cache(lambda url, lang="en": SharedPage(context_of(url)))


@pytest.fixture(scope="module")
def shared_page(shared_page_of: "Callable[..., SharedPage]", app_url: str) -> "Iterator[SharedPage]":
    shared = shared_page_of(app_url)
    yield shared
    shared.followed_by = None


@pytest.fixture
def page_errors() -> list[str]:
    """Errors on the pages of this test. A test that provokes one on purpose clears the list."""
    return []


@pytest.fixture
def open_page(
    request: pytest.FixtureRequest,
    context_of: "Callable[..., BrowserContext]",
    shared_page_of: "Callable[..., SharedPage]",
    shared_page: SharedPage,
    app_url: str,
    page_errors: list[str],
) -> "Iterator[Callable[..., Page]]":
    """Open a page as a new reader finds it: `open_page(viewport=..., color_scheme="dark", permissions=[...])`.

    The first of a test is the shared page, opened anew, except with `pytest.mark.cold`. `locale="ja-JP"` and
    `is_mobile=True` are options of a context of their own. Afterwards the test fails if any page raised an exception or
    wrote an error to its console.
    """
    opened: list[Page] = []
    lent: list[Page] = []
    contexts = [shared_page.context]
    cold = request.node.get_closest_marker("cold")
    if request.node.get_closest_marker("japanese"):
        shared_page = shared_page_of(app_url, "ja")
    forget(shared_page.context)

    def open_page(*, permissions: list[str] | None = None, follower: object = None, **options: Any) -> "Page":
        ours = options.keys() <= {"viewport", *MEDIA}
        if ours and not cold and not lent:
            page = shared_page.lend(follower=follower, **options)
            lent.append(page)
        else:
            page = new_page(**{name: value for name, value in options.items() if name not in ("viewport", *MEDIA)})
            page.set_viewport_size(options.get("viewport", DEFAULTS["viewport"]))
            page.emulate_media(**{name: options[name] for name in MEDIA if name in options})
        if permissions:
            shared_page.context.grant_permissions(permissions, origin=app_url)
        page.on("pageerror", lambda error: page_errors.append(str(error)))
        page.on("console", lambda message: message.type == "error" and page_errors.append(message.text))
        return page

    def new_page(**options: Any) -> "Page":
        context = context_of(app_url, **options)
        contexts.append(context)
        forget(context)
        page = context.new_page()
        opened.append(page)
        page.goto = partial(goto, page)  # type: ignore[method-assign]
        return page

    yield open_page
    for page in opened:
        page.close()
    for context in contexts:
        context.set_offline(False)
        context.clear_permissions()
    if lent:
        shared_page.take_back(whole=not page_errors and request.node.stash.get(PASSED, False))
    assert not page_errors, "the page reported: " + "\n".join(page_errors)


@pytest.fixture
def page(request: pytest.FixtureRequest, open_page: "Callable[..., Page]") -> "Page":
    """A page of 1440 × 1000; `page.goto("/")` opens the app: anew, with `pytest.mark.warm` as after Back, with
    `pytest.mark.cold` on a page that the browser has just loaded."""
    follows = request.node.get_closest_marker("warm") and not request.node.get_closest_marker("fresh")
    return open_page(follower=request.module if follows else None)

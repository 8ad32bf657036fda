"""The page that tests take turns with, so that not every test loads its own.

A load takes a second of CPU time. Two cheaper ways lead to another address:

- `anew` (0.5 s) starts the app again in the same document. Everything a page keeps is new: its elements, store,
  address, listeners, timers, answers of the server. Only the modules stay, and they keep nothing of a page. So does
  `page.reload()`.
- `follow` (0.1 s) changes the address, and the page follows, as after Back. What is not in the address stays: open
  tables, a zoom, undone tokens, stations that were opened (hidden), the time of the last step for Back.
"""

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

DEFAULTS: Any = {"locale": "en-US", "viewport": {"width": 1440, "height": 1000}}
# With less motion a page draws a change once, not sixty times a second. What moves is tested where a test says so.
MEDIA: Any = {"color_scheme": "light", "reduced_motion": "reduce"}
PATIENCE_MS = int(os.environ.get("PATIENCE_MS", "60000"))  # generous: on a busy machine a second of work can take ten

# In every document: it is transparent. Layout, painting and hit tests are as always, but Chromium need not put its
# pixels on a screen, which is a quarter of an opening's CPU time. `serious` makes it opaque for its colours.
# A screenshot would be empty: test_house.py allows none.
UNSEEN = """(() => {
  const unseen = new CSSStyleSheet();
  unseen.replaceSync('html { opacity: 0 !important }');
  document.adoptedStyleSheets = [unseen];
  Object.defineProperty(window, 'unseen', { value: unseen });
})()"""

# In every document, before its scripts: what a page leaves behind on the window, the document and media queries, what
# it observes, and answers that it still waits for. (The pointer's events on the window are Playwright's.)
WATCHED = """(() => {
  const { addEventListener } = EventTarget.prototype;
  const { fetch } = window;
  const page = { listeners: [], observers: [], number: 0 };
  Object.defineProperty(window, 'watched', { value: page });
  EventTarget.prototype.addEventListener = function (type, listener, options) {
    const target = this ?? window;
    const ours = target === window ? !/^(mouse|pointer|touch|__)|click|menu/.test(type) : target === document;
    if (ours || target instanceof MediaQueryList)
      page.listeners.push([target, type, listener, options]);
    return addEventListener.call(target, type, listener, options);
  };
  for (const name of ['ResizeObserver', 'MutationObserver'])
    window[name] = class extends window[name] {
      constructor(...told) {
        super(...told);
        page.observers.push(this);
      }
    };
  window.fetch = (...asked) => {
    const { number } = page;
    return new Promise((resolve, reject) => {
      const ifStill = (settle) => (value) => page.number === number && settle(value);
      fetch(...asked).then(ifStill(resolve), ifStill(reject));
    });
  };
})()"""

# False where only a load can lead to the address: another document, or another language, in which modules keep texts.
ANEW = """async ([url, forget]) => {
  const clear = () => forget && [localStorage, sessionStorage].forEach((storage) => storage.clear());
  if (location.protocol === 'http:') clear();
  if (!document.querySelector('head > script[src$="static/main.js"]')) return false;
  document.activeElement?.blur(); // letters of a moment ago are read now, not when their field leaves the document
  const asked = new URL(url ?? location.href, location);
  const [here, state] = [location.href, history.state];
  history.replaceState(null, '', '/?text=');
  dispatchEvent(new PopStateEvent('popstate')); // the empty page asks for nothing, and what is on its way is cancelled
  history.replaceState(state, '', here);
  const number = ++watched.number;
  for (const [target, ...listening] of watched.listeners.splice(0)) target.removeEventListener(...listening);
  for (const observer of watched.observers.splice(0)) observer.disconnect(); // it would see its page go, and draw it
  for (let id = setTimeout(() => {}); id > 0; id--) clearTimeout(id);
  for (let id = requestAnimationFrame(() => {}); id > 0; id--) cancelAnimationFrame(id);
  clear();

  const answer = await fetch(asked.pathname + asked.search);
  const loaded = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const root = document.documentElement;
  if (!answer.ok || loaded.documentElement.lang !== root.lang) return false;
  if (asked.href !== here) history.pushState(null, '', asked);
  for (const { name } of [...root.attributes]) root.removeAttribute(name);
  for (const { name, value } of loaded.documentElement.attributes) root.setAttribute(name, value);
  document.title = loaded.title;
  document.body.replaceWith(loaded.body);
  scrollTo(0, 0);
  for (const script of ['theme', 'main']) await import(`/static/${script}.js?${number}`);
  return true;
}"""

# Through the empty page, so that the next wait cannot see the previous picture. Nothing is painted in between.
FOLLOW = """([url, model]) => {
  document.activeElement?.blur(); // letters of a moment ago are read now, not when their field loses the focus
  document.dispatchEvent(new PointerEvent('pointerdown')); // menus close, as by a click beside them
  const asked = new URL(url, location);
  if (!asked.searchParams.has('model')) asked.searchParams.set('model', model);
  for (const next of ['/?text=', asked]) {
    history.pushState(null, '', next);
    dispatchEvent(new PopStateEvent('popstate'));
    if (next !== asked && document.body.dataset.state !== 'empty') throw new Error('it does not follow its address');
  }
  scrollTo(0, 0);
}"""


class SharedPage:
    """The page of one app, in the context of that app's pages."""

    def __init__(self, context: "BrowserContext") -> None:
        self.context = context
        self.page: Page | None = None
        self.media: dict[str, Any] = {}
        self.followed_by: object = None
        """Who may `follow`: nobody, or the tests of one module, after the first of them has opened the page anew."""

    def lend(self, *, follower: object = None, **media: Any) -> "Page":
        """The page, as a new reader finds it. `follower`: whose tests share what is not in the address."""
        if self.page is None:
            self.page, self.media = self.context.new_page(), {}
            self.page.emulate_media = self.emulate  # type: ignore[method-assign]
            self.model = self.page.request.get("/api/models").json()["default"]
        page, self.forget = self.page, True
        if follower is None or self.followed_by is not follower:
            self.followed_by = None
        viewport = media.pop("viewport", DEFAULTS["viewport"])
        if page.viewport_size != viewport:
            page.set_viewport_size(viewport)
        if self.media != MEDIA | media:  # said again, all styles of the page are computed again
            page.emulate_media(**MEDIA | media)
        page.mouse.move(0, 0)

        def goto(url: str, **options: Any) -> Any:
            if follower is not None and self.followed_by is follower:
                return page.evaluate(FOLLOW, [folded(url), self.model])
            self.followed_by = follower
            return self.anew(url, **options)

        page.goto = goto  # type: ignore[method-assign]
        page.reload = self.reload  # type: ignore[method-assign]
        self.listening: list[tuple[Any, Any]] = []
        page.on = self.listen  # type: ignore[method-assign]
        return page

    def anew(self, url: str, **options: Any) -> Any:
        """Opens an address as a reader does who types it. The first time, nothing is remembered of those before."""
        page, url = self.page, folded(url)
        assert page is not None
        forget, self.forget = self.forget, False
        if not options and is_app(url) and page.evaluate(ANEW, [url, forget]):
            return None
        return type(page).goto(page, url, **options)

    def reload(self) -> None:
        page = self.page
        assert page is not None
        if not page.evaluate(ANEW, [None, False]):
            type(page).reload(page)

    def emulate(self, **media: Any) -> None:
        page = self.page
        assert page is not None
        self.media |= media
        type(page).emulate_media(page, **media)

    def listen(self, event: Any, listener: Callable[..., Any]) -> None:
        page = self.page
        assert page is not None
        self.listening.append((event, listener))
        type(page).on(page, event, listener)

    def take_back(self, *, whole: bool) -> None:
        """After a test. A page that failed may be anywhere: the next test gets another."""
        page = self.page
        assert page is not None
        if whole and not page.is_closed():
            page.unroute_all()
            for event, listener in self.listening:
                page.remove_listener(event, listener)
        else:
            page.close()
            self.page = self.followed_by = None


def forget(context: "BrowserContext") -> None:
    """Removes what the app remembers about its reader. Chromium sometimes keeps a cookie; then it tries again."""
    while context.cookies():
        context.clear_cookies()
    context.pages[0].evaluate("() => localStorage.clear()")


def goto(page: "Page", url: str, **options: Any) -> Any:
    """Load an address as `folded` writes it."""
    return type(page).goto(page, folded(url), **options)


def visit(page: "Page", url: str) -> None:
    """Opens the app anew at an address just as it stands, without forgetting anything."""
    assert page.evaluate(ANEW, [url, False])


def folded(url: str) -> str:
    """An address of the app at an open head without the river's strip, unless it says otherwise.

    A test of something else need not measure 64 connections for each sentence. Tests of the river, of the layout and of
    accessibility say `river.shown=on`, tests of the whole model `view=model`, and `/?start` is the start page.
    """
    url, _, text = url.partition("#")
    path, _, query = url.partition("?")
    if is_app(url) and (asked := query.split("&"))[0] == "start":
        return "/" + ("?" + "&".join(asked[1:]) if asked[1:] else "")
    if is_app(url) and "view=model" not in query:
        view = "" if "view=" in query or "lesson=" in query else "&view=attention"
        river = "" if "river." in query else "&river.shown=off"
        url = f"{path}?{query.replace('level=everything', '').replace('&&', '&').strip('&')}{view}{river}".replace(
            "?&", "?"
        )
    return f"{url}#{text}" if text else url


def is_app(url: str) -> bool:
    path = re.split(r"[?#]", url)[0]
    return path in ("/", "") or re.fullmatch(r"http://[^/]+/", path) is not None

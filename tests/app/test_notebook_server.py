"""`chumoku.serve()`: a real server in this process, on its own and as JupyterHub's proxy reaches it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import httpx
import pytest

import chumoku
from chumoku.app.cli.links import proxied
from chumoku.app.http.access import ANY, known_names

HUB = {"JUPYTERHUB_SERVICE_PREFIX": "/user/ann/"}
CODE = {"VSCODE_PROXY_URI": "https://code.example/proxy/{{port}}"}


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """On a machine with neither of the proxies."""
    for name in HUB | CODE:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def test_a_notebook_serves_the_page_with_its_model(elsewhere: pytest.MonkeyPatch) -> None:
    model = chumoku.load("mini-softmax", device="cpu")
    served = chumoku.serve(model)
    try:
        assert served.url.endswith("/?model=mini-softmax")
        page = httpx.get(served.url)
        assert page.status_code == 200
        assert "static/main.js" in page.text
        answer = httpx.post(
            str(page.url.join("api/trace")), json={"model": model.name, "text": "a b", "want": ["logits"]}
        )
        assert answer.status_code == 200
        html = served._repr_html_()
        assert f'href="{served.url}"' in html
        assert "iframe" not in html, "the server's other port is another site than the notebook's"
        with pytest.raises(ValueError, match="in use"):
            chumoku.serve(port=urlsplit(served.url).port or 0)
    finally:
        served.stop()
    with pytest.raises(httpx.ConnectError):
        httpx.get(served.url)


def test_on_a_hub_the_page_opens_through_its_proxy(elsewhere: pytest.MonkeyPatch) -> None:
    """jupyter-server-proxy passes the hub's own host name on. Others on the machine need the token of the link."""
    for name, value in HUB.items():
        elsewhere.setenv(name, value)
    served = chumoku.serve()
    try:
        path = urlsplit(served.url)
        match = re.fullmatch(r"/user/ann/proxy/(\d+)/", path.path)
        assert match
        assert f'<iframe src="{served.url}"' in served._repr_html_()
        behind, named = f"http://127.0.0.1:{match[1]}/", {"host": "hub.example.org", "accept": "text/html"}
        assert httpx.get(behind, headers=named).status_code == 401
        opened = httpx.get(f"{behind}?{path.query}", headers=named)
        assert (opened.status_code, opened.headers["location"]) == (303, "./")
        cookie = {"cookie": opened.headers["set-cookie"].partition(";")[0]}
        assert httpx.get(behind, headers=named | cookie).status_code == 200
    finally:
        served.stop()


def test_the_proxies_are_known_by_their_variables(elsewhere: pytest.MonkeyPatch) -> None:
    assert proxied(8010, {}) is None
    assert proxied(8010, HUB) == "/user/ann/proxy/8010/"
    assert proxied(8010, CODE) == "https://code.example/proxy/8010/"
    assert ANY not in known_names(())
    elsewhere.setenv("VSCODE_PROXY_URI", CODE["VSCODE_PROXY_URI"])
    assert ANY in known_names(())

"""Access control: the token, and the host names that the server accepts.

Host names protect against DNS rebinding: a malicious page can point its own domain at this server's address, and the
visitor's browser then lets it read the answers. An IP address, or a name known only to this machine and its network,
cannot be abused that way.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import re
import socket
from collections.abc import Collection
from hmac import compare_digest
from urllib.parse import quote, urlencode

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from chumoku.app.errors import AppError
from chumoku.app.http.handlers import respond
from chumoku.app.http.pages import page

MONTH = 30 * 24 * 3600
OPEN = ("/healthz", "/static/")
"""Paths that need no token: the health check and our own files."""


class Access:
    """Requires `token`, if there is one, and serves /metrics only to this machine or with the token.

    The token comes in the link, as a cookie, or as `Authorization: Bearer <token>`. A page opened by the link gets the
    cookie and is redirected to the address without the token.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self.app if scope["type"] != "http" else self.answer_to(Request(scope)) or self.app
        await answer(scope, receive, send)

    def answer_to(self, request: Request) -> Response | None:
        """The answer to a request that must not reach the app, or None."""
        path, token = request.scope["path"], self.token  # request.url is made from the Host header too
        if path == "/metrics" and is_loopback(request):
            return None
        if path == "/metrics" and token is None:
            return respond(request.scope, only_local())
        if token is None or path.startswith(OPEN):
            return None
        if is_same(request.query_params.get("token", ""), token):
            return welcome(request, token) if wants_page(request) else None
        if is_same(request.cookies.get(cookie_name(token), ""), token) or is_same(bearer(request), token):
            return None
        refusal = respond(request.scope, no_token(), {"WWW-Authenticate": "Bearer"})
        return page(request, "token.html", {}, status=401) if wants_page(request) else refusal


def is_same(given: str, token: str) -> bool:
    """Compares in constant time."""
    return compare_digest(given.encode(), token.encode())


def bearer(request: Request) -> str:
    """The token of `Authorization: Bearer …`, or of `Authorization: token …` as Jupyter has it."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() in ("bearer", "token") else ""


def cookie_name(token: str) -> str:
    """Cookies ignore ports, so servers with different tokens on one machine need different names."""
    return f"chumoku-{hashlib.sha256(token.encode()).hexdigest()[:8]}"


def wants_page(request: Request) -> bool:
    return request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")


def welcome(request: Request, token: str) -> Response:
    """Redirects to the same address without the token and sets the cookie, so that the token is in no history and no
    copied link."""
    query = [(name, value) for name, value in request.query_params.multi_items() if name != "token"]
    path = "./" + quote(request.scope["path"].rpartition("/")[2])  # relative: a proxy may put a prefix before it
    response = RedirectResponse(path + ("?" + urlencode(query) if query else ""), 303)
    response.set_cookie(cookie_name(token), token, max_age=MONTH, path=None, httponly=True, samesite="lax")
    response.headers["Cache-Control"] = "no-store"
    return response


def is_loopback(request: Request) -> bool:
    """Whether the client is this machine. Behind a proxy on this machine, uvicorn puts the proxy's client here."""
    try:
        address = ipaddress.ip_address(request.client.host if request.client else "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


FORWARDED = ("forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip", "x-proxycontextpath")


def is_forwarded(request: Request) -> bool:
    """Whether a proxy passed this request on: the client is then another than it seems."""
    return any(name in FORWARDED or name.startswith("x-forwarded") for name in request.headers)


async def own_pages(request: Request) -> None:
    """A dependency: refuses what other sites' pages request from their visitors' browsers; another port is another
    site. Raises `cross_site`."""
    if request.headers.get("sec-fetch-site") in ("cross-site", "same-site"):
        message = "A page of another site or port requested this."
        raise AppError("cross_site", message, "Open the address itself.", status=403)


def no_token() -> AppError:
    message = "This server requires its token."
    hint = "Open the link that it printed, or send the header Authorization: Bearer <token>."
    return AppError("no_token", message, hint, status=401)


def only_local() -> AppError:
    message = "/metrics can be read only on the server's own machine."
    hint = "Read it there, or start the server with --token and send the token."
    return AppError("only_local", message, hint, status=403)


ANY = "*"
HOST = re.compile(r"(?:\[([\da-f:.]+)\]|([\w.-]+))(?::\d*)?", re.ASCII | re.IGNORECASE)
"""An IPv6 address in brackets, or a name; then a port."""


class Hosts:
    """Refuses a request whose `Host` is a name that is not one of `names` (421)."""

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self.app, self.names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self.app
        if scope["type"] == "http":
            wrong = next((host for host in Headers(scope=scope).getlist("host") if not self.knows(host)), None)
            if wrong is not None:
                answer = respond(scope, unknown_host(name_of(wrong) or wrong))
        await answer(scope, receive, send)

    def knows(self, host: str) -> bool:
        name = name_of(host)
        return name is not None and (ANY in self.names or name in self.names or is_address(name))


PROXIES = ("JUPYTERHUB_SERVICE_PREFIX", "VSCODE_PROXY_URI")
"""Set where JupyterHub or code-server runs this process. Their proxies pass the site's name on, which is not told here,
and no reader's browser is on that machine: a name that points to it leads to the reader's own."""


def known_names(extra: Collection[str]) -> frozenset[str]:
    """localhost, this machine's own names, and `extra`; any name on JupyterHub and in code-server."""
    if any(map(os.environ.get, PROXIES)):
        return frozenset((ANY,))
    machine = socket.gethostname()
    short = machine.partition(".")[0]
    names = {"localhost", machine, short, f"{short}.local", *extra}
    return frozenset(name.lower().rstrip(".") for name in names if name)


def name_of(host: str) -> str | None:
    """A `Host` without its port and brackets, in lower case: `[::1]:8000` → `::1`. None if it is not a valid one."""
    match = HOST.fullmatch(host)
    return match and (match[1] or match[2]).lower().rstrip(".")


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def unknown_host(name: str) -> AppError:
    message = f"This server does not answer to the name {name[:100]!r}."
    hint = "Open it by its IP address, or start it with this name in CHUMOKU_HOSTS."
    return AppError("unknown_host", message, hint, status=421, where="Host", got=name[:100])

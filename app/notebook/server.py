"""The page itself, served from a notebook's kernel: for what a document without a server cannot do."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from os import PathLike
from urllib.parse import urlencode
from uuid import uuid4

import uvicorn

from chumoku.app.cli.links import address, proxied
from chumoku.app.cli.serving import UNKNOWN_FILES, UVICORN, http_protocol_of, listen
from chumoku.app.main import create_app
from chumoku.app.notebook.model import Model, as_value_error, load
from chumoku.app.services import discovery
from chumoku.app.services.library import Entry
from chumoku.app.settings import Settings, from_environment

PATIENCE_S = 60


@dataclass(frozen=True, repr=False)
class Served:
    """A running server. A notebook shows its page, or a link where the page would be of another site. It ends with the
    kernel, or by `stop()`."""

    url: str
    height: int
    _server: uvicorn.Server
    _thread: threading.Thread = field(compare=False)

    def stop(self) -> None:
        """Stops the server; open streams have 3 seconds to end."""
        self._server.should_exit = True
        self._thread.join()

    def _repr_html_(self) -> str:
        url = escape(self.url)
        link = f'<a href="{url}" target="_blank">{url.partition("?")[0]}</a>'
        if not self.url.startswith("/"):  # another site than the notebook's may not be shown inside it
            return link
        size = f"width: 100%; height: {self.height}px; border: 0"
        return f'<iframe src="{url}" style="{size}" allow="clipboard-write; fullscreen"></iframe><p>{link}</p>'

    def __repr__(self) -> str:
        return f"<chumoku server: {self.url}>"


def serve(model: Model | str | PathLike[str] | None = None, *, port: int = 0, height: int = 900) -> Served:
    """The page with all models, opened with this one: a loaded model, a name or a folder. `port` 0 takes a free one.

    On JupyterHub and in code-server the page is reached through their proxies, whatever their address, and only with
    the token in its link, because the machine has other users. Raises `ValueError` for a port that is taken, and what
    `load` raises.
    """
    chosen = model if isinstance(model, Model) or model is None else load(model)
    with as_value_error():
        behind = proxied(0, os.environ) is not None
        ours = {"token": secrets.token_urlsafe(16), "open_models": True} if behind else {}
        settings = from_environment(port=port, **ours)
    listener = listen("127.0.0.1", settings.port)
    try:
        server, thread = started(settings, chosen, listener)
    except BaseException:
        listener.close()
        raise
    asked = {"token": settings.token, "model": None if chosen is None else chosen.name}
    return Served(page_address(listener, os.environ, asked), height, server, thread)


def started(
    settings: Settings, chosen: Model | None, listener: socket.socket
) -> tuple[uvicorn.Server, threading.Thread]:
    """A server in a thread, once it answers. Raises `ValueError` if it does not start."""
    library = discovery.discover(settings)
    if chosen is not None:
        about = chosen.traceable.about
        library.entries[about.name] = Entry(about, chosen.entry.folder, None, chosen.traceable, uuid4().hex)
    app = create_app(settings, library)
    server = uvicorn.Server(uvicorn.Config(app, http=http_protocol_of(app, settings, UNKNOWN_FILES), **UVICORN))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="chumoku", daemon=True)
    thread.start()
    end = time.monotonic() + PATIENCE_S
    while not server.started and thread.is_alive() and time.monotonic() < end:
        thread.join(0.02)
    if not server.started:
        server.should_exit = True
        raise ValueError("the server did not start: the log says why")
    return server, thread


def page_address(listener: socket.socket, environ: Mapping[str, str], asked: Mapping[str, str | None]) -> str:
    """The page's address for the reader's browser, with the parameters that are not None."""
    query = urlencode({name: value for name, value in asked.items() if value is not None})
    found = proxied(listener.getsockname()[1], environ) or f"{address(listener)}/"
    return found + (f"?{query}" if query else "")

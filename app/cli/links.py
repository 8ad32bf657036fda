"""The links that the server prints when it is ready."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Mapping
from io import StringIO

from chumoku.app.services.addresses import network_address, url

ANYWHERE = {"0.0.0.0", "::"}


def announcement(listener: socket.socket, token: str | None, models: str) -> str:
    """The text printed when the server answers: its link and, if other machines can reach it, theirs with a QR code."""
    query = f"/?token={token}" if token else ""
    lines = [f"Chumoku is ready: {address(listener)}{query}  ({models}; Ctrl+C stops it)"]
    if through := proxied(listener.getsockname()[1], os.environ):
        lines.append(f"In your browser: {through}{query.lstrip('/')}")
    if is_open(listener):
        link = class_link(listener) + query
        lines += ["", f"For a class: {link}", "", code_of(link), warning(token)]
    return "\n".join(lines)


def proxied(port: int, environ: Mapping[str, str]) -> str | None:
    """The page's address behind the proxy of the JupyterHub or code-server that runs this process; None elsewhere.
    It is a path if the host is the notebook's (jupyter-server-proxy)."""
    if hub := environ.get("JUPYTERHUB_SERVICE_PREFIX"):
        return f"{hub.rstrip('/')}/proxy/{port}/"
    if code := environ.get("VSCODE_PROXY_URI"):
        return f"{code.replace('{{port}}', str(port)).rstrip('/')}/"
    return None


def warning(token: str | None) -> str:
    if token:
        return "Anyone on the network who has this link can use this server."
    return "Anyone on the network can use this server. With --token, only those who have the link can."


def is_open(listener: socket.socket) -> bool:
    """Whether other machines can reach this socket."""
    return not ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def address(listener: socket.socket) -> str:
    """The URL of the server for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    return url({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port)


def class_link(listener: socket.socket) -> str:
    """The URL of the server for a browser on another machine of the network."""
    host, port = listener.getsockname()[:2]
    return url(network_address(listener.family) if host in ANYWHERE else host, port)


def code_of(link: str) -> str:
    """A QR code for a terminal, light on dark: each line has two rows of it."""
    import segno

    drawn = StringIO()
    segno.make(link, micro=False).terminal(out=drawn, compact=True, border=2)
    return drawn.getvalue()

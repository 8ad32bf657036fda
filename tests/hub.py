"""A small Hugging Face hub on loopback: it serves folders as repositories, as huggingface_hub asks for them."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """`folders` by id; `gated` ids give nothing; `sizes` replace a file's own in listings; `slow` is a pause in seconds
    between 64 kB; `asked` are the paths of all requests."""

    folders: dict[str, Path] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    sizes: dict[str, int] = field(default_factory=dict)
    slow: float = 0.0
    asked: list[str] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(hub))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def handler_of(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer()

        def do_HEAD(self) -> None:
            self.answer()

        def answer(self) -> None:
            path = unquote(urlsplit(self.path).path)
            hub.asked.append(path)
            api = path.startswith("/api/models/")
            inside = path.removeprefix("/api/models/" if api else "/")
            id = next((one for one in (*hub.folders, *hub.gated) if f"{inside}/".startswith(f"{one}/")), None)
            if id is None:
                return self.refuse(404, "RepoNotFound")
            if id in hub.gated:
                return self.refuse(403, "GatedRepo")
            files = sorted(one for one in hub.folders[id].rglob("*") if one.is_file())
            if api and "/tree/" in path:
                return self.json([tree_entry(hub, id, one) for one in files])
            if api:
                siblings = [{"rfilename": name_of(hub, id, one), "size": size_of(hub, one)} for one in files]
                return self.json({"id": id, "sha": COMMIT, "siblings": siblings, "private": False, "downloads": 0})
            file = hub.folders[id] / path.split("/resolve/")[1].split("/", 1)[1]
            if not file.is_file():
                return self.refuse(404, "EntryNotFound")
            self.file(file)
            return None

        def file(self, file: Path) -> None:
            body = file.read_bytes()
            headers = {"ETag": f'"{etag(body)}"', "X-Repo-Commit": COMMIT, "Content-Length": str(len(body))}
            self.head(200, headers)
            if self.command == "HEAD":
                return
            for at in range(0, len(body), 65536):
                self.wfile.write(body[at : at + 65536])
                self.wfile.flush()
                if at + 65536 < len(body):
                    time.sleep(hub.slow)

        def json(self, content: object) -> None:
            body = json.dumps(content).encode()
            self.head(200, {"Content-Type": "application/json", "Content-Length": str(len(body))})
            if self.command != "HEAD":
                self.wfile.write(body)

        def refuse(self, status: int, code: str) -> None:
            self.head(status, {"X-Error-Code": code, "X-Error-Message": code, "Content-Length": "0"})

        def head(self, status: int, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:  # the client has gone: a cancelled download
                self.close_connection = True

        def finish(self) -> None:
            with suppress(OSError):
                super().finish()

    return Handler


def etag(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def name_of(hub: Hub, id: str, file: Path) -> str:
    return file.relative_to(hub.folders[id]).as_posix()


def size_of(hub: Hub, file: Path) -> int:
    return hub.sizes.get(file.name, file.stat().st_size)


def tree_entry(hub: Hub, id: str, file: Path) -> dict[str, object]:
    oid = etag(file.read_bytes())
    return {"type": "file", "path": name_of(hub, id, file), "size": size_of(hub, file), "oid": oid}

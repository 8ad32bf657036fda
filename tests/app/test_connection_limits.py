"""Which connection is closed when there are too many, without a network."""

import asyncio
import socket
from dataclasses import dataclass, field
from errno import ENOTCONN

import pytest
import uvicorn
from uvicorn.server import ServerState

from chumoku.app.cli.serving import MOST_FILES, limits_of, raise_file_limit
from chumoku.app.http.connections.limits import SPARE_FILES, ConnectionLimiter, ConnectionLimits
from chumoku.app.http.connections.protocol import LimitedHttpProtocol
from chumoku.app.settings import Settings


def limits(connections: int) -> ConnectionLimits:
    return limits_of(Settings(connections=connections), files=1024)


@dataclass(eq=False)
class Fake:
    """A connection that notes why it was dropped."""

    limiter: ConnectionLimiter
    at_work: bool = False
    lost: bool = False
    leaving: bool = False
    dropped: list[str] = field(default_factory=list)

    def works(self, at_work: bool) -> None:
        self.at_work = at_work
        self.limiter.settle(self)

    def drop(self, why: str) -> None:
        self.dropped.append(why)
        self.limiter.forget(self)

    def check(self, now: float) -> None:
        pass


async def test_the_one_longest_without_a_request_goes() -> None:
    limiter = ConnectionLimiter(limits(connections=3))
    old, used, working, new = (Fake(limiter) for _ in range(4))
    assert all(map(limiter.admit, (used, old, working)))
    used.works(True)
    used.works(False)
    working.works(True)
    assert limiter.admit(new)
    assert [one.dropped for one in (old, used, working, new)] == [["crowded"], [], [], []]


async def test_a_new_one_is_refused_only_when_all_are_at_work() -> None:
    limiter = ConnectionLimiter(limits(connections=2))
    workers = [Fake(limiter), Fake(limiter)]
    for worker in workers:
        assert limiter.admit(worker)
        worker.works(True)
    refused, next_one = Fake(limiter), Fake(limiter)
    assert not limiter.admit(refused)
    workers[0].works(False)
    assert limiter.admit(next_one)
    assert refused.dropped == ["crowded"]  # it was asked to close, and had not yet
    assert [one.dropped for one in workers] == [["crowded"], []]


async def test_a_refused_connection_does_not_stay() -> None:
    limiter = ConnectionLimiter(limits(connections=1))
    worker = Fake(limiter)
    assert limiter.admit(worker)
    worker.works(True)
    for _ in range(100):
        assert not limiter.admit(Fake(limiter))
    assert len(limiter.open) == 2
    assert worker.dropped == []


class Reset(asyncio.Transport):
    """A connection that the client has reset, before the server knows it."""

    def __init__(self, end: socket.socket) -> None:
        super().__init__({"socket": end})
        self.aborted = False

    def write(self, data: object) -> None: ...
    def resume_reading(self) -> None: ...
    def is_closing(self) -> bool:
        return self.aborted

    def get_write_buffer_size(self) -> int:
        return 0

    def write_eof(self) -> None:
        raise OSError(ENOTCONN, "not connected")

    def abort(self) -> None:
        self.aborted = True


async def test_a_connection_that_was_reset_does_not_end_the_sweep() -> None:
    limiter = ConnectionLimiter(limits(connections=3))
    end, other = socket.socketpair()
    with end, other:
        config = uvicorn.Config(lambda: None, log_config=None)  # type: ignore[arg-type]
        connection, transport = (
            LimitedHttpProtocol(limiter, config=config, server_state=ServerState(), app_state={}),
            Reset(end),
        )
        connection.connection_made(transport)
        connection.check(connection.since + limiter.limits.head + 1)  # too slow: it is answered, and half closed
        assert connection.leaving
        assert not transport.aborted
        connection.check(connection.since + limiter.limits.linger + 1)
        assert transport.aborted
        connection.connection_lost(None)
    assert not limiter.open


def test_as_many_connections_as_files_without_a_spare_few() -> None:
    assert limits_of(Settings(), files=1024).connections == 1024 - SPARE_FILES
    assert limits_of(Settings(), files=SPARE_FILES).connections == 1
    assert limits_of(Settings(connections=7), files=1024).connections == 7


@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        (1024, 4096, 4096),
        (4096, 4096, 4096),
        (1024, 2**30, MOST_FILES),
        (1024, -1, MOST_FILES),
        (2**20, 2**20, MOST_FILES),
        (-1, -1, MOST_FILES),
    ],
)
def test_the_soft_file_limit_is_raised_to_the_hard_one(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, expected: int
) -> None:
    resource = pytest.importorskip("resource")
    raised = []
    monkeypatch.setattr(resource, "RLIM_INFINITY", -1)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: raised.append(limit))
    assert raise_file_limit() == expected
    assert raised == ([(expected, hard)] if -1 < soft < expected else [])


def test_a_system_that_refuses_the_hard_limit_gets_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS."""
    resource = pytest.importorskip("resource")

    def refuse(_: int, limit: tuple[int, int]) -> None:
        if limit[0] > 10_240:
            raise ValueError

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert raise_file_limit() == 10_240

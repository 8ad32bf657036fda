"""Which connection goes when there are too many, without a network."""

from dataclasses import dataclass, field

import pytest

from app.cli.files import raise_file_limit
from app.http.door.keeper import Doorkeeper, Limits


@dataclass(eq=False)
class Fake:
    """A connection that notes why it was dropped."""

    keeper: Doorkeeper
    at_work: bool = False
    lost: bool = False
    leaving: bool = False
    dropped: list[str] = field(default_factory=list)

    def works(self, at_work: bool) -> None:
        self.at_work = at_work
        self.keeper.settle(self)

    def drop(self, why: str) -> None:
        self.dropped.append(why)
        self.keeper.forget(self)

    def check(self, now: float) -> None:
        pass


async def test_the_one_longest_without_a_request_goes() -> None:
    keeper = Doorkeeper(Limits(connections=3))
    old, used, working, new = (Fake(keeper) for _ in range(4))
    assert all(map(keeper.admit, (used, old, working)))
    used.works(True)
    used.works(False)
    working.works(True)
    assert keeper.admit(new)
    assert [one.dropped for one in (old, used, working, new)] == [["crowded"], [], [], []]


async def test_a_new_one_is_refused_only_when_all_are_at_work() -> None:
    keeper = Doorkeeper(Limits(connections=2))
    workers = [Fake(keeper), Fake(keeper)]
    for worker in workers:
        assert keeper.admit(worker)
        worker.works(True)
    refused, next_one = Fake(keeper), Fake(keeper)
    assert not keeper.admit(refused)
    workers[0].works(False)
    assert keeper.admit(next_one)
    assert refused.dropped == ["crowded"]  # it was told to leave, and had not yet
    assert [one.dropped for one in workers] == [["crowded"], []]


async def test_a_refused_connection_does_not_stay() -> None:
    keeper = Doorkeeper(Limits(connections=1))
    worker = Fake(keeper)
    assert keeper.admit(worker)
    worker.works(True)
    for _ in range(100):
        assert not keeper.admit(Fake(keeper))
    assert len(keeper.open) == 2
    assert worker.dropped == []


def test_the_soft_file_limit_is_raised_to_the_hard_one() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[1] // 2, before[1]))
        assert raise_file_limit() == before[1]
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

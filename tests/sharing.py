"""A pytest plugin of `make test`: processes that share the work of one session.

The session collects once (25 s of CPU time: torch, transformers and 4,000 tests), then forks. Every process walks
through all tests and runs those of the files that no other has begun; all tests with an expensive fixture count as one
file. The first process waits for the rest, and fails if one of them does. The others write to logs of their own.
"""

import importlib
import os
import sys
from functools import cache
from pathlib import Path

import pytest

EXPENSIVE = ("toys_url",)
"""Session fixtures that are slow to start: all tests that use one run in one process."""


class Sharing:
    """`begun` is a folder with a file for each unit (`unit_of`) that some process has begun. `imported` are modules
    that several processes need: they are imported once, before the fork."""

    def __init__(self, processes: int, begun: Path, log: str, imported: list[str]) -> None:
        self.processes, self.begun, self.log, self.imported = processes, begun, log, imported
        self.children: list[int] = []
        self.is_ours = cache(self.take)

    @pytest.hookimpl(tryfirst=True)  # before gc.freeze
    def pytest_collection_modifyitems(self) -> None:
        for module in self.imported:
            importlib.import_module(module)

    @pytest.hookimpl(trylast=True)  # after gc.freeze: what is shared stays shared
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        capture = session.config.pluginmanager.getplugin("capturemanager")
        assert capture is not None
        capture.stop_global_capturing()  # into temporary files, whose positions a fork would share
        sys.stdout.flush()
        sys.stderr.flush()
        for number in range(2, self.processes + 1):
            child = os.fork()
            if child == 0:
                self.children.clear()
                write_to(self.log.format(number))
                break
            self.children.append(child)
        capture.start_global_capturing()
        capture.suspend_global_capture()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """True (there is nothing to do) where another process has begun this test's unit."""
        if self.is_ours(unit_of(item)):
            return None
        item.session._setupstate.teardown_exact(
            nextitem
        )  # what was kept for this test, whose folder may not come again
        return True

    def take(self, unit: str) -> bool:
        try:
            (self.begun / unit).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        for child in self.children:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if code and not session.exitstatus:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED


def unit_of(item: pytest.Item) -> str:
    """The name of what one process runs: the file of the test, or all tests that use its expensive fixture."""
    expensive = [name for name in EXPENSIVE if name in getattr(item, "fixturenames", ())]
    return expensive[0] if expensive else "-".join(item.path.parts[1:])


def write_to(log: str) -> None:
    with open(log, "wb") as file:
        os.dup2(file.fileno(), sys.stdout.fileno())
        os.dup2(file.fileno(), sys.stderr.fileno())


def pytest_configure(config: pytest.Config) -> None:
    told = os.environ
    if "TESTS_BEGUN" in told:
        imported = told["TESTS_IMPORTED"].split()
        sharing = Sharing(int(told["TESTS_PROCESSES"]), Path(told["TESTS_BEGUN"]), told["TESTS_LOG"], imported)
        config.pluginmanager.register(sharing)

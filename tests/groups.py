"""A pytest plugin of `make test`: what pytest-xdist runs in one process, a file or all with an expensive fixture.

Not by `xdist_group`: pytest-xdist 3.8 ignores it under pytest 9.2 (pytest-dev/pytest-xdist#1386).
"""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

EXPENSIVE = ("toys_url",)
"""Session fixtures that are slow to start: all files that use one run in one process."""


class Groups(LoadFileScheduling):
    def _split_scope(self, nodeid: str) -> str:
        return group_of(self.config.rootpath / nodeid.partition("::")[0])


@cache
def group_of(file: Path) -> str:
    """An expensive fixture that the tests of the file use, or the file."""
    code = file.read_text("utf-8")
    return next((name for name in EXPENSIVE if re.search(rf"\b{name}\b", code)), str(file))


def pytest_xdist_node_collection_finished(ids: list[str]) -> None:
    """Raises `UsageError` for two tests of one id: xdist would run one of them."""
    twice = sorted(nodeid for nodeid, count in Counter(ids).items() if count > 1)
    if twice:
        raise pytest.UsageError(f"xdist would run only one of the tests with the id {twice[0]}")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Groups:
    return Groups(config, log)

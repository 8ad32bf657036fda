"""Small data, and torch left as it was found: training sets its seed and how it treats denormals."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.training.helpers import write_data


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def torch_as_it_was() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the same sums in every process, and no waiting for a second core
    with torch.random.fork_rng(devices=[]):
        yield
    torch.set_flush_denormal(False)
    torch.set_num_threads(threads)

"""The zoo's models, loaded once; a random model; and the same random numbers for every test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from model import checkpoint
from model.checkpoint import ZOO, Checkpoint, find_models
from tests.model.helpers import tiny_checkpoint


@pytest.fixture(scope="session", params=find_models(ZOO).values(), ids=lambda folder: folder.name)
def zoo(request: pytest.FixtureRequest) -> Checkpoint:
    """Every trained model that ships, one after the other."""
    folder: Path = request.param
    return checkpoint.load(folder)


@pytest.fixture
def tiny() -> Checkpoint:
    """A random decoder over bytes."""
    return tiny_checkpoint()


@pytest.fixture(autouse=True)
def same_numbers_on_one_thread() -> Iterator[None]:
    """No test depends on the tests before it, and small products do not wait for a second core."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
    torch.set_num_threads(threads)

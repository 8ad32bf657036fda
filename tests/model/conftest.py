"""The zoo's models, loaded once; a random model; and the same random numbers for every test."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import torch

from chumoku.model import checkpoint
from chumoku.model.checkpoint import ZOO, Checkpoint
from chumoku.model.config import ModelConfig
from chumoku.model.traceable import every_folder
from tests.model.helpers import FAMILIES, tiny_checkpoint

load = cache(checkpoint.load)


def config_of(folder: Path) -> ModelConfig:
    return checkpoint.read_config(folder)


def family_of(folder: Path) -> str:
    return config_of(folder).family


TRAINED = [folder for folder, _ in every_folder(ZOO) if config_of(folder).picture is None]


@pytest.fixture(scope="session", params=TRAINED, ids=lambda folder: folder.name)
def zoo(request: pytest.FixtureRequest) -> Checkpoint:
    """Each model of the zoo that reads text, in turn."""
    return load(request.param)


@pytest.fixture(scope="session", params=[f for f in TRAINED if family_of(f) == "decoder-only"],
                ids=lambda folder: folder.name)  # fmt: skip
def gpt(request: pytest.FixtureRequest) -> Checkpoint:
    """Each decoder of the zoo in turn."""
    return load(request.param)


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Checkpoint:
    """A random model of every family, over bytes."""
    return tiny_checkpoint(request.param)


@pytest.fixture
def tiny() -> Checkpoint:
    """A random decoder over bytes."""
    return tiny_checkpoint()


@pytest.fixture(autouse=True)
def same_numbers_on_one_thread() -> Iterator[None]:
    """A fixed seed for each test, and one thread: small products are slower with two."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)  # torch.manual_seed notes its caller for each kind of device: 3 ms
        yield
    torch.set_num_threads(threads)

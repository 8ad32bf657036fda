"""Small data; torch's global settings are restored after each test."""

from pathlib import Path

import pytest
import torch

from tests.training.helpers import write_data


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def _torch_as_it_was(torch_as_it_was: None) -> None:
    """Any test here may train."""


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """For what a module trains before its first test, so that equal sums are equal to the last bit."""
    torch.set_num_threads(1)

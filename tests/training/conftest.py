"""Small data; torch's global settings are restored after each test."""

from pathlib import Path

import pytest

from tests.training.helpers import write_data


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def _torch_as_it_was(torch_as_it_was: None) -> None:
    """Any test here may train."""

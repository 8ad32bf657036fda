"""One small server for all attacks: random models, short deadlines, few files."""

from collections.abc import Iterator

import pytest

from tests.app.families import save
from tests.faults.victim import Victim, serving
from tests.model.helpers import tiny_checkpoint

FILES = 256
HEAD, BODY, IDLE, STALLED = 1.0, 1.0, 1.0, 1.5


@pytest.fixture(scope="session")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    folder = tmp_path_factory.mktemp("models")
    save(folder, tiny_checkpoint(max_seq_len=1024))
    seconds = {"head_seconds": HEAD, "body_seconds": BODY, "idle_seconds": IDLE, "stalled_seconds": STALLED}
    with serving(files=FILES, models_dir=folder, default_model="tiny", **seconds) as victim:
        yield victim

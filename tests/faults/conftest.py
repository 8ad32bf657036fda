"""One small server for all attacks: a random model among damaged ones, short deadlines, few files."""

from collections.abc import Iterator

import httpx
import pytest

from tests.app.families import save
from tests.faults.bad_models import write_damaged
from tests.faults.victim import Victim, serving
from tests.model.helpers import tiny_checkpoint

FILES = 256
ANSWER_LIMIT, ANSWER_ROOM = 4 * 2**20, 16 * 2**20
HEAD, BODY, IDLE, STALLED = 1.0, 1.0, 1.0, 1.5


@pytest.fixture(scope="session", autouse=True)
def without_certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each `httpx.get` would read all the certificates of this machine, for 40 ms. Nothing here speaks TLS."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("no-certificates")))
        yield


@pytest.fixture(scope="session")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    folder = tmp_path_factory.mktemp("models")
    write_damaged(folder, save(folder, tiny_checkpoint(max_seq_len=1024)))
    seconds = {"head_seconds": HEAD, "body_seconds": BODY, "idle_seconds": IDLE, "stalled_seconds": STALLED}
    answers = {"answer_limit": ANSWER_LIMIT, "answer_room": ANSWER_ROOM}
    with serving(files=FILES, models_dir=folder, default_model="tiny", **seconds, **answers) as victim:
        assert (
            httpx.post(f"{victim.url}/api/trace", json={"text": "a"}, timeout=60).status_code == 200
        )  # loads the model
        yield victim

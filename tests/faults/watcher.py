"""`chumoku serve --workers 2` with one worker whose app is a stub, so that nobody waits for torch. Prints its id."""

import multiprocessing
import signal
import sys
from types import ModuleType

from chumoku.app.cli.workers import WorkerConfig
from chumoku.app.settings import Settings


def work(ready: "multiprocessing.connection.Connection") -> None:
    sys.modules["chumoku.app.main"] = stub = ModuleType("chumoku.app.main")
    stub.create_app = lambda settings, models: ModuleType("app")
    stub.discovered = lambda settings: None
    WorkerConfig(Settings(workers=2), plain=False).load()
    ready.send("loaded")
    signal.pause()


if __name__ == "__main__":
    ours, theirs = multiprocessing.Pipe()
    worker = multiprocessing.get_context("spawn").Process(target=work, args=(theirs,))
    worker.start()
    assert ours.recv() == "loaded"
    print(worker.pid, flush=True)
    signal.pause()

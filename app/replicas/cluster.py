"""`chumoku serve --ray`: replicas on this machine with Ray's proxy in front, until Ctrl+C or SIGTERM."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from logging.config import dictConfig
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from prometheus_client.multiprocess import mark_process_dead

from chumoku.app.cli.links import announcement
from chumoku.app.cli.serving import SECONDS_TO_FINISH, listen, show
from chumoku.app.http import logs
from chumoku.app.services.discovery import discover
from chumoku.app.settings import PREFIX, Settings

OVERRIDDEN = ("host", "token", "device", "models", "ray", "replicas")
"""Settings that flags may have changed. Proxy and replicas read them from the environment."""
OF_RAY = {
    "RAY_AUTH_MODE": "token",  # Ray's own ports are open to the network: they refuse clients without the token
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_SERVE_LOG_TO_STDERR": "0",  # Ray logs to its files; stderr is for our log
    "RAY_DEDUP_LOGS": "0",
    "RAY_COLOR_PREFIX": "0",
    "RAY_worker_niceness": "0",  # 15 otherwise: on a busy machine, the start would take minutes
    "RAY_SERVE_QUEUE_LENGTH_RESPONSE_DEADLINE_S": "1",  # instead of 0.1: stay with a busy replica
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # replicas share the GPU
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": "chumoku.app.replicas.proxy:middlewares",
}
SECONDS_TO_ANSWER = 20
ALIVE = "alive-"
"""A replica's process touches the file of this name with its number; it stands beside the metrics."""
log = logging.getLogger("chumoku")


def serve_replicas(settings: Settings) -> None:
    """Serve until Ctrl+C or SIGTERM; SIGHUP replaces the replicas one after another, without a break.

    Raises `ValueError` if Ray is not installed, the port is taken, or no replica starts.
    """
    with listen(settings.host, settings.port) as listener:
        address = listener.getsockname()
        least, most = settings.replica_range
        count = f"{least} replicas" if least == most else f"{least} to {most} replicas"
        ready = announcement(listener, settings.token, f"{count} on Ray Serve")
    dictConfig(logs.config(settings.log_level, settings.log_text, plain=sys.stderr.isatty()))
    discover(settings)  # report invalid settings now, not in each replica
    with tempfile.TemporaryDirectory(prefix="chumoku-ray-", ignore_cleanup_errors=True) as folder:
        surroundings(settings, Path(folder))
        with cluster(settings, folder, address[0], address[1]) as deploy:
            deploy()
            asked: SimpleQueue[int] = SimpleQueue()
            for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(one, lambda number, _: asked.put(number))
            show(ready)
            watch = ReplicaWatch(Path(folder, "metrics"))
            while next_signal(asked, watch) == signal.SIGHUP:
                replace(deploy)


class ReplicaWatch:
    """Kills replicas whose event loop has not run for `SECONDS_TO_ANSWER`: their requests then end with 503, and Ray
    starts others. Counted on our own clock, so that a machine may sleep."""

    def __init__(self, metrics: Path) -> None:
        self.metrics = metrics
        self.seen: dict[Path, tuple[float, float]] = {}  # when it was touched, and when we saw that first

    def look(self, now: float) -> None:
        before, self.seen = self.seen, {}
        for file in self.metrics.glob(f"{ALIVE}*"):
            at, known = touched(file), before.get(file)
            self.seen[file] = known if known is not None and known[0] == at else (at, now)
        for file, (_, since) in self.seen.items():
            if now - since >= SECONDS_TO_ANSWER:
                file.unlink(missing_ok=True)
                self.end(int(file.name.removeprefix(ALIVE)))

    def end(self, pid: int) -> None:
        """Kills a process that we started, unless it has ended: its number may be another's by now."""
        psutil: Any = import_module("psutil")  # Ray brings it
        for one in psutil.Process().children(recursive=True):
            if one.pid == pid:
                log.warning("a replica did not answer for %d seconds; another one starts", SECONDS_TO_ANSWER)
                with suppress(psutil.Error):
                    one.kill()


def touched(file: Path) -> float:
    """When a replica last showed that it is alive; 0 if its file has just been removed."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def next_signal(asked: SimpleQueue[int], watch: ReplicaWatch) -> int:
    """Waits for the stop event, and meanwhile ends replicas that hang and removes the gauges of those that have
    ended."""
    metrics = watch.metrics
    while True:
        try:
            return asked.get(timeout=1)
        except Empty:
            watch.look(monotonic())
            for file in metrics.glob("gauge_live*.db"):
                pid = int(file.stem.rpartition("_")[2])
                try:
                    os.kill(pid, 0)
                except ProcessLookupError:
                    mark_process_dead(pid, str(metrics))  # type: ignore[no-untyped-call]


def replace(deploy: Callable[[], None]) -> None:
    """Replace the replicas. If the new ones do not start, the old ones keep running."""
    log.warning("the replicas are being replaced")
    try:
        deploy()
    except ValueError as error:
        log.error("%s. The old ones keep running", error)
    else:
        log.warning("the replicas have been replaced")


def surroundings(settings: Settings, folder: Path) -> None:
    """Set what Ray, its proxy and the replicas read from the environment."""
    os.environ |= OF_RAY
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    for name in OVERRIDDEN:
        value = getattr(settings, name)
        if value is not None:
            os.environ[f"{PREFIX}{name.upper()}"] = spelled(value)
    os.environ[f"{PREFIX}ROOMS_DIR"] = str((settings.rooms_dir or folder / "rooms").resolve())  # of all replicas
    (folder / "metrics").mkdir()
    os.environ["METRICS_OF_REPLICAS"] = str(folder / "metrics")


def spelled(value: object) -> str:
    """A setting as its variable has it; folders in full, as replicas have another working directory."""
    return os.pathsep.join(str(Path(one).resolve()) for one in value) if isinstance(value, tuple) else str(value)


@contextmanager
def cluster(settings: Settings, folder: str, host: str, port: int) -> Iterator[Callable[[], None]]:
    """Ray on this machine, with its proxy on the port. Yields a function that starts the replicas, or replaces them."""
    import ray
    from ray import serve

    from chumoku.app.replicas.application import NAME, application

    most = settings.replica_range[1]
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    ray.init(
        num_cpus=2 * most,  # each replica counts as one; as many again while they are replaced
        include_dashboard=False,
        object_store_memory=max(settings.answer_room, 80 * 2**20),
        logging_level=logging.ERROR,
        _temp_dir=folder,
    )
    try:
        serve.start(http_options={"host": host, "port": port}, proxy_location="HeadOnly")

        def deploy() -> None:
            try:
                serve.run(application(settings, {"num_cpus": 1}, f"{folder}/metrics"), name=NAME, route_prefix="/")
            except RuntimeError:
                said = serve.status().applications[NAME].deployments[NAME].message.strip()
                raise ValueError(f"the replicas did not start: {said.splitlines()[-1].rstrip('.')}") from None

        yield deploy
        with suppress(Exception):  # a replica may have ended just now
            serve.get_app_handle(NAME).broadcast("stop").results(timeout_s=2 * SECONDS_TO_FINISH)
    finally:
        psutil: Any = import_module("psutil")  # Ray brings it
        started = psutil.Process().children(recursive=True)
        ray.shutdown()
        for one in psutil.wait_procs(started, timeout=SECONDS_TO_FINISH)[1]:
            one.kill()

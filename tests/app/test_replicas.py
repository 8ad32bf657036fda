"""Replicas on Ray Serve, without a cluster: settings, the config file, and what wraps Ray's proxy."""

import os
import signal
import subprocess
import sys
from importlib import import_module, util
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from typer.testing import CliRunner

from chumoku.app.cli import serving
from chumoku.app.cli.program import cli
from chumoku.app.replicas.cluster import SECONDS_TO_ANSWER, ReplicaWatch, surroundings
from chumoku.app.replicas.proxy import Front
from chumoku.app.settings import Settings, from_environment

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--ray", "--workers", "4"], "chumoku serve --ray --replicas 4"),
        (["--replicas", "2"], "chumoku serve --ray --replicas 2"),
        (["--ray", "--replicas", "0"], "--replicas"),
        (["--ray", "--replicas", "4-2"], "2-4"),
    ],
)
def test_what_excludes_each_other_is_refused_by_name(options: list[str], hint: str) -> None:
    answer = CliRunner().invoke(cli, ["serve", *options])
    assert answer.exit_code == 2
    assert hint in answer.stderr


def test_a_missing_ray_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"\[scale\]"):
        serving.serve(from_environment(ray=True))


def test_replicas_are_a_number_or_a_range() -> None:
    assert Settings(replicas="3").replica_range == (3, 3)
    assert Settings(replicas="2-16").replica_range == (2, 16)


def test_a_replica_that_stands_still_is_ended_and_one_that_lives_is_not(tmp_path: Path) -> None:
    """Of two processes, the file of one is touched. Killed as a stopped process can be: by SIGKILL alone."""
    waits = [sys.executable, "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(waits) as hangs, subprocess.Popen(waits) as lives:
        try:
            files = [tmp_path / f"alive-{one.pid}" for one in (hangs, lives)]
            watch = ReplicaWatch(tmp_path)
            os.kill(hangs.pid, signal.SIGSTOP)
            for now in range(SECONDS_TO_ANSWER + 1):
                for file in files if now == 0 else files[1:]:
                    file.touch()
                    os.utime(file, (now, now))
                watch.look(float(now))
                assert lives.poll() is None
                assert now == SECONDS_TO_ANSWER or hangs.poll() is None
            assert hangs.wait(timeout=60) == -signal.SIGKILL
            assert not files[0].exists()
        finally:
            hangs.kill()
            lives.kill()


@pytest.mark.parametrize("path", ["/-/routes", "/-/healthz"])
async def test_what_ray_would_answer_itself_is_not_there(path: str) -> None:
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(Front(PlainTextResponse("a secret"))), base_url="http://front"
    ) as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert "content-security-policy" in answer.headers


# --- around Ray's proxy ---------------------------------------------------------------------------------------


async def answer_of(proxy: Any, **headers: str) -> httpx.Response:
    transport = httpx.ASGITransport(Front(proxy))
    async with httpx.AsyncClient(transport=transport, base_url="http://front") as client:
        return await client.get("/", headers=headers)


async def test_a_request_whose_replica_ended_can_be_sent_again() -> None:
    async def ended(scope: Scope, receive: Receive, send: Send) -> None:
        """As Ray's proxy does: it returns without an answer."""

    answer = await answer_of(ended)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["error"]["code"] == "stopping"


async def test_a_client_cannot_tell_ray_to_work_on_after_it_left() -> None:
    async def shows(scope: Scope, receive: Receive, send: Send) -> None:
        names = b" ".join(name for name, _ in scope["headers"])
        await PlainTextResponse(names)(scope, receive, send)

    sent = {"X-Request-Disconnect-Disabled": "?1", "X-Request-Timeout-Seconds": "9", "X-Session-Id": "1"}
    said = (await answer_of(shows, **sent)).text.split()
    assert "x-session-id" in said
    assert not {"x-request-disconnect-disabled", "x-request-timeout-seconds"} & {*said}


async def test_an_answer_has_the_id_that_the_log_has() -> None:
    async def both(scope: Scope, receive: Receive, send: Send) -> None:
        async def with_rays(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"].append((b"X-Request-ID", b"of-ray"))
            await send(message)

        await PlainTextResponse("", headers={"X-Request-Id": "ours"})(scope, receive, with_rays)

    assert (await answer_of(both)).headers.get_list("x-request-id") == ["ours"]


# --- on Ray, if it is installed -------------------------------------------------------------------------------


@pytest.mark.skipif(util.find_spec("ray") is None, reason="the extra `scale` is not installed")
@pytest.mark.filterwarnings("ignore")
def test_the_config_file_builds_the_application() -> None:
    import yaml
    from ray.serve.schema import ServeDeploySchema

    config = ServeDeploySchema.model_validate(yaml.safe_load((ROOT / "docs" / "serve.yaml").read_text("utf-8")))
    (application,) = config.applications
    assert application.import_path
    module, _, name = application.import_path.partition(":")
    deployment = getattr(import_module(module), name)(application.args)._bound_deployment
    assert {deployment.name} == {one.name for one in application.deployments}
    scaling = deployment._deployment_config.autoscaling_config
    assert (scaling.min_replicas, scaling.max_replicas) == (2, 16)
    settings = Settings()
    assert deployment.max_ongoing_requests >= settings.streams + settings.queue + settings.model_threads
    assert "ConsistentHash" in deployment._deployment_config.request_router_config.request_router_class
    from chumoku.app.replicas import proxy

    text = (ROOT / "docs" / "serve.yaml").read_text("utf-8")
    assert f"{proxy.__name__}:{proxy.middlewares.__name__}" in text


def test_rays_proxy_gets_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    from chumoku.app.http.connections.protocol import LimitedHttpProtocol
    from chumoku.app.replicas import proxy

    monkeypatch.setitem(uvicorn.config.HTTP_PROTOCOLS, "auto", uvicorn.config.HTTP_PROTOCOLS["auto"])
    assert [one.cls for one in proxy.middlewares()] == [Front]
    config = uvicorn.Config(print, log_config=None)
    config.load()
    assert config.http_protocol_class is proxy.http_protocol
    assert LimitedHttpProtocol.__name__ in str(proxy.http_protocol.__annotations__["return"])


def test_replicas_find_the_models_that_were_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.chdir(tmp_path)
    surroundings(Settings(models=(Path("one"), Path("two"))), tmp_path)
    assert os.environ["CHUMOKU_MODELS"] == f"{tmp_path / 'one'}:{tmp_path / 'two'}"


@pytest.mark.skipif(util.find_spec("ray") is None, reason="Ray is not installed")
def test_streams_of_rooms_start_no_replica() -> None:
    """300 pupils who watch are no work: Ray's own policy would want 19 replicas."""
    application = import_module("chumoku.app.replicas.application")
    config = import_module("ray.serve.config")

    def wanted(requests: float, in_rooms: float) -> float:
        context = config.AutoscalingContext(
            deployment_id=None, deployment_name="", app_name="", current_num_replicas=1, target_num_replicas=1,
            running_replicas=[], total_num_requests=requests, total_queued_requests=0,
            aggregated_metrics={application.ROOM_STREAMS: {"a": in_rooms / 2, "b": in_rooms / 2}}, raw_metrics={},
            capacity_adjusted_min_replicas=1, capacity_adjusted_max_replicas=32, policy_state={},
            last_scale_up_time=None, last_scale_down_time=None, current_time=0.0,
            config=config.AutoscalingConfig(target_ongoing_requests=application.BUSY),
        )  # fmt: skip
        desired: float = application.without_rooms(context)[0]
        return desired

    assert wanted(304, 0) == 19
    assert wanted(304, 300) < 1
    assert wanted(332, 300) == 2

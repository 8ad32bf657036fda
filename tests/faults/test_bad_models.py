"""One bad model folder never takes others down: it traces, or is unavailable with one sentence."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import pytest
import torch
from typer.testing import CliRunner

from chumoku.app.cli.program import cli
from chumoku.app.errors import AppError
from chumoku.app.services import discovery
from chumoku.app.services.library import Entry, Library
from chumoku.app.services.problems import Problem
from chumoku.app.settings import Settings
from chumoku.model.run import Run
from chumoku.model.traceable import source_of
from tests.app.families import save
from tests.faults.bad_models import AT_LOAD, AT_START, HARMLESS, Damage, write
from tests.faults.victim import Victim
from tests.model.helpers import tiny_checkpoint

NOBODY = 65534


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole model folder, with a card."""
    folder = save(tmp_path_factory.mktemp("whole"), replace(tiny_checkpoint("decoder-only"), name="whole"))
    (folder / "card.json").write_text('{"languages": ["en"]}')
    return folder


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Callable[[str, Damage], Path]:
    """A copy of the model under a name, damaged."""

    def copy(name: str, damage: Damage) -> Path:
        folder = tmp_path / "models" / name
        shutil.copytree(whole, folder)
        damage(folder)
        return folder

    return copy


def looked(folder: Path) -> Entry | Problem:
    source = source_of(folder)
    assert source is not None
    return discovery.look(folder, source, folder.name)


def check_sentence(reason: str, folder: Path) -> None:
    assert "\n" not in reason
    assert 10 < len(reason) < 310
    assert str(folder) not in reason, "a path says where people keep their files"
    assert "Traceback" not in reason
    assert reason.isprintable(), "a terminal obeys control characters"


@pytest.mark.parametrize("what", AT_START)
def test_damage_that_the_files_show_is_found_without_loading(what: str, copy: Callable[[str, Damage], Path]) -> None:
    folder = copy("bad", AT_START[what])
    problem = looked(folder)
    assert isinstance(problem, Problem)
    assert problem.name == "bad"
    check_sentence(problem.reason, folder)


@pytest.mark.parametrize("what", AT_LOAD)
def test_damage_that_the_numbers_show_is_found_when_they_are_loaded(
    what: str, copy: Callable[[str, Damage], Path]
) -> None:
    folder = copy("bad", AT_LOAD[what])
    entry = looked(folder)
    assert isinstance(entry, Entry)
    models = Library([entry], "bad", torch.device("cpu"), 0)
    with pytest.raises(AppError) as refusal, models.use(entry):
        raise AssertionError
    assert refusal.value.code == "broken_model"
    assert [problem.name for problem in models.problems] == ["bad"]
    check_sentence(models.problems[0].reason, folder)


@pytest.mark.parametrize("what", HARMLESS)
def test_what_a_model_may_have_traces(what: str, copy: Callable[[str, Damage], Path]) -> None:
    entry = looked(copy("good", HARMLESS[what]))
    assert isinstance(entry, Entry)
    with Library([entry], "good", torch.device("cpu"), 0).use(entry) as traceable:
        assert traceable.trace(Run([1, 2]), ["logits"]).tensors["logits"].isfinite().all()


@pytest.fixture
def lone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The folder of `copy` is the only one."""
    monkeypatch.setattr(discovery, "ZOO", tmp_path / "no zoo")
    return Settings(device="cpu", models_dir=(tmp_path / "models",))


def test_a_server_beside_every_damage_starts_lists_and_traces(victim: Victim) -> None:
    """Also while it is asked for each of those that only loading shows, it stays quick and small."""
    with httpx.Client(base_url=victim.url) as client:

        def listed(kind: str) -> list[str]:
            return [one["name"] for one in client.get("/api/models").json()[kind]]

        assert len(listed("problems")) >= len(AT_START) + 2
        assert {"tiny", "stories-gpt"} <= set(listed("models"))
        with victim.attacked(megabytes=60):
            for name in [*listed("models"), *listed("problems")]:
                if name.startswith("bad-"):
                    error = client.post("/api/trace", json={"model": name, "text": "Hi"}).json()["error"]
                    assert error["code"] == "broken_model"
                    assert error["got"] in error["message"]
        assert len(listed("problems")) == len(AT_START) + len(AT_LOAD) + 2
        assert not [name for name in listed("models") if name.startswith("bad-")]
        assert client.post("/api/trace", json={"model": "tiny", "text": "Hi"}).status_code == 200


def test_a_good_model_answers_for_a_bad_one_of_the_same_name(
    copy: Callable[[str, Damage], Path], whole: Path, lone: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """For the server and on the command line."""
    bad = copy("whole", AT_START["config.json cut"])
    settings = lone.model_copy(update={"models_dir": (*lone.models_dir, whole.parent)})
    found = discovery.discover(settings)
    assert (found.names, [one.name for one in found.problems]) == (["whole"], ["whole"])
    assert discovery.locate("whole", settings) == discovery.locate(None, settings) == whole
    assert caplog.messages == [f"model {bad} is unavailable: {found.problems[0].reason}"]


def test_the_command_line_says_why_a_model_cannot_be_used(copy: Callable[[str, Damage], Path], lone: Settings) -> None:
    copy("bad", AT_START["weights.safetensors missing"])
    with pytest.raises(ValueError, match=r"'bad' cannot be used: weights.safetensors: No such file"):
        discovery.locate("bad", lone)


def test_the_command_line_writes_no_control_characters(
    copy: Callable[[str, Damage], Path], lone: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of a file that an error quotes, nor as markup of a name."""
    folder = copy("bad", AT_START["config what a terminal obeys"])
    copy("[b]good", lambda folder: None)
    monkeypatch.setenv("CHUMOKU_MODELS_DIR", str(lone.models_dir[0]))
    for asked in (["models"], ["trace", "Hi", "--model", str(folder)], ["generate", "Hi", "--model", str(folder)]):
        printed = CliRunner().invoke(cli, asked).output
        assert "owned" in printed
        assert printed.replace("\n", "").isprintable()
    assert "[b]good" in CliRunner().invoke(cli, ["models"], catch_exceptions=False).stdout


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("n" * 201, "its name has 201 characters; at most 200 can be asked for"),
        ("red\x1b[31m", "its name has characters that cannot be shown"),
        ("turned\u202e", "its name has characters that cannot be shown"),
    ],
)
def test_a_name_that_cannot_be_asked_for_is_set_aside(
    name: str, said: str, copy: Callable[[str, Damage], Path]
) -> None:
    problem = looked(copy(name, lambda folder: None))
    assert isinstance(problem, Problem)
    assert problem.reason.startswith(said)
    assert problem.name.isprintable()


def test_every_listed_name_can_be_asked_for(copy: Callable[[str, Damage], Path]) -> None:
    assert isinstance(looked(copy("n" * 200, lambda folder: None)), Entry)
    assert isinstance(looked(copy("全角　文字 👩‍🔬", lambda folder: None)), Entry)
    snapshot = json.dumps({"snapshots": [{"step": 10**6}]})
    problem = looked(copy("m" * 195, partial(write, name="card.json", content=snapshot)))
    assert isinstance(problem, Problem)
    assert "its name has 203 characters" in problem.reason


def test_an_unavailable_default_is_replaced(copy: Callable[[str, Damage], Path], lone: Settings) -> None:
    copy("bad", AT_START["config.json cut"])
    copy("good", lambda folder: None)
    assert discovery.discover(lone.model_copy(update={"default_model": "bad"})).default == "good"


def test_without_any_model_the_error_says_what_is_wrong_with_each(
    copy: Callable[[str, Damage], Path], lone: Settings
) -> None:
    copy("bad", AT_START["weights.safetensors missing"])
    with pytest.raises(ValueError, match=r"bad is unavailable: weights.safetensors: No such file"):
        discovery.discover(lone)


@contextmanager
def without_rights() -> Iterator[None]:
    """Tests may run as root, whom no permission stops."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("locked", [".", "config.json", "weights.safetensors", "tokenizer.tiktoken", "card.json"])
def test_without_permission_a_model_is_unavailable(
    locked: str, copy: Callable[[str, Damage], Path], tmp_path: Path
) -> None:
    folder = copy("bad", lambda folder: None)
    inherited = {path: path.stat().st_mode for path in (tmp_path, *list(tmp_path.parents)[:-2])}
    try:
        for path in inherited:
            path.chmod(0o755)
        (folder / locked).chmod(0)
        with without_rights():
            problem = looked(folder)
    finally:
        for path, mode in inherited.items():
            path.chmod(mode)
        (folder / locked).chmod(0o700)
    assert isinstance(problem, Problem)
    assert problem.reason.endswith("Permission denied.")


def test_chumoku_models_lists_what_is_unavailable(
    copy: Callable[[str, Damage], Path], lone: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy("bad", AT_START["config without n_layer"])
    copy("good", lambda folder: None)
    monkeypatch.setenv("CHUMOKU_MODELS_DIR", str(lone.models_dir[0]))
    printed = CliRunner().invoke(cli, ["models"], catch_exceptions=False).stdout
    assert "good" in printed
    assert "unavailable: bad. config.json: missing model settings ['n_layer']." in " ".join(printed.split())

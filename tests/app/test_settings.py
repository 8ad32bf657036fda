import re
import tomllib
from pathlib import Path

import pytest

from chumoku.app import VERSION
from chumoku.app.errors import AppError
from chumoku.app.services import discovery
from chumoku.app.services.models import all_models
from chumoku.app.settings import Settings, from_environment
from chumoku.model import checkpoint
from chumoku.model.checkpoint import ZOO

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_lists_every_setting_with_its_default() -> None:
    rows = re.findall(r"^\| `CHUMOKU_(\w+)` \| (.*?) \| (.*?) \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    written = {name.lower(): (default, text) for name, default, text in rows}
    assert list(written) == list(Settings.model_fields)
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, ()) else f"`{field.default}`"
        assert written[name] == (default, field.description), name


def test_the_version_is_the_projects() -> None:
    assert tomllib.loads((PAGE.parents[1] / "pyproject.toml").read_text())["project"]["version"] == VERSION


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folders = (tmp_path / "a", tmp_path / "b c")
    for folder in folders:
        folder.mkdir()
    monkeypatch.setenv("CHUMOKU_MODELS_DIR", ":".join(map(str, folders)))
    monkeypatch.setenv("CHUMOKU_LOG_LEVEL", "INFO")
    monkeypatch.setenv("CHUMOKU_PORT", "9000")
    settings = from_environment(port=None, host="::1")
    assert settings.models_dir == folders
    assert (settings.log_level, settings.port, settings.host) == ("info", 9000, "::1")
    assert from_environment(port=1234).port == 1234


def test_a_bad_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUMOKU_QUEUE", "-1")
    with pytest.raises(ValueError, match=r"CHUMOKU_QUEUE='-1'.*greater than or equal to 0"):
        from_environment()
    monkeypatch.delenv("CHUMOKU_QUEUE")
    with pytest.raises(ValueError, match="--device='tpu'"):
        from_environment(device="tpu")


def test_a_folder_that_is_not_there_is_named_with_the_nearest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "model").touch()  # a file is not a folder
    monkeypatch.setenv("CHUMOKU_MODELS_DIR", str(tmp_path / "model"))
    with pytest.raises(ValueError, match=rf"no folder {tmp_path}/model\. Did you mean {tmp_path}/models\?"):
        from_environment()


def test_a_variable_that_is_not_a_setting_is_named_with_the_nearest(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    given = ("CHUMOKU_QUEU", "CHUMOKU_XYZ", "OTHER", "CHUMOKU_QUEUE", "Chumoku_Ports", "chumoku_streams")
    monkeypatch.setattr("os.environ", dict.fromkeys(given, "3"))
    settings = from_environment()
    assert (settings.queue, settings.streams) == (3, 3)
    assert [record.getMessage() for record in caplog.records] == [
        "CHUMOKU_QUEU is not a setting. Did you mean CHUMOKU_QUEUE?",
        "CHUMOKU_XYZ is not a setting.",
        "Chumoku_Ports is not a setting. Did you mean CHUMOKU_PORT?",
    ]


@pytest.mark.parametrize(
    "name", ["HOST", "TOKEN", "MODELS_DIR", "DEFAULT_MODEL", "DEVICE", "PORT", "HOSTS", "REPLICAS"]
)
def test_a_value_with_a_control_character_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A .env file from Windows gives each a CR."""
    monkeypatch.setenv(f"CHUMOKU_{name}", "8000\r")
    with pytest.raises(ValueError, match=rf"CHUMOKU_{name}.*control character, such as the CR of a file"):
        from_environment()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://class.example.org", "class.example.org"),
        ("https://class.example.org:8000/", "class.example.org"),
        ("class.example.org:8000", "class.example.org"),
        ("class.example.org/chumoku", "class.example.org"),
        ("a.example.org, http://b.example.org", "b.example.org"),
    ],
)
def test_a_host_that_would_match_no_request_is_refused(monkeypatch: pytest.MonkeyPatch, given: str, meant: str) -> None:
    monkeypatch.setenv("CHUMOKU_HOSTS", given)
    with pytest.raises(ValueError, match=rf"CHUMOKU_HOSTS=.*without http://, port and path, such as {meant}$"):
        from_environment()
    monkeypatch.setenv("CHUMOKU_HOSTS", f"{meant}, *, ::1, my_machine")
    assert from_environment().hosts == (meant, "*", "::1", "my_machine")


@pytest.mark.parametrize(
    ("name", "value"),
    [("TORCH_THREADS", "100000"), ("MODEL_THREADS", "100000"), ("HEAD_SECONDS", "inf"), ("IDLE_SECONDS", "nan")],
)
def test_a_number_that_nothing_can_run_with_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"CHUMOKU_{name}", value)
    with pytest.raises(ValueError, match=f"CHUMOKU_{name}='{value}'"):
        from_environment()


def test_jobs_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert Settings(model_threads=2).threads_per_job == 4
    assert Settings(model_threads=32).threads_per_job == 1
    assert Settings(model_threads=2, workers=2).threads_per_job == 2
    assert Settings(torch_threads=3).threads_per_job == 3


def test_your_own_models_come_before_the_zoo(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "mine").symlink_to(ZOO / "stories-gpt")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    loaded = discovery.discover(Settings(device="cpu", models_dir=(tmp_path,), default_model="mine"))
    assert loaded.default == "mine"
    assert {"mine", "stories-gpt"} <= set(loaded.names)
    assert "broken" not in loaded.names
    assert "broken is unavailable: config.json: missing" in caplog.text


@pytest.mark.parametrize("text", ["[]", '"a card"', "3", "null", "{"])
def test_a_folder_whose_card_is_not_an_object_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    (tmp_path / "odd").mkdir()
    for name in ("config.json", "weights.safetensors", "tokenizer.tiktoken"):
        (tmp_path / "odd" / name).symlink_to(ZOO / "stories-gpt" / name)
    (tmp_path / "odd" / "card.json").write_text(text)
    loaded = discovery.discover(Settings(device="cpu", models_dir=(tmp_path,)))
    assert "odd" not in loaded.names
    assert "odd is unavailable: card.json is not" in caplog.text
    assert "stories-gpt" in {line["name"] for line in all_models(loaded)["models"]}
    with pytest.raises(ValueError, match=r"card\.json is not"):
        checkpoint.load(tmp_path / "odd")


def test_a_default_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"'nope' does not exist; known are .*stories-gpt"):
        discovery.discover(Settings(device="cpu", default_model="nope"))


def test_a_device_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(ValueError, match=r"^device 'mps' is not available here; available: auto, .*cpu"):
        discovery.discover(Settings(device="mps"))


def test_no_model_at_all_says_where_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "ZOO", tmp_path)
    with pytest.raises(ValueError, match="chumoku train"):
        discovery.discover(Settings(device="cpu"))
    with pytest.raises(ValueError, match="chumoku train"):
        discovery.locate(None, Settings(device="cpu"))


def test_locate_takes_a_name_or_a_folder(tmp_path: Path) -> None:
    assert discovery.locate(None, Settings()) == discovery.locate("stories-gpt", Settings()) == ZOO / "stories-gpt"
    assert discovery.locate(str(ZOO / "stories-gpt"), Settings()) == ZOO / "stories-gpt"
    with pytest.raises(AppError) as refusal:
        discovery.locate(str(tmp_path), Settings())
    assert refusal.value.code == "unknown_model"

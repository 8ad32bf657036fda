"""`make run` on a fresh clone: it says what it is doing, and what is in its way."""

import subprocess
from pathlib import Path

import pytest
from setuptools import Distribution

ROOT = Path(__file__).parent.parent


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A virtual environment with a pip of ours: it says what it installs, and ends as the file `status` says."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    said = "Collecting torch\n  Downloading https://x.org/torch-2.13.0.whl (780 MB)"
    python.write_text(f"#!/bin/sh\necho '{said}'\nsleep 1\necho 'ERROR: no room'\nexit $(cat {tmp_path}/status)\n")
    python.chmod(0o755)
    return tmp_path


def test_an_installation_shows_its_progress(venv: Path) -> None:
    (venv / "status").write_text("0")
    done = make("install", f"VENV={venv}", "EVERY=1", "TORCH_INDEX=x")
    assert done.returncode == 0, done.stderr
    assert "  1 s, 1 packages: Downloading torch-2.13.0.whl (780 MB)" in done.stdout
    assert (venv / "run.stamp").exists()


def test_a_failed_installation_says_why(venv: Path) -> None:
    (venv / "status").write_text("1")
    done = make("install", f"VENV={venv}", "TORCH_INDEX=x")
    assert done.returncode == 2
    assert f"ERROR: no room\npip failed; all that it said is in {venv}/install.log." in done.stderr
    assert not (venv / "run.stamp").exists()


def test_a_folder_that_cannot_be_written_is_named() -> None:
    done = make("install", "VENV=/proc/nowhere")
    assert "Chumoku installs into /proc/nowhere, which cannot be written" in done.stderr
    assert "python3-venv" not in done.stderr


def test_an_installed_package_has_the_page_and_the_models() -> None:
    """What `pip install .` copies: every file of the page and of the models that git knows, beside the code."""
    distribution = Distribution({"script_name": "setup.py"})
    distribution.parse_config_files([str(ROOT / "pyproject.toml")])
    build = distribution.get_command_obj("build_py")
    build.ensure_finalized()
    copied = {str(path).removeprefix(f"{build.build_lib}/") for path in build.get_outputs(include_bytecode=False)}
    known = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    wanted = [path for path in known if path.startswith(("static/", "templates/", "model/zoo/"))]
    code = [path for path in known if path.startswith(("app/", "model/")) and path.endswith(".py")]
    assert len(wanted) > 500
    assert {f"chumoku/{path}" for path in wanted + code if not path.endswith("README.md")} <= copied

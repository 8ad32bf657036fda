"""`make run` on a fresh clone: it says what it is doing, and what is in its way."""

import os
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from setuptools import Distribution

ROOT = Path(__file__).parent.parent
PINNED = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in {"TORCH_INDEX", "MAKEFLAGS"}}
LINUX = ("SYSTEM=Linux 6.1", "NVIDIA=no-such-program")


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    arguments = ("CHECK=0.05", *arguments)  # seconds; the last assignment of a variable counts
    return subprocess.run(["make", *arguments], cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A virtual environment with a pip of ours: it says what it installs, and ends as the files `seconds` and `status`
    say."""
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    said = "Collecting torch\n  Downloading https://x.org/torch-2.13.0.whl (780 MB)"
    lines = [f"cd {tmp_path}", 'echo "$@" >arguments', f"echo '{said}'", "sleep $(cat seconds)", "echo ERROR: no room"]
    python.write_text("\n".join(["#!/bin/sh", *lines, "exit $(cat status)\n"]))
    python.chmod(0o755)
    (tmp_path / "seconds").write_text("0")
    return tmp_path


def test_an_installation_shows_its_progress(venv: Path) -> None:
    (venv / "status").write_text("0")
    (venv / "seconds").write_text("1")
    done = make("install", f"VENV={venv}", "EVERY=1", "CHECK=1", "TORCH_INDEX=x")
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


class Index(SimpleHTTPRequestHandler):
    """Files of a folder, without a line for each request."""

    def log_message(self, format: str, *args: object) -> None:
        pass


def wheel(folder: Path, version: str) -> None:
    """A torch that holds nothing, in an index of its own folder."""
    (folder / "torch").mkdir(parents=True)
    about = f"torch-{version}.dist-info"
    with zipfile.ZipFile(folder / "torch" / f"torch-{version}-py3-none-any.whl", "w") as file:
        file.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n")
        file.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{about}/RECORD", "")


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with three indexes: `pypi` has the pinned torch, `cpu` its build for CPUs, `empty` none."""
    root, version = tmp_path_factory.mktemp("indexes"), PINNED.removeprefix("torch==")
    wheel(root / "pypi", version)
    wheel(root / "cpu", f"{version}+cpu")
    (root / "empty" / "torch").mkdir(parents=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Index, directory=str(root))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of an index that takes a connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def installed(venv: Path, *arguments: str) -> tuple[str, str]:
    """The line that says where torch comes from, and what pip gets."""
    (venv / "status").write_text("0")
    done = make("install", f"VENV={venv}", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("torch comes from ")]
    return line, (venv / "arguments").read_text()


def test_linux_without_a_gpu_takes_the_build_for_cpus(venv: Path, indexes: str) -> None:
    said, pip = installed(venv, *LINUX, f"TORCH_CPU={indexes}/cpu")
    assert said == f"torch comes from {indexes}/cpu, the small build for CPUs."
    assert f"--extra-index-url {indexes}/cpu " in pip


def test_an_index_that_does_not_answer_is_not_waited_for(venv: Path, silent: str) -> None:
    began = time.monotonic()
    said, pip = installed(venv, *LINUX, f"TORCH_CPU={silent}")
    assert 3 < time.monotonic() - began < 15  # 3 s for the index, 1 s for our pip, and Python's start on a busy machine
    assert said == f"torch comes from pip's default index; {silent} did not answer within 3 s."
    assert "index-url" not in pip


@pytest.mark.parametrize("path", ["nothing", "empty"])
def test_an_index_without_torch_is_not_taken(venv: Path, indexes: str, path: str) -> None:
    said, pip = installed(venv, *LINUX, f"TORCH_CPU={indexes}/{path}")
    assert said.startswith("torch comes from pip's default index; ")
    assert "index-url" not in pip


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ((LINUX[0], f"NVIDIA={sys.executable}"), "pip's default index, for an NVIDIA GPU."),
        (("SYSTEM=Darwin 24.1.0", LINUX[1]), "pip's default index."),
        (("SYSTEM=Linux 5.15-microsoft-standard-WSL2", LINUX[1]), "pip's default index; without an NVIDIA GPU, "),
        ((*LINUX, "TORCH_INDEX="), "pip's default index, as TORCH_INDEX says."),
    ],
)
def test_elsewhere_pips_own_index_is_taken(venv: Path, indexes: str, where: tuple[str, ...], said: str) -> None:
    line, pip = installed(venv, *where, f"TORCH_CPU={indexes}/cpu")
    assert line.startswith(f"torch comes from {said}")
    assert "index-url" not in pip


def test_torch_index_overrides(venv: Path, indexes: str) -> None:
    said, pip = installed(venv, *LINUX, f"TORCH_CPU={indexes}/cpu", f"TORCH_INDEX={indexes}/other")
    assert said == f"torch comes from {indexes}/other, as TORCH_INDEX says."
    assert f"--extra-index-url {indexes}/other " in pip


def test_the_pin_takes_the_build_for_cpus_where_both_are(indexes: str, tmp_path: Path) -> None:
    """With the options that `make install` gives it, pip prefers 2.13.0+cpu to 2.13.0, and the pin allows both."""
    (tmp_path / "pins.txt").write_text(PINNED)
    pip = [sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "install", "--dry-run"]
    where = ["--index-url", f"{indexes}/pypi", "--extra-index-url", f"{indexes}/cpu", "--ignore-installed"]
    command = [*pip, *where, "--no-cache-dir", "-c", str(tmp_path / "pins.txt"), "torch>=2.6"]
    environment = {name: value for name, value in ENVIRONMENT.items() if not name.startswith("PIP_")}
    environment["PIP_CONFIG_FILE"] = os.devnull
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"Would install {PINNED.replace('==', '-')}+cpu"


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
    assert len(wanted) > 300
    assert {f"chumoku/{path}" for path in wanted + code if not path.endswith("README.md")} <= copied

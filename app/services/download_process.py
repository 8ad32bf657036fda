"""Downloads a model of the hub in a process of its own: `python -P download_process.py ID CACHE PATTERN…`.

This file imports nothing of ours: with torch, a download would begin a second later and take 200 MB of memory.
"""

import json
import sys


def main(id: str, cache: str, *patterns: str) -> None:
    """Prints the folder of the files of these patterns, or what went wrong, as JSON."""
    from huggingface_hub import snapshot_download

    try:
        print(json.dumps({"folder": snapshot_download(id, cache_dir=cache, allow_patterns=list(patterns))}))
    except Exception as error:
        number = getattr(error, "errno", None)
        print(json.dumps({"kind": type(error).__name__, "said": str(error)[:2000], "errno": number}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""A hub on this machine: what huggingface_hub asks of huggingface.co to download a repository, for one folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

from fastapi import FastAPI, HTTPException, Response
from fastapi.responses import FileResponse

COMMIT = "5" * 40


def hub(folder: Path, name: str) -> tuple[FastAPI, list[str]]:
    """An app that has `folder` as the repository `name`, and the files that were downloaded from it."""
    app, downloaded = FastAPI(), list[str]()
    files = {path.name: path for path in folder.iterdir()}

    @app.get("/readyz")
    def readyz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/api/models/{owner}/{repo}/revision/main")
    def revision(owner: str, repo: str) -> dict[str, object]:
        known(owner, repo)
        return {"id": name, "sha": COMMIT, "siblings": [{"rfilename": file} for file in files]}

    @app.get("/api/models/{owner}/{repo}/tree/{commit}")
    def tree(owner: str, repo: str, commit: str) -> list[dict[str, object]]:
        known(owner, repo)
        return [
            {"type": "file", "path": file, "size": path.stat().st_size, "oid": etag(path)}
            for file, path in files.items()
        ]

    @app.api_route("/{owner}/{repo}/resolve/{commit}/{file}", methods=["HEAD", "GET"], response_model=None)
    def resolve(owner: str, repo: str, commit: str, file: str) -> Response:
        known(owner, repo)
        if file not in files:
            raise HTTPException(404, headers={"X-Error-Code": "EntryNotFound"})
        downloaded.append(file)
        return FileResponse(files[file], headers={"ETag": f'"{etag(files[file])}"', "X-Repo-Commit": COMMIT})

    def known(owner: str, repo: str) -> None:
        if f"{owner}/{repo}" != name:
            raise HTTPException(404, headers={"X-Error-Code": "RepoNotFound"})

    return app, downloaded


def etag(path: Path) -> str:
    return hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()

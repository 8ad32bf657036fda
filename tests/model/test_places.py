"""What a model is called, and where Hugging Face's cache has it."""

import shutil
from pathlib import Path

import pytest
import torch

import chumoku
from chumoku.model.checkpoint import ZOO
from chumoku.model.traceable import cached, named_source, place_of, source_of
from tests.toys import huggingface as toys

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def in_cache(home: Path, repository: str) -> Path:
    """A tiny model in the layout of Hugging Face's cache: a snapshot of links to blobs."""
    folder = home / "hub" / f"models--{repository.replace('/', '--')}"
    snapshot = folder / "snapshots" / COMMIT
    saved = toys.save(home / "saved", toys.random_numbers(toys.gpt2()), toys.byte_level())
    for path in (snapshot, folder / "refs", folder / "blobs"):
        path.mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    for n, file in enumerate(saved.iterdir()):
        shutil.move(file, folder / "blobs" / str(n))
        (snapshot / file.name).symlink_to(f"../../blobs/{n}")
    return snapshot


@pytest.mark.parametrize("repository", ["ann/tiny-one", "tiny-one"])
def test_a_model_in_the_cache_is_called_as_its_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: str
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ValueError, match=r"not in Hugging Face's cache|There is no model named"):
        chumoku.load(repository)
    snapshot = in_cache(tmp_path, repository)
    assert cached(repository) == snapshot
    model = chumoku.load(repository, device="cpu")
    assert (model.name, model.trace("a cat").run["model"]) == ("tiny-one", "tiny-one")


def test_a_snapshot_without_weights_is_not_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a program that read only the tokenizer."""
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    snapshot = in_cache(tmp_path, "ann/tiny")
    (snapshot / "model.safetensors").unlink()
    assert cached("ann/tiny") is None


def test_other_variables_name_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = in_cache(tmp_path, "ann/tiny")
    for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    assert cached("ann/tiny") == snapshot
    monkeypatch.delenv("HF_HUB_CACHE")
    (tmp_path / "huggingface").symlink_to(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cached("ann/tiny") == tmp_path / "huggingface" / snapshot.relative_to(tmp_path)


def test_the_folder_in_which_one_works_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = toys.save(tmp_path / "mine", toys.random_numbers(toys.gpt2()), toys.byte_level())
    monkeypatch.chdir(folder)
    assert chumoku.load(".", device="cpu").name == "mine"
    (folder / "inside").mkdir()
    monkeypatch.chdir(folder / "inside")
    assert chumoku.load("..", device="cpu").name == "mine"


def test_a_model_of_the_zoo_comes_before_a_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toys.save(tmp_path / "stories-gpt", toys.gpt2(), toys.byte_level())
    monkeypatch.chdir(tmp_path)
    assert chumoku.load("stories-gpt", device="cpu").traceable.checkpoint is not None
    assert chumoku.load("./stories-gpt", device="cpu").traceable.checkpoint is None


def test_a_named_model_of_ours_has_its_snapshots_under_that_name() -> None:
    folder = next(path for path in sorted(ZOO.iterdir()) if (path / "snapshots").is_dir() or "softmax" in path.name)
    source = source_of(folder)
    assert source is not None
    about = named_source(folder, source, "mine").about(folder)
    assert about.name == "mine"
    for step, one in about.snapshots.items():
        assert one.about(folder).name == f"mine@{step}"
    assert named_source(folder, source, "mine").open(folder, torch.device("cpu")).name == "mine"


def test_a_name_before_a_folder() -> None:
    assert place_of("mine=a/checkpoint-500") == ("mine", Path("a/checkpoint-500"))
    assert place_of("a/checkpoint-500") == ("checkpoint-500", Path("a/checkpoint-500"))

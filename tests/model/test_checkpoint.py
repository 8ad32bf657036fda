"""A model on disk: loading returns what was saved, and errors name what does not fit."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from chumoku.model import checkpoint
from chumoku.model.checkpoint import Checkpoint, load, pick_device, save
from chumoku.model.config import ModelConfig
from chumoku.model.traceable import every_folder
from chumoku.model.training.bpe import save_ranks
from tests.model.helpers import (
    BYTES,
    FAMILIES,
    NORM_ORDERS,
    POSITIONS,
    M,
    causal_mask,
    close,
    random_ids,
    tiny_checkpoint,
    tiny_model,
    tiny_translator,
)
from tests.pairwise import pairwise


@pytest.fixture
def ranks_file(tmp_path: Path) -> Path:
    path = tmp_path / "bytes" / "tokenizer.tiktoken"
    path.parent.mkdir()
    save_ranks({bytes([byte]): byte for byte in range(BYTES)}, path)
    return path


@pytest.fixture
def folder(tmp_path: Path, ranks_file: Path) -> Path:
    """A saved model."""
    save(tmp_path / "tiny", tiny_model(), ranks_file)
    return tmp_path / "tiny"


def half(model: M) -> M:
    for parameter in model.parameters():
        parameter.copy_(parameter.half())
    return model


@pytest.mark.parametrize(("position", "norm_order", "tie"), pairwise(POSITIONS, NORM_ORDERS, [True, False]))
def test_a_model_comes_back_rounded_to_float16(
    position: str, norm_order: str, tie: bool, tmp_path: Path, ranks_file: Path
) -> None:
    model = tiny_model(position=position, norm_order=norm_order, tie_embeddings=tie)
    save(tmp_path / "saved", model, ranks_file)
    loaded = load(tmp_path / "saved")
    ids = random_ids(1, 9)
    close(loaded.model(ids, causal_mask(9)), half(model)(ids, causal_mask(9)), 1e-5)
    for ours, theirs in zip(loaded.model.parameters(), model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    assert (loaded.name, loaded.config, loaded.card) == ("saved", model.config, {})
    assert loaded.tokenizer.encode("hi") == [104, 105]


@pytest.mark.parametrize("norm_order", NORM_ORDERS)
def test_every_family_comes_back(norm_order: str, family: Checkpoint, tmp_path: Path, ranks_file: Path) -> None:
    saved = tiny_checkpoint(family.config.family, norm_order=norm_order, text_form="treebank")
    save(tmp_path / "saved", saved.model, ranks_file)
    loaded = load(tmp_path / "saved")
    expected = half(saved.model).state_dict()
    assert loaded.config == saved.config
    assert loaded.model.state_dict().keys() == expected.keys()
    assert all(torch.equal(x, expected[name]) for name, x in loaded.model.state_dict().items())
    assert loaded.tokenizer.special_ids == saved.tokenizer.special_ids
    assert loaded.tokenizer.decode(loaded.tokenizer.encode("Hi!")) == "hi !"


def test_an_embedding_tied_three_ways_is_one_tensor_of_the_file(tmp_path: Path, ranks_file: Path) -> None:
    for name, tie in (("tied", True), ("untied", False)):
        save(tmp_path / name, tiny_translator(tie_embeddings=tie), ranks_file)
    tied, untied = (load_file(tmp_path / name / "weights.safetensors") for name in ("tied", "untied"))
    others = {"decoder.token_embedding.weight", "unembedding.weight"}
    assert untied.keys() - tied.keys() == others
    assert tied.keys() <= untied.keys()
    model = load(tmp_path / "tied").encoder_decoder
    assert model.unembedding.weight is model.decoder.token_embedding.weight is model.encoder.token_embedding.weight


def test_a_model_of_another_family_is_refused_by_name(family: Checkpoint) -> None:
    for other in FAMILIES:
        if other == family.config.family:
            assert getattr(family, other.replace("-", "_")) is family.model
        else:
            with pytest.raises(ValueError, match=f"tiny is {family.config.family}; .* a model that is {other}"):
                getattr(family, other.replace("-", "_"))


def test_a_loaded_model_is_ready_to_run(folder: Path) -> None:
    loaded = load(folder)
    assert not loaded.model.training
    assert all(p.dtype == torch.float32 and not p.requires_grad for p in loaded.model.parameters())
    assert loaded.device == torch.device("cpu")


def test_the_file_holds_float16_and_a_tied_pair_once(folder: Path) -> None:
    tensors = load_file(folder / "weights.safetensors")
    assert {x.dtype for x in tensors.values()} == {torch.float16}
    assert "token_embedding.weight" in tensors
    assert "unembedding.weight" not in tensors


def test_whoever_may_read_the_config_may_read_the_weights(folder: Path) -> None:
    """safetensors writes files that only their owner can read; in a container the app runs as another user."""
    config, weights = ((folder / name).stat().st_mode for name in ("config.json", "weights.safetensors"))
    assert weights & config == config


def test_saving_over_itself_keeps_everything(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    save(folder, load(folder).model, folder / "tokenizer.tiktoken")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_the_card_comes_along(folder: Path) -> None:
    (folder / "card.json").write_text('{"seed": 3}')
    assert load(folder).card == {"seed": 3}


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors", "tokenizer.tiktoken"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        load(folder)


def change_weights(folder: Path, **changes: torch.Tensor | None) -> None:
    tensors = load_file(folder / "weights.safetensors") | changes
    save_file({name: x for name, x in tensors.items() if x is not None}, folder / "weights.safetensors")


def test_missing_and_unknown_tensors_are_named(folder: Path) -> None:
    change_weights(folder, **{"final_norm.bias": None, "extra": torch.ones(2)})
    with pytest.raises(ValueError, match=r"missing \['final_norm\.bias'\], unknown \['extra'\]"):
        load(folder)


@pytest.mark.parametrize("shape", [(3,), (1,), (1, 15)])
def test_a_tensor_of_another_shape_is_named_and_never_stretched(folder: Path, shape: tuple[int, ...]) -> None:
    change_weights(folder, **{"final_norm.bias": torch.ones(shape)})
    with pytest.raises(ValueError, match=r"final_norm\.bias"):
        load(folder)


def change_config(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps(config))


def test_a_config_with_unknown_keys_lists_the_known_ones(folder: Path) -> None:
    change_config(folder, heads=3)
    with pytest.raises(ValueError, match=r"unknown model settings \['heads'\]; known are .*n_head"):
        load(folder)


def test_a_tokenizer_must_fit_the_model(folder: Path, tmp_path: Path) -> None:
    ranks = {bytes([byte]): byte for byte in range(BYTES)} | {b"ab": BYTES}
    other = tmp_path / "other.tiktoken"
    save_ranks(ranks, other)
    (tmp_path / "misfit").mkdir()
    for name in ("config.json", "weights.safetensors"):
        (tmp_path / "misfit" / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "misfit" / "tokenizer.tiktoken").write_bytes(other.read_bytes())
    with pytest.raises(ValueError, match=r"misfit/tokenizer\.tiktoken has 259 ids, the model 258"):
        load(tmp_path / "misfit")


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors"])
def test_a_broken_file_is_named(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"{")
    with pytest.raises(ValueError, match=name):
        load(folder)


def test_folders_are_searched_in_their_order(folder: Path, tmp_path: Path) -> None:
    for name in ("b/tiny", "b/another", "b/no-model"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("tiny", "another"):
        (tmp_path / "b" / name / "config.json").write_text("{}")
    found = [path for path, _ in every_folder(tmp_path, tmp_path / "b", tmp_path / "nowhere")]
    assert found == [folder, tmp_path / "b" / "another", tmp_path / "b" / "tiny"]


def test_the_zoo_ships_stories_gpt_within_24_mb_a_file() -> None:
    models = [folder for folder, _ in every_folder(checkpoint.ZOO)]
    assert "stories-gpt" in [model.name for model in models]
    for model in models:
        assert all(path.stat().st_size <= 24_000_000 for path in model.iterdir())


def test_zoo_weights_are_float16_and_finite(zoo: Checkpoint) -> None:
    tensors = load_file(checkpoint.ZOO / zoo.name / "weights.safetensors")
    assert {x.dtype for x in tensors.values()} == {torch.float16}
    assert all(x.isfinite().all() for x in tensors.values())


def test_stories_gpt_has_the_shape_that_was_asked_for() -> None:
    config = ModelConfig.from_json(json.loads((checkpoint.ZOO / "stories-gpt" / "config.json").read_text()))
    shape = (config.n_layer, config.n_head, config.d_model, config.d_ff, config.vocab_size, config.max_seq_len)
    assert shape == (6, 8, 256, 1024, 4096, 256)
    assert (config.norm_order, config.tie_embeddings) == ("pre", True)


def test_auto_picks_the_best_device_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for cuda, mps, best in ((True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=cuda: there)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda there=mps: there)
        assert pick_device("auto") == torch.device(best)
        assert pick_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda", "tpu", ""])
def test_a_device_that_is_not_there_lists_those_that_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ValueError, match=f"device {name!r} is not available here; available: auto, cpu"):
        pick_device(name)

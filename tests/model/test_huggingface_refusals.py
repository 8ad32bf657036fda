"""Folders of transformers that cannot be shown: one sentence says what, the limit, and what to do."""

import json
import os
import re
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from chumoku.model.run import Run
from chumoku.model.traceable import ZooModel, source_of
from chumoku.model.traceable.huggingface import HuggingFaceFolders, any_attention, folders, loading
from tests.toys import huggingface as toys

SOURCE = HuggingFaceFolders()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return toys.save(tmp_path / "tiny", toys.gpt2(), toys.byte_level())


def change(folder: Path, **settings: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model_type": "reformer"}, "reformer models cannot be shown yet; known are .*gpt2"),
        ({"model_type": "mamba"}, "a mamba has no attention, so there is nothing of it to see"),
        ({"architectures": None}, r'names no architectures, .* add it .such as "architectures": ."GPT2LMHeadModel"'),
        ({"architectures": []}, "names no architectures"),
        ({"auto_map": {"AutoModel": "theirs.Model"}}, "names custom code, which is never run"),
        ({"reorder_and_upcast_attn": True}, "gpt2 with reorder_and_upcast_attn=True cannot be shown yet"),
        ({"scale_attn_weights": False}, "gpt2 with scale_attn_weights=False cannot be shown yet"),
        ({"quantization_config": {"bits": 4}}, "gpt2 with quantization_config=.* cannot be shown yet"),
        ({"n_head": "three"}, "n_head must be a whole number"),
        ({"n_head": 5}, "d_model=12 is not divisible by n_head=5"),
    ],
)  # fmt: skip
def test_a_config_that_cannot_be_shown(folder: Path, settings: dict[str, Any], said: str) -> None:
    change(folder, **settings)
    with pytest.raises(ValueError, match=said):
        SOURCE.about(folder)


ROPE = {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LLAMA, NEOX, PHI = "llama", "gpt_neox", "phi"


@pytest.fixture(scope="module")
def turning(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Families with rotary positions."""
    at = tmp_path_factory.mktemp("turning")
    kinds = {LLAMA: toys.llama, NEOX: toys.gpt_neox, PHI: toys.phi}
    return {name: toys.save(at / name, build(), toys.byte_level()) for name, build in kinds.items()}


@pytest.mark.parametrize(
    ("kind", "settings", "said"),
    [
        (LLAMA, {"rope_parameters": "x"}, "rope_parameters must be an object, got x"),
        (LLAMA, {"rope_parameters": [1]}, "rope_parameters must be an object"),
        (LLAMA, {"rope_parameters": None, "rope_scaling": "linear"}, "rope_scaling must be an object, got linear"),
        (PHI, {"rope_parameters": "x"}, "rope_parameters must be an object, got x"),
        (LLAMA, {"rope_parameters": {"rope_theta": 0}}, "rope_theta must be a number from 1 on, got 0"),
        (LLAMA, {"rope_parameters": {"rope_theta": -1e4}}, "rope_theta must be a number from 1 on, got -10000"),
        (LLAMA, {"rope_parameters": {"rope_theta": 1e-300}}, "rope_theta must be a number from 1 on"),
        (LLAMA, {"rope_parameters": {"rope_theta": "1e4"}}, "rope_theta must be a number, got 1e4"),
        (LLAMA, {"rope_parameters": {"rope_theta": 10**400}}, "rope_theta must be a number"),
        (LLAMA, {"rope_parameters": {"rope_theta": [1]}}, "rope_theta must be a number, got"),
        (LLAMA, {"rope_parameters": {"rope_theta": True}}, "rope_theta must be a number, got True"),
        (LLAMA, {"rope_parameters": {"rope_type": "linear", "factor": 0}}, "factor must be a number above 0, got 0"),
        (LLAMA, {"rope_parameters": {"rope_type": "linear", "factor": "2"}}, "factor must be a number, got 2"),
        (LLAMA, {"rope_parameters": ROPE | {"high_freq_factor": 1.0}}, "low_freq_factor must be below high_freq"),
        (LLAMA, {"rope_parameters": ROPE | {"high_freq_factor": 0.5}}, "below high_freq_factor, got 1 and 0.5"),
        (LLAMA, {"rope_parameters": ROPE | {"low_freq_factor": {}}}, "low_freq_factor must be a number, got {}"),
        (LLAMA, {"rope_parameters": ROPE | {"factor": 0.0}}, "factor must be a number above 0"),
        (LLAMA, {"rope_parameters": ROPE | {"original_max_position_embeddings": 0}}, "embeddings must be a number ab"),
        (LLAMA, {"head_dim": 3}, "llama turns 3 of a head's 3 dimensions: it takes pairs"),
        (LLAMA, {"num_key_value_heads": 4}, "6 heads cannot share 4 keys and values evenly"),
        (NEOX, {"rope_parameters": {"rope_theta": 0, "partial_rotary_factor": 0.5}}, "rope_theta must be a number fr"),
        (NEOX, {"rope_parameters": {"partial_rotary_factor": 0}}, "turns 0 of a head's 8 dimensions"),
        (NEOX, {"rope_parameters": {"partial_rotary_factor": 2}}, "turns 16 of a head's 8 dimensions"),
        (NEOX, {"rope_parameters": {"partial_rotary_factor": "all"}}, "partial_rotary_factor must be a number"),
        (NEOX, {"rope_parameters": None, "rotary_emb_base": "x"}, "rotary_emb_base must be a number"),
        (PHI, {"architectures": "PhiForCausalLM"}, "architectures must be a list of names"),
    ],
)
def test_a_setting_of_another_type_is_one_sentence(
    turning: dict[str, Path], tmp_path: Path, kind: str, settings: dict[str, Any], said: str
) -> None:
    folder = Path(shutil.copytree(turning[kind], tmp_path / "tiny"))
    SOURCE.about(folder)
    change(folder, **settings)
    with pytest.raises(ValueError, match=re.escape(said)):
        SOURCE.about(folder)


@pytest.mark.parametrize(
    "settings", [{"rope_parameters": {"rope_type": "spiral", "rope_theta": 1e4}}, {"hidden_act": "no_such"}]
)
def test_a_config_that_transformers_cannot_read_is_one_sentence(
    turning: dict[str, Path], tmp_path: Path, settings: dict[str, Any]
) -> None:
    folder = Path(shutil.copytree(turning[LLAMA], tmp_path / "tiny"))
    change(folder, **settings)
    with pytest.raises(ValueError, match="does not load: KeyError"):
        SOURCE.open(folder, torch.device("cpu"))


@pytest.mark.parametrize("kind", ["Bert", "MegatronBert"])
def test_a_classifier_whose_numbers_would_be_others(tmp_path: Path, kind: str) -> None:
    folder = toys.save(tmp_path / "tiny", toys.bert(f"{kind}ForSequenceClassification"), toys.word_piece())
    SOURCE.about(folder)
    change(folder, position_embedding_type="relative_key")
    with pytest.raises(ValueError, match="cannot be shown yet"):
        SOURCE.about(folder)


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (toys.gpt_oss, "its attention has s_aux, which may change the weights and is not shown"),
        (toys.gptj, "a GPTJForCausalLM asks for no attention function, so nothing can be seen"),
    ],
)
def test_a_family_whose_attention_cannot_be_shown_whole(tmp_path: Path, build: Any, said: str) -> None:
    folder = toys.save(tmp_path / "tiny", build(), toys.byte_level())
    with pytest.raises(ValueError, match=said):
        SOURCE.open(folder, torch.device("cpu"))


@pytest.mark.parametrize("argument", ["s_aux", "softcap", "indices", "position_bias"])
def test_an_argument_that_would_change_weights_unseen(argument: str) -> None:
    """Also of a family that we know, whose code may change."""
    from chumoku.model.traceable.huggingface.capture import TAPS, attend

    module, x = torch.nn.Module(), torch.ones(1, 1, 2, 4)
    roles = ("q_turned", "k_turned", "v", "scores", "mask", "pattern", "z")
    setattr(module, TAPS, {role: role for role in roles})
    z, _ = attend(module, x, x, x, None, **{argument: None})
    assert torch.equal(z, x.transpose(1, 2))
    with pytest.raises(ValueError, match=f"its attention has {argument}, which changes the weights and is not shown"):
        attend(module, x, x, x, None, **{argument: torch.ones(1, 1, 2, 2)})


def test_an_unknown_family_must_be_what_its_config_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = toys.save(tmp_path / "tiny", toys.phi(), toys.byte_level())
    own = json.loads((folder / "config.json").read_text())["rope_parameters"]
    SOURCE.open(folder, torch.device("cpu"))
    for kind in ("dynamic", "longrope"):
        change(folder, rope_parameters=own | {"rope_type": kind, "factor": 2.0})
        with pytest.raises(ValueError, match=f"of type {kind} cannot be shown: its angles depend on the length"):
            SOURCE.about(folder)
    change(folder, rope_parameters=own, attention_multiplier=0.5)
    with pytest.raises(ValueError, match=r"scaled by 0\.3536, and its config says 0\.5"):
        SOURCE.open(folder, torch.device("cpu"))
    change(folder, attention_multiplier=None)
    monkeypatch.setattr(any_attention, "added", lambda mask: None)
    with pytest.raises(ValueError, match="its logits are not those of eager attention"):
        SOURCE.open(folder, torch.device("cpu"))


def softcapped(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float) -> tuple[Tensor, Tensor]:
    weights = ((query @ key.mT * scaling).tanh() + mask).softmax(-1)
    return weights @ value, weights


def with_a_sink(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float) -> tuple[Tensor, Tensor]:
    scores = query @ key.mT * scaling + mask
    weights = torch.cat((scores, torch.zeros_like(scores[..., :1])), -1).softmax(-1)[..., :-1]
    return weights @ value, weights


def scaled(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float) -> tuple[Tensor, Tensor]:
    weights = (query @ key.mT * scaling + mask).softmax(-1)
    return weights @ value * 1.01, weights


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (softcapped, r"weights are not softmax\(scores \+ mask\): in layer 0 they differ by .* of the largest number"),
        (with_a_sink, r"weights are not softmax\(scores \+ mask\)"),
        (scaled, "what its heads give is not weights · v"),
    ],
)
def test_an_unknown_family_whose_function_computes_more_than_its_arguments_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, formula: Any, said: str
) -> None:
    """Its logits with and without capture are the same: they are of this formula."""
    from transformers.models.phi import modeling_phi

    def theirs(_: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor, scaling: float, **__: Any) -> Any:
        z, weights = formula(query, key, value, mask, scaling)
        return z.transpose(1, 2).contiguous(), weights

    folder = toys.save(tmp_path / "tiny", toys.random_numbers(toys.phi()), toys.byte_level())
    monkeypatch.setattr(modeling_phi, any_attention.THEIRS, theirs)
    with pytest.raises(ValueError, match=said):
        SOURCE.open(folder, torch.device("cpu"))


def test_an_older_folder_names_no_mask_token(tmp_path: Path) -> None:
    folder = toys.save(tmp_path / "tiny", toys.bert("BertForMaskedLM"), toys.word_piece())
    assert SOURCE.about(folder).special.mask == 4
    (folder / "tokenizer_config.json").write_text('{"do_lower_case": true}')
    assert SOURCE.about(folder).special.mask == 4


def store(folder: Path, **tensors: Tensor) -> None:
    """Add tensors to a folder's weights."""
    file = folder / "model.safetensors"
    save_file(load_file(file) | tensors, file, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("build", "name", "buffer"),
    [
        (toys.gpt2, "transformer.h.0.attn.bias", torch.ones(1, 1, 24, 24, dtype=torch.uint8)),
        (toys.gpt_neox, "gpt_neox.layers.0.attention.bias", torch.ones(1, 1, 24, 24).bool()),
        (toys.gpt_neox, "optimizer.step", torch.tensor(3, dtype=torch.int16)),
        (toys.phi, "model.rotary_emb.turns", torch.ones(3, dtype=torch.complex64)),
    ],
)
def test_a_tensor_that_no_model_takes_is_ignored(tmp_path: Path, build: Any, name: str, buffer: Tensor) -> None:
    folder = toys.save(tmp_path / "tiny", toys.random_numbers(build()), toys.byte_level())
    before = numbers(folder)
    store(folder, **{name: buffer})
    assert torch.equal(numbers(folder), before)


def numbers(folder: Path) -> Tensor:
    opened = SOURCE.open(folder, torch.device("cpu"))
    return opened.trace(Run([1, 2, 3]), ["logits"]).tensors["logits"]


@pytest.mark.parametrize("name", ["transformer.h.0.mlp.c_fc.weight", "h.0.mlp.c_fc.weight"])
def test_a_weight_must_be_stored_as_a_number_with_a_fraction(folder: Path, name: str) -> None:
    store(folder, **{name: torch.zeros(12, 20, dtype=torch.int64)})
    with pytest.raises(ValueError, match=f"{name} is stored as I64; weights are F64, F32, F16, BF16"):
        SOURCE.about(folder)


def test_a_weight_that_no_picture_names_has_such_a_type_too(tmp_path: Path) -> None:
    folder = toys.save(tmp_path / "tiny", toys.bert(), toys.word_piece())
    store(folder, **{"classifier.weight": torch.zeros(3, 15, dtype=torch.int8)})
    with pytest.raises(ValueError, match=r"classifier\.weight is stored as I8; weights are"):
        SOURCE.open(folder, torch.device("cpu"))


def test_weights_that_are_a_pickle(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="can run code when it is opened: convert it where you trust it"):
        SOURCE.about(folder)


def test_a_tokenizer_that_is_not_there(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match=r"has no tokenizer.json: .* save_pretrained"):
        SOURCE.about(folder)


def test_weights_that_lack_a_matrix(folder: Path) -> None:
    """transformers would go on with random numbers."""
    change(folder, n_layer=3)
    with pytest.raises(ValueError, match=r"do not fit its config: transformer\.h\.2\..* is missing"):
        SOURCE.open(folder, torch.device("cpu"))


def test_a_model_that_does_not_fit_into_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "available", lambda: 1000)
    with pytest.raises(OSError, match=r"tiny needs 0\.0 GB in float32, and 0\.0 GB of memory are free: stop other"):
        SOURCE.open(folder, torch.device("cpu"))


def test_weights_of_half_precision_are_read_in_float32(folder: Path) -> None:
    toys.gpt2().half().save_pretrained(folder)
    opened: Any = SOURCE.open(folder, torch.device("cpu"))
    assert {x.dtype for x in opened.model.parameters()} == {torch.float32}


def test_no_service_is_asked_to_convert_a_pickle(folder: Path) -> None:
    """transformers looks for this name when it is imported, or when it loads."""
    SOURCE.open(folder, torch.device("cpu"))
    assert os.environ["DISABLE_SAFETENSORS_CONVERSION"] == "1"


def test_what_is_known_without_the_weights(folder: Path) -> None:
    about = SOURCE.about(folder)
    parameters = sum(x.numel() for x in toys.gpt2().parameters())
    assert (about.name, about.n_parameters, about.description.max_seq_len) == ("tiny", parameters, 24)
    assert about.description.stacks[0].ffns[0].activation == "gelu_tanh"
    assert set(SOURCE.files(folder)) >= {folder / "model.safetensors", folder / "config.json"}


@pytest.mark.parametrize(("n_layer", "window"), [(2, 1024), (24, 1024), (48, 896)])
def test_a_page_draws_as_many_tokens_as_their_shares_allow(tmp_path: Path, n_layer: int, window: int) -> None:
    """However many heads: their pictures are pooled. In each layer half of a causal text's pairs have a share."""
    sizes = {"n_layer": n_layer, "n_head": 16, "n_embd": 16, "n_positions": 2048, "n_inner": 4}
    about = SOURCE.about(toys.save(tmp_path / "tiny", toys.gpt2(**sizes), toys.byte_level()))
    assert (about.description.max_seq_len, about.n_positions) == (window, 2048)
    assert n_layer * window**2 / 2 <= 20_000_000


def test_a_folder_of_ours_is_not_one_of_theirs() -> None:
    from chumoku.model.checkpoint import ZOO

    source = source_of(ZOO / "stories-gpt")
    assert source is not None
    assert isinstance(source.open(ZOO / "stories-gpt", torch.device("cpu")), ZooModel)


MIXTRAL = {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"]}


@pytest.mark.parametrize(
    ("build", "settings", "said"),
    [
        (toys.llama, MIXTRAL | {"num_local_experts": 2**20}, "more numbers than its weights have"),
        (toys.gemma, {"head_dim": 2**20}, "more numbers than its weights have"),
        (toys.phi, {"intermediate_size": 2**23}, "more numbers than its weights have"),
        (toys.opt, {"max_position_embeddings": 2**24}, "more numbers than its weights have"),
        (toys.bert, {"type_vocab_size": 2**24}, r"weight is \(2, 15\), and the config needs \(16777216, 15\)"),
        (toys.t5, {"relative_attention_num_buckets": 2**24}, "more numbers than its weights have"),
        (toys.gpt2, {"n_positions": 2**24}, r"wpe.weight is \(24, 12\), and the config needs \(16777216, 12\)"),
        (toys.llama, {"head_dim": 2**20}, r"q_proj.weight is \(24, 24\), and the config needs \(6291456, 24\)"),
        (toys.llama, {"num_hidden_layers": 2**24}, "num_hidden_layers is 16,777,216, and its weights have 21 tensors"),
        (toys.phi, {"num_hidden_layers": 2**24}, "num_hidden_layers is 16,777,216, and its weights have 33 tensors"),
        (toys.t5, {"num_decoder_layers": 2**24}, "num_decoder_layers is 16,777,216, and its weights have"),
        (toys.bert, {"num_labels": 2**24}, "num_labels is 16,777,216, and no tensor of its weights has as many rows"),
        (toys.phi, {"n_routed_experts": 2**60}, "n_routed_experts must be a whole number up to 16,777,216"),
    ],
)
def test_a_config_that_asks_for_more_than_is_stored_allocates_nothing(
    tmp_path: Path, build: Any, settings: dict[str, Any], said: str
) -> None:
    """Any of them would take gigabytes, or minutes."""
    tokenizer = toys.word_piece() if build is toys.bert else toys.byte_level()
    folder = toys.save(tmp_path / "tiny", build(), tokenizer)
    change(folder, **settings)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match=said):
        SOURCE.open(folder, torch.device("cpu"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


@pytest.mark.parametrize(
    ("room", "kind", "said"),
    [
        (loading.Room(0, 9, 9, 9), ValueError, "more numbers than its weights have"),
        (loading.Room(9, 0, 9, 9), ValueError, "more numbers than its weights have"),
        (loading.Room(9, 9, 0, 9), ValueError, "more modules than its weights have tensors for"),
        (loading.Room(9, 9, 9, 1), MemoryError, "than fit into the memory that is free"),
    ],
)
def test_buffers_modules_and_memory_are_counted(room: loading.Room, kind: type[Exception], said: str) -> None:
    with loading.within(room), torch.device("meta"), pytest.raises(kind, match=said):
        torch.nn.Sequential(torch.nn.BatchNorm1d(2, affine=room.buffers > 0, track_running_stats=room.buffers == 0))


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (toys.gpt2, "transformer.h.1.mlp.c_fc.weight"),
        (toys.llama, "model.layers.0.self_attn.k_proj.weight"),
        (toys.gpt_neox, "gpt_neox.layers.0.attention.query_key_value.weight"),
        (toys.bloom, "transformer.h.0.mlp.dense_4h_to_h.weight"),
        (toys.t5, "decoder.block.0.layer.1.EncDecAttention.q.weight"),
    ],
)
def test_a_transposed_matrix_is_found_without_loading(tmp_path: Path, build: Any, name: str) -> None:
    folder = toys.save(tmp_path / "tiny", build(), toys.byte_level())
    SOURCE.about(folder)
    store(folder, **{name: load_file(folder / "model.safetensors")[name].T.contiguous()})
    with pytest.raises(ValueError, match=f"its weights do not fit its config: {re.escape(name)} is .* config needs"):
        SOURCE.about(folder)


def test_a_transposed_matrix_of_an_unknown_family_is_found_on_loading(tmp_path: Path) -> None:
    folder, name = toys.save(tmp_path / "tiny", toys.phi(), toys.byte_level()), "model.layers.0.mlp.fc1.weight"
    store(folder, **{name: torch.zeros(24, 20)})
    with pytest.raises(ValueError, match=rf"{re.escape(name)} is \(24, 20\), the config needs \(20, 24\)"):
        SOURCE.open(folder, torch.device("cpu"))


def test_a_token_too_long_to_be_shown(folder: Path) -> None:
    file = folder / "tokenizer.json"
    settings = json.loads(file.read_text())
    settings["added_tokens"].append(settings["added_tokens"][0] | {"id": 258, "content": "a" * 1001})
    file.write_text(json.dumps(settings))
    with pytest.raises(ValueError, match="has a token of 1,001 characters; at most 1,000 are shown as one"):
        SOURCE.about(folder)

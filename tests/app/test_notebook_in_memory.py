"""A model of transformers in memory: traced as its folder would be, and left as it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import chumoku
from tests.toys import huggingface as toys

TEXT = "a little cat"
KINDS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "gpt2": (toys.gpt2, toys.byte_level),
    "bert": (lambda: toys.bert("BertModel"), toys.word_piece),
    "megatron": (lambda: toys.bert("MegatronBertForMaskedLM"), toys.word_piece),
    "llama": (toys.llama, toys.byte_level),
    "bloom": (toys.bloom, toys.byte_level),
    "phi": (toys.phi, toys.byte_level),
}


def answer(model: Any, ids: Tensor) -> Tensor:
    with torch.no_grad():
        found: Tensor = model(ids)[0]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_traced_as_from_its_folder_and_left_as_it_is(tmp_path: Path, kind: str) -> None:
    build, tokenizer = (make() for make in KINDS[kind])
    model = toys.random_numbers(build).train()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    seen: list[int] = []
    model.register_forward_hook(lambda *_: seen.append(1))
    ids = torch.tensor([tokenizer(TEXT)["input_ids"]])
    before, state = answer(model, ids), state_of(model)
    opened = chumoku.load(model, tokenizer, device="cpu")
    assert state_of(model) == state
    assert torch.equal(answer(model, ids), before)
    found = opened.trace(TEXT)
    assert state_of(model) == state
    assert torch.equal(answer(model, ids), before)
    assert len(seen) == 3, "none of its hooks ran for a trace"
    saved = chumoku.load(toys.save(tmp_path / "saved", model, tokenizer), device="cpu").trace(TEXT)
    assert {*found.tensors} == {*saved.tensors}
    assert all(torch.equal(found[name], saved[name]) for name in found.tensors)
    with torch.no_grad():
        next(model.parameters()).mul_(1.5)  # as a step of training does
    assert not all(torch.equal(opened.trace(TEXT)[name], found[name]) for name in found.tensors)


def state_of(model: Any) -> Any:
    """What must stay: each module's class, forward, mode, hooks and attributes; its config; its parameters."""
    modules = [
        (path, type(one), one.training, {*vars(one)}, len(one._forward_hooks), len(one._forward_pre_hooks))
        for path, one in model.named_modules()
    ]
    own = [(name, id(x), x.requires_grad, x._version) for name, x in model.named_parameters()]
    return modules, own, model.config.to_json_string(), model.config._attn_implementation


def test_a_model_of_half_precision_is_shown_in_float32() -> None:
    model = toys.random_numbers(toys.gpt2()).bfloat16()
    found = chumoku.load(model, toys.byte_level(), device="cpu").trace(TEXT)
    assert {x.dtype for x in model.parameters()} == {torch.bfloat16}
    assert found["logits"].dtype == torch.float32
    assert "river" in chumoku.show(found).html


def test_what_is_missing_is_said() -> None:
    with pytest.raises(ValueError, match=r"a GPT2LMHeadModel needs its tokenizer: chumoku\.load\(model, tokenizer\)"):
        chumoku.load(toys.gpt2())
    with pytest.raises(ValueError, match=r"torch.nn.modules.linear.Linear is no model of transformers: .* a folder"):
        chumoku.load(nn.Linear(2, 2), toys.byte_level())
    with pytest.raises(ValueError, match="a tokenizer goes with a model in memory"):
        chumoku.load("stories-gpt", toys.byte_level())

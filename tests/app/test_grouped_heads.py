"""Query heads that share keys and values: a request names query heads, and gets their key-value heads too."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from chumoku.app.services.interventions.site import own_heads
from chumoku.app.services.tracing import chosen_heads, select_heads
from chumoku.model.config import ModelConfig
from chumoku.model.describe import Description, describe

N_HEAD, N_KV_HEAD = 4, 2
PLAIN = describe(ModelConfig(vocab_size=16, n_layer=1, n_head=N_HEAD, d_model=8, d_ff=8, max_seq_len=8))
(ATTENTION,) = PLAIN.attentions
GROUPED: Description = replace(PLAIN, attentions=(replace(ATTENTION, n_kv_head=N_KV_HEAD),))


class Asked:
    """The fields of a request, a trace and a model that `chosen_heads` reads."""

    def __init__(self, heads: list[int] | None, tensor: torch.Tensor, tap: str) -> None:
        self.heads, self.tensors = heads, {tap: tensor}
        self.dims = {tap: GROUPED.taps[tap].dims}
        self.description = GROUPED


def chosen(role: str, heads: list[int] | None) -> list[float]:
    tap = ATTENTION.roles[role].taps[0]
    n = N_KV_HEAD if "kv_head" in ATTENTION.roles[role].dims else N_HEAD
    asked: Any = Asked(heads, torch.arange(n).float()[:, None, None].expand(n, 3, 2), tap)
    found: list[float] = chosen_heads(asked, tap, asked, asked)[:, 0, 0].tolist()
    return found


def test_softmax_attention_says_that_keys_and_values_are_counted_on_their_own() -> None:
    dims = {name: role.dims.split()[0] for name, role in ATTENTION.roles.items()}
    assert (dims["q"], dims["k"], dims["v"], dims["z"]) == ("head", "kv_head", "kv_head", "head")
    assert ATTENTION.n_kv_head == ATTENTION.n_head


@pytest.mark.parametrize(
    ("heads", "q", "k"),
    [([3], [3], [1]), ([0], [0], [0]), ([1, 0], [1, 0], [0]), ([2, 1], [2, 1], [1, 0]), (None, [0, 1, 2, 3], [0, 1])],
)
def test_query_heads_bring_the_heads_that_they_share(heads: list[int] | None, q: list[int], k: list[int]) -> None:
    assert chosen("q", heads) == q
    assert chosen("k", heads) == chosen("v", heads) == k


def test_a_tensor_without_heads_is_unchanged() -> None:
    x = torch.arange(6).reshape(2, 3)
    assert select_heads(x, "position d_model", [1]) is x


def test_shared_keys_are_not_one_heads_own() -> None:
    assert own_heads(ATTENTION) == ("head", "kv_head")
    assert own_heads(GROUPED.attentions[0]) == ("head",)

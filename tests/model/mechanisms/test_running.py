"""The forms that are measured give what the mechanisms give."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.explain import timings
from chumoku.model.explain.timings import Timings
from chumoku.model.mechanisms import bare
from chumoku.model.mechanisms.aft import AftConv, AftLocal, AftSimple
from chumoku.model.mechanisms.bare import Inputs, running_mean
from chumoku.model.mechanisms.mixer import sizes

N, D, H, S, R = 12, 8, 2, 3, 4
AT, MASK = torch.arange(N)[None], masks.causal(N, N)[None, None]


def test_running_sums_equal_each_form_of_aft() -> None:
    torch.manual_seed(0)
    simple, local, conv = AftSimple(D, H), AftLocal(D, H, N, R, S), AftConv(D, H, S)
    torch.nn.init.normal_(local.bias_query), torch.nn.init.normal_(local.bias_key)
    torch.nn.init.normal_(conv.gamma), torch.nn.init.normal_(conv.beta)
    k, v = torch.randn(2, 1, H, N, D // H)

    def windows(w: Tensor) -> Iterator[Tensor]:
        for distance in range(S):
            yield w.diagonal(-distance, -2, -1)[..., None]

    one = k[..., :1]
    assert running_mean(k, v).allclose(simple.mix(k, v, AT, AT, MASK), atol=1e-6)
    assert running_mean(k, v, windows(local.bias(AT, AT))).allclose(local.mix(k, v, AT, AT, MASK), atol=1e-5)
    assert running_mean(one, v, windows(conv.bias(AT, AT))).allclose(conv.mix(one, v, AT, AT, MASK), atol=1e-5)


def test_every_form_runs_and_gives_a_number_for_each_feature() -> None:
    q, k, v = torch.randn(3, 1, H, N, D // H)
    with torch.inference_mode():
        made = {name: form(Inputs(q, k, v, S, R))() for name, form in bare.FORMS.items()}
    for name, out in made.items():
        parts = out if isinstance(out, list) else [out]
        assert sum(part.numel() for part in parts) == N * D, name
        assert all(part.isfinite().all() for part in parts), name
    assert torch.cat(made["softmax"], 1).allclose(made["sdpa"], atol=1e-5)


def test_what_would_take_too_long_or_too_much_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timings, "LENGTHS", (8, 16, 32))
    monkeypatch.setattr(timings, "FORMS", {"softmax": bare.softmax, "wkv": bare.wkv})
    monkeypatch.setattr(timings, "MOST_BYTES", 4 * 5000)
    monkeypatch.setattr(timings, "MOST_SECONDS", 0.0)
    measured = Timings(sizes(D, H), torch.device("cpu"))
    found = list(iter(measured.step, None))
    assert [(one.form, one.n, one.why) for one in found] == [
        *(("softmax", 8, None), ("wkv", 8, None), ("softmax", 16, "time"), ("wkv", 16, "time")),
        *(("softmax", 32, "time"), ("wkv", 32, "time")),
    ]
    monkeypatch.setattr(timings, "MOST_SECONDS", 1e9)
    found = list(iter(Timings(sizes(D, H), torch.device("cpu")).step, None))
    assert [one.why for one in found if one.form == "softmax"] == [None, None, "memory"]
    assert all(one.seconds for one in found if one.form == "wkv")

"""The state of recurrent mechanisms: what is carried on after each token, against the papers' recurrences."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from chumoku.model import masks
from chumoku.model.mechanisms import MECHANISMS, Mixer
from chumoku.model.mechanisms.attention_free import STATE, AttentionFree
from chumoku.model.mechanisms.caches import Folded
from chumoku.model.taps import name_taps, record
from tests.model.helpers import close, randn
from tests.model.mechanisms.small import small_mixer

N, D = 9, 12
RECURRENT = ["aft-simple", "wkv"]
CAUSAL = masks.causal(N, N)[None, None]


def run(mixer: Mixer, x: Tensor, mask: Tensor = CAUSAL, at: int = 0, cache: Folded | None = None) -> dict[str, Tensor]:
    """The state and what it is made of, by role, as features: [position d_model]."""
    name_taps(mixer)
    places = torch.arange(at, at + len(x))[None]
    roles = [*STATE] if cache else [*STATE, "k", "v", "mixed"]
    batch = x[None]
    with torch.inference_mode(), record(roles) as recording:
        mixer(batch, batch, mask, places, places, cache=cache)
    return {role: found[0].transpose(0, 1).flatten(1) for role, found in recording.tensors.items()}


def recurrence(k: Tensor, v: Tensor, w: Tensor) -> list[tuple[Tensor, Tensor]]:
    """a_t = e^−w a_{t−1} + e^{k_t} v_t and b_t = e^−w b_{t−1} + e^{k_t} (Peng et al. 2023, section 4.2, as in their
    equation 16 the bonus is the next token's own); with w = 0 the sums of Zhai et al. 2021, equation 4."""
    a, b, states = torch.zeros(D, dtype=k.dtype), torch.zeros(D, dtype=k.dtype), []
    for k_t, v_t in zip(k, v, strict=True):
        a, b = (-w).exp() * a + k_t.exp() * v_t, (-w).exp() * b + k_t.exp()
        states.append((a, b))
    return states


def decay_of(mixer: Mixer) -> Tensor:
    return mixer.decay.exp() if "decay" in dict(mixer.named_parameters()) else torch.zeros(D, dtype=torch.float64)  # type: ignore[operator,union-attr]


@pytest.mark.parametrize("name", RECURRENT)
def test_it_is_the_paper_s_recurrence(name: str) -> None:
    mixer = small_mixer(name)
    found = run(mixer, randn(N, D))
    for t, (a, b) in enumerate(recurrence(found["k"], found["v"], decay_of(mixer))):
        close(found["state_mean"][t], a / b)
        close(found["state_log_sum"][t], b.log())


@pytest.mark.parametrize("name", RECURRENT)
def test_with_the_next_token_it_gives_what_the_next_token_reads(name: str) -> None:
    """Nothing else of the past is needed: the state, k and v of the token, and RWKV's bonus."""
    mixer = small_mixer(name)
    found = run(mixer, randn(N, D))
    bonus = mixer.bonus if name == "wkv" else torch.zeros(D, dtype=torch.float64)
    for t in range(1, N):
        before, own = found["state_log_sum"][t - 1].exp(), (found["k"][t] + bonus).exp()  # type: ignore[operator]
        mixed = (before * found["state_mean"][t - 1] + own * found["v"][t]) / (before + own)
        close(found["mixed"][t], mixed)


@pytest.mark.parametrize("name", RECURRENT)
def test_read_token_by_token_it_is_the_same_and_never_grows(name: str) -> None:
    mixer, x = small_mixer(name), randn(N, D)
    whole, cache = run(mixer, x), mixer.new_cache()
    assert isinstance(cache, Folded)
    sizes = []
    for t in range(N):
        one = run(mixer, x[t : t + 1], masks.causal(1, t + 1)[None, None], t, cache)
        for role in STATE:
            assert one[role].shape == (1, D)
            close(one[role][0], whole[role][t])
        sizes.append(cache.nbytes)
    assert len(set(sizes)) == 1  # what the model really keeps: one key, one value
    close(cache.kept[0][0, :, 0].flatten(), whole["state_log_sum"][-1])
    close(cache.kept[1][0, :, 0].flatten(), whole["state_mean"][-1])


@pytest.mark.parametrize("name", RECURRENT)
def test_padding_is_not_in_it_and_an_empty_state_is_zeros(name: str) -> None:
    mixer, x = small_mixer(name), randn(N, D)
    mask = CAUSAL.clone()
    mask[..., :2] |= masks.PADDING
    padded, plain = run(mixer, x, mask), run(mixer, x[2:], masks.causal(N - 2, N - 2)[None, None])
    for role in STATE:
        assert not padded[role][:2].any()
    if name == "aft-simple":  # RWKV also mixes each token with the one before
        for role in STATE:
            close(padded[role][2:], plain[role])


def test_only_mechanisms_whose_sums_are_all_they_keep_have_it() -> None:
    with_state = {
        name for name, mixer in MECHANISMS.items() if issubclass(mixer, AttentionFree) and "state_mean" in mixer.roles
    }
    assert with_state == set(RECURRENT)

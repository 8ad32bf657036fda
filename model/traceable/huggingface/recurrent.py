"""RWKV of transformers: it computes its own recurrence; we compute the equivalent weights from k, decay and bonus.

A model is refused if these weights do not give the input of its output matrix. A state is not a list of keys, so while
a text grows, k and v of earlier positions are kept in addition to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from transformers.models.rwkv import modeling_rwkv

from chumoku.model import masks, stopping
from chumoku.model.describe import AttentionSublayer, FfnSublayer, Stack
from chumoku.model.identities import discrepancies
from chumoku.model.mechanisms.attention_free import STATE
from chumoku.model.run import Run
from chumoku.model.taps import edited, record, visit, wanted
from chumoku.model.traceable.huggingface.capture import TAPS
from chumoku.model.traceable.huggingface.hooks import watch_heads, watch_input, watch_norm, watch_output, watch_table
from chumoku.model.traceable.huggingface.layout import Adapter, StackLayout
from chumoku.model.traceable.huggingface.model import GrowingText, HuggingFaceModel

AT_ONCE = 400_000
"""How many weights (one for each query, key and feature) are computed at once, so that they fit into the CPU's
cache."""
PROBE = 5
AGREES = 1e-4
"""Tolerance relative to a tensor's largest number: rounding stays below it."""
SUMS = ("numerator", "denominator")
OF_WEIGHTS = ("weights", "mean_weights", *SUMS)
Earlier = dict[int, tuple[Tensor, Tensor]]
"""k and v [batch head position d_head] of earlier positions, by layer."""

_earlier: ContextVar[Earlier | None] = ContextVar("chumoku_earlier", default=None)


@contextmanager
def after(earlier: Earlier) -> Iterator[None]:
    """In this block, new positions follow the `earlier` ones, and their k and v are added to them."""
    token = _earlier.set(earlier)
    try:
        yield
    finally:
        _earlier.reset(token)


def forbid_kernels() -> None:
    """Keep transformers from downloading and running code for GPUs."""

    def refuse(_: int) -> None:
        raise ImportError("no code is downloaded")

    modeling_rwkv.load_wkv_cuda_kernel = refuse


def attach_recurrent(model: Any, adapter: Adapter, name: str) -> None:
    """Watch everything that the description names. Raises `ValueError`, starting with the model's `name`, if our
    weights do not match its recurrence."""
    ids = torch.arange(PROBE)[None] % adapter.description.vocab_size
    with torch.inference_mode():
        expected = model(ids, use_cache=False).logits  # the first pass rescales the weights
    (stack,), layout = adapter.description.stacks, adapter.stacks["main"]
    watch_table(model.get_submodule(layout.embedding), stack.embedding.roles["embedding"].tap)
    first = stack.layers[0].sublayers[0].reads.tap
    assert stack.embedding.norm is not None
    assert stack.final_norm is not None
    watch_norm(model.get_submodule(str(layout.embedding_norm)), stack.embedding.norm, after=[first])
    for n in range(len(stack.layers)):
        watch_block(model.get_submodule(layout.block.format(n=n)), adapter, stack, layout, n)
    watch_norm(model.get_submodule(str(layout.final_norm)), stack.final_norm)
    check_recorded(model, adapter, ids, expected, name)


def watch_block(block: nn.Module, adapter: Adapter, stack: Stack, layout: StackLayout, n: int) -> None:
    time, channel = stack.layers[n].sublayers
    assert isinstance(time, AttentionSublayer)
    assert isinstance(channel, FfnSublayer)
    assert time.norm is not None
    assert channel.norm is not None
    if n > 0:
        watch_input(block, time.reads.tap)
    watch_norm(block.get_submodule(layout.parts["self norm"].module), time.norm)
    attention = adapter.description.attention(time.attention)
    mixer = block.get_submodule(layout.attentions[attention.id])
    taps = {role: attention.tap(role, n) for role in attention.roles}
    setattr(mixer, TAPS, taps)
    for x in "rkv":
        watch_heads(block.get_submodule(layout.parts[f"self {x}"].module), taps[x], attention.d_head)
    watch_output(block.get_submodule(layout.parts["self o"].module), time.writes.tap)
    replace_time_mixing(mixer, attention.n_head)
    watch_norm(block.get_submodule(layout.parts["ffn norm"].module), channel.norm, before=[channel.reads.tap])
    for word, reads, gives in (("1", "shifted", "pre"), ("2", "post", "value"), ("r", "shifted_r", "receptance")):
        module = block.get_submodule(layout.parts[f"ffn {word}"].module)
        watch_input(module, channel.roles[reads].tap)
        watch_output(module, channel.roles[gives].tap)
    watch_output(block.get_submodule(layout.parts["ffn mix_k"].module), channel.writes.tap)
    watch_output(block, channel.leaves.tap)


def replace_time_mixing(module: Any, n_head: int) -> None:
    """Replace `forward` by one that computes the same, visits the parts, and computes the weights on request."""

    def split(x: Tensor) -> Tensor:
        groups: Tensor = x.unflatten(-1, (n_head, -1))
        return groups.transpose(1, 2)  # batch head position d_head

    def forward(hidden: Tensor, state: list[Tensor] | None = None, use_cache: bool = False) -> tuple[Tensor, Any]:
        stopping.check()
        taps: Mapping[str, str] = getattr(module, TAPS)
        gate, k, v, state = module.extract_key_value(hidden, state=state)
        sums = None if state is None else tuple(x[:, :, module.layer_id] for x in state[2:])
        mean, sums = modeling_rwkv.rwkv_linear_attention_cpu(
            module.time_decay, module.time_first, k, v, state=sums, return_state=use_cache
        )
        if state is not None:
            for kept, new in zip(state[2:], sums, strict=True):
                kept[:, :, module.layer_id] = new
        k, v = both(module.layer_id, split(k), split(v))
        see_state(module, taps, k, v, hidden.shape[1])
        mixed = visit(taps["mixed"], seen(module, taps, split(mean), k, v))
        z = visit(taps["z"], visit(taps["gate"], split(gate)) * mixed)
        return module.output(z.transpose(1, 2).flatten(-2)), state

    module.forward = forward


def both(layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """k and v of the earlier positions and of the new ones: [batch head key d_head]."""
    earlier = _earlier.get()
    if earlier is None:
        return k, v
    if layer in earlier:
        k, v = (torch.cat(pair, 2) for pair in zip(earlier[layer], (k, v), strict=True))
    earlier[layer] = k, v
    return k, v


def seen(module: Any, taps: Mapping[str, str], mean: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Visit the mask and the weights. Returns `mean` [batch head query d_head], which the model computed, unless an
    edit changes it.

    k and v [batch head key d_head]; the queries are the last positions.
    """
    changed = [role for role in ("mask", "weights", *SUMS) if edited(taps[role])]
    if not changed and not any(wanted(taps[role]) for role in ("mask", *OF_WEIGHTS)):
        return mean
    n_query, n_key = mean.shape[2], k.shape[2]
    mask = masks.causal(n_query, n_key, k.device).expand(*k.shape[:2], -1, -1)
    mask = visit(taps["mask"], mask)
    if not changed and not any(wanted(taps[role]) for role in OF_WEIGHTS):
        return mean
    decay, bonus = (x.view(k.shape[1], 1, 1, -1) for x in (module.time_decay.exp(), module.time_first))
    rows = max(1, AT_ONCE // (n_key * k.shape[1] * k.shape[3] * len(k)))
    pieces = []
    for query in torch.arange(n_key - n_query, n_key, device=k.device).split(rows):
        n = n_key if "mask" in changed else int(query[-1]) + 1  # no key after them is allowed
        allowed = masks.allowed(mask[:, :, query - (n_key - n_query), :n])
        top = exponentials(k[:, :, :n], decay, bonus, query, allowed)
        pieces.append(weighed(taps, pad(top, (0, 0, 0, n_key - n)) if wanted(taps["weights"]) else top, v, n_key))
    return gathered(taps, pieces, mean, v, changed)


def see_state(module: Any, taps: Mapping[str, str], k: Tensor, v: Tensor, n_query: int) -> None:
    """Visit what is carried on after each of the last `n_query` positions, if it is requested: Σ e^{k_i − (t − i)w} as
    a logarithm, and the mean of v [batch head key d_head] with these weights."""
    if not any(wanted(taps[role]) for role in STATE):
        return
    decay = module.time_decay.exp().view(k.shape[1], 1, 1, -1)
    rows = max(1, AT_ONCE // (k.shape[2] * k.shape[1] * k.shape[3] * len(k)))
    means, sums = [], []
    for query in torch.arange(k.shape[2] - n_query, k.shape[2], device=k.device).split(rows):
        n = int(query[-1]) + 1
        apart = query[:, None] - torch.arange(n, device=k.device)[None]  # query key
        logits = k[:, :, None, :n] - apart[..., None] * decay
        logits = logits.masked_fill((apart < 0)[..., None], -torch.inf)
        means.append((logits.softmax(-2) * v[:, :, None, :n]).sum(-2))
        sums.append(logits.logsumexp(-2))
    for role, found in zip(STATE, (means, sums), strict=True):
        visit(taps[role], torch.cat(found, 2))


def exponentials(k: Tensor, decay: Tensor, bonus: Tensor, query: Tensor, allowed: Tensor) -> Tensor:
    """e^{k_i − (t − 1 − i)w}, and e^{k_t + u} for the token itself, for t in `query`: [batch head query key d_head].

    Each is divided by the largest of its row, and is 0 where `allowed` [batch head query key] is False.
    """
    apart = query[:, None] - torch.arange(k.shape[2], device=k.device)[None]  # query key
    logits = ((1 - apart).clamp(max=0)[..., None] * decay).add(k[:, :, None])
    itself = torch.arange(len(query), device=k.device), query
    logits[:, :, itself[0], itself[1]] = k[:, :, query] + bonus[..., 0, :]
    logits.masked_fill_(~allowed[..., None], -torch.inf)
    largest = logits.amax(-2, keepdim=True)
    return logits.sub_(largest.masked_fill(largest == -torch.inf, 0.0)).exp_()


def weighed(taps: Mapping[str, str], top: Tensor, v: Tensor, n_key: int) -> dict[str, Tensor]:
    """The sums for some queries and the means of their weights; the weights themselves only on request. `top` may lack
    the last of the `n_key` keys: their weights are 0."""
    sums = top.sum(-2)  # batch head query d_head
    shares = 1 / sums.clamp(min=torch.finfo(sums.dtype).tiny)
    means = (top @ shares[..., None])[..., 0] / top.shape[-1]
    found = {"denominator": sums, "mean_weights": pad(means, (0, n_key - top.shape[-2]))}
    if wanted(taps["weights"]):
        found["weights"] = top * shares[..., None, :]
        found["mean_weights"] = found["weights"].mean(-1)
    if edited(taps["mask"]) or any(wanted(taps[role]) for role in SUMS):
        found["numerator"] = (top * v[:, :, None, : top.shape[-2]]).sum(-2)
    return found


def gathered(
    taps: Mapping[str, str], pieces: Sequence[Mapping[str, Tensor]], mean: Tensor, v: Tensor, changed: Sequence[str]
) -> Tensor:
    found = {role: torch.cat([piece[role] for piece in pieces], 2) for role in pieces[0]}
    if "weights" in found:
        found["weights"] = visit(taps["weights"], found["weights"])
    if "weights" in changed:
        found["mean_weights"] = found["weights"].mean(-1)
    visit(taps["mean_weights"], found["mean_weights"])
    if "numerator" in found:
        found |= {role: visit(taps[role], found[role]) for role in SUMS}
    if "weights" in changed:
        return (found["weights"] * v[:, :, None]).sum(-2)
    above, below = found.get("numerator", mean), found["denominator"]
    return above / below.clamp(min=torch.finfo(below.dtype).tiny) if changed else mean


@torch.inference_mode()
def check_recorded(model: Any, adapter: Adapter, ids: Tensor, expected: Tensor, name: str) -> None:
    """Check that recording changes no bit of the logits, and that the weights give the output matrix's input."""
    with record(adapter.description.taps) as recording:
        logits = model(ids, use_cache=False).logits
    if not torch.equal(logits, expected):
        raise ValueError(f"{name}: with its time mixing recorded, its logits are not those of transformers")
    tensors = {tap: x[0] for tap, x in recording.tensors.items()}
    (attention,) = adapter.description.attentions
    for layer in range(attention.n_layer):
        for found in discrepancies(attention, layer, tensors, model.get_parameter):
            if not found.relative <= AGREES:
                raise ValueError(
                    f"{name}: its {found.gives} in layer {layer} is not what k, decay and bonus give: they differ by "
                    f"{found.relative:.1e} of the largest number, where {AGREES:.0e} is allowed"
                )


class Recurrent(HuggingFaceModel):
    """A model with a state. It has no mask that could hide a PAD, so its tokenizer has no PAD."""

    def read_ids(self, ids: Tensor, position_ids: Tensor, hidden: Tensor, **more: object) -> Tensor:
        return visit(self.description.logits.tap, self.model(input_ids=ids, use_cache=False).logits)

    def start(self, run: Run, names: Sequence[str]) -> GrowingText:
        return GrowingState(self, run, names)


class GrowingState(GrowingText):
    """A growing text. Keeps its state, and k and v of its positions to compute the weights of later ones."""

    def __init__(self, traceable: Recurrent, run: Run, names: Sequence[str]) -> None:
        super().__init__(traceable, run, names)
        self.keeps, self.cache = self.cache is not None, None
        self.state: list[Tensor] | None = None
        self.earlier: Earlier = {}

    @property
    def before(self) -> int:
        return len(self.ids) if self.keeps else 0

    def read(self, new: Tensor) -> Tensor:
        if not self.keeps:
            return super().read(new)
        with after(self.earlier):
            out = self.traceable.model(input_ids=new, state=self.state, use_cache=True)
        self.state = out.state
        return visit(self.traceable.description.logits.tap, out.logits)

    @property
    def nbytes(self) -> int:
        """Bytes of the state and of the keys and values that are kept."""
        pairs = (x for pair in self.earlier.values() for x in pair)
        return sum(x.nbytes for x in (*(self.state or ()), *pairs))

"""Each edit of a Hugging Face model, against transformers' own eager pass with hooks of this file.

The hooks give every attention its mask, and change what its output projection reads: nothing of ours computes here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from chumoku.app.api.run import RunRequest
from chumoku.app.errors import AppError
from chumoku.app.services.plan import plan_run
from chumoku.model.describe import Attention
from chumoku.model.run import Run
from chumoku.model.traceable import source_of
from tests.app.edits import MASKS, Edit, changes, close, does_something, edited, hooked, masks_of
from tests.toys import huggingface as toys

CPU = torch.device("cpu")
TEXT, OTHER = "a little cat sat", "a rotten cat ran"
TARGET = [40, 50, 60, 70, 80]
LOWEST = torch.finfo(torch.float32).min


@dataclass(frozen=True)
class Family:
    """Where transformers has the parts of a family: paths by attention, with the layer left open."""

    build: Callable[[], Any]
    tokenizer: Callable[[], Any]
    attentions: dict[str, str]
    output: str
    """Its output projection, below the attention."""
    layer: str
    mask: str = "attention_mask"


LLAMA = ({"self": "model.layers.{}.self_attn"}, "o_proj", "model.layers.{}")
T5 = {
    "encoder": "encoder.block.{}.layer.0.SelfAttention",
    "decoder": "decoder.block.{}.layer.0.SelfAttention",
    "cross": "decoder.block.{}.layer.1.EncDecAttention",
}
FAMILIES = {
    "gpt2": Family(toys.gpt2, toys.byte_level, {"self": "transformer.h.{}.attn"}, "c_proj", "transformer.h.{}"),
    "llama": Family(toys.llama, toys.sentence_piece, *LLAMA),
    "mistral": Family(lambda: toys.llama("Mistral", sliding_window=4), toys.sentence_piece, *LLAMA),
    "gemma2": Family(
        lambda: toys.gemma2(attn_logit_softcapping=None, sliding_window=4), toys.sentence_piece, *LLAMA
    ),
    "bert": Family(
        lambda: toys.bert("BertForMaskedLM"), toys.word_piece, {"self": "bert.encoder.layer.{}.attention.self"},
        "../output.dense", "bert.encoder.layer.{}",
    ),
    "t5": Family(
        toys.t5, lambda: toys.sentence_piece(f"$A {toys.END}"), T5, "o", "encoder.block.{}", mask="mask"
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """The same weights, opened by us and in transformers."""

    family: Family
    ours: Any
    theirs: Any

    def attention(self, one: Attention, layer: int) -> Any:
        return self.theirs.get_submodule(self.family.attentions[one.id].format(layer))

    def output(self, one: Attention, layer: int) -> Any:
        """W_O."""
        path = self.family.attentions[one.id].format(layer)
        if self.family.output.startswith("../"):
            return self.theirs.get_submodule(f"{path.rpartition('.')[0]}.{self.family.output[3:]}")
        return self.theirs.get_submodule(f"{path}.{self.family.output}")

    def run(self, *edits: Edit, text: str = TEXT, **more: Any) -> Run:
        target = {"target_ids": TARGET} if self.ours.description.writes == "target" else {}
        asked: dict[str, Any] = {"text": text, **target, "interventions": list(edits), **more}
        return plan_run(self.ours, RunRequest.model_validate(asked), 1000).run

    def found(self, *edits: Edit, **more: Any) -> Tensor:
        """Our logits."""
        tap = self.ours.description.logits.tap
        logits: Tensor = self.ours.trace(self.run(*edits, **more), [tap]).tensors[tap]
        return logits

    def expected(self, text: str = TEXT, own: bool = False, **more: Any) -> Tensor:
        """Theirs; `own`: with the translation that the model writes, in place of `TARGET`."""
        run = self.run(text=text, **({"target_ids": None} if own else {}))
        target = {} if run.target is None else {"decoder_input_ids": torch.tensor([list(run.target)])}
        with torch.inference_mode():
            logits: Tensor = self.theirs(torch.tensor([list(run.ids)]), **target, **more).logits[0]
        return logits


@pytest.fixture(scope="module", params=FAMILIES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    family = FAMILIES[request.param]
    theirs: Any = toys.random_numbers(family.build())
    folder: Path = toys.save(tmp_path_factory.mktemp("hf") / request.param, theirs, family.tokenizer())
    theirs.set_attn_implementation("eager")
    source = source_of(folder)
    assert source is not None
    return Pair(family, source.open(folder, CPU), theirs)


# What each attention may see.


def trained(pair: Pair, one: Attention, layer: int) -> Tensor:
    """True = may attend [head query key], before any edit."""
    run = pair.run()
    lengths = {"source": len(run.ids), "target": 1 + len(TARGET)}
    n_query, n_key = lengths[one.queries], lengths[one.keys]
    allowed = torch.ones(one.n_head, n_query, n_key, dtype=torch.bool)
    if one.causal:
        allowed = allowed.tril()
    config = pair.theirs.config
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"] * one.n_layer
    if getattr(config, "sliding_window", None) and kinds[layer] == "sliding_attention":
        allowed = allowed.triu(1 - config.sliding_window)
    return allowed


def heads_of(x: Tensor, one: Attention) -> Tensor:
    """What W_O reads, as a view [batch position head d_head]."""
    return x.unflatten(-1, (one.n_head, -1))


def before_output(pair: Pair, one: Attention, layer: int, change: Callable[[Tensor], Tensor]) -> Any:
    """Changes what W_O reads: [batch position head d_head]."""
    return pair.output(one, layer).register_forward_pre_hook(
        lambda module, args: (change(heads_of(args[0].clone(), one)).flatten(-2), *args[1:])
    )


def masked(pair: Pair, mask_of: Callable[[Attention, int], Tensor]) -> list[Any]:
    """Gives every attention of every layer its own mask. A row with nothing allowed is even: that is transformers'."""
    hooks = []
    for one in pair.ours.description.attentions:
        for layer in range(one.n_layer):
            added = torch.where(mask_of(one, layer), 0.0, LOWEST)[None]

            def give(module: nn.Module, args: Any, given: Any, added: Tensor = added) -> Any:
                return args, {**given, pair.family.mask: added}

            hooks.append(pair.attention(one, layer).register_forward_pre_hook(give, with_kwargs=True))
    return hooks


@pytest.mark.parametrize("name", MASKS)
def test_masks_are_those_that_transformers_is_given(pair: Pair, name: str) -> None:
    plain, attentions = pair.found(), pair.ours.description.attentions
    with hooked(masked(pair, lambda one, layer: trained(pair, one, layer))):
        close(pair.expected(), plain)
    edits = masks_of(attentions, name)
    found = pair.found(*edits)
    with hooked(masked(pair, lambda one, layer: edited(trained(pair, one, layer), edits, one, layer))):
        close(found, pair.expected())
    assert torch.equal(found, plain) != does_something(attentions, edits)


def test_the_causal_mask_of_the_stack_that_predicts_is_switched_off(pair: Pair) -> None:
    def whole(one: Attention, layer: int) -> Tensor:
        allowed = trained(pair, one, layer)
        window = getattr(pair.theirs.config, "sliding_window", None)
        if not one.causal:
            return allowed
        return (
            torch.ones_like(allowed) if not window or allowed[0, -1, 0] else torch.ones_like(allowed).triu(1 - window)
        )

    with hooked(masked(pair, whole)):
        close(pair.found(masks={"causal": False}), pair.expected())


# What a head writes.


def each(pair: Pair) -> Iterator[tuple[Attention, Callable[..., Edit]]]:
    """Each attention, and what makes an edit of its layer 1."""
    for one in pair.ours.description.attentions:
        yield one, lambda kind, one=one, **where: {"kind": kind, "where": {"attention": one.id, "layer": 1, **where}}


def test_a_head_that_is_off_leaves_its_part_of_w_o_unread(pair: Pair) -> None:
    plain = pair.found()
    for one, edit in each(pair):
        for off in ([1], [head for head in range(one.n_head) if head != 1]):  # a head; all but this head

            def silent(z: Tensor, off: list[int] = off) -> Tensor:
                z[:, :, off] = 0
                return z

            found = pair.found(*(edit("ablate", head=head) for head in off))
            with hooked([before_output(pair, one, 1, silent)]):
                close(found, pair.expected())
            changes(found, plain)


def test_a_head_writes_its_mean_over_sentences(pair: Pair) -> None:
    """At each position over those that have it, later over all these means. Each sentence has its own translation."""
    texts, asked = ("a cat", "a rotten cat ran"), {}
    for one, edit in each(pair):
        seen: list[Tensor] = []

        def watch(z: Tensor, seen: list[Tensor] = seen) -> Tensor:
            seen.append(z[0].clone())  # position head d_head
            return z

        with hooked([before_output(pair, one, 1, watch)]):
            for text in texts:
                pair.expected(text, own=True)
        both = min(map(len, seen))
        means = torch.cat([(seen[0][:both] + seen[1][:both]) / 2, *(x[both:] for x in seen)])

        def mean(z: Tensor, means: Tensor = means) -> Tensor:
            rows = [means[t] if t < len(means) else means.mean(0) for t in range(z.shape[1])]
            z[0, :, 1] = torch.stack(rows)[:, 1]
            return z

        asked = {**edit("ablate", head=1), "to": "mean", "over": list(texts)}
        with hooked([before_output(pair, one, 1, mean)]):
            close(pair.found(asked), pair.expected())
        changes(pair.found(asked), pair.found())
    with pytest.raises(AppError, match="No mean") as refusal:
        pair.found({**asked, "over": None})
    assert (refusal.value.code, refusal.value.where) == ("no_mean", "interventions[0].to")


def test_a_row_of_another_run_is_put_into_another_row(pair: Pair) -> None:
    """Of a head before W_O, and of the stream before a layer."""
    plain, target = pair.found(), {"target_ids": TARGET} if pair.ours.description.writes == "target" else {}
    other = {"from": {"text": OTHER, **target}}
    for one, edit in each(pair):
        seen: list[Tensor] = []

        def watch(z: Tensor, seen: list[Tensor] = seen) -> Tensor:
            seen.append(z.clone())
            return z

        with hooked([before_output(pair, one, 1, watch)]):
            pair.expected(OTHER)

        def put(z: Tensor, seen: list[Tensor] = seen) -> Tensor:
            z[:, 4, 1] = seen[0][:, 3, 1]
            return z

        found = pair.found({**edit("patch", role="z", head=1, query=4, from_row=3), **other})
        with hooked([before_output(pair, one, 1, put)]):
            close(found, pair.expected())
        changes(found, plain)

    first = pair.ours.description.attentions[0]
    block = pair.theirs.get_submodule(pair.family.layer.format(1))
    streams: list[Tensor] = []

    def read(module: nn.Module, args: Any, given: Any) -> None:
        streams.append((args[0] if args else given["hidden_states"]).clone())

    def write(module: nn.Module, args: Any, given: Any) -> Any:
        x = (args[0] if args else given["hidden_states"]).clone()
        x[:, 4] = streams[0][:, 3]
        return ((x, *args[1:]), given) if args else (args, {**given, "hidden_states": x})

    with hooked([block.register_forward_pre_hook(read, with_kwargs=True)]):
        pair.expected(OTHER)
    where = {"attention": first.id, "layer": 1, "role": "stream", "query": 4, "from_row": 3}
    found = pair.found({"kind": "patch", "where": where, **other})
    with hooked([block.register_forward_pre_hook(write, with_kwargs=True)]):
        close(found, pair.expected())
    changes(found, plain)


# The formula's parts.

QUERIES = {"gpt2": "c_attn", "bert": "query", "t5": "q"}
"""What computes q, below an attention; otherwise `q_proj`."""
HEAT = 2.5


def name_of(pair: Pair) -> str:
    return next(name for name, family in FAMILIES.items() if family is pair.family)


def warmed(pair: Pair, one: Attention, factor: float, head: int | None) -> list[Any]:
    """Scores of layer 1 times a factor: q, and what T5 adds to q · k."""
    module, width = pair.attention(one, 1), one.n_head * one.d_head

    def times(x: Tensor) -> Tensor:
        x = x.clone()
        q = heads_of(x[..., :width], one)
        q[:, :, slice(None) if head is None else head] *= factor
        return x

    def bias(module: nn.Module, args: Any, given: Any) -> Any:
        added = given["position_bias"].clone()
        added[:, slice(None) if head is None else head] *= factor
        return args, {**given, "position_bias": added}

    query = module.get_submodule(QUERIES.get(name_of(pair), "q_proj"))
    hooks = [query.register_forward_hook(lambda module, args, out: times(out))]
    return [*hooks, module.register_forward_pre_hook(bias, with_kwargs=True)] if name_of(pair) == "t5" else hooks


def test_in_a_window_each_far_cell_is_forbidden(pair: Pair) -> None:
    found = pair.found({"kind": "window", "where": {"layer": 1, "head": 1}, "size": 2})
    n = len(pair.run().ids)
    cells = [
        {"kind": "mask", "where": {"layer": 1, "head": 1, "query": row, "key": col}, "allow": False}
        for row in range(n)
        for col in range(n)
        if abs(row - col) >= 2
    ]
    close(found, pair.found(*cells))
    changes(found, pair.found())


def test_scores_at_a_temperature_and_without_their_scale(pair: Pair) -> None:
    one = pair.ours.description.attentions[0]
    heat = {"kind": "temperature", "where": {"layer": 1, "head": 1}, "temperature": HEAT}
    with hooked(warmed(pair, one, 1 / HEAT, 1)):
        close(pair.found(heat), pair.expected())
    changes(pair.found(heat), pair.found())
    whole = {"kind": "no_scale", "where": {"layer": 1}}
    if name_of(pair) == "t5":
        with pytest.raises(AppError, match="does not divide the scores") as refusal:
            pair.found(whole)
        assert (refusal.value.code, refusal.value.where) == ("cannot", "interventions[0]")
        return
    assert one.scale is not None
    with hooked(warmed(pair, one, 1 / one.scale, None)):
        close(pair.found(whole), pair.expected())
    changes(pair.found(whole), pair.found())


def test_scores_lose_their_scale_before_their_tanh(tmp_path: Path) -> None:
    """Gemma 2's are bounded: c · tanh(q · k · scale / c)."""
    theirs: Any = toys.random_numbers(toys.gemma2(attn_logit_softcapping=0.8, sliding_window=24))
    folder = toys.save(tmp_path / "capped", theirs, toys.sentence_piece())
    theirs.set_attn_implementation("eager")
    source = source_of(folder)
    assert source is not None
    pair = Pair(FAMILIES["gemma2"], source.open(folder, CPU), theirs)
    (one,) = pair.ours.description.attentions
    assert one.scale is not None
    found = pair.found({"kind": "no_scale", "where": {"layer": 1}})
    with hooked(warmed(pair, one, 1 / one.scale, None)):
        close(found, pair.expected())
    changes(found, pair.found())


def spread(x: Tensor, norm: Any) -> Tensor:
    """σ of a LayerNorm's input, √mean(x²) of an RMSNorm's: [.. 1]"""
    x = x - x.mean(-1, keepdim=True) if isinstance(norm, nn.LayerNorm) else x
    eps = norm.eps if isinstance(norm, nn.LayerNorm) else norm.variance_epsilon
    return (x.square().mean(-1, keepdim=True) + eps).sqrt()


def test_frozen_norms_divide_by_what_they_divided_by_before_the_edit(pair: Pair) -> None:
    frozen, off = {"kind": "freeze_norms"}, {"kind": "ablate", "where": {"layer": 0, "head": 1}}
    if name_of(pair) == "gemma2":
        with pytest.raises(AppError, match="has no norms that can be frozen") as refusal:
            pair.found(off, frozen)
        assert (refusal.value.code, refusal.value.where) == ("cannot", "interventions[1]")
        return
    norms = [module for module in pair.theirs.base_model.modules() if type(module).__name__.endswith("Norm")]
    kept: dict[Any, Tensor] = {}

    def watch(module: Any, args: Any) -> None:
        kept[module] = spread(args[0], module)

    def freeze(module: Any, args: Any, out: Tensor) -> Tensor:
        x = args[0]
        if isinstance(module, nn.LayerNorm):
            return (x - x.mean(-1, keepdim=True)) / kept[module] * module.weight + module.bias
        found: Tensor = x / kept[module] * module.weight
        return found

    def silent(z: Tensor) -> Tensor:
        z[:, :, 1] = 0
        return z

    with hooked([norm.register_forward_pre_hook(watch) for norm in norms]):
        pair.expected()
    one = pair.ours.description.attentions[0]
    found = pair.found(off, frozen)
    with hooked([before_output(pair, one, 0, silent), *(norm.register_forward_hook(freeze) for norm in norms)]):
        torch.testing.assert_close(found, pair.expected(), atol=1e-3, rtol=1e-3)
    changes(found, pair.found(off))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("hides", "follow"), [(True, True), (True, False), (False, True)])
def test_pads_are_hidden_or_not_and_take_a_position_or_none(pair: Pair, side: str, hides: bool, follow: bool) -> None:
    """At the sentence's own rows; T5's distances know no other positions than the rows'."""
    name, count = name_of(pair), 2
    asked = {"pad": {"count": count, "side": side, "follow": follow}, "masks": {"padding": hides}}
    found = pair.found(**asked)
    run = pair.run()
    pads = [pair.ours.tokenizer.special.pad] * count
    ids = torch.tensor([[*pads, *run.ids] if side == "left" else [*run.ids, *pads]])
    real = torch.ones_like(ids).bool()
    real[:, slice(0, count) if side == "left" else slice(-count, None)] = False
    more: dict[str, Any] = {"attention_mask": real.long() if hides else torch.ones_like(ids)}
    if run.target is not None:
        more["decoder_input_ids"] = torch.tensor([list(run.target)])
    else:
        skips = (real.cumsum(-1) - 1).clamp(min=0)
        more["position_ids"] = skips if hides and follow else torch.arange(ids.shape[1])[None]
    with torch.inference_mode():
        expected = pair.theirs(ids, **more).logits[0]
    rows = real[0] if run.target is None else slice(None)
    close(found[rows], expected[rows])
    if side == "left" and (not hides or (not follow and name in ("gpt2", "bert"))):  # a rotation sees differences alone
        changes(found[rows], pair.found())


@pytest.mark.parametrize("pair", ["llama", "mistral", "gemma2"], indirect=True)
def test_positions_that_are_off_are_all_the_first(pair: Pair) -> None:
    """Where they turn q and k; the other families: `test_formula_edits.py`."""
    if name_of(pair) == "gemma2":
        with pytest.raises(AppError, match="has no positions") as refusal:
            pair.found({"kind": "no_positions"})
        assert refusal.value.code == "cannot"
        return
    found = pair.found({"kind": "no_positions"})
    close(found, pair.expected(position_ids=torch.zeros(1, len(pair.run().ids), dtype=torch.long)))
    changes(found, pair.found())


@pytest.mark.parametrize("pair", ["mistral", "gemma2"], indirect=True)
def test_sublayers_that_are_off_write_nothing(pair: Pair) -> None:
    """Those of families that `test_formula_edits.py` has not."""
    plain = pair.found()
    for role, path in (("attn_out", "self_attn.o_proj"), ("out", "mlp.down_proj")):
        off = {"kind": "ablate", "where": {"layer": 1, "role": role}}
        if (name_of(pair), role) == ("gemma2", "out"):
            with pytest.raises(AppError, match="no role named 'out'") as refusal:
                pair.found(off)
            assert (refusal.value.code, refusal.value.where) == ("unknown_role", "interventions[0].where.role")
            continue
        module = pair.theirs.get_submodule(f"model.layers.1.{path}")
        with hooked([module.register_forward_hook(lambda module, args, out: torch.zeros_like(out))]):
            close(pair.found(off), pair.expected())
        changes(pair.found(off), plain)


def test_what_a_recurrent_model_has_not_is_refused_by_name(tmp_path: Path) -> None:
    """RWKV has no softmax per head and no positions; its masks are tested in `test_huggingface.py`."""
    folder = toys.save(tmp_path / "rwkv", toys.random_numbers(toys.rwkv()), toys.byte_level())
    source = source_of(folder)
    assert source is not None
    model = source.open(folder, CPU)
    for edit, code, why in (
        ({"kind": "temperature", "where": {"layer": 0}, "temperature": 2}, "cannot", "not one softmax per head"),
        ({"kind": "no_scale", "where": {"layer": 0}}, "cannot", "does not divide"),
        ({"kind": "no_positions"}, "cannot", "decay"),
        ({"kind": "ablate", "where": {"layer": 0, "role": "pattern"}}, "unknown_role", "no role named 'pattern'"),
    ):
        with pytest.raises(AppError, match=why) as refusal:
            plan_run(model, RunRequest.model_validate({"text": TEXT, "interventions": [edit]}), 1000)
        assert refusal.value.code == code

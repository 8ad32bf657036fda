"""Models of transformers, opened and traced: the numbers are those of their own eager attention."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from chumoku.model.attribution import patching
from chumoku.model.attribution.effects import WholePasses, knockout
from chumoku.model.attribution.head_writes import key_writes
from chumoku.model.attribution.induction import induction_of, sequences
from chumoku.model.attribution.keys import KeyReader
from chumoku.model.attribution.knockouts import FfnPart, parts_of, tap_of
from chumoku.model.attribution.logit_attribution import contributions_of_run
from chumoku.model.attribution.norm_contributions import route_of
from chumoku.model.attribution.patching import WholePatching, patch_parts, patch_taps
from chumoku.model.attribution.path_patching import (
    Receiver,
    WholePathPatching,
    adds,
    path_taps,
    receiving_roles,
    tap_and_head,
    writers_to,
)
from chumoku.model.attribution.rollout import Edge, widest
from chumoku.model.explain import head_labels
from chumoku.model.explain.head_labels import labels_of
from chumoku.model.explain.lens import lens_of
from chumoku.model.generate import Generator, steps
from chumoku.model.identities import discrepancies
from chumoku.model.masks import CAUSAL, WINDOW
from chumoku.model.run import Run
from chumoku.model.sampling import SamplingSettings
from chumoku.model.taps import record
from chumoku.model.trace import Masks, Padding
from chumoku.model.traceable import TraceableModel, source_of
from chumoku.model.traceable.huggingface.families import FAMILIES
from chumoku.model.traceable.huggingface.folders import read_settings
from chumoku.model.traceable.huggingface.loading import load_model
from tests.model.helpers import check_rows_of_steps
from tests.toys import huggingface as toys

CPU = torch.device("cpu")
TEXT = "a little cat sat"
WIDE = 4
"""The sliding window of a model with one."""


@dataclass(frozen=True)
class Case:
    """A family, or a setting of one."""

    build: Callable[[], Any]
    tokenizer: Callable[[], Any]


CASES = {
    "gpt2": Case(toys.gpt2, toys.byte_level),
    "bert": Case(toys.bert, toys.word_piece),
    "bert-fills-gaps": Case(lambda: toys.bert("BertForMaskedLM"), toys.word_piece),
    "megatron-bert": Case(lambda: toys.bert("MegatronBertForSequenceClassification"), toys.word_piece),
    "distilbert": Case(toys.distilbert, toys.word_piece),
    "roberta": Case(lambda: toys.bert("RobertaForSequenceClassification"), toys.word_piece),
    "xlm-roberta": Case(lambda: toys.bert("XLMRobertaForMaskedLM"), toys.word_piece),
    "camembert": Case(lambda: toys.bert("CamembertForSequenceClassification"), toys.word_piece),
    "llama": Case(toys.llama, toys.sentence_piece),
    "llama-alone": Case(
        lambda: toys.llama(num_key_value_heads=1, attention_bias=True, head_dim=6), toys.sentence_piece
    ),
    "llama-3": Case(lambda: toys.llama(rope_parameters=toys.LLAMA_3, head_dim=6), toys.byte_level),
    "llama-yarn": Case(
        lambda: toys.llama(rope_parameters={"rope_type": "yarn", "rope_theta": 1e4, "factor": 2.0}), toys.byte_level
    ),
    "mistral": Case(lambda: toys.llama("Mistral", sliding_window=WIDE), toys.sentence_piece),
    "qwen2": Case(lambda: toys.llama("Qwen2", rope_theta=1e6), toys.byte_level),
    "qwen3": Case(lambda: toys.llama("Qwen3", head_dim=6), toys.byte_level),
    "gpt-neox": Case(toys.gpt_neox, toys.byte_level),
    "gpt-neox-in-turn": Case(lambda: toys.gpt_neox(use_parallel_residual=False, attention_bias=False), toys.byte_level),
    "marian": Case(toys.marian, toys.byte_level),
    "bart": Case(toys.bart, lambda: toys.sentence_piece(f"<s> $A {toys.END}")),
    "mbart": Case(lambda: toys.bart("MBart"), lambda: toys.sentence_piece(f"<s> $A {toys.END}")),
    "m2m-100": Case(lambda: toys.bart("M2M100"), lambda: toys.sentence_piece(f"<s> $A {toys.END}")),
    "t5": Case(toys.t5, lambda: toys.sentence_piece(f"$A {toys.END}")),
    "t5-gated": Case(
        lambda: toys.t5(feed_forward_proj="gated-gelu", tie_word_embeddings=False),
        lambda: toys.sentence_piece(f"$A {toys.END}"),
    ),
    "mt5": Case(
        lambda: toys.t5("MT5", feed_forward_proj="gated-gelu", tie_word_embeddings=False),
        lambda: toys.sentence_piece(f"$A {toys.END}"),
    ),
    "electra": Case(lambda: toys.bert("ElectraForMaskedLM", embedding_size=15), toys.word_piece),
    "electra-small": Case(lambda: toys.bert("ElectraForSequenceClassification", embedding_size=8), toys.word_piece),
    "albert": Case(lambda: toys.albert("AlbertForMaskedLM"), toys.word_piece),
    "albert-groups": Case(lambda: toys.albert(num_hidden_groups=2, inner_group_num=2), toys.word_piece),
    "mpnet": Case(lambda: toys.bert("MPNetForMaskedLM"), toys.word_piece),
    "bloom": Case(toys.bloom, toys.byte_level),
    "deberta-v3": Case(toys.deberta, toys.word_piece),
    "deberta-v2": Case(
        lambda: toys.deberta(
            "DebertaV2ForSequenceClassification",
            share_att_key=False,
            position_biased_input=True,
            type_vocab_size=2,
            position_buckets=-1,
        ),
        toys.word_piece,
    ),
    "deberta-one-term": Case(lambda: toys.deberta(pos_att_type="c2p", embedding_size=9), toys.word_piece),
    "deberta-plain": Case(lambda: toys.deberta(relative_attention=False, pos_att_type=None), toys.word_piece),
    "falcon": Case(toys.falcon, toys.byte_level),
    "falcon-40b": Case(
        lambda: toys.falcon(new_decoder_architecture=True, num_kv_heads=2, tie_word_embeddings=False), toys.byte_level
    ),
    "falcon-11b": Case(
        lambda: toys.falcon(new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1), toys.byte_level
    ),
    "falcon-in-turn": Case(lambda: toys.falcon(parallel_attn=False, multi_query=False, bias=True), toys.byte_level),
    "modernbert": Case(toys.modernbert, toys.word_piece),
    "modernbert-mean": Case(
        lambda: toys.modernbert(
            "ModernBertForSequenceClassification", classifier_pooling="mean", norm_bias=True, attention_bias=True
        ),
        toys.word_piece,
    ),
    "phi": Case(toys.phi, toys.byte_level),
    "opt": Case(toys.opt, toys.byte_level),
    "gemma": Case(toys.gemma, toys.sentence_piece),
    "gemma2-capped": Case(lambda: toys.gemma2(attn_logit_softcapping=0.8, sliding_window=24), toys.sentence_piece),
    "gpt-neo": Case(toys.gpt_neo, toys.byte_level),
    "gemma2": Case(lambda: toys.gemma2(attn_logit_softcapping=None, sliding_window=WIDE), toys.sentence_piece),
    "vit": Case(toys.vit, toys.pictures),
    "vit-grey": Case(
        lambda: toys.vit(num_channels=1, qkv_bias=False), lambda: toys.pictures(image_mean=[0.4], image_std=[0.2])
    ),
    "deit": Case(toys.deit, lambda: toys.cropped("DeiT")),
    "deit-teacher": Case(lambda: toys.deit("DeiTForImageClassificationWithTeacher"), lambda: toys.cropped("DeiT")),
    "dinov2": Case(toys.dino, toys.cropped),
    "dinov2-registers": Case(lambda: toys.dino("Dinov2WithRegistersForImageClassification"), toys.cropped),
    "dinov2-larger": Case(lambda: toys.dino("Dinov2WithRegistersForImageClassification", image_size=20), toys.cropped),
    "gpt2-relu": Case(lambda: toys.gpt2(activation_function="relu", tie_word_embeddings=False), toys.byte_level),
}


OTHER_PADS = {"gpt-neo"}
"""transformers spreads the weights of a PAD without any key over earlier keys alone; here, as everywhere, over all."""


@dataclass(frozen=True)
class Opened:
    traceable: Any
    eager: Any
    folder: Path

    @property
    def windowed(self) -> bool:
        return getattr(self.eager.config, "sliding_window", None) == WIDE


@pytest.fixture(scope="module", params=CASES)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    case = CASES[request.param]
    folder = toys.save(
        tmp_path_factory.mktemp("hf") / request.param, toys.random_numbers(case.build()), case.tokenizer()
    )
    source = source_of(folder)
    assert source is not None
    eager = load_model(folder, read_settings(folder).architecture, "eager")
    return Opened(source.open(folder, CPU), eager, folder)


@pytest.fixture
def traceable(opened: Opened) -> Any:
    return opened.traceable


def test_every_family_has_a_folder_here_and_is_in_the_docs() -> None:
    """RWKV has tests of its own."""
    tried = {case.build().config.model_type for case in CASES.values()} | {"rwkv"}
    assert FAMILIES.keys() <= tried
    page = (Path(__file__).parents[2] / "docs/huggingface.md").read_text("utf-8")
    assert [name for name in FAMILIES if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", ["gpt2", "distilbert", "t5", "rwkv"])
def test_random_models_have_the_same_numbers_each_time(name: str) -> None:
    """A test that passes passes again, whatever ran before it."""
    first, again = ([*toys.random_numbers(getattr(toys, name)()).parameters()] for _ in range(2))
    assert all(map(torch.equal, first, again))


def run_of(traceable: TraceableModel, text: str = TEXT, **more: Any) -> Run:
    """A translator's target is the end of the text; a picture's bytes are the text again and again."""
    if reads_pictures(traceable):
        picture = traceable.description.picture
        return Run(picture.places, pixels=(text.encode() * picture.n_bytes)[: picture.n_bytes], **more)
    ids = traceable.tokenizer.encode(text)
    return Run(ids, ids[-4:] if writes_target(traceable) else None, **more)


def writes_target(traceable: TraceableModel) -> bool:
    return traceable.description.writes == "target"


def reads_pictures(traceable: TraceableModel) -> bool:
    return traceable.description.picture is not None


def numbers_of(traceable: Any, run: Run) -> Tensor:
    found: Tensor = traceable.processing.numbers(traceable.pixels_of(run))
    return found


def every_tap(traceable: TraceableModel) -> list[str]:
    return list(traceable.description.taps)


def test_logits_and_weights_are_eagers_bit_for_bit(opened: Opened) -> None:
    """In a batch with PADs on either side, with everything recorded."""
    traceable, eager = opened.traceable, opened.eager
    n = traceable.description.max_seq_len if reads_pictures(traceable) else 9
    hidden = torch.zeros(2, n, dtype=torch.bool)
    hidden[0, :2] = hidden[1, 6:] = True
    ids = torch.tensor([[] if reads_pictures(traceable) else traceable.tokenizer.encode(TEXT)[:9]] * 2)
    asked = {"attention_mask": (~hidden).long(), "output_attentions": True}
    with torch.inference_mode(), record(every_tap(traceable)) as recording:
        if reads_pictures(traceable):
            pictures = torch.stack([numbers_of(traceable, run_of(traceable, text)) for text in (TEXT, "dog")])
            logits, theirs = traceable.read_numbers(pictures, hidden), eager(pictures, **asked)
        elif writes_target(traceable):
            target, seen = ids[:, :5], asked["attention_mask"]
            read = traceable.model.get_encoder()(input_ids=ids, attention_mask=seen).last_hidden_state
            logits = traceable.write(target, read, seen)
            theirs = eager(ids, decoder_input_ids=target, **asked)
        else:
            position_ids = torch.arange(9).expand(2, 9)
            logits = traceable.read_ids(ids, position_ids, hidden)
            theirs = eager(ids, position_ids=position_ids + traceable.adapter.first_row, **asked)
    pads = hidden if opened.folder.name in OTHER_PADS else torch.zeros_like(hidden)
    assert torch.equal(logits[~pads] if pads.any() else logits, theirs.logits[~pads] if pads.any() else theirs.logits)
    for attention in traceable.description.attentions:
        named = {"self": "attentions", "encoder": "encoder_attentions", "decoder": "decoder_attentions"}
        for n, weights in enumerate(theirs[named.get(attention.id, "cross_attentions")]):
            ours = recording.tensors[attention.tap("pattern", n)]
            kept = [x.transpose(1, 2)[~pads] for x in (ours, weights)] if pads.any() else [ours, weights]
            assert torch.equal(*kept)


def test_gpt_neos_local_layers_see_a_window(tmp_path: Path) -> None:
    """A window is a reason of its own; the weights of real tokens are eager's."""
    folder = toys.save(tmp_path / "neo", toys.random_numbers(toys.gpt_neo(window=3)), toys.byte_level())
    source = source_of(folder)
    assert source is not None
    traceable: Any = source.open(folder, CPU)
    masks = traceable.description.attentions[0].roles["mask"].taps
    seen, local = (traceable.trace(run_of(traceable), [tap]).tensors[tap] for tap in masks)
    n = seen.shape[-1]
    assert torch.equal(seen[0] != 0, torch.ones(n, n).triu(1).bool())
    assert torch.equal(local[0] & WINDOW != 0, torch.ones(n, n).tril(-3).bool())
    assert torch.equal(local[0] & CAUSAL != 0, torch.ones(n, n).triu(1).bool())


def test_modernberts_local_layers_see_a_window_on_both_sides(tmp_path: Path) -> None:
    """`local_attention` 6 is 3 tokens on either side; the angles have another base there."""
    source = source_of(toys.save(tmp_path, toys.random_numbers(toys.modernbert(window=6)), toys.word_piece()))
    assert source is not None
    traceable: Any = source.open(tmp_path, CPU)
    (attention,) = traceable.description.attentions
    taps = attention.roles["mask"].taps
    masks = traceable.trace(run_of(traceable), taps).tensors
    n = masks[taps[0]].shape[-1]
    far = (torch.arange(n)[:, None] - torch.arange(n)).abs() > 3
    for tap, window in zip(taps, [False, True, True, False], strict=True):
        assert torch.equal(masks[tap][0], far * WINDOW * window)
    assert attention.bases == (160_000.0, 10_000.0, 10_000.0, 160_000.0)


def test_falcon_with_alibi_is_refused_because_eager_attention_adds_it_twice(tmp_path: Path) -> None:
    sizes = {"alibi": True, "parallel_attn": False, "multi_query": False, "bias": True}
    folder = toys.save(tmp_path, toys.random_numbers(toys.falcon(**sizes)), toys.byte_level())
    ids = torch.arange(8)[None]
    with torch.inference_mode():
        eager, fused = (load_model(folder, "FalconForCausalLM", kind)(ids).logits for kind in ("eager", "sdpa"))
    assert (eager - fused).abs().max() > 1e-3
    source = source_of(folder)
    assert source is not None
    with pytest.raises(ValueError, match="falcon with alibi=True cannot be shown: transformers' eager attention adds"):
        source.about(folder)


def test_debertas_scores_are_three_terms(tmp_path: Path) -> None:
    """The terms of positions from the formula of He et al. 2021, equation 4, with distances that share buckets."""
    model: Any = toys.random_numbers(toys.deberta())
    source = source_of(toys.save(tmp_path, model, toys.word_piece()))
    assert source is not None
    traceable: Any = source.open(tmp_path, CPU)
    (attention,) = traceable.description.attentions
    assert attention.parts["position_scores"] == ("content_to_position", "position_to_content")
    roles = ("q", "k", "content_to_position", "position_to_content")
    found = traceable.trace(run_of(traceable), [attention.tap(role, 1) for role in roles]).tensors
    q, k, *terms = (found[attention.tap(role, 1)] for role in roles)
    encoder = model.deberta.encoder
    block = encoder.layer[1].attention.self
    with torch.no_grad():
        table = encoder.LayerNorm(encoder.rel_embeddings.weight)
        key_rows, query_rows = (
            x(table).unflatten(-1, (3, -1)).transpose(0, 1) for x in (block.key_proj, block.query_proj)
        )
    root = (3 * attention.d_head) ** 0.5
    for i, j in [(0, 0), (3, 2), (2, 3), (1, 4)]:
        row = max(-4, min(3, i - j)) + 4  # 4 buckets on either side; so near, each distance has its own
        for n, (x, rows, y) in enumerate(((q, key_rows, i), (k, query_rows, j))):
            expected = (x[:, y] * rows[:, row]).sum(-1) / root
            torch.testing.assert_close(terms[n][:, i, j], expected, rtol=1e-4, atol=1e-5)


def test_debertas_convolution_is_refused_by_name(tmp_path: Path) -> None:
    source = source_of(toys.save(tmp_path, toys.deberta(conv_kernel_size=3), toys.word_piece()))
    assert source is not None
    with pytest.raises(ValueError, match="deberta-v2 with conv_kernel_size=3 cannot be shown yet"):
        source.about(tmp_path)


def test_falcons_repositories_may_name_the_code_that_they_came_with(tmp_path: Path) -> None:
    folder = toys.save(tmp_path, toys.random_numbers(toys.falcon()), toys.byte_level())
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoModel": "modeling_falcon.Falcon"}}))
    source = source_of(folder)
    assert source is not None
    assert source.open(folder, CPU).description.attentions[0].n_kv_head == 1


@pytest.mark.parametrize(("groups", "inner", "first"), [(1, 1, [0, 0, 0, 0]), (2, 1, [0, 0, 2, 2]), (1, 2, [0, 1] * 4)])
def test_alberts_layers_have_the_weights_of_another(tmp_path: Path, groups: int, inner: int, first: list[int]) -> None:
    model: Any = toys.albert(num_hidden_groups=groups, inner_group_num=inner)
    source = source_of(toys.save(tmp_path, toys.random_numbers(model), toys.word_piece()))
    assert source is not None
    traceable: Any = source.open(tmp_path, CPU)
    (attention,) = traceable.description.attentions
    for names in attention.parameters.values():
        assert list(names) == [names[n] for n in first]
    stored = [layer for group in model.albert.encoder.albert_layer_groups for layer in group.albert_layers]
    kept = [attention.parameters["w_q"][n] for n in dict.fromkeys(first)]
    for name, layer in zip(kept, stored, strict=True):
        assert torch.equal(traceable.weights([name])[name], layer.attention.query.weight)
    assert traceable.nbytes < 1.5 * sum(x.nbytes for x in model.parameters())  # no number is kept twice


def test_positions_of_m2m_100_skip_pads_or_count_them(tmp_path: Path) -> None:
    tokenizer = toys.sentence_piece(f"<s> $A {toys.END}")
    source = source_of(toys.save(tmp_path, toys.random_numbers(toys.bart("M2M100")), tokenizer))
    assert source is not None
    traceable: Any = source.open(tmp_path, CPU)
    tap = traceable.description.stacks[0].embedding.roles["positional"].tap
    table = traceable.model.model.encoder.embed_positions.weights[4:]  # after PAD's row, which is 3
    for follow, first in ((True, 0), (False, 2)):
        run = run_of(traceable, pad=Padding(2, "left", follow))
        found = traceable.trace(run, [tap])
        assert found.position_ids[2:] == list(range(first, first + len(run.ids)))
        assert torch.equal(found.tensors[tap][2:], table[first : first + len(run.ids)])


def test_logits_are_those_of_fused_attention_at_real_tokens(opened: Opened) -> None:
    """SDPA adds up in another order, and a PAD without any key has other numbers there."""
    traceable = opened.traceable
    if not opened.eager._supports_sdpa:
        return
    fused = load_model(opened.folder, read_settings(opened.folder).architecture, "sdpa")
    run = run_of(traceable, pad=Padding(hidden=(2, 5)) if reads_pictures(traceable) else Padding(2, "right"))
    seen = (~torch.tensor([traceable.trace(run, []).is_pad])).long()
    if reads_pictures(traceable):
        asked = {"pixel_values": numbers_of(traceable, run)[None], "attention_mask": seen}
    else:
        asked = {"input_ids": torch.tensor([traceable.padded(run)]), "attention_mask": seen}
    if writes_target(traceable):
        asked["decoder_input_ids"] = torch.tensor([traceable.begun(run)])
    with torch.inference_mode():
        theirs = fused(**asked).logits[0]
    found = traceable.trace(run, [traceable.description.logits.tap])
    ours = found.tensors[traceable.description.logits.tap]
    if not (traceable.description.classes or writes_target(traceable)):
        real = ~torch.tensor(found.is_pad)
        ours, theirs = ours[real], theirs[real]
    assert (ours - theirs).abs().max() < 1e-5 * theirs.abs().max()


@pytest.mark.parametrize(
    "pad",
    [Padding(), Padding(2, "left"), Padding(3, "right"), Padding(hidden=(2, 5))],
    ids=["plain", "left", "right", "inside"],
)
def test_a_trace_agrees_with_itself(traceable: Any, pad: Padding) -> None:
    """Rows of PADs without any key are 1/T in these models, and left out here."""
    found = traceable.trace(run_of(traceable, pad=pad), every_tap(traceable))
    for attention in traceable.description.attentions:
        for layer in range(attention.n_layer):
            mask = found.tensors[attention.tap("mask", layer)]
            lost = (mask != 0).all(-1)
            pattern = found.tensors[attention.tap("pattern", layer)]
            assert torch.allclose(pattern.sum(-1), torch.ones(()))
            assert torch.allclose(pattern[lost], torch.ones(()) / pattern.shape[-1])
            assert not pattern[(mask != 0) & ~lost[..., None]].any()
            tensors = found.tensors | {attention.tap("pattern", layer): pattern.masked_fill(lost[..., None], 0)}
            told = {
                gap.op: gap
                for gap in discrepancies(attention, layer, tensors, lambda name: traceable.weights([name])[name])
            }
            assert all(gap.relative < 1e-5 for op, gap in told.items() if op != "weighted_sum" or not lost.any())


def test_a_sublayer_adds_what_it_writes(traceable: Any) -> None:
    found = traceable.trace(run_of(traceable), every_tap(traceable)).tensors
    for stack in traceable.description.stacks:
        for one in stack.sublayers:
            whole = one.norm.roles["input"].tap if one.norm and one.norm.place == "post" else one.leaves.tap
            if one.leaves == one.writes:  # added together with another one
                continue
            beside = getattr(one, "beside", None)
            added = found[one.writes.tap] + (0 if beside is None else found[beside.tap])
            torch.testing.assert_close(found[one.reads.tap] + added, found[whole])


TYPED = ["bert", "megatron-bert", "roberta", "xlm-roberta", "camembert", "electra", "deberta-v2"]


@pytest.mark.parametrize("opened", TYPED, indirect=True)
def test_token_types_are_a_summand_of_the_stream(opened: Opened) -> None:
    """The sum is what transformers normalises, bit for bit, in its order of addition."""
    traceable, base = opened.traceable, opened.eager.base_model
    run, n = run_of(traceable), traceable.about.n_token_types
    types = [i * n // len(run.ids) for i in range(len(run.ids))]
    assert len({*types}) == n
    stack = traceable.description.stacks[0]
    names = {role: place.tap for role, place in stack.embedding.roles.items()}
    found = traceable.trace(replace(run, token_types=types), list(names.values())).tensors
    word, kind, at = (found[names[role]] for role in ("embedding", "token_types", "positional"))
    assert torch.equal(kind, base.embeddings.token_type_embeddings.weight[types])
    table = stack.embedding.parameters["token_types"]
    assert torch.equal(traceable.weights([table])[table], base.embeddings.token_type_embeddings.weight)
    seen: list[Tensor] = []
    reader = base.encoder.layer[0] if stack.embedding.norm is None else base.embeddings.LayerNorm
    with torch.no_grad():
        handle = reader.register_forward_pre_hook(lambda _, args: seen.append(args[0][0]))
        opened.eager(torch.tensor([run.ids]), token_type_ids=torch.tensor([types]))
        handle.remove()
    added = word + at + kind if "deberta" in opened.folder.name else word + kind + at
    assert torch.equal(added, seen[0])


def test_parameters_are_those_that_made_the_numbers(traceable: Any) -> None:
    found = traceable.trace(run_of(traceable), every_tap(traceable)).tensors
    names = list(traceable.about.weights)
    weights = traceable.weights(names)
    assert {name: list(weights[name].shape) for name in names} == {
        name: one.shape for name, one in traceable.about.weights.items()
    }
    for attention in traceable.description.attentions:
        for part in traceable.description.stack(attention.stack).sublayers:
            if part.kind != "attention" or part.attention != attention.id or not attention.parameters:
                continue
            for role in "qkv" if attention.queries == attention.keys else "q":
                expected = projected(found[part.input.tap], weights, attention, role, part.layer)
                tap = attention.tap(f"{role}_projected" if f"gain_{role}" in attention.parameters else role, part.layer)
                torch.testing.assert_close(found[tap], expected, rtol=1e-4, atol=1e-5)
    for ffn in (ffn for stack in traceable.description.stacks for ffn in stack.ffns):
        out = found[ffn.roles["post"].tap] @ weights[ffn.parameters["w_2"]].T
        bias = weights[ffn.parameters["b_2"]] if "b_2" in ffn.parameters else 0
        torch.testing.assert_close(found[ffn.writes.tap], out + bias, rtol=1e-4, atol=1e-5)


def projected(x: Tensor, weights: dict[str, Tensor], attention: Any, role: str, layer: int) -> Tensor:
    """X W + b, split into heads."""
    bias = attention.parameters.get(f"b_{role}")
    out = x @ weights[attention.parameters[f"w_{role}"][layer]].T + (0 if bias is None else weights[bias[layer]])
    return out.unflatten(-1, (-1, attention.d_head)).transpose(0, 1)


def test_q_and_k_are_turned_by_the_angles_that_are_described(traceable: Any) -> None:
    run = run_of(traceable)
    found = traceable.trace(run, every_tap(traceable)).tensors
    for attention in traceable.description.attentions:
        if "q_rotated" not in attention.roles:
            continue
        n, half = attention.rotary_dims or attention.d_head, (attention.rotary_dims or attention.d_head) // 2
        base = attention.bases[1] if attention.bases else attention.base or 10_000.0
        per_position = attention.frequencies or [base ** (-2 * i / n) for i in range(half)]
        angle = torch.arange(len(run.ids))[:, None] * torch.tensor(per_position)
        for name in "qk":
            x, turned = (found[attention.tap(role, 1)] for role in (name, f"{name}_rotated"))
            one, other = x[..., :half], x[..., half:n]
            expected = [one * angle.cos() - other * angle.sin(), other * angle.cos() + one * angle.sin(), x[..., n:]]
            torch.testing.assert_close(turned, torch.cat(expected, -1), rtol=1e-4, atol=1e-5)


def test_padding_that_is_hidden_changes_no_real_token(traceable: Any) -> None:
    if reads_pictures(traceable):
        return
    tap = traceable.description.logits.tap
    plain = traceable.trace(run_of(traceable), [tap]).tensors[tap]
    # In transformers, a PAD in front takes the place of [CLS], and moves Marian's positions.
    moves = bool(traceable.description.classes) or writes_target(traceable)
    for pad in (Padding(2, "right"), *([] if moves else [Padding(2, "left")])):
        found = traceable.trace(run_of(traceable, pad=pad), [tap])
        real = found.tensors[tap] if moves else found.tensors[tap][~torch.tensor(found.is_pad)]
        torch.testing.assert_close(real, plain, rtol=1e-4, atol=1e-5)


def test_a_mask_edit_and_a_head_that_is_off_change_what_follows(traceable: Any) -> None:
    attention = traceable.description.attentions[0]
    mask, z, pattern = (attention.tap(role, 0) for role in ("mask", "z", "pattern"))

    def forbid(x: Tensor, _: int) -> Tensor:
        x = x.contiguous()
        x[:, :, 3, 1] = 8
        return x

    def off(x: Tensor, _: int) -> Tensor:
        x[:, 1] = 0
        return x

    names = [mask, z, pattern, traceable.description.logits.tap]
    plain, cut, ablated = (
        traceable.trace(run_of(traceable, edit=edit), names).tensors for edit in ({}, {mask: forbid}, {z: off})
    )
    assert (cut[mask][:, 3, 1] == 8).all()
    assert not cut[pattern][:, 3, 1].any()
    assert not ablated[z][1].any()
    assert torch.equal(ablated[z][0], plain[z][0])
    assert not torch.equal(cut[names[-1]], plain[names[-1]])
    assert not torch.equal(ablated[names[-1]], plain[names[-1]])


def test_the_causal_mask_can_be_switched(opened: Opened) -> None:
    """A sliding window is a reason of its own."""
    traceable = opened.traceable
    attention = next(
        (one for one in traceable.description.attentions if one.causal), traceable.description.attentions[0]
    )
    name = attention.tap("mask", 0)
    for on in (True, False):
        mask = traceable.trace(run_of(traceable, use=Masks(causal=on)), [name]).tensors[name]
        assert torch.equal(mask[0] & CAUSAL != 0, torch.ones_like(mask[0]).triu(1).bool() & on)
        assert torch.equal(mask[0] & WINDOW != 0, torch.ones_like(mask[0]).tril(-WIDE).bool() & opened.windowed)


def test_a_text_grows_with_a_cache_as_it_would_without(traceable: Any) -> None:
    if not traceable.description.can["generate"]:
        return
    """With the same reasons for what is forbidden: a window hides early keys in a step of one query, too."""
    tap, mask = (traceable.description.attentions[-1].tap(role, 1) for role in ("pattern", "mask"))
    greedy, run = SamplingSettings(temperature=0), run_of(traceable, pad=Padding(1, "left"))
    written = [*steps(Generator(traceable.start(run, [tap, mask]), greedy, []), None, 3)]
    begun = 1 + len(run.ids if run.target is None else run.target)  # a PAD, or START
    assert [step.computed for step in written] == [begun, 1, 1, 1]
    ids = written[-1].ids[1:]
    read = Run(run.ids, ids, pad=run.pad) if writes_target(traceable) else Run(ids, pad=run.pad)
    whole = traceable.trace(read, [tap, mask]).tensors
    assert torch.equal(written[-1].tensors[mask][:, -1], whole[mask][:, -1])
    torch.testing.assert_close(written[-1].tensors[tap][:, -1], whole[tap][:, -1])
    *_, again = steps(Generator(traceable.start(replace(run, cache=False), []), greedy, []), None, 3)
    assert again.ids == written[-1].ids


def test_a_step_has_rows_of_its_queries_or_of_all_keys(traceable: Any) -> None:
    if traceable.description.can["generate"]:
        check_rows_of_steps(traceable, run_of(traceable))


def test_threads_that_share_a_model_do_not_mix(traceable: Any) -> None:
    texts = ["one small dog ran", "two cats sat here", "no bird may sing", "the sun is so warm"]
    names = every_tap(traceable)
    alone = {text: traceable.trace(run_of(traceable, text), names).tensors for text in texts}
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: (text, traceable.trace(run_of(traceable, text), names).tensors), texts * 6))
    for text, tensors in found:
        assert all(torch.equal(tensors[name], alone[text][name]) for name in names)


def test_models_may_be_opened_at_the_same_time(tmp_path: Path) -> None:
    """transformers turns off the tying of weights for the whole process while it builds a model: two that overlap would
    leave it off, and every later model whose weights are tied would lack some."""
    folders = [
        toys.save(tmp_path / str(n), toys.random_numbers(toys.gpt2(n_layer=6)), toys.byte_level()) for n in (0, 1)
    ]
    with ThreadPoolExecutor(4) as pool:
        for model in pool.map(lambda n: load_model(folders[n % 2], "GPT2LMHeadModel"), range(12)):
            weights: Any = model
            assert torch.equal(weights.lm_head.weight, weights.transformer.wte.weight)
    load_model(folders[0], "GPT2LMHeadModel")


def test_the_river_says_where_each_number_comes_from(traceable: Any) -> None:
    if not traceable.description.can["route"]:
        return
    for river in route_of(traceable, run_of(traceable)):
        for flow in river.flows:
            if flow.queries == flow.keys:
                torch.testing.assert_close(flow.share.sum(-1), torch.ones_like(flow.residual))


def test_tokens_spell_the_text_and_special_ones_cannot_be_typed(traceable: Any) -> None:
    if reads_pictures(traceable):
        return
    tokenizer = traceable.tokenizer
    ids = tokenizer.encode(f"cat {toys.END}")
    assert not set(ids) & set(tokenizer.special.ids)
    spelt = b"".join(tokenizer.token_bytes(i) for i in tokenizer.encode(TEXT)).decode()
    assert spelt.strip() == TEXT


def test_what_it_cannot_do_it_says(traceable: Any) -> None:
    assert traceable.checkpoint is None
    able = {name for name, able in traceable.description.can.items() if able}
    assert able <= {"generate", "route", "effects", "ablations", "batch", "heads", "lens", "direct"}
    assert ("effects" in able) == ("route" in able)  # every family whose river is shown has masks
    assert "heads" in able  # and every family its weights
    assert ("lens" in able) == (traceable.description.logits.parameters["unembedding"] is not None)


WITH_LENS = {
    "gpt2", "gpt2-relu", "llama", "llama-alone", "llama-3", "mistral", "qwen2", "qwen3", "gpt-neox", "gpt-neox-in-turn",
    "falcon", "falcon-40b", "falcon-11b", "falcon-in-turn", "bloom", "t5-gated", "vit", "vit-grey", "deit",
    "gpt-neo", "mt5", "m2m-100",
}  # fmt: skip
"""The others have more than a matrix after their last layer: a pooler, another layer, a bias, a scale, or what nobody
knows. T5 has that if its embeddings are tied."""


def test_the_lens_of_the_last_layer_is_the_models_own_logits(opened: Opened) -> None:
    """Bit for bit, at every position."""
    traceable = opened.traceable
    assert traceable.description.can["lens"] == (opened.folder.name in WITH_LENS)
    if opened.folder.name not in WITH_LENS:
        return
    last, logits = traceable.description.readout.stream[-1], traceable.description.logits.tap
    for pad in (Padding(), *([] if reads_pictures(traceable) else [Padding(2, "right")])):
        found = traceable.trace(run_of(traceable, pad=pad), [last, logits]).tensors
        if traceable.description.classes:
            assert torch.equal(traceable.read(found[last][:1])[0], found[logits])
        else:
            assert torch.equal(traceable.read(found[last]), found[logits])


def test_the_lens_follows_what_the_model_says_in_the_end(traceable: Any) -> None:
    if not traceable.description.can["lens"]:
        return
    run, tap = run_of(traceable), traceable.description.logits.tap
    lens = lens_of(traceable, run, k=3)
    row = traceable.trace(run, [tap]).tensors[tap].double().reshape(-1, lens_width(traceable))[-1]
    if not traceable.description.classes:
        row[traceable.about.never_sampled] = -torch.inf
    p, ids = row.softmax(-1).topk(3)
    assert lens.top[-1, -1].tolist() == ids.tolist()
    torch.testing.assert_close(lens.probability[-1, -1], p)
    assert lens.final.rank[-1].eq(0).all()
    assert len(lens.taps) == len(traceable.description.readout.layers) + 1


def lens_width(traceable: TraceableModel) -> int:
    return len(traceable.description.classes) or traceable.description.vocab_size


def test_heads_are_labelled_as_from_their_weights(traceable: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a longer text the layers after the first are scored while the model reads again, head by head."""
    run = run_of(traceable, pad=Padding() if reads_pictures(traceable) else Padding(1, "right"))
    found = labels_of(traceable, run)
    assert [(head.attention, head.layer, head.head) for head in found] == [
        (one.id, layer, head)
        for one in traceable.description.attentions
        for layer in range(one.n_layer)
        for head in range(one.n_head)
    ]
    assert all(0 <= score.score <= 1 for head in found for score in head.scores.values())
    assert any(score.score > 0 for head in found for score in head.scores.values())
    monkeypatch.setattr(head_labels, "KEPT", 1)
    monkeypatch.setattr(head_labels, "CELLS", 1)
    assert labels_of(traceable, run) == found


def test_without_a_token_that_is_never_sampled_looks_are_measured_too(tmp_path: Path) -> None:
    """GPT-2 of the hub has no PAD. The answers then share all of the probability."""
    tokenizer = toys.byte_level()
    tokenizer.pad_token = None
    source = source_of(toys.save(tmp_path, toys.random_numbers(toys.gpt2()), tokenizer))
    assert source is not None
    traceable = source.open(tmp_path, CPU)
    assert traceable.about.never_sampled == []
    run = run_of(traceable)
    passes = WholePasses(traceable, run, 7)
    tap = traceable.description.logits.tap
    logits = traceable.trace(run, [tap]).tensors[tap][passes.row]
    assert exp(passes.log_p) == pytest.approx(float(logits.double().softmax(-1)[7]), rel=1e-9)
    [effect] = passes.measure(widest(route_of(traceable, run), passes.row, 1))
    assert abs(effect.delta) > 1e-6


def test_an_effect_is_a_pass_with_the_cut(traceable: Any) -> None:
    """Of the widest looks of a run with an edited mask."""
    if not traceable.description.can["effects"]:
        return
    one, logits = traceable.description.attentions[-1], traceable.description.logits.tap
    own = knockout(Edge(one.id, 0, 2, 1), None)
    run = run_of(traceable, edit={one.tap("mask", 0): own})
    answer = 1 if traceable.description.classes else min(set(range(99)) - set(traceable.about.never_sampled))
    passes = WholePasses(traceable, run, answer)
    edges = [edge for edge in widest(route_of(traceable, run), passes.row, 3) if passes.can_knock_out(edge)]
    effects = passes.measure(edges)
    assert max(abs(effect.delta) for effect in effects) > 1e-6
    for token in set(traceable.about.never_sampled) if not traceable.description.classes else ():
        with pytest.raises(ValueError, match="is never sampled"):
            WholePasses(traceable, run, token)
    for edge, effect in zip(edges, effects, strict=True):
        tap = traceable.description.attention(edge.attention).tap("mask", edge.layer)
        edit = {**run.edit, tap: knockout(edge, run.edit.get(tap))}
        pattern = traceable.description.attention(edge.attention).tap("pattern", edge.layer)
        after = traceable.trace(replace(run, edit=edit), [logits, pattern]).tensors
        assert after[pattern][:, edge.query, edge.key].max() == 0
        row = after[logits] if traceable.description.classes else after[logits][passes.row]
        if not traceable.description.classes:
            row = row.index_fill(-1, torch.tensor(traceable.about.never_sampled), -torch.inf)
        assert effect.p == pytest.approx(float(row.double().softmax(-1)[answer]), rel=1e-6)


def test_a_part_switched_off_writes_nothing(traceable: Any) -> None:
    """The last head and the last FFN: the stream is as before it, and the effect is that pass's."""
    if not traceable.description.can["ablations"]:
        return
    description, logits = traceable.description, traceable.description.logits.tap
    run, answer = (
        run_of(traceable),
        1 if description.classes else min(set(range(99)) - set(traceable.about.never_sampled)),
    )
    passes, parts = WholePasses(traceable, run, answer), parts_of(description)
    silenced = {type(part): part for part in parts}.values()
    for part, told in zip(silenced, passes.measure(list(silenced)), strict=True):
        off = replace(run, edit={tap_of(description, part): knockout(part, None)})
        if isinstance(part, FfnPart):
            ffn = description.stack(part.stack).ffns[part.layer]
            if ffn.norm is None or ffn.norm.place != "post":
                beside = [ffn.beside.tap] if ffn.beside else []
                x = traceable.trace(off, [ffn.reads.tap, ffn.leaves.tap, *beside]).tensors
                before = sum((x[tap] for tap in beside), x[ffn.reads.tap])
                torch.testing.assert_close(x[ffn.leaves.tap], before, atol=1e-5, rtol=1e-5)
        after = passes.log_ps(traceable.trace(off, [logits]).tensors[logits])
        assert told.delta == pytest.approx(float(after[answer] - passes.before[answer]), abs=1e-9)
        assert told.kl > 1e-9


def test_a_patch_puts_a_row_of_the_other_run_in_its_place(traceable: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all rows of the first stream, the answer is the other run's; one row gives what an edit of it gives."""
    description, logits = traceable.description, traceable.description.logits.tap
    run = run_of(traceable)
    if not description.can["ablations"] or run.pixels is not None:
        return
    monkeypatch.setattr(patching, "LEAST", 1e-6)
    other = replace(run, ids=list(reversed(run.ids)))
    source = traceable.trace(other, [*patch_taps(description), logits])
    firsts = [stack.stream[0] for stack in description.stacks]
    rows = {tap: (lambda x, _, tap=tap: source.tensors[tap][None].clone()) for tap in firsts}
    swapped = traceable.trace(replace(run, edit=rows), [logits]).tensors[logits]
    torch.testing.assert_close(swapped, source.tensors[logits], atol=1e-4, rtol=1e-4)
    given = [token for token in range(9) if description.classes or token not in traceable.about.never_sampled]
    one, two = given[:2]
    found = WholePatching(traceable, run, source, one, two)
    position = found.row if description.readout.side == "source" else 0
    everywhere = patch_parts(description, dict.fromkeys(description.sides, position + 1))
    parts = [part for part in everywhere if part.position == position]
    told = found.patch(parts)
    assert len({round(effect.difference, 6) for effect in told}) > 1
    for part, effect in zip(parts, told, strict=True):
        tap = tap_of(description, part)

        def put(x: torch.Tensor, _: int, tap: str = tap) -> torch.Tensor:
            x = x.clone()
            x[:, position] = source.tensors[tap][position]
            return x

        after = traceable.trace(replace(run, edit={tap: put}), [logits]).tensors[logits]
        at_row = after if description.classes else after[found.row]
        assert effect.difference == pytest.approx(float(at_row[one] - at_row[two]), abs=1e-4)


def test_a_path_reaches_its_receiver_alone(traceable: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the writers just before it, between which and the receiver nothing has to be kept: as edits by hand give."""
    description, logits = traceable.description, traceable.description.logits.tap
    run = run_of(traceable)
    if not description.can["ablations"] or run.pixels is not None:
        return
    monkeypatch.setattr(patching, "LEAST", 1e-6)
    other = replace(run, ids=list(reversed(run.ids)))
    source = traceable.trace(other, [*path_taps(description), logits])
    one, two = [token for token in range(9) if description.classes or token not in traceable.about.never_sampled][:2]

    def put(x: torch.Tensor, head: int | None) -> Any:
        at = slice(None) if head is None else head

        def edit(now: torch.Tensor, _: int) -> torch.Tensor:
            now = now.clone()
            now[0, at] = x[at]
            return now

        return edit

    about = description.attentions[-1]
    for to in (None, *(Receiver(about.id, 1, 1, role) for role in receiving_roles(about))):
        writers = writers_to(description, to)
        last = adds(description, writers[-1])
        found = WholePathPatching(traceable, run, source, one, two, to=to)
        for writer in [part for part in writers if adds(description, part) == last][-3:]:
            tap = tap_of(description, writer)
            edit: Any = {tap: put(source.tensors[tap], getattr(writer, "head", None))}
            if to is not None:
                where, head = tap_and_head(description, to)
                got = traceable.trace(replace(run, edit=edit), [where]).tensors[where]
                edit = {where: put(got, head)}
            after = traceable.trace(replace(run, edit=edit), [logits]).tensors[logits]
            at_row = after if description.classes else after[found.row]
            (told,) = found.patch([writer])
            assert told.difference == pytest.approx(float(at_row[one] - at_row[two]), abs=1e-4)


ATTRIBUTED = {"gpt2", "gpt-neo", "gpt-neox-in-turn", "gpt-neox", "llama", "qwen3", "bloom", "falcon", "t5-gated", "vit"}
"""At least these, one of each way to place norms, biases and positions."""


def test_what_heads_ffns_and_embeddings_write_adds_up_to_the_logit(traceable: Any) -> None:
    """Against the mean logit, under an edit too; each head's keys add up to its term."""
    description = traceable.description
    if not description.can.get("direct"):
        assert traceable.name not in ATTRIBUTED
        return
    run, logits = run_of(traceable), description.logits.tap
    silent = description.attention(description.readout.sublayers[0].attention).tap("z", 0)

    def off(z: torch.Tensor, _: int) -> torch.Tensor:
        z[:, 0] = 0.0
        return z

    for one in (run, replace(run, edit={silent: off})):
        found = contributions_of_run(traceable, one, 1, against="mean", by_key=True)
        out = traceable.trace(one, [logits]).tensors[logits]
        row = out.double() if description.classes else out[found.row].double()
        given = [
            token for token in range(len(row)) if description.classes or token not in traceable.about.never_sampled
        ]
        assert found.logit == pytest.approx(float(row[1] - row[given].mean()), abs=1e-5)
        assert sum(term.value for term in found.terms) == pytest.approx(found.logit, abs=1e-4)
        heads = [term for term in found.terms if term.part == "head"]
        assert {term.layer for term in heads} == set(range(len(description.readout.layers)))
        for term in heads:
            if term.keys is not None:
                assert sum(term.keys) == pytest.approx(term.value, abs=1e-3)
        assert max(abs(term.value) for term in found.terms) > 1e-3


def test_every_head_is_measured_on_random_tokens_that_repeat(traceable: Any) -> None:
    """Prefix matching against a loop; copying where logits are a sum over heads."""
    description = traceable.description
    if description.predicts not in ("next", "same") or "target" in description.sides or description.picture:
        return
    found = induction_of(traceable)
    splits = bool(description.can.get("direct"))
    assert {one.copying is not None for one in found.heads} == {splits}
    assert all(0 <= score <= 1 for one in found.heads for score in (one.prefix_matching, one.copying or 0))
    n, tap = found.repeated, description.attention(found.heads[-1].attention).tap("pattern", found.heads[-1].layer)
    sums = []
    for ids in sequences(traceable, n):
        pattern = traceable.trace(Run(ids * 2), [tap]).tensors[tap][-1]
        sums += [float(pattern[row, row - n + 1]) for row in range(n, 2 * n)]
    assert found.heads[-1].prefix_matching == pytest.approx(sum(sums) / len(sums), abs=1e-6)


def test_what_each_key_brings_adds_up_to_what_the_attention_writes(traceable: Any) -> None:
    """Key by key and head by head, but for the bias; weights and lengths are known, but no logit."""
    description = traceable.description
    if not description.can["effects"]:
        return
    run, about = run_of(traceable), description.attentions[-1]
    found = key_writes(traceable, run, 0, attention=about.id, layer=1, query=2, row=2)
    reader = KeyReader(about, 1, lambda name: traceable.weights([name])[name])
    out, pattern = about.tap("attn_out", 1), about.tap("pattern", 1)
    tensors = traceable.trace(run, [*reader.taps, out, pattern]).tensors
    with torch.no_grad():
        brought = reader.written(tensors, 2, {})
        names = about.parameters.get("b_o")
        bias = traceable.weights([names[1]])[names[1]].cpu() if names else 0
    torch.testing.assert_close(brought.sum((0, 1)).float(), tensors[out][2] - bias, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(found.length, brought.sum(0).norm(dim=-1))
    assert found.weight is not None
    torch.testing.assert_close(found.weight.float(), tensors[pattern][:, 2].mean(0))
    assert found.logit is None

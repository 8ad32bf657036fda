"""What an edit of the formula gives is what plain PyTorch gives without that part: with its weights at 0, say."""

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from httpx import AsyncClient
from torch import Tensor, nn

from chumoku.app.api.run import RunRequest
from chumoku.app.errors import AppError
from chumoku.app.services.library import Library
from chumoku.app.services.plan import plan_run, plan_writing
from chumoku.model import masks
from chumoku.model.block import LayerNorm
from chumoku.model.checkpoint import ZOO
from chumoku.model.mechanisms import rotary
from chumoku.model.run import Run
from chumoku.model.traceable import TraceableModel, ZooModel, source_of
from tests.app.families import opened
from tests.app.helpers import TEXT, parse_events, refused, trace
from tests.toys import huggingface as toys

NAMES = sorted(path.name for path in ZOO.iterdir() if path.is_dir())
CPU = torch.device("cpu")
FFN = {"kind": "ablate", "where": {"layer": 1, "role": "out"}}
ATTENTION = {"kind": "ablate", "where": {"layer": 1, "role": "attn_out"}}
POSITIONS, NORMS = {"kind": "no_positions"}, {"kind": "freeze_norms"}
SCALE = {"kind": "no_scale", "where": {"layer": None}}
NEAR = {"kind": "window", "where": {"layer": None}, "size": 3}
HOT = {"kind": "temperature", "where": {"layer": None, "head": 0}, "temperature": 2.5}


def request_for(model: TraceableModel, *edits: dict[str, Any]) -> RunRequest:
    picture, target = model.description.picture, model.description.writes == "target"
    given: dict[str, Any] = {"text": "The cat sat on the mat."}
    if picture is not None:
        given = {"pixels": [[(row + col) % 5 for col in range(picture.size)] for row in range(picture.size)]}
    return RunRequest.model_validate({**given, **({"target": "猫"} if target else {}), "interventions": list(edits)})


def run_of(model: TraceableModel, *edits: dict[str, Any]) -> Run:
    return plan_run(model, request_for(model, *edits), 10_000).run


def logits_of(model: TraceableModel, run: Run) -> Tensor:
    name = model.description.logits.tap
    return model.trace(run, [name]).tensors[name]


def changed(model: ZooModel, change: Callable[[nn.Module], None]) -> ZooModel:
    """A copy of a model with other modules."""
    made = copy.deepcopy(model.checkpoint.model)
    for module in made.modules():
        if getattr(module, "joined", None) is not None:
            module.joined = None  # type: ignore[assignment]
    with torch.no_grad():
        change(made)
    return ZooModel(replace(model.checkpoint, model=made))


def silence(linear: nn.Module) -> None:
    for parameter in linear.parameters():
        parameter.zero_()


def without_ffn(module: nn.Module) -> None:
    block = [one for one in module.modules() if type(one).__name__ in ("Block", "CrossBlock")][1]
    silence(block.ffn.w_2)  # type: ignore[arg-type, union-attr]
    if type(block.ffn_residual).__name__ == "ResPostNormResidual":
        silence(block.ffn_residual.norm)  # type: ignore[arg-type, union-attr]


def without_attention(module: nn.Module) -> None:
    block = [one for one in module.modules() if type(one).__name__ in ("Block", "CrossBlock")][1]
    silence(block.attn.w_o)  # type: ignore[arg-type, union-attr]
    if type(block.attn_residual).__name__ == "ResPostNormResidual":
        silence(block.attn_residual.norm)  # type: ignore[arg-type, union-attr]


def without_positions(module: nn.Module) -> None:
    for one in module.modules():
        for name in ("table_k", "table_v", "bias_query", "gamma", "beta"):
            if isinstance(getattr(one, name, None), nn.Parameter):
                getattr(one, name).zero_()
        if type(one).__name__ == "LearnedPositions":
            silence(one)
        if type(one).__name__ == "SinusoidalPositions":
            one.table.zero_()  # type: ignore[operator, union-attr]


def scaled(factor: Callable[[Any], float], head: int | None) -> Callable[[nn.Module], None]:
    """Queries, and so their scores, times a factor, in the first attention."""

    def change(module: nn.Module) -> None:
        mixers = [one for name, one in module.named_modules() if name.endswith(".attn") and hasattr(one, "scores")]
        encoder = [one for name, one in module.named_modules() if name.startswith("encoder.") and one in mixers]
        for one in encoder or mixers:
            for x in (one.w_q.weight, one.w_q.bias):  # type: ignore[union-attr]
                rows = x.unflatten(0, (one.n_head, -1))  # type: ignore[operator, union-attr, arg-type]
                rows[slice(None) if head is None else head] *= factor(one)

    return change


@pytest.mark.parametrize("name", NAMES)
def test_a_sublayer_that_is_off_writes_nothing(loaded: Library, name: str) -> None:
    model = ZooModel(opened(loaded, name))
    plain = run_of(model)
    for edit, change in ((FFN, without_ffn), (ATTENTION, without_attention)):
        found = logits_of(model, run_of(model, edit))
        torch.testing.assert_close(found, logits_of(changed(model, change), plain), atol=1e-4, rtol=1e-5)
        assert (found - logits_of(model, plain)).abs().max() > 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_in_a_window_a_token_sees_only_what_is_near(loaded: Library, name: str) -> None:
    """As if each far cell were forbidden alone; its weights are the softmax of the near scores."""
    model = ZooModel(opened(loaded, name))
    first = model.description.attentions[0]
    if "mask" not in first.roles:
        with pytest.raises(AppError, match="has no mask"):
            run_of(model, NEAR)
        return
    run = run_of(model, NEAR)
    n = len(run.ids)
    far = [(row, col) for row in range(n) for col in range(n) if abs(row - col) >= 3]
    cells = [{"kind": "mask", "where": {"layer": None, "query": row, "key": col}, "allow": False} for row, col in far]
    found = logits_of(model, run)
    torch.testing.assert_close(found, logits_of(model, run_of(model, *cells)), atol=1e-5, rtol=1e-5)
    assert (found - logits_of(model, run_of(model))).abs().max() > 1e-3
    if "scores" in first.roles:
        names = [first.roles[role].taps[0] for role in ("scores", "mask", "pattern")]
        scores, mask, pattern = model.trace(run, names).tensors.values()
        near = (torch.arange(n)[:, None] - torch.arange(n)).abs() < 3
        assert torch.equal((mask & masks.WINDOW).bool(), ~near.expand_as(mask))
        expected = torch.where(mask.bool(), -torch.inf, scores).softmax(-1)
        torch.testing.assert_close(pattern, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_positions_that_are_off_are_nowhere(loaded: Library, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = ZooModel(opened(loaded, name))
    if name in ("mini-no-position", "mini-wkv"):
        with pytest.raises(AppError, match="decay" if name == "mini-wkv" else "no positions"):
            run_of(model, POSITIONS)
        return
    plain = run_of(model)
    found = logits_of(model, run_of(model, POSITIONS))
    assert (found - logits_of(model, plain)).abs().max() > 1e-3
    monkeypatch.setattr(rotary, "rotate", lambda x, positions: x)
    torch.testing.assert_close(found, logits_of(changed(model, without_positions), plain), atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_scores_without_their_scale_and_at_a_temperature(loaded: Library, name: str) -> None:
    model = ZooModel(opened(loaded, name))
    plain = run_of(model)
    root = scaled(lambda one: (one.w_q.out_features / one.n_head) ** 0.5, None)
    for edit, change in ((SCALE, root), (HOT, scaled(lambda _: 1 / 2.5, 0))):
        if "scores" not in model.description.attentions[0].roles:
            with pytest.raises(AppError, match="scores") as refusal:
                run_of(model, edit)
            assert (refusal.value.code, refusal.value.where) == ("cannot", "interventions[0]")
            continue
        found = logits_of(model, run_of(model, edit))
        torch.testing.assert_close(found, logits_of(changed(model, change), plain), atol=2e-4, rtol=1e-4)
        assert (found - logits_of(model, plain)).abs().max() > 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_frozen_norms_divide_by_the_unedited_run_s_deviation(loaded: Library, name: str) -> None:
    model = ZooModel(opened(loaded, name))
    plain = run_of(model)
    assert torch.equal(logits_of(model, run_of(model, NORMS)), logits_of(model, plain)), "nothing else is edited"
    kept: dict[str, Tensor] = {}

    def deviation(x: Tensor, eps: float) -> Tensor:
        return (x.var(-1, correction=0, keepdim=True) + eps).sqrt()

    def watch(module: nn.Module) -> None:
        for path, one in module.named_modules():
            if isinstance(one, LayerNorm):
                one.register_forward_pre_hook(
                    lambda own, args, path=path: kept.__setitem__(path, deviation(args[0], own.eps))
                )

    def freeze(module: nn.Module) -> None:
        for path, one in module.named_modules():
            if isinstance(one, LayerNorm):
                one.forward = lambda x, own=one, path=path: (  # type: ignore[method-assign]
                    (x - x.mean(-1, keepdim=True)) / kept[path] * own.weight + own.bias
                )
        without_ffn(module)

    logits_of(changed(model, watch), plain)
    found = logits_of(model, run_of(model, FFN, NORMS))
    torch.testing.assert_close(found, logits_of(changed(model, freeze), plain), atol=1e-3, rtol=1e-4)
    assert (found - logits_of(model, run_of(model, FFN))).abs().max() > 1e-4


def module_of(model: Any, path: str) -> Any:
    return model.get_submodule(path)


def no_alibi(model: Any) -> None:
    model.transformer.build_alibi_tensor = lambda mask, n, dtype: torch.zeros(len(mask) * n, 1, mask.shape[-1])


def zeroed(*paths: str) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        for path in paths:
            silence(module_of(model, path))

    return change


HF = {
    "gpt2": (toys.gpt2, toys.byte_level, "transformer.h.1.mlp.c_proj", "transformer.h.1.attn.c_proj",
             zeroed("transformer.wpe")),
    "llama": (toys.llama, toys.sentence_piece, "model.layers.1.mlp.down_proj", "model.layers.1.self_attn.o_proj", None),
    "gpt-neox": (toys.gpt_neox, toys.byte_level, "gpt_neox.layers.1.mlp.dense_4h_to_h",
                 "gpt_neox.layers.1.attention.dense", None),
    "bloom": (toys.bloom, toys.byte_level, "transformer.h.1.mlp.dense_4h_to_h",
              "transformer.h.1.self_attention.dense", no_alibi),
    "bert": (toys.bert, toys.word_piece, "bert.encoder.layer.1.output.dense",
             "bert.encoder.layer.1.attention.output.dense",
             zeroed("bert.embeddings.position_embeddings")),
    "t5": (toys.t5, toys.sentence_piece, "encoder.block.1.layer.1.DenseReluDense.wo",
           "encoder.block.1.layer.0.SelfAttention.o",
           zeroed(*(f"{x}.block.0.layer.0.SelfAttention.relative_attention_bias" for x in ("encoder", "decoder")))),
}  # fmt: skip


def open_toy(folder: Path, name: str, change: Callable[[Any], None] = lambda _: None) -> Any:
    build, tokenizer = HF[name][:2]
    torch.manual_seed(0)
    made = toys.random_numbers(build())
    with torch.no_grad():
        change(made)
    saved = toys.save(folder, made, tokenizer())
    return source_of(saved).open(saved, CPU)


@pytest.mark.parametrize("name", HF)
def test_transformers_models_give_what_theirs_give_without_the_part(tmp_path: Path, name: str) -> None:
    *_, ffn, attention, positions = HF[name]
    model = open_toy(tmp_path / name, name)
    target = {"target_ids": []} if model.description.writes == "target" else {}

    def run(*edits: dict[str, Any]) -> Run:
        asked = RunRequest.model_validate({"text": "a little cat", **target, "interventions": list(edits)})
        return plan_run(model, asked, 1000).run

    for edit, path in ((FFN, ffn), (ATTENTION, attention)):
        other = open_toy(tmp_path / path, name, zeroed(path))
        torch.testing.assert_close(logits_of(model, run(edit)), logits_of(other, run()), atol=1e-4, rtol=1e-4)
    found = logits_of(model, run(POSITIONS))
    if positions is None:  # at position 0 nothing is turned
        ids = torch.tensor([run().ids])
        with torch.inference_mode():
            expected = model.model(input_ids=ids, position_ids=torch.zeros_like(ids)).logits[0]
    else:
        other = open_toy(tmp_path / "still", name)
        with torch.no_grad():
            positions(other.model)
        expected = logits_of(other, run())
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    assert (found - logits_of(model, run())).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["stories-gpt", "mini-rotary", "mini-relative", "mini-aft-conv", "gpt2", "llama"])
def test_a_generation_reads_as_one_pass_does(loaded: Library, tmp_path: Path, name: str) -> None:
    model = open_toy(tmp_path / name, name) if name in HF else ZooModel(opened(loaded, name))
    asked = [FFN, POSITIONS, NORMS]
    asked += [SCALE, HOT] if "scores" in model.description.attentions[0].roles else []
    asked += [NEAR] if "mask" in model.description.attentions[0].roles else []

    def planned(text: str, plan: Callable[..., Any]) -> Run:
        made: Run = plan(model, RunRequest.model_validate({"text": text, "interventions": asked}), 1000).run
        return made

    run = planned("a little cat", plan_writing)
    session = model.start(run, [])
    session.step(session.prompt)
    more = [5, 7]
    last = session.step(more).logits
    whole = logits_of(model, replace(run, ids=[*run.ids, *more]))
    torch.testing.assert_close(last, whole[-1], atol=1e-4, rtol=1e-4)


def test_what_is_left_out_or_frozen_is_so_once(gpt: Any) -> None:
    model = ZooModel(gpt)
    head = {"kind": "no_scale", "where": {"layer": 1, "head": 2}}
    for first, second in ((head, SCALE), (SCALE, head), (SCALE, SCALE)):
        torch.testing.assert_close(
            logits_of(model, run_of(model, first, second)), logits_of(model, run_of(model, SCALE))
        )
    twice = logits_of(model, run_of(model, FFN, NORMS, NORMS, POSITIONS, POSITIONS))
    assert torch.equal(twice, logits_of(model, run_of(model, FFN, NORMS, POSITIONS)))
    assert not torch.equal(logits_of(model, run_of(model, head)), logits_of(model, run_of(model, SCALE)))


def test_edits_of_eight_threads_do_not_mix(gpt: Any) -> None:
    model = ZooModel(gpt)
    edits = [FFN, ATTENTION, POSITIONS, SCALE, HOT, NORMS | {}, {**HOT, "temperature": 0.5}, NEAR]
    runs = [run_of(model, edit, NORMS) if edit != NORMS else run_of(model, FFN, NORMS) for edit in edits]
    alone = [logits_of(model, run) for run in runs]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            together = list(pool.map(lambda run: logits_of(model, run), runs))
            assert all(map(torch.equal, alone, together))


async def test_they_are_in_the_run_s_json_and_bad_ones_are_refused_at_their_place(client: AsyncClient) -> None:
    edits = [FFN, POSITIONS, SCALE, HOT, NORMS, NEAR]
    tensors, meta = await trace(client, want=["layers.1.ffn.out", "positional"], interventions=edits)
    assert not tensors["layers.1.ffn.out"].any()
    assert not tensors["positional"].any()
    again, _ = await trace(client, want=["logits"], interventions=meta["run"]["interventions"])
    first, _ = await trace(client, want=["logits"], interventions=edits)
    np.testing.assert_array_equal(again["logits"], first["logits"])
    assert [one["where"] for one in meta["run"]["interventions"][1:3]] == [{}, {"attention": "self", "layer": None}]
    for bad, code, where in (
        ({**HOT, "where": {"layer": 99}}, "bad_layer", "interventions[1].where.layer"),
        ({**HOT, "where": {"layer": None, "head": 99}}, "bad_head", "interventions[1].where.head"),
        (
            {"kind": "ablate", "where": {"layer": 0, "role": "out", "head": 1}},
            "bad_role",
            "interventions[1].where.role",
        ),
        ({"kind": "ablate", "where": {"layer": 0, "role": "wish"}}, "unknown_role", "interventions[1].where.role"),
        ({"kind": "ablate", "where": {"layer": 0, "role": "mask"}}, "bad_role", "interventions[1].where.role"),
        ({**HOT, "temperature": 0}, "invalid_request", "interventions[1].temperature.temperature"),
        ({**NEAR, "size": 0}, "invalid_request", "interventions[1].window.size"),
        ({**NEAR, "where": {"layer": 99}}, "bad_layer", "interventions[1].where.layer"),
    ):
        error = await refused(client, "/api/trace", 422, code, text=TEXT, interventions=[FFN, bad])
        assert error["where"] == where


@pytest.mark.parametrize("name", ["stories-gpt", "mini-res-post", "mini-post-norm", "mini-relative"])
@pytest.mark.parametrize("edits", [[FFN], [ATTENTION, NORMS], [POSITIONS, SCALE, HOT, NORMS]])
async def test_what_explains_the_answer_explains_the_edited_one(
    client: AsyncClient, name: str, edits: list[dict[str, Any]]
) -> None:
    asked = {"model": name, "text": "The cat sat.", "interventions": edits}
    tensors, _ = await trace(client, want=["logits"], **asked)
    logits = torch.from_numpy(tensors["logits"]).double()[-1]
    answer = int(logits[:256].argmax())
    parts = (await client.post("/api/explain/contributions", json={**asked, "answer": answer})).json()
    assert abs(sum(one["value"] for one in parts["terms"]) - float(logits[answer])) < 2e-3
    assert (await client.post("/api/explain/route", json=asked)).status_code == 200
    lens = (await client.post("/api/explain/lens", json={**asked, "k": 1})).json()
    never = (await client.get(f"/api/models/{name}")).json()["never_sampled"]
    logits[never] = -torch.inf
    assert abs(lens["final"]["probability"][-1][-1] - float(logits.softmax(-1).max())) < 1e-4


def scaled_queries(name: str, factor: float) -> Callable[[Any], None]:
    """A model of transformers whose queries, and so whose scores, are larger by a factor, in every layer."""

    def change(model: Any) -> None:
        if name == "gpt2":
            for block in model.transformer.h:
                block.attn.c_attn.weight[:, : model.config.n_embd] *= factor
                block.attn.c_attn.bias[: model.config.n_embd] *= factor
        elif name == "llama":
            for layer in model.model.layers:
                layer.self_attn.q_proj.weight *= factor
        else:
            for layer in model.bert.encoder.layer:
                layer.attention.self.query.weight *= factor
                layer.attention.self.query.bias *= factor

    return change


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert"])
def test_transformers_models_scale_their_scores(tmp_path: Path, name: str) -> None:
    model = open_toy(tmp_path / name, name)
    (attention,) = model.description.attentions

    def run(*edits: dict[str, Any]) -> Run:
        return plan_run(
            model, RunRequest.model_validate({"text": "a little cat", "interventions": list(edits)}), 100
        ).run

    heat = {"kind": "temperature", "where": {"layer": None}, "temperature": 2.5}
    for edit, factor in ((SCALE, 1 / attention.scale), (heat, 1 / 2.5)):
        other = open_toy(tmp_path / f"{factor:.2f}", name, scaled_queries(name, factor))
        torch.testing.assert_close(logits_of(model, run(edit)), logits_of(other, run()), atol=2e-4, rtol=1e-4)
    t5, asked = open_toy(tmp_path / "t5", "t5"), {"text": "a cat", "target_ids": [], "interventions": [SCALE]}
    with pytest.raises(AppError, match="does not divide"):
        plan_run(t5, RunRequest.model_validate(asked), 100)


@pytest.mark.parametrize("edits", [[FFN, SCALE], [FFN, NORMS, POSITIONS]])
async def test_what_a_head_does_is_measured_under_the_other_edits(
    client: AsyncClient, edits: list[dict[str, Any]]
) -> None:
    """All heads at once, against one run for each."""
    asked = {"text": "The cat sat on the", "interventions": edits}
    events = parse_events((await client.post("/api/explain/ablations", json=asked)).text)
    found = {(one["layer"], one["head"]): one for name, one in events if name == "ablation" and one["kind"] == "head"}
    answer = next(data["answer"] for name, data in events if name == "start")
    for layer, head in ((0, 1), (1, 5), (5, 5)):
        off = {"kind": "ablate", "where": {"layer": layer, "head": head}}
        tensors, _ = await trace(client, want=["logits"], **{**asked, "interventions": [*edits, off]})
        logits = torch.from_numpy(tensors["logits"]).double()[-1]
        never = (await client.get("/api/models/stories-gpt")).json()["never_sampled"]
        logits[never] = -torch.inf
        assert abs(float(logits.softmax(-1)[answer]) - found[layer, head]["p"]) < 1e-4

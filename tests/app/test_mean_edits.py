"""A part replaced by its mean, stored or over given sentences, and patches from one row to another."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from httpx import AsyncClient
from torch import Tensor

from chumoku.app.api.run import RunRequest
from chumoku.app.services.plan import plan_run, plan_writing
from chumoku.model.checkpoint import ZOO
from chumoku.model.means import FILE, ReplaceByMean, StoredMean, means_over, read_means, tapped
from chumoku.model.traceable import ZooModel
from tests.app.families import opened
from tests.app.helpers import TEXT, parse_events, refused, trace

NAMES = sorted(path.name for path in ZOO.iterdir() if path.is_dir())
OFF = {"kind": "ablate", "where": {"layer": 1, "role": "out"}}


@pytest.mark.parametrize("name", NAMES)
def test_every_zoo_model_has_means_of_what_its_parts_write(loaded: Any, name: str) -> None:
    means, model = read_means(ZOO / name), ZooModel(opened(loaded, name))
    assert means is not None
    assert means.n >= 300
    for tap in tapped(model.description):
        mean, dims = means.of(tap), model.description.taps[tap].dims.split()
        assert mean is not None
        assert mean.isfinite().all()
        assert mean.dim() == len(dims)
        assert mean.shape[dims.index("position")] == means.n_positions
    assert means.of("logits") is None


def test_a_mean_is_over_those_that_have_the_position() -> None:
    windows = [{"x": torch.tensor([[1.0], [2.0], [9.0]])}, {"x": torch.tensor([[3.0], [4.0]])}]
    assert means_over(windows, {"x": 0}, 32)["x"].flatten().tolist() == [2, 3, 9]
    assert means_over(windows, {"x": 0}, 2)["x"].flatten().tolist() == [2, 3]


def test_a_mean_stands_at_its_position_and_later_at_the_mean_of_all() -> None:
    mean = torch.tensor([[[1.0], [3.0]], [[5.0], [7.0]]])  # head position d
    x = torch.zeros(1, 2, 3, 1)
    assert ReplaceByMean(StoredMean(mean), 1)(x.clone(), 0).flatten().tolist() == [1, 3, 2, 5, 7, 6]
    assert ReplaceByMean(StoredMean(mean), 1, head=1)(x.clone(), 1).flatten().tolist() == [0, 0, 0, 7, 6, 6]
    assert ReplaceByMean(StoredMean(mean), 1, head=0, first=1)(x.clone(), 0)[0, 0].flatten().tolist() == [1, 1, 3]


async def test_an_ffn_writes_its_stored_mean(client: AsyncClient) -> None:
    means = read_means(ZOO / "stories-gpt")
    assert means is not None
    edit = {**OFF, "to": "mean"}
    found, meta = await trace(client, want=["layers.1.ffn.out", "logits"], interventions=[edit])
    expected = means.of("layers.1.ffn.out")
    assert expected is not None
    np.testing.assert_allclose(found["layers.1.ffn.out"], expected[: len(meta["tokens"])], atol=1e-6)
    assert meta["run"]["interventions"][0]["to"] == "mean"
    zero, _ = await trace(client, want=["logits"], interventions=[OFF])
    assert np.abs(found["logits"] - zero["logits"]).max() > 1e-2
    about = (await client.get("/api/models/stories-gpt")).json()["means"]
    assert about == {"n": means.n, "positions": means.n_positions, "on": means.on}


async def test_a_head_writes_its_mean_over_given_sentences(client: AsyncClient) -> None:
    texts = [TEXT, "A dog ran", "The red ball is on the table now."]
    edit = {"kind": "ablate", "where": {"layer": 2, "head": 3}, "to": "mean", "over": texts}
    found, meta = await trace(client, want=["layers.2.attn.z"], interventions=[edit])
    each = [(await trace(client, text=text, want=["layers.2.attn.z"]))[0]["layers.2.attn.z"][3] for text in texts]
    for t in range(len(meta["tokens"])):
        there = [z[t] for z in each if t < len(z)]
        np.testing.assert_allclose(found["layers.2.attn.z"][3, t], np.mean(there, 0), atol=1e-5)
    plain, _ = await trace(client, want=["layers.2.attn.z"])
    np.testing.assert_array_equal(found["layers.2.attn.z"][2], plain["layers.2.attn.z"][2])


async def test_a_mean_over_the_sentence_itself_changes_nothing(client: AsyncClient) -> None:
    edit = {**OFF, "to": "mean", "over": [TEXT]}
    found, _ = await trace(client, want=["logits"], interventions=[edit])
    plain, _ = await trace(client, want=["logits"])
    np.testing.assert_allclose(found["logits"], plain["logits"], atol=1e-4)


async def test_means_are_written_in_generation_as_in_one_pass(client: AsyncClient) -> None:
    means = read_means(ZOO / "stories-gpt")
    assert means is not None
    model_edit = {**OFF, "to": "mean"}
    asked = {"text": TEXT, "interventions": [model_edit], "temperature": 0, "max_new_tokens": 3}
    steps = [
        data for name, data in parse_events((await client.post("/api/generate", json=asked)).text) if name == "step"
    ]
    ids = [token["id"] for token in (await trace(client, want=["logits"]))[1]["tokens"]]
    for step in steps:
        logits, _ = await trace(client, text=None, token_ids=ids, want=["logits"], interventions=[model_edit])
        assert step["token"]["id"] == int(logits["logits"][-1, :4096].argmax())
        ids.append(step["token"]["id"])


async def test_a_row_is_patched_into_another(client: AsyncClient) -> None:
    other = {"text": "Tom saw a red car."}
    want = ["layers.1.*", "layers.0.resid_post"]
    theirs, _ = await trace(client, **other, want=want)
    for role, where, tap in (
        ("z", {"head": 2, "query": 3}, "layers.1.attn.z"),
        ("out", {"query": 3}, "layers.1.ffn.out"),
        ("attn_out", {"query": 3}, "layers.1.attn.attn_out"),
        ("stream", {"query": 3}, "layers.0.resid_post"),
    ):
        edit = {"kind": "patch", "where": {"layer": 1, "role": role, **where, "from_row": 1}, "from": other}
        found, _ = await trace(client, want=want, interventions=[edit])
        at = (where["head"],) if "head" in where else ()
        np.testing.assert_array_equal(found[tap][(*at, 3)], theirs[tap][(*at, 1)])
        np.testing.assert_array_equal(found[tap][(*at, 2)], (await trace(client, want=[tap]))[0][tap][(*at, 2)])


async def test_a_run_patched_with_itself_changes_no_bit(client: AsyncClient) -> None:
    plain, _ = await trace(client, want=["logits"])
    for role in ("out", "post", "z", "stream"):
        edit = {"kind": "patch", "where": {"layer": 1, "role": role, "query": 2, "from_row": 2}, "from": {"text": TEXT}}
        found, _ = await trace(client, want=["logits"], interventions=[edit])
        np.testing.assert_array_equal(found["logits"], plain["logits"])


async def test_all_rows_of_the_first_stream_make_the_other_run(client: AsyncClient) -> None:
    """And what is measured on top of such a run is measured, too: a pass cannot resume at an edited stream."""
    other = {"text": TEXT[::-1]}
    theirs, _ = await trace(client, **other, want=["logits"])
    rows = len(theirs["logits"])
    mine = {"token_ids": [1] * rows}
    edits = [
        {"kind": "patch", "where": {"layer": 0, "role": "stream", "query": row}, "from": other} for row in range(rows)
    ]
    found, _ = await trace(client, text=None, **mine, want=["logits"], interventions=edits)
    np.testing.assert_allclose(found["logits"], theirs["logits"], atol=1e-4)
    for path in ("ablations", "effects"):
        answer = await client.post(f"/api/explain/{path}", json={**mine, "interventions": edits})
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize(
    ("edit", "code", "where"),
    [
        ({"kind": "ablate", "where": {"layer": 0, "role": "q"}, "to": "mean"}, "no_mean", "interventions[0].to"),
        ({**OFF, "over": ["a"]}, "invalid_request", "interventions[0].ablate"),
        ({**OFF, "to": "mean", "over": []}, "invalid_request", "interventions[0].ablate.over"),
        ({**OFF, "to": "median"}, "invalid_request", "interventions[0].ablate.to"),
        (
            {"kind": "patch", "where": {"layer": 1, "role": "z", "query": 0, "from_row": 99}, "from": {"text": "a b"}},
            "bad_position",
            "interventions[0].where.from_row",
        ),
        (
            {"kind": "patch", "where": {"layer": 1, "role": "z", "from_row": 0}, "from": {"text": "a b"}},
            "invalid_request",
            "interventions[0].patch.where",
        ),
    ],
)
async def test_a_bad_one_is_refused_at_its_place(
    client: AsyncClient, edit: dict[str, Any], code: str, where: str
) -> None:
    error = await refused(client, "/api/trace", 422, code, text=TEXT, interventions=[edit])
    assert error["where"] == where


def test_a_broken_file_is_named(tmp_path: Any) -> None:
    assert read_means(tmp_path) is None
    (tmp_path / FILE).write_bytes(b"no")
    with pytest.raises(ValueError, match=FILE):
        read_means(tmp_path)


def test_left_pads_keep_the_means_on_their_positions(loaded: Any) -> None:
    means = read_means(ZOO / "stories-gpt")
    assert means is not None
    model = ZooModel(opened(loaded, "stories-gpt"), means)

    def logits(pads: int) -> Tensor:
        asked = {"text": TEXT, "pad": {"count": pads}, "interventions": [{**OFF, "to": "mean"}]}
        run = plan_run(model, RunRequest.model_validate(asked), 1000).run
        return model.trace(run, ["logits"]).tensors["logits"]

    torch.testing.assert_close(logits(3)[3:], logits(0), atol=1e-4, rtol=1e-4)


EVERY = [
    {**OFF, "where": {"attention": "decoder", "layer": 1, "role": "out"}, "to": "mean"},
    {"kind": "ablate", "where": {"attention": "cross", "layer": 0, "role": "attn_out"}},
    {"kind": "ablate", "where": {"attention": "encoder", "layer": 0, "head": 1}, "to": "mean"},
    {"kind": "no_positions"},
    {"kind": "freeze_norms"},
    {"kind": "temperature", "where": {"attention": "cross", "layer": None}, "temperature": 1.5},
]


def test_a_beam_search_reads_as_one_pass_does(loaded: Any) -> None:
    """Each hypothesis has the log-probability that one forward pass over it gives, under the same edits."""
    name = "translate-enja"
    model = ZooModel(opened(loaded, name), read_means(ZOO / name))
    asked = RunRequest.model_validate({"text": "I like red cats.", "interventions": EVERY})
    run = plan_writing(model, asked, 1000).run
    search = model.search(run, 3, 0.0)
    while search.open:
        search.step()
    plain = plan_writing(model, RunRequest.model_validate({"text": "I like red cats."}), 1000).run
    other = model.search(plain, 3, 0.0)
    while other.open:
        other.step()
    best = search.best[0]
    assert best.ids != other.best[0].ids
    start = [model.tokenizer.first_id]
    logits = model.trace(replace(run, target=[*start, *best.ids[:-1]]), ["logits"]).tensors["logits"].double()
    logits[:, list(model.tokenizer.never_sampled)] = -torch.inf
    log_p = logits.log_softmax(-1)
    total = sum(float(log_p[t, token]) for t, token in enumerate(best.ids))
    assert abs(total - best.log_p) < 1e-3

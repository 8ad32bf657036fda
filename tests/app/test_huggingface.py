"""A folder of transformers through the API: listed, described, traced, edited, continued; its river; its refusals."""

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from httpx import ASGITransport, AsyncClient

from chumoku.app.cli.commands import write_trace
from chumoku.app.main import create_app
from chumoku.app.services import discovery
from chumoku.app.settings import Settings
from chumoku.model.attribution import effects
from chumoku.model.traceable.huggingface import transformers_config
from tests.app.helpers import decode, parse_events, refused, trace
from tests.toys import huggingface as toys

TEXT = "a little cat"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = toys.random_numbers(toys.gpt2())
    return toys.save(tmp_path_factory.mktemp("hf") / "tiny", model, toys.byte_level())


@pytest.fixture(scope="module")
def translators(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    folder, ends = tmp_path_factory.mktemp("hf"), f"$A {toys.END}"
    models = {"bart": (toys.bart(), f"<s> {ends}"), "t5": (toys.t5(), ends)}
    return tuple(
        toys.save(folder / name, toys.random_numbers(model), toys.sentence_piece(around))
        for name, (model, around) in models.items()
    )


@pytest.fixture(scope="module")
def recurrent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = toys.random_numbers(toys.rwkv())
    return toys.save(tmp_path_factory.mktemp("hf") / "rwkv", model, toys.byte_level())


@pytest.fixture
async def client(folder: Path, translators: tuple[Path, ...], recurrent: Path) -> AsyncIterator[AsyncClient]:
    settings = Settings(device="cpu", models=(folder, *translators, recurrent))
    app = create_app(settings, discovery.discover(settings))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app=app), base_url="http://localhost") as client,
    ):
        yield client


async def test_it_is_the_default_and_described(client: AsyncClient) -> None:
    listed = (await client.get("/api/models")).json()
    assert listed["default"] == "tiny"
    about = (await client.get("/api/models/tiny")).json()
    (stack,) = about["description"]["stacks"]
    assert stack["layers"][0]["sublayers"][1]["activation"] == "gelu_tanh"
    assert about["special"] == {"pad": 257, "end": 256, "first": None, "mask": None}


async def test_it_is_traced_edited_and_continued(client: AsyncClient) -> None:
    cut = {"kind": "mask", "where": {"layer": 0, "query": 2, "key": 1}, "allow": False}
    off = {"kind": "ablate", "where": {"layer": 1, "head": 0}}
    tensors, meta = await trace(client, text=TEXT, want=["*"], interventions=[cut, off], describe=True)
    assert meta["run"]["interventions"][0]["where"]["attention"] == "self"
    assert not tensors["layers.0.attn.pattern"][:, 2, 1].any()
    assert not tensors["layers.1.attn.z"][0].any()
    asked = {"text": TEXT, "temperature": 0, "max_new_tokens": 2}
    events = parse_events((await client.post("/api/generate", json=asked)).text)
    steps = [data for name, data in events if name == "step"]
    assert [step["cache"]["computed"] for step in steps] == [1, 1]
    assert steps[0]["rows"]["self"]["shape"] == [2, 3, len(TEXT) + 1]


async def test_one_without_a_head_shows_its_river_and_its_last_state_and_predicts_nothing(tmp_path: Path) -> None:
    model = toys.random_numbers(toys.bert("BertModel"))
    settings = Settings(device="cpu", models=(toys.save(tmp_path / "bare", model, toys.word_piece()),))
    app = create_app(settings, discovery.discover(settings))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app=app), base_url="http://localhost") as client,
    ):
        tensors, meta = await trace(client, text=TEXT, want=["*"])
        ids = torch.tensor([[token["id"] for token in meta["tokens"]]])
        with torch.no_grad():
            assert np.allclose(tensors["last_hidden_state"], model(ids).last_hidden_state[0], atol=1e-5)
        assert (await client.post("/api/explain/route", json={"text": TEXT})).status_code == 200
        error = await refused(client, "/api/generate", 422, "cannot", text=TEXT)
        assert error["message"] == "'bare' cannot continue a text: it predicts nothing."


async def test_a_cell_forbidden_in_every_layer_is_transformers_own_run_under_that_mask(
    client: AsyncClient, folder: Path
) -> None:
    cell = {"layer": None, "query": 5, "key": 2}
    cut = {"kind": "mask", "where": cell, "allow": False}
    tensors, meta = await trace(client, text=TEXT, want=["logits"], interventions=[cut])
    ids = torch.tensor([[token["id"] for token in meta["tokens"]]])
    allowed = torch.ones(1, 1, *[ids.shape[1]] * 2, dtype=torch.bool).tril()
    allowed[..., 5, 2] = False
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        seen = torch.where(allowed, 0.0, torch.finfo(torch.float32).min)
        logits, plain = model(ids, attention_mask=seen).logits[0], model(ids).logits[0]
    assert np.allclose(tensors["logits"], logits, atol=1e-5)
    assert not np.allclose(plain[5:], logits[5:], atol=1e-3)


async def test_a_recurrent_one_is_traced_cut_and_continued_and_has_no_pad(client: AsyncClient) -> None:
    cut = {"kind": "mask", "where": {"layer": 0, "query": 2, "key": 1}, "allow": False}
    asked = {"model": "rwkv", "text": TEXT, "interventions": [cut]}
    tensors, meta = await trace(client, want=["*"], describe=True, **asked)
    (attention,) = meta["description"]["attentions"]
    taps = {role: one["taps"][0] for role, one in attention["roles"].items()}
    weights, v = tensors[taps["weights"]], tensors[taps["v"]]
    assert not weights[:, 2, 1].any()
    assert np.allclose((weights * v[:, None]).sum(2), tensors[taps["mixed"]], atol=1e-5)
    answer = await client.post("/api/generate", json={**asked, "max_new_tokens": 2, "temperature": 0})
    steps = [data for event, data in parse_events(answer.text) if event == "step"]
    assert [step["cache"]["computed"] for step in steps] == [1, 1]
    assert steps[0]["rows"]["self"]["shape"] == [3, 2, len(TEXT) + 1]
    error = await refused(client, "/api/trace", 422, "bad_pad", model="rwkv", text=TEXT, pad={"count": 1})
    assert error["message"] == "'rwkv' has no PAD."


@pytest.mark.parametrize(("model", "begins", "start"), [("bart", 1, 2), ("t5", None, 3)])
async def test_a_target_may_begin_with_its_end_or_its_pad(
    client: AsyncClient, model: str, begins: int | None, start: int
) -> None:
    """END is 2, PAD 3; a source of BART begins with <s>. What an answer says can be posted again."""
    asked = {"model": model, "text": TEXT, "want": ["logits"]}
    tensors, meta = await trace(client, **asked)
    source, target = ([token["id"] for token in meta[name]] for name in ("tokens", "target_tokens"))
    assert ((source[0] == begins) == (begins is not None), source[-1], target[0]) == (True, 2, start)
    assert not {2, 3} & {*target[1:]}
    again, _ = await trace(client, **asked | {"text": None, "token_ids": source, "target_ids": target})
    assert np.array_equal(again["logits"], tensors["logits"])
    whole = [*target[:3], 2]
    _, meta = await trace(client, **asked | {"target_ids": whole})
    assert [token["id"] for token in meta["target_tokens"]] == whole
    for wrong in ([start, 9, 2, 9], [start, 9, 3]):
        await refused(client, "/api/trace", 422, "bad_token", **asked | {"target_ids": wrong})
    asked = {"model": model, "text": TEXT, "target": "", "temperature": 0, "max_new_tokens": 2}
    events = parse_events((await client.post("/api/generate", json=asked)).text)
    steps = [data for name, data in events if name == "step"]
    assert [step["token"]["id"] for step in steps] == [*target[1:], 2][:2]


@pytest.fixture
async def narrow(
    folder: Path, translators: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AsyncClient]:
    """The same models on a page that draws 8 tokens."""
    monkeypatch.setattr(transformers_config, "WINDOW", 8)
    settings = Settings(device="cpu", models=(folder, *translators))
    app = create_app(settings, discovery.discover(settings))
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=ASGITransport(app=app), base_url="http://localhost") as client,
    ):
        yield client


async def test_of_a_long_text_the_last_tokens_are_read_and_it_says_so(narrow: AsyncClient) -> None:
    asked = {"model": "tiny", "text": "one small dog", "want": ["logits"]}
    tensors, meta = await trace(narrow, **asked)
    assert (meta["text"], meta["read_text"]) == ("one small dog", "mall dog")
    assert meta["notes"] == [{"code": "windowed", "n_tokens": 13, "n_read": 8}]
    alone, plain = await trace(narrow, **asked | {"text": "mall dog"})
    assert np.array_equal(tensors["logits"], alone["logits"])
    assert plain["notes"] == []
    _, padded = await trace(narrow, **asked | {"pad": {"count": 2, "side": "left"}})
    assert padded["read_text"] == "ll dog"
    assert padded["notes"] == [{"code": "windowed", "n_tokens": 13, "n_read": 6}]
    await refused(narrow, "/api/generate", 422, "too_long", model="tiny", text="one small dog")  # no room to write
    ids = [token["id"] for token in meta["tokens"]]
    await refused(narrow, "/api/trace", 422, "too_long", model="tiny", token_ids=[*ids, 5])
    _, both = await trace(narrow, model="bart", text="one small dog", target="a")
    source = [token["id"] for token in both["tokens"]]
    assert (len(source), source[0], source[-1]) == (8, 1, 2)
    assert both["read_text"].strip() == "ll dog"


async def test_its_river_and_its_weights(client: AsyncClient) -> None:
    (river,) = (await client.post("/api/explain/route", json={"text": TEXT})).json()["rivers"]
    assert river["flows"][0]["share"]["shape"] == [2, len(TEXT), len(TEXT)]
    arrays, _ = decode((await client.post("/api/weights", json={"want": ["*.w_q.weight"]})).content)
    assert {x.shape for x in arrays.values()} == {(12, 12)}
    assert np.isfinite(np.stack(list(arrays.values()))).all()


async def test_its_effects_are_those_of_its_cuts(client: AsyncClient) -> None:
    answered = await client.post("/api/explain/effects", json={"text": TEXT, "n": 3})
    (_, start), *effects, (last, _) = parse_events(answered.text)
    assert (start["edges"], start["row"], last) == (3, len(TEXT) - 1, "done")
    (_, one), *_ = effects
    cut = {"kind": "mask", "where": {name: one[name] for name in ("layer", "query", "key")}, "allow": False}
    asked = {"text": TEXT, "interventions": [cut], "want": [], "predict": {"n": 99}}
    _, meta = decode((await client.post("/api/trace", json=asked)).content)
    (listed,) = [token["before"] for token in meta["predictions"][0]["candidates"] if token["id"] == start["answer"]]
    assert one["p"] == pytest.approx(listed, rel=1e-4)


async def test_unasked_no_more_is_cut_than_takes_some_seconds(
    client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But one cut at least, however large the model is, and all that are asked for."""
    about = (await client.get("/api/models/tiny")).json()
    a_pass = about["n_parameters"] * len(TEXT)
    asked = [{"layer": 0, "query": len(TEXT) - 1, "key": key} for key in range(3)]
    measured = []
    for products, edges in ((2.5 * a_pass, None), (a_pass // 2, None), (a_pass // 2, asked)):
        monkeypatch.setattr(effects, "PRODUCTS", int(products))
        answered = await client.post("/api/explain/effects", json={"text": TEXT, "n": 5, "edges": edges})
        measured.append(sum(name == "effect" for name, _ in parse_events(answered.text)))
    assert measured == [2, 1, 3]


async def test_its_layers_are_read_and_its_heads_labelled(client: AsyncClient) -> None:
    lens = (await client.post("/api/explain/lens", json={"text": TEXT, "k": 4})).json()
    _, meta = await trace(client, text=TEXT, want=[], predict={"positions": lens["rows"], "n": 4, "temperature": 0})
    for row, found in enumerate(meta["predictions"]):
        last = dict(zip(lens["top"][-1][row], lens["probability"][-1][row], strict=True))
        assert last == pytest.approx({one["id"]: one["before"] for one in found["candidates"]}, abs=1e-9)
    asked = {"model": "t5", "text": TEXT}
    assert (await refused(client, "/api/explain/lens", 422, "cannot", **asked))["where"] == "model"  # it is scaled
    heads = (await client.post("/api/explain/heads", json=asked)).json()["heads"]
    assert {head["attention"] for head in heads} == {"encoder", "decoder", "cross"}


async def test_what_needs_our_modules_is_refused_by_name(client: AsyncClient) -> None:
    for name, asked in (
        ("contributions", {"text": TEXT, "units_of": 0}),
        ("writes", {"text": TEXT, "layer": 0, "head": 0}),
        ("units", {"text": TEXT}),
        ("parameters", {}),
    ):
        error = await refused(client, f"/api/explain/{name}", 422, "cannot", **asked)
        assert "'tiny' cannot" in error["message"]
    error = await refused(client, "/api/explain/contributions", 422, "cannot", model="t5", text=TEXT)
    assert "'t5' cannot" in error["message"]


async def test_its_logit_is_split_into_what_heads_and_ffns_write(client: AsyncClient) -> None:
    response = await client.post("/api/explain/contributions", json={"text": TEXT, "against": "mean", "by_key": True})
    found = response.json()
    assert abs(found["error"]) < 1e-4
    heads = [term for term in found["terms"] if term["part"] == "head"]
    assert sum(heads[0]["keys"]) == pytest.approx(heads[0]["value"], abs=1e-3)


def test_a_folder_that_is_no_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not the folder of a model"):
        discovery.discover(Settings(models=(tmp_path,)))


def test_two_models_of_one_name_are_refused(tmp_path: Path) -> None:
    folders = tuple(toys.save(tmp_path / where / "tiny", toys.gpt2(), toys.byte_level()) for where in ("a", "b"))
    with pytest.raises(ValueError, match="have the same name: call one of them NAME="):
        discovery.discover(Settings(models=folders))
    library = discovery.discover(Settings(device="cpu", models=(Path(f"mine={folders[0]}"), folders[1])))
    assert {"mine", "tiny"} <= {*library.names}
    assert library.default == "mine"
    with library.use(library.find("mine")) as traceable:
        assert traceable.name == "mine"
    with pytest.raises(ValueError, match="takes a name of letters, digits, dots and dashes"):
        discovery.discover(Settings(models=(Path(f"a b={folders[0]}"),)))


def test_a_trace_file_of_a_long_text_says_what_was_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transformers_config, "WINDOW", 8)
    asked = {"masks": {}, "pad": {"count": 0}, "interventions": []}
    out = tmp_path / "once.safetensors"
    said = write_trace(
        {"text": "one small dog"}, "tiny", out, Settings(device="cpu", models=(folder,)), target=None, **asked
    )
    assert "tensors of 8 (the last of 13) tokens" in said

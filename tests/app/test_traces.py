"""A trace on the wire equals the model's own, bit for bit."""

import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.app import VERSION
from chumoku.app.settings import Settings
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import describe
from chumoku.model.taps import tap_dims
from chumoku.model.trace import Masks, trace
from tests.app.conftest import Open
from tests.app.helpers import TEXT, decode
from tests.app.helpers import trace as post

PATTERN, MASK = "layers.2.attn.pattern", "layers.2.attn.mask"


async def test_every_tensor_is_the_models_own(client: AsyncClient, gpt: Checkpoint) -> None:
    tensors, meta = await post(client, want=["*"])
    ids = gpt.tokenizer.encode(TEXT)
    expected = trace(gpt, ids)
    assert set(tensors) == set(tap_dims(gpt.model))
    for name, tensor in expected.tensors.items():
        assert tensors[name].dtype == (np.uint8 if name.endswith(".mask") else np.float32)
        np.testing.assert_array_equal(tensors[name], tensor.numpy(), err_msg=name)
    assert meta["dims"] == expected.dims
    assert [token["id"] for token in meta["tokens"]] == ids


async def test_metadata(client: AsyncClient, gpt: Checkpoint) -> None:
    _, meta = await post(client)
    n = len(gpt.tokenizer.encode(TEXT))
    assert (meta["version"], meta["produced_by"]) == (2, f"chumoku {VERSION}")
    assert (meta["model"], meta["text"], meta["n_characters"]) == ("stories-gpt", TEXT, len(TEXT))
    assert meta["max_seq_len"] == gpt.config.max_seq_len
    assert meta["config"] == {**gpt.config.to_json(), "classes": [], "d_head": gpt.config.d_head}
    assert meta["special"] == {"pad": gpt.tokenizer.pad_id, "end": gpt.tokenizer.end_id, "first": None, "mask": None}
    assert meta["heads"] is None
    assert meta["masks"] == {"causal": True, "padding": True}
    assert meta["pad"] == {"count": 0, "side": "left", "follow": True}
    assert meta["interventions"] == []
    assert (meta["dtype"], meta["scale"]) == ("float32", {})
    assert meta["position_ids"] == list(range(n))
    assert meta["seconds"] > 0
    assert meta["predictions"] == []
    assert list(meta["dims"]) == [f"layers.{layer}.attn.pattern" for layer in range(gpt.config.n_layer)]


async def test_a_request_may_ask_for_the_description(client: AsyncClient, gpt: Checkpoint) -> None:
    told = describe(gpt.config)
    _, short = await post(client)
    assert (short["description_id"], "description" in short) == (told.id, False)
    _, whole = await post(client, describe=True)
    assert whole["description"] == told.to_json()


async def test_answer_is_not_kept_and_says_its_time(client: AsyncClient) -> None:
    response = await client.post("/api/trace", json={"text": TEXT})
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["cache-control"] == "no-store"
    for part in ("queue;dur=", "model;dur=", "encode;dur="):
        assert part in response.headers["server-timing"]


async def test_uint8_is_a_picture(client: AsyncClient) -> None:
    exact, _ = await post(client, want=[PATTERN, MASK])
    coarse, meta = await post(client, want=[PATTERN, MASK], dtype="uint8")
    np.testing.assert_array_equal(coarse[PATTERN], np.round(255 * exact[PATTERN]).astype(np.uint8))
    np.testing.assert_array_equal(coarse[MASK], exact[MASK])
    assert (meta["dtype"], meta["scale"]) == ("uint8", {PATTERN: 255})


async def test_float16(client: AsyncClient) -> None:
    exact, _ = await post(client, want=["layers.1.attn.*"])
    half, meta = await post(client, want=["layers.1.attn.*"], dtype="float16")
    for name, tensor in exact.items():
        expected = tensor if name.endswith(".mask") else tensor.astype(np.float16)
        assert half[name].dtype == expected.dtype
        np.testing.assert_array_equal(half[name], expected, err_msg=name)
    assert meta["scale"] == {}


async def test_layers_and_heads_select(client: AsyncClient) -> None:
    full, _ = await post(client, want=["layers.*.attn.[qz]", "layers.*.resid_post", "embedding"])
    some, meta = await post(
        client, want=["layers.*.attn.[qz]", "layers.*.resid_post", "embedding"], layers=[4, 1], heads=[7, 0]
    )
    parts = ("attn.q", "attn.z", "resid_post")
    assert set(some) == {"embedding", *(f"layers.{layer}.{part}" for layer in (1, 4) for part in parts)}
    for name, tensor in some.items():
        expected = full[name][[7, 0]] if ".attn." in name else full[name]
        np.testing.assert_array_equal(tensor, expected, err_msg=name)
    assert meta["heads"] == [7, 0]


async def test_ids_in_place_of_text(client: AsyncClient, gpt: Checkpoint) -> None:
    ids = gpt.tokenizer.encode(TEXT)
    by_text, _ = await post(client, want=["logits"])
    by_ids, meta = await post(client, text=None, token_ids=ids, want=["logits"])
    np.testing.assert_array_equal(by_ids["logits"], by_text["logits"])
    assert (meta["text"], meta["n_characters"]) == (TEXT, len(TEXT))
    _, meta = await post(client, text=None, token_ids=[*ids[:2], gpt.tokenizer.end_id, *ids[2:]], want=[])
    assert meta["text"] == TEXT
    assert meta["tokens"][2]["special"]
    assert meta["tokens"][2]["start"] == meta["tokens"][2]["end"]


async def test_masks_can_be_off(client: AsyncClient, gpt: Checkpoint) -> None:
    tensors, meta = await post(client, want=[PATTERN, MASK], masks={"causal": False})
    assert not tensors[MASK].any()
    assert meta["masks"] == {"causal": False, "padding": True}
    expected = trace(gpt, gpt.tokenizer.encode(TEXT), [PATTERN], use=Masks(causal=False))
    np.testing.assert_array_equal(tensors[PATTERN], expected.tensors[PATTERN].numpy())


async def test_a_trace_agrees_with_itself(client: AsyncClient) -> None:
    names = {part: f"layers.3.attn.{part}" for part in ("scores", "mask", "pattern", "v", "z")}
    tensors, _ = await post(client, want=list(names.values()))
    scores, mask, pattern, v, z = (tensors[name].astype(np.float64) for name in names.values())
    weights = np.where(mask == 0, np.exp(scores - scores.max(-1, keepdims=True)), 0.0)
    np.testing.assert_allclose(weights / weights.sum(-1, keepdims=True), pattern, atol=1e-6)
    np.testing.assert_allclose(pattern @ v, z, atol=1e-5)
    assert (pattern[mask != 0] == 0).all()


async def test_the_window_can_be_full(client: AsyncClient, gpt: Checkpoint) -> None:
    ids = gpt.tokenizer.encode(TEXT)[:4] * (gpt.config.max_seq_len // 4)
    tensors, _ = await post(client, text=None, token_ids=ids, want=["logits"])
    assert tensors["logits"].shape == (gpt.config.max_seq_len, gpt.config.vocab_size)


async def test_nothing_wanted_is_metadata_alone(client: AsyncClient) -> None:
    tensors, meta = await post(client, want=[])
    assert tensors == {}
    assert meta["tokens"]


async def test_concurrent_requests_get_their_own(open_app: Open, gpt: Checkpoint) -> None:
    import anyio

    texts = [
        f"The {word} sat." for word in ("cat", "dog", "old man", "red hen", "big bad wolf", "moon", "king", "bird")
    ]
    answers: dict[str, np.ndarray] = {}
    async with open_app(Settings(model_threads=4, queue=32)) as client:

        async def ask(text: str, layer: int) -> None:
            tensors, meta = await post(client, text=text, want=[f"layers.{layer}.attn.pattern"])
            assert meta["text"] == text
            (answers[f"{layer} {text}"],) = tensors.values()

        async with anyio.create_task_group() as group:
            for text in texts:
                for layer in (0, 5):
                    group.start_soon(ask, text, layer)
    for key, pattern in answers.items():
        layer, text = key.split(" ", 1)
        name = f"layers.{layer}.attn.pattern"
        expected = trace(gpt, gpt.tokenizer.encode(text), [name]).tensors[name].numpy()
        np.testing.assert_allclose(pattern, expected, atol=1e-6, err_msg=key)
    assert len(answers) == 16


@pytest.mark.cuda
async def test_a_gpus_trace_is_the_cpus(client: AsyncClient) -> None:
    from httpx import ASGITransport

    from chumoku.app.main import create_app
    from chumoku.app.services import discovery

    app = create_app(Settings(device="cuda"), discovery.discover(Settings(device="cuda")))
    transport = ASGITransport(app=app)
    async with app.router.lifespan_context(app), AsyncClient(transport=transport, base_url="http://gpu") as gpu:
        about = (await gpu.get("/api/models/stories-gpt")).json()
        assert about["device"].startswith("cuda")
        response = await gpu.post("/api/trace", json={"text": TEXT, "want": ["*"]})
    expected, _ = await post(client, want=["*"])
    for name, tensor in decode(response.content)[0].items():
        np.testing.assert_allclose(tensor, expected[name], atol=1e-4, err_msg=name)

import json

from httpx import AsyncClient

from model.checkpoint import ZOO, Checkpoint
from model.taps import tap_dims


async def test_models_says_what_the_model_is(client: AsyncClient, gpt: Checkpoint) -> None:
    answer = (await client.get("/api/models")).json()
    assert answer["default"] == "stories-gpt"
    about = next(model for model in answer["models"] if model["name"] == "stories-gpt")
    config = json.loads((ZOO / "stories-gpt" / "config.json").read_text())
    for name in (
        "family",
        "n_layer",
        "n_head",
        "d_model",
        "d_ff",
        "vocab_size",
        "max_seq_len",
        "position",
        "norm_order",
    ):
        assert about[name] == config[name], name
    assert about["d_head"] * about["n_head"] == about["d_model"]
    assert about["n_parameters"] == sum(parameter.numel() for parameter in gpt.model.parameters())
    assert (about["end_id"], about["pad_id"]) == (gpt.tokenizer.end_id, gpt.tokenizer.pad_id)
    assert about["never_sampled"] == [gpt.tokenizer.pad_id]
    assert about["device"] == "cpu"
    assert about["card"] == gpt.card
    assert {tap["name"]: tap["dims"] for tap in about["taps"]} == tap_dims(gpt.model)


async def test_health(client: AsyncClient) -> None:
    assert (await client.get("/healthz")).json() == {"status": "ok"}
    ready = (await client.get("/readyz")).json()
    assert ready["status"] == "ready"
    assert "stories-gpt" in ready["models"]
    assert (ready["jobs"], ready["streams"]) == (0, 0)

import json
import subprocess
import sys
from pathlib import Path

from httpx import AsyncClient

from chumoku.app.services.discovery import discover
from chumoku.app.services.models import all_models
from chumoku.app.settings import Settings
from chumoku.model.checkpoint import ZOO, Checkpoint
from chumoku.model.taps import tap_dims

ROOT = Path(__file__).parents[2]

LINE = {
    *("name", "family", "predicts", "sides", "n_layer", "n_head", "d_model", "d_head", "d_ff", "vocab_size"),
    *("max_seq_len", "n_parameters", "languages", "directions", "classes", "picture", "pairs", "chat"),
    "card",
}


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
    ):
        assert about[name] == config[name], name
    assert about["d_head"] * about["n_head"] == about["d_model"]
    assert about["n_parameters"] == sum(parameter.numel() for parameter in gpt.model.parameters())
    own = ("units", "snapshots", "log")
    assert about["card"] == {name: said for name, said in gpt.card.items() if name not in own}


async def test_the_list_has_names_shapes_and_cards_only(client: AsyncClient) -> None:
    answer = await client.get("/api/models")
    for line in answer.json()["models"]:
        assert set(line) == LINE
        assert not {"units", "snapshots", "log"} & set(line["card"])


async def test_a_model_s_own_page_describes_it(client: AsyncClient, gpt: Checkpoint) -> None:
    listed = (await client.get("/api/models")).json()["models"]
    for line in listed:
        detail = (await client.get(f"/api/models/{line['name']}")).json()
        assert {name: detail[name] for name in line} == line
        assert detail["description"]["predicts"] == line["predicts"]
    detail = (await client.get("/api/models/stories-gpt")).json()
    assert detail["description"] == gpt.description.to_json()
    assert detail["never_sampled"] == [gpt.tokenizer.pad_id]
    assert detail["device"] == "cpu"
    assert detail["units"] == gpt.card.get("units")
    assert {tap["name"]: tap["dims"] for tap in detail["taps"]} == tap_dims(gpt.model)
    for name in ("position", "norm_order", "text_form"):
        assert detail[name] == getattr(gpt.config, name), name
    assert not {"attentions", "end_id", "pad_id", "first"} & set(detail), "it is in the description"
    assert detail["special"] == {"pad": gpt.tokenizer.pad_id, "end": gpt.tokenizer.end_id, "first": None, "mask": None}
    error = (await client.get("/api/models/stories-gtp")).json()["error"]
    assert (error["code"], "'stories-gpt'" in error["hint"]) == ("unknown_model", True)


async def test_listing_loads_nothing() -> None:
    library = discover(Settings(device="cpu"))
    names = {line["name"] for line in all_models(library)["models"]}
    assert {"stories-gpt", "translate-enja", "sentiment-encoder"} <= names
    assert library.loaded == []


def test_listing_does_not_import_torch_s_compiler() -> None:
    """The import would delay the first answer by seconds."""
    code = (
        "import sys; from chumoku.app.services.discovery import discover; from app.settings import Settings; "
        "discover(Settings(device='cpu')); sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


async def test_health(client: AsyncClient) -> None:
    assert (await client.get("/healthz")).json() == {"status": "ok"}
    ready = (await client.get("/readyz")).json()
    assert ready["status"] == "ready"
    assert "stories-gpt" in ready["models"]
    assert (ready["jobs"], ready["streams"]) == (0, 0)

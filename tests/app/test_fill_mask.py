"""A masked language model through the API: [MASK] comes by its id, and row t is about token t."""

from collections.abc import AsyncIterator
from dataclasses import replace

import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.app.services import library
from chumoku.app.settings import Settings
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.describe import describe
from chumoku.model.trace import trace
from chumoku.model.traceable import ZooModel
from tests.app.conftest import opener
from tests.app.helpers import refused
from tests.app.helpers import trace as ask
from tests.model.helpers import tiny_fill_mask

CLS, MASK, PAD = 258, 259, 257
IDS = [10, 20, MASK, 30]


@pytest.fixture(scope="module")
def filler() -> Checkpoint:
    return replace(tiny_fill_mask(), name="filler", card={"languages": ["en"]})


@pytest.fixture
async def client(filler: Checkpoint) -> AsyncIterator[AsyncClient]:
    async with opener(library.of([ZooModel(filler)], "filler"))(Settings(device="cpu")) as client:
        yield client


async def test_it_says_what_it_is(client: AsyncClient, filler: Checkpoint) -> None:
    detail = (await client.get("/api/models/filler")).json()
    assert (detail["predicts"], detail["classes"], detail["family"]) == ("same", [], "encoder-only")
    assert detail["special"] == {"pad": PAD, "end": 256, "first": {"id": CLS, "text": "[CLS]"}, "mask": MASK}
    assert detail["never_sampled"] == [PAD, CLS, MASK]
    assert detail["description"]["id"] == describe(filler.config).id


@pytest.mark.parametrize("n_pad", [0, 2])
async def test_a_gap_is_filled(client: AsyncClient, filler: Checkpoint, n_pad: int) -> None:
    gap = n_pad + 3
    tensors, meta = await ask(
        client, text=None, token_ids=IDS, want=["logits"], pad={"count": n_pad}, predict={"positions": [gap], "n": 300}
    )
    expected = trace(filler, IDS, ["logits"]).tensors["logits"].numpy()
    np.testing.assert_allclose(tensors["logits"][n_pad:], expected, atol=1e-5)
    (found,) = meta["predictions"]
    assert (found["position"], found["next_index"]) == (gap, gap), "a row is about its own token"
    logits = expected[3].astype(np.float64)
    logits[[PAD, CLS, MASK]] = -np.inf
    p = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    listed = {candidate["id"]: candidate["before"] for candidate in found["candidates"]}
    assert listed.keys() == set(range(257)), "PAD, [CLS] and [MASK] fill no gap"
    assert [listed[i] for i in range(257)] == pytest.approx(p[:257].tolist(), abs=1e-6)
    assert meta["classes"] is None
    assert meta["special"]["mask"] == MASK
    masked = meta["tokens"][gap]
    assert (masked["id"], masked["text"], masked["special"]) == (MASK, "[MASK]", True)
    assert meta["run"]["input"] == {"token_ids": IDS}


async def test_text_that_spells_mask_is_plain_text(client: AsyncClient) -> None:
    _, meta = await ask(client, text="[MASK]")
    assert MASK not in [token["id"] for token in meta["tokens"]]


async def test_it_does_not_go_on(client: AsyncClient) -> None:
    error = await refused(client, "/api/generate", 422, "cannot", text="a")
    assert "predicts the token at each position" in error["message"]


@pytest.mark.parametrize(
    ("route", "request_"),
    [
        ("lens", {}),
        ("contributions", {"row": 3, "answer": 65}),
        ("gradients", {"row": 3}),
        ("heads", {}),
        ("units", {}),
        ("swap", {"i": 1, "j": 2}),
        ("residual", {}),
        ("route", {}),
    ],
)
async def test_every_explanation_answers(client: AsyncClient, route: str, request_: dict[str, int]) -> None:
    response = await client.post(f"/api/explain/{route}", json={"token_ids": IDS} | request_)
    assert response.status_code == 200, response.text


async def test_the_lens_knows_the_token_of_a_row_but_not_what_is_hidden(client: AsyncClient) -> None:
    found = (await client.post("/api/explain/lens", json={"token_ids": IDS})).json()
    assert found["next"]["ids"] == [None, 10, 20, None, 30]


async def test_an_answer_of_its_own_is_explained(client: AsyncClient, filler: Checkpoint) -> None:
    logits = trace(filler, IDS, ["logits"]).tensors["logits"][3].clone()
    logits[[PAD, CLS, MASK]] = -np.inf
    found = (await client.post("/api/explain/contributions", json={"token_ids": IDS, "row": 3})).json()
    assert found["answer"] == int(logits.argmax())
    assert sum(term["value"] for term in found["terms"]) == pytest.approx(found["logit"], abs=1e-3)
    await refused(client, "/api/explain/gradients", 422, "bad_token", token_ids=IDS, row=3, answer=MASK)

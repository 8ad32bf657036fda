"""Weights are sent bit for bit."""

from typing import Any

import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.app.services.library import Library
from chumoku.app.settings import Settings
from tests.app.conftest import Open
from tests.app.families import opened
from tests.app.helpers import decode, refused


async def ask(client: AsyncClient, **request: Any) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    response = await client.post("/api/weights", json=request)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/octet-stream"
    return decode(response.content)


@pytest.mark.parametrize("name", ["stories-gpt", "sentiment-encoder", "translate-enja"])
async def test_every_parameter_bit_for_bit(client: AsyncClient, loaded: Library, name: str) -> None:
    arrays, about = await ask(client, model=name, want=["*"])
    parameters = opened(loaded, name).model.state_dict()
    sizes = opened(loaded, name).config.to_json() | {"class": 2}
    sizes |= {"vocab": sizes["vocab_size"], "position": sizes["max_seq_len"]}
    assert about["model"] == name
    assert list(about["dims"]) == list(parameters)
    assert set(arrays) == set(parameters)
    for key, parameter in parameters.items():
        assert arrays[key].dtype == np.float32
        assert arrays[key].tobytes() == parameter.contiguous().numpy().tobytes(), key
        assert tuple(sizes[dim] for dim in about["dims"][key].split()) == parameter.shape, key


async def test_rows(client: AsyncClient, loaded: Library) -> None:
    names = ["layers.1.ffn.w_1.weight", "layers.1.ffn.w_1.bias"]  # a matrix that is stored transposed
    arrays, _ = await ask(client, model="stories-gpt", want=["layers.1.ffn.w_1.*"], rows=[1023, 0])
    assert set(arrays) == set(names)
    parameters = opened(loaded, "stories-gpt").model.state_dict()
    for name in names:
        assert (arrays[name] == parameters[name].numpy()[[1023, 0]]).all()


async def test_the_columns_of_one_head(client: AsyncClient, loaded: Library) -> None:
    name, columns = "layers.1.attn.w_o.weight", list(range(64, 96))
    arrays, _ = await ask(client, model="stories-gpt", want=[name], rows=[3, 0], columns=columns)
    whole = opened(loaded, "stories-gpt").model.state_dict()[name].numpy()
    assert arrays[name].tobytes() == whole[[3, 0]][:, columns].tobytes()


async def test_a_model_s_own_page_lists_them(client: AsyncClient, loaded: Library) -> None:
    for line in (await client.get("/api/models")).json()["models"]:
        checkpoint = opened(loaded, line["name"])
        detail = (await client.get(f"/api/models/{line['name']}")).json()
        assert detail["weights"] == {name: list(x.shape) for name, x in checkpoint.model.state_dict().items()}
        assert detail["units"] == checkpoint.card.get("units")


async def test_unknown_weight_lists_the_known(families: AsyncClient, three: Library) -> None:
    request = {"want": ["*", "layers.0.attn.w_k.weigth"]}
    error = await refused(families, "/api/weights", 422, "unknown_weight", **request)
    assert error["where"] == "want[1]"
    assert error["known"] == list(opened(three, "gpt").model.state_dict())
    assert "layers.0.attn.w_k.weight" in error["hint"]


async def test_bad_row(families: AsyncClient) -> None:
    want = ["layers.0.ffn.w_1.weight", "layers.0.ffn.w_2.weight"]  # 22 rows, and 15
    error = await refused(families, "/api/weights", 422, "bad_row", want=want, rows=[0, 15])
    assert (error["where"], error["got"], error["limit"]) == ("rows[1]", 15, 14)
    await refused(families, "/api/weights", 422, "invalid_request", want=want, rows=[1, 1])
    await refused(families, "/api/weights", 422, "invalid_request", want=[])


async def test_bad_column(families: AsyncClient) -> None:
    want = ["layers.0.ffn.w_1.weight", "layers.0.ffn.w_2.weight"]  # 15 columns, and 22
    error = await refused(families, "/api/weights", 422, "bad_column", want=want, columns=[0, 15])
    assert (error["where"], error["got"], error["limit"]) == ("columns[1]", 15, 14)
    error = await refused(families, "/api/weights", 422, "bad_column", want=["layers.0.ffn.w_1.*"], columns=[0])
    assert "'layers.0.ffn.w_1.bias' has no column 0" in error["message"]


async def test_too_large(open_three: Open) -> None:
    matrix = 4 * 15 * 22
    want = ["layers.0.ffn.w_1.weight"]
    async with open_three(Settings(device="cpu", answer_limit=matrix)) as client:
        error = await refused(client, "/api/weights", 422, "too_large", want=want)
        assert (error["where"], error["limit"]) == ("want", matrix)
        assert matrix < error["got"] < matrix + 1000
        assert (await ask(client, want=want, rows=list(range(10))))[0]["layers.0.ffn.w_1.weight"].shape == (10, 15)
        assert (await ask(client, want=want, columns=list(range(10))))[0]["layers.0.ffn.w_1.weight"].shape == (22, 10)

import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.sampling import SamplingSettings, distribution
from tests.app.helpers import refused, trace


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits.astype(np.float64) - logits.max())
    return powers / powers.sum()


async def test_before_is_the_softmax_of_the_row(client: AsyncClient, gpt: Checkpoint) -> None:
    tensors, meta = await trace(client, want=["logits"], predict={"positions": [2, 5], "n": 7})
    assert [p["position"] for p in meta["predictions"]] == [2, 5]
    for prediction in meta["predictions"]:
        t = prediction["position"]
        logits = tensors["logits"][t].copy()
        logits[gpt.tokenizer.pad_id] = -np.inf
        probabilities = softmax(logits)
        assert prediction["next_index"] == t + 1
        assert prediction["actual"] == pytest.approx(probabilities[meta["tokens"][t + 1]["id"]], abs=1e-12)
        listed = [candidate["id"] for candidate in prediction["candidates"]]
        assert listed == np.argsort(-probabilities, kind="stable")[:7].tolist()
        for candidate in prediction["candidates"]:
            assert candidate["before"] == pytest.approx(probabilities[candidate["id"]], abs=1e-12)
            assert bytes.fromhex(candidate["bytes"]) == gpt.tokenizer.token_bytes(candidate["id"])
        bits = -(
            probabilities * np.log2(probabilities, where=probabilities > 0, out=np.zeros_like(probabilities))
        ).sum()
        assert prediction["entropy_bits"] == pytest.approx(bits)


async def test_after_is_what_is_sampled_from(client: AsyncClient, gpt: Checkpoint) -> None:
    settings = {"temperature": 1.3, "top_k": 9, "top_p": 0.8, "min_p": 0.1, "repetition_penalty": 1.2, "banned": []}
    tensors, meta = await trace(client, want=["logits"], predict={"positions": [4], "n": 500, **settings})
    import torch

    seen = [token["id"] for token in meta["tokens"][:5]]
    drawn = SamplingSettings(1.3, 9, 0.8, 0, 0.1, 1.2)
    expected = distribution(torch.from_numpy(tensors["logits"][4]), drawn, [gpt.tokenizer.pad_id], seen)
    (prediction,) = meta["predictions"]
    assert prediction["settings"] == settings
    assert prediction["n_kept"] == expected.n_kept <= 9
    assert list(prediction["masses_cut"].values()) == pytest.approx(expected.masses)
    for candidate in prediction["candidates"]:
        assert candidate["after"] == pytest.approx(float(expected.after[candidate["id"]]))
        assert candidate["kept"] == (candidate["after"] > 0)
    assert sum(candidate["after"] for candidate in prediction["candidates"]) == pytest.approx(1)


async def test_logits_do_not_travel_unasked(client: AsyncClient) -> None:
    tensors, meta = await trace(client, want=["embedding"], predict={"positions": [0]})
    assert set(tensors) == set(meta["dims"]) == {"embedding"}
    assert len(meta["predictions"][0]["candidates"]) == 12


async def test_after_the_last_token_there_is_none_yet(client: AsyncClient) -> None:
    _, meta = await trace(client, want=[], predict={})
    assert meta["predictions"][0]["actual"] is None


async def test_greedy_keeps_one(client: AsyncClient) -> None:
    _, meta = await trace(client, predict={"positions": [1], "temperature": 0})
    (prediction,) = meta["predictions"]
    assert prediction["n_kept"] == 1
    assert [candidate["after"] for candidate in prediction["candidates"][:2]] == [1.0, 0.0]


async def test_without_positions_the_last_row_that_predicts(client: AsyncClient) -> None:
    for pad in ({}, {"pad": {"count": 2, "side": "right", "follow": True}}):
        _, meta = await trace(client, predict={"n": 3}, **pad)
        last = len(meta["tokens"]) - 1 - pad.get("pad", {"count": 0})["count"]
        _, asked = await trace(client, predict={"n": 3, "positions": [last]}, **pad)
        assert meta["predictions"] == asked["predictions"]


async def test_one_answer_lists_a_bounded_number(client: AsyncClient) -> None:
    predict = {"positions": list(range(66)), "n": 500}
    error = await refused(client, "/api/trace", 422, "invalid_request", text="a", predict=predict)
    assert "33000" in error["message"]
    assert "32768" in error["message"]

"""/api/explain/caching: what the KV cache saves on a text, with the same logits."""

from typing import Any

import pytest
from httpx import AsyncClient

from chumoku.model.explain.caching import MOST_LENGTHS, lengths
from tests.app.helpers import error_of, parse_events


async def readings(client: AsyncClient, **request: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    response = await client.post("/api/explain/caching", json={"model": "gpt", "text": "attend to this"} | request)
    assert response.status_code == 200, response.text
    (first, start), *rest, (last, _) = parse_events(response.text)
    assert (first, last, {name for name, _ in rest}) == ("start", "done", {"reading"})
    return start, [data for _, data in rest]


async def test_each_length_is_read_with_and_without_it(families: AsyncClient) -> None:
    start, found = await readings(families)
    assert [one["n"] for one in found] == start["lengths"] == lengths(len("attend to this"))
    (about,) = (await families.get("/api/models/gpt")).json()["description"]["attentions"]
    for one in found:
        n = one["n"]
        assert one["computed"] == [1, n]
        # Keys and values of every layer, as float32.
        assert one["bytes"] == [2 * about["n_layer"] * about["n_kv_head"] * about["d_head"] * n * 4, 0]
        assert min(one["milliseconds"]) > 0
        assert one["difference"] <= 1e-4
    assert max(one["difference"] for one in found) > 0, "the two passes add up in another order"


async def test_a_target_grows_and_its_source_is_read_once(families: AsyncClient) -> None:
    target = [258, 72, 105, 33, 33]
    _, found = await readings(families, model="translator", text="I like cats.", target_ids=target)
    assert [one["computed"] for one in found] == [[1, n] for n in (1, 2, 3, 4, 5)]
    assert all(one["bytes"][0] > one["bytes"][1] == 0 for one in found)
    assert all(one["difference"] <= 1e-4 for one in found)


@pytest.mark.parametrize("masks", [{"causal": False}])
async def test_a_run_that_keeps_nothing_is_refused(families: AsyncClient, masks: dict[str, bool]) -> None:
    response = await families.post("/api/explain/caching", json={"model": "gpt", "text": "attend", "masks": masks})
    error_of(response, 422, "cannot")


async def test_a_classifier_writes_nothing(families: AsyncClient) -> None:
    response = await families.post("/api/explain/caching", json={"model": "classifier", "text": "attend"})
    error_of(response, 422, "cannot")


def test_lengths_are_spread_over_the_text_and_end_with_it() -> None:
    assert lengths(3) == [1, 2, 3]
    assert len(lengths(200)) == MOST_LENGTHS
    assert lengths(200)[-1] == 200
    gaps = [b - a for a, b in zip([0, *lengths(200)], lengths(200), strict=False)]
    assert max(gaps) - min(gaps) <= 1

"""The detail of a trace: more tensors of the same run in the same answer, exact, whatever the pictures are."""

from collections.abc import AsyncIterator
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from httpx import AsyncClient

from chumoku.app.api.requests import TraceRequest
from chumoku.app.services import tracing
from chumoku.app.services.library import Library
from chumoku.app.settings import Settings
from chumoku.model import pooling
from chumoku.model.run import Run
from chumoku.model.traceable import ZooModel
from tests.app.conftest import Open
from tests.app.families import opened
from tests.app.helpers import error_of, refused, trace
from tests.app.helpers import head as ablated

PICTURES: dict[str, Any] = {"want": ["*pattern", "*mask"], "dtype": "uint8", "pooled": True}
OPEN: dict[str, Any] = {"want": ["*.1.*[qkv]", "*.1.*scores", "*.1.*pattern", "*.1.*mask"], "heads": [1]}
TEXT = "the red cat sat on a mat"


@pytest.mark.parametrize("model", ["gpt", "classifier", "translator"])
@pytest.mark.parametrize("edits", [{}, {"masks": {"causal": False}}, {"interventions": [ablated(layer=0)]}], ids=str)
async def test_a_detail_is_what_a_request_of_its_own_gets(
    families: AsyncClient, model: str, edits: dict[str, Any]
) -> None:
    run = {"model": model, "text": TEXT, **edits}
    both, meta = await trace(families, **run, **PICTURES, detail=OPEN)
    pictures, plain = await trace(families, **run, **PICTURES)
    head, about = await trace(families, **run, **OPEN)
    named = {f"detail/{name}": tensor for name, tensor in head.items()}
    assert both.keys() == pictures.keys() | named.keys()
    for name, tensor in {**pictures, **named}.items():
        assert both[name].dtype == tensor.dtype
        np.testing.assert_array_equal(both[name], tensor, err_msg=name)
    assert meta["dims"] == plain["dims"] | {f"detail/{name}": dims for name, dims in about["dims"].items()}
    assert (meta["detail"], meta["heads"], meta["dtype"]) == ({"heads": [1]}, None, "uint8")
    assert "detail" not in plain
    assert (meta["scale"], meta["run"]) == (plain["scale"], plain["run"])


async def test_whole_tensors_come_beside_pictures_and_the_open_head(families: AsyncClient) -> None:
    run, keys = {"model": "gpt", "text": TEXT}, ["*attn.k", "*attn.v"]
    both, meta = await trace(families, **run, **PICTURES, detail=OPEN, whole=keys)
    plain, _ = await trace(families, **run, **PICTURES, detail=OPEN)
    alone, about = await trace(families, **run, want=keys)
    assert both.keys() - plain.keys() == {f"whole/{name}" for name in alone}
    for name, tensor in alone.items():
        assert both[f"whole/{name}"].dtype == np.float32
        np.testing.assert_array_equal(both[f"whole/{name}"], tensor, err_msg=name)
        assert meta["dims"][f"whole/{name}"] == about["dims"][name]


@pytest.fixture
async def narrow(open_three: Open, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AsyncClient]:
    """As if a short text were a long one: its pictures are pooled."""
    monkeypatch.setattr(pooling, "PICTURES", 200)
    async with open_three(Settings(device="cpu")) as client:
        yield client


@pytest.mark.parametrize("selection", [{"pooled": True}, {"queries": [2]}], ids=str)
async def test_a_detail_has_all_rows_and_is_never_pooled(narrow: AsyncClient, selection: dict[str, Any]) -> None:
    both, meta = await trace(narrow, model="gpt", text=TEXT, want=["*pattern"], **selection, detail=OPEN)
    head, _ = await trace(narrow, model="gpt", text=TEXT, **OPEN)
    assert (meta["pool"] > 1) == ("pooled" in selection)
    assert (both["layers.0.attn.pattern"].shape[1] == 1) == ("queries" in selection)
    for name, tensor in head.items():
        np.testing.assert_array_equal(both[f"detail/{name}"], tensor, err_msg=name)


async def test_an_npz_has_it_too(families: AsyncClient) -> None:
    asked = {"model": "gpt", "text": TEXT, "want": [], "detail": OPEN}
    tensors, _ = await trace(families, **asked)
    body = (await families.post("/api/trace", json=asked | {"format": "npz"})).content
    with np.load(BytesIO(body)) as arrays:
        assert set(arrays) == {*tensors, "__metadata__"}


class Counted(ZooModel):
    """Counts its forward passes."""

    passes = 0

    def trace(self, run: Run, names: Any) -> Any:
        self.passes += 1
        return super().trace(run, names)


def test_one_pass_computes_both(three: Library) -> None:
    traceable = Counted(opened(three, "gpt"))
    exact = {"detail": OPEN, "whole": ["*.[kv]"]}
    request = TraceRequest.model_validate({"text": TEXT, **PICTURES, "predict": {}, **exact})
    tracing.answer(traceable, request, 1000)
    assert traceable.passes == 1


BAD: dict[str, tuple[Any, str, str, str]] = {
    "an unknown name": ({"want": ["layers.0.attn.patern"]}, "unknown_tensor", "want[0]", "layers.0.attn.patern"),
    "an unknown head": ({"want": ["*"], "heads": [0, 99]}, "bad_head", "heads[1]", "heads run from 0 to 2"),
    "no names": ({"want": []}, "invalid_request", "want", "at least 1"),
    "no want": ({"heads": [0]}, "invalid_request", "want", "required"),
    "too many names": ({"want": ["*"] * 257}, "invalid_request", "want", "at most 256"),
    "no heads": ({"want": ["*"], "heads": []}, "invalid_request", "heads", "at least 1"),
    "a head twice": ({"want": ["*"], "heads": [1, 1]}, "invalid_request", "heads", "twice"),
    "a dtype": ({"want": ["*"], "dtype": "uint8"}, "invalid_request", "dtype", "no field"),
}


@pytest.mark.parametrize("bad", BAD)
async def test_a_bad_detail_is_refused_where_it_is(families: AsyncClient, bad: str) -> None:
    detail, code, where, said = BAD[bad]
    error = await refused(families, "/api/trace", 422, code, model="gpt", text=TEXT, detail=detail)
    assert error["where"] == f"detail.{where}"
    assert said in error["message"]


@pytest.mark.parametrize(
    ("whole", "code", "where"),
    [
        (["*.k", "layers.0.attn.patern"], "unknown_tensor", "whole[1]"),
        ([], "invalid_request", "whole"),
        (["*"] * 257, "invalid_request", "whole"),
    ],
)
async def test_bad_names_of_whole_tensors_are_refused_where_they_are(
    families: AsyncClient, whole: list[str], code: str, where: str
) -> None:
    error = await refused(families, "/api/trace", 422, code, model="gpt", text=TEXT, whole=whole)
    assert error["where"] == where


async def test_its_size_is_known_before(open_three: Open, families: AsyncClient) -> None:
    async with open_three(Settings(device="cpu", answer_limit=1024)) as tight:
        for more in ({"dtype": "uint8"}, {"want": []}, {"want": [], "format": "npz"}):
            request = {"model": "gpt", "text": TEXT * 2, "detail": {"want": ["*"]}, **more}
            whole = await families.post("/api/trace", json=request)
            error = error_of(await tight.post("/api/trace", json=request), 422, "too_large")
            assert (error["limit"], error["where"]) == (1024, "detail.want")
            assert len(whole.content) <= error["got"] <= 1.3 * len(whole.content) + 100_000
            assert "fewer of its `heads`" in error["hint"]
            del request["detail"]
            whole = await families.post("/api/trace", json=request | {"whole": ["*"]})
            error = error_of(await tight.post("/api/trace", json=request | {"whole": ["*"]}), 422, "too_large")
            assert error["where"] == "whole"
            assert len(whole.content) <= error["got"] <= 1.3 * len(whole.content) + 100_000

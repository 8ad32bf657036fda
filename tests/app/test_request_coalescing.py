"""Answers that several people ask for: computed once, kept within a bound, and never for another model."""

import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest
import torch
from httpx import AsyncClient, Response

from chumoku.app.main import create_app
from chumoku.app.services import discovery, library
from chumoku.app.services import metrics as metric
from chumoku.app.services.job_queue import Gone, JobQueue
from chumoku.app.services.library import Library
from chumoku.app.services.memory_budget import MEGABYTE, MemoryBudget, Reserve, Size
from chumoku.app.services.request_coalescing import Answer, AnswerCache, Question, RequestCoalescing, etag_of
from chumoku.app.settings import Settings
from chumoku.model.traceable import TraceableModel
from tests.app.conftest import client_of
from tests.app.families import save
from tests.app.helpers import decode, error_of, metrics
from tests.model.helpers import tiny_checkpoint

TRACES = 'chumoku_work_seconds_count{kind="trace"}'


# --- What is kept -----------------------------------------------------------------------------------------


def answer(name: str, n_bytes: int = 1000) -> Answer:
    return Answer(b"x" * n_bytes, etag=name)


def test_the_least_recently_used_go_first() -> None:
    answers = AnswerCache(8 * 2024)
    for name in "abcdefgh":
        answers.keep(answer(name))
    assert answers.nbytes == 8 * 2024
    assert answers.find("a") is not None  # used just now
    answers.keep(answer("i"))
    assert answers.find("b") is None
    assert [name for name in "acdefghi" if answers.find(name) is None] == []
    assert answers.nbytes == 8 * 2024


def test_bytes_count_once_and_a_large_answer_drives_out_no_others() -> None:
    answers = AnswerCache(10_000)
    answers.keep(answer("a"))
    answers.keep(answer("a"))
    answers.keep(answer("large", 2500 - 1024 + 1))
    assert (answers.find("large"), answers.nbytes) == (None, 2024)


def test_nothing_is_kept_without_memory_or_without_an_etag() -> None:
    for answers, one in ((AnswerCache(0), answer("a", 0)), (AnswerCache(10_000), Answer(b""))):
        answers.keep(one)
        assert answers.nbytes == 0
        assert answers.find(one.etag) is None


def test_an_etag_follows_from_files_and_question() -> None:
    assert etag_of("files", "question") == etag_of("files", "question")
    assert len({etag_of(mark, key) for mark in ("a", "b") for key in ("c", "d")}) == 4
    assert etag_of(None, "question") is None


# --- Under way --------------------------------------------------------------------------------------------


class Asking:
    """Asks questions of one model; the first answer waits for `go`."""

    def __init__(self, models: Library, room: MemoryBudget) -> None:
        self.metrics = metric.Metrics()
        self.work = JobQueue(1, 10, 1, self.metrics, room)
        self.coalescing = RequestCoalescing(models, self.work, AnswerCache(MEGABYTE, self.metrics))
        self.entry = models.find("gpt")
        self.begun, self.go, self.made = threading.Event(), threading.Event(), 0

    def question(self, make: Callable[[TraceableModel, Reserve], Answer] | None = None) -> Question:
        return Question(self.entry, "question", make or self.make, "trace")

    def make(self, traceable: TraceableModel, reserve: Reserve) -> Answer:
        self.made += 1
        reserve(Size(2000, "Ask for less."))
        self.begun.set()
        assert self.go.wait(20)
        return answer("")

    async def until_begun(self) -> None:
        assert await anyio.to_thread.run_sync(self.begun.wait, 20)

    async def until_free(self) -> None:
        with anyio.fail_after(20):
            while self.work.budget.taken:
                await anyio.lowlevel.checkpoint()

    def found(self, how: str) -> float:
        return self.metrics.registry.get_sample_value("chumoku_answer_lookups_total", {"found": how}) or 0.0


@pytest.fixture
def asking(three: Library) -> Asking:
    return Asking(three, MemoryBudget(4000, 4000))


async def there() -> bool:
    return True


async def gone() -> bool:
    return False


async def test_twenty_who_ask_at_once_are_answered_by_one_job(asking: Asking) -> None:
    got: list[bytes] = []

    async def ask() -> None:
        async with asking.coalescing.answer(asking.question(), there) as shared:
            got.append(shared.done.value.body)
            assert asking.work.budget.taken == 1000  # once for all

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(ask)
        await asking.until_begun()
        asking.go.set()
    assert len(got) == 20
    assert len({id(body) for body in got}) == asking.made == 1
    assert (asking.found("none"), asking.found("shared")) == (1, 19)
    await ask()
    assert (asking.made, asking.found("kept")) == (1, 1)
    await asking.until_free()
    assert asking.coalescing.shared == {}


async def test_the_first_leaves_and_the_others_are_answered(asking: Asking) -> None:
    got: list[bytes] = []

    async def ask() -> None:
        async with asking.coalescing.answer(asking.question(), there) as shared:
            got.append(shared.done.value.body)

    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as first:
            group.start_soon(ask)
            await anyio.lowlevel.checkpoint()
            group.start_soon(cancel_when, asking, first)
            async with asking.coalescing.answer(asking.question(), there):
                pass
        assert first.cancelled_caught
        asking.go.set()
    assert (len(got), asking.made) == (1, 1)


async def cancel_when(asking: Asking, scope: anyio.CancelScope) -> None:
    await asking.until_begun()
    scope.cancel()


async def test_when_all_have_left_the_work_stops_and_the_next_one_asks_anew(asking: Asking) -> None:
    with pytest.raises(Gone):
        async with asking.coalescing.answer(asking.question(), gone):
            pass
    assert asking.made == 0
    asking.go.set()
    async with asking.coalescing.answer(asking.question(), there):
        pass
    assert asking.made == 1


async def test_who_comes_while_the_last_one_is_found_to_have_left_is_answered(asking: Asking) -> None:
    asking.go.set()
    got: list[bytes] = []
    came: list[bool] = []

    async def late() -> None:
        async with asking.coalescing.answer(asking.question(), there) as shared:
            got.append(shared.done.value.body)

    async with anyio.create_task_group() as group:

        async def leaves() -> bool:
            if not came:
                came.append(True)
                group.start_soon(late)  # joins the share, which is then given up
                await anyio.lowlevel.checkpoint()
            return False

        with pytest.raises(Gone):
            async with asking.coalescing.answer(asking.question(), leaves):
                pass
    assert len(got) == 1


async def test_an_error_is_told_to_all_and_not_kept(asking: Asking) -> None:
    def fail(traceable: TraceableModel, reserve: Reserve) -> Answer:
        failed.append("no")
        raise ValueError("no")

    async def refused() -> None:
        with pytest.raises(ValueError, match="no"):
            async with asking.coalescing.answer(asking.question(fail), there):
                pass

    failed: list[str] = []
    for n in (1, 2):
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(refused)
        assert len(failed) == n
    asking.go.set()
    async with asking.coalescing.answer(asking.question(), there) as shared:
        assert shared.done.value.body == b"x" * 1000
    await asking.until_free()


async def test_what_is_kept_waits_for_memory_too(asking: Asking) -> None:
    asking.go.set()
    for _ in range(2):
        async with asking.coalescing.answer(asking.question(), there):
            pass
    await asking.until_free()
    with asking.work.budget.claim() as other:
        other.take(Size(4000, "Ask for less."))
        with anyio.move_on_after(0.05) as waited:
            async with asking.coalescing.answer(asking.question(), there):
                pass
        assert waited.cancelled_caught
    await asking.until_free()


# --- The app ----------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save(tmp_path, tiny_checkpoint(seed=1))


def app_of(folder: Path, limit: int = 2**30, **settings: Any) -> AbstractAsyncContextManager[AsyncClient]:
    """An app with the one model of a folder. `limit`: bytes of loaded models; 0: dropped after each use."""
    models = Library([discovery.entry_at(folder.name, folder)], folder.name, torch.device("cpu"), limit)
    return client_of(create_app(Settings(device="cpu", **settings), models))


ASKED = [
    ("/api/trace", {"want": ["logits"], "predict": {"n": 3}}),
    ("/api/explain/route", {}),
    ("/api/explain/heads", {}),
    ("/api/weights", {"text": None, "want": ["layers.0.attn.w_o.weight"]}),
]


@pytest.mark.parametrize(("path", "more"), ASKED)
async def test_what_is_kept_is_what_is_computed(folder: Path, path: str, more: dict[str, Any]) -> None:
    request = {name: value for name, value in ({"text": "a b c"} | more).items() if value is not None}
    async with app_of(folder) as keeping, app_of(folder, answer_cache=0) as forgetting:
        first, second = [await keeping.post(path, json=request) for _ in range(2)]
        anew = await forgetting.post(path, json=request)
        assert first.content == second.content
        assert without_seconds(first) == without_seconds(anew)
        assert first.headers["etag"] == anew.headers["etag"]
        assert second.headers["server-timing"] == 'cache;desc="kept"'
        seen = await metrics(keeping)
        assert [seen[f'chumoku_answer_lookups_total{{found="{how}"}}'] for how in ("none", "kept")] == [1, 1]
        sent = first.num_bytes_downloaded
        assert sent <= seen["chumoku_kept_answer_bytes"] <= sent + 2000
        again = await forgetting.post(path, json=request)
        assert again.headers["server-timing"] != 'cache;desc="kept"'


async def test_long_json_is_packed_for_who_unpacks_it(folder: Path) -> None:
    """The labels of all heads: a class downloads them for every sentence."""
    request = {"text": "a b c a b c"}
    async with app_of(folder) as client:
        packed = await client.post("/api/explain/heads", json=request)
        plain = await client.post("/api/explain/heads", json=request, headers={"accept-encoding": "identity"})
        short = await client.post("/api/explain/route", json=request)
        tensors = await client.post("/api/trace", json=request | {"want": ["logits"]})
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) == packed.num_bytes_downloaded < len(packed.content) / 3
    assert packed.content == plain.content
    assert plain.headers["server-timing"] == 'cache;desc="kept"'
    for one in (plain, short, tensors):
        assert "content-encoding" not in one.headers
        assert one.num_bytes_downloaded == len(one.content)


def without_seconds(answer: Response) -> Any:
    """An answer, without the seconds that it took."""
    if "octet-stream" not in answer.headers["content-type"] or "weights" in str(answer.url):
        return answer.content
    tensors, about = decode(answer.content)
    return {name: (x.dtype, x.shape, x.tobytes()) for name, x in tensors.items()}, about | {"seconds": 0}


async def test_other_requests_have_other_answers(folder: Path) -> None:
    asked = [{}, {"text": "a c"}, {"want": ["logits"]}, {"masks": {"causal": False}}, {"dtype": "uint8"}]
    async with app_of(folder) as client:
        answers = [await client.post("/api/trace", json={"text": "a b"} | one) for one in (*asked, {"model": "tiny"})]
    assert len({answer.headers["etag"] for answer in answers}) == len(asked)
    assert answers[0].content == answers[-1].content  # the default model by its name


@pytest.mark.parametrize("limit", [0, 2**30])
async def test_a_model_that_was_dropped_and_changed_has_new_answers(folder: Path, limit: int) -> None:
    """As long as it is loaded, it is what was read."""
    request = {"text": "a b c", "want": ["logits"]}
    async with app_of(folder, limit) as client:
        before = await client.post("/api/trace", json=request)
        assert (await client.post("/api/trace", json=request)).content == before.content
        save(folder.parent, tiny_checkpoint(seed=2))
        after = await client.post("/api/trace", json=request)
    async with app_of(folder) as fresh:
        right = await fresh.post("/api/trace", json=request)
    assert (right.headers["etag"] == before.headers["etag"]) is False
    assert without_seconds(after) == without_seconds(right if limit == 0 else before)
    assert after.headers["etag"] == (right if limit == 0 else before).headers["etag"]


async def test_files_that_change_while_they_are_read_are_not_known(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = library.fingerprint_of

    def meanwhile(*args: Any) -> str | None:
        (folder / "card.json").write_text("{}")
        return really(*args)

    monkeypatch.setattr(library, "fingerprint_of", meanwhile)
    async with app_of(folder) as client:
        for _ in range(2):
            answer = await client.post("/api/trace", json={"text": "a"})
            assert (answer.status_code, "etag" in answer.headers) == (200, False)
        assert (await metrics(client))[TRACES] == 2


async def test_another_version_has_another_etag(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with app_of(folder) as client:
        before = await client.post("/api/trace", json={"text": "a"})
        monkeypatch.setattr("chumoku.app.http.responder.VERSION", "0.1.1")
        assert (await client.post("/api/trace", json={"text": "a"})).headers["etag"] != before.headers["etag"]


async def test_refusals_are_not_kept(folder: Path) -> None:
    async with app_of(folder) as client:
        for _ in range(2):
            refusal = await client.post("/api/trace", json={"text": ""})
            assert "etag" not in refusal.headers
            error_of(refusal, 422, "empty_text")
        assert (await metrics(client))["chumoku_kept_answer_bytes"] == 0

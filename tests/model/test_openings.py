"""What `chumoku export` writes, opened in BertViz, TransformerLens and Inseq: `make slow`, which installs them.

Where one of them is missing its tests fail: none of them may pass, or be skipped, without having opened a model.
"""

from __future__ import annotations

import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from transformers import AutoTokenizer

from chumoku.model import checkpoint
from chumoku.model.attribution.knockouts import HeadPart
from chumoku.model.attribution.patching import Patching, patch_parts, patch_taps
from chumoku.model.attribution.path_patching import PathPatching, Receiver, path_taps
from chumoku.model.checkpoint import ZOO, Checkpoint
from chumoku.model.export.huggingface import export
from chumoku.model.generate import greedy_ids
from chumoku.model.run import Run
from chumoku.model.session import DecoderSession
from chumoku.model.trace import Trace, trace
from chumoku.model.translate import translate

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # what other libraries warn of is not ours to mend
]

INSEQ = Path(sys.prefix) / "inseq"  # the Makefile installs it there: tests/inseq.txt says why
TEXTS = {
    "stories-gpt": "Tom lost his red ball. Mom found the red",
    "mini-rotary": "Tom lost his red ball. Mom found the red",
    "translate-enja": "I ate a banana in the morning.",
    "sentiment-encoder": "a wonderful and funny film",
}
TARGET = "私は朝"
KINDS = {"decoder-only": "CausalLM", "encoder-decoder": "Seq2SeqLM", "encoder-only": "SequenceClassification"}
NEW = 4
GENERATORS = ("stories-gpt", "mini-rotary", "translate-enja")


@pytest.fixture(params=TEXTS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exported")


@cache
def exported(folders: Path, name: str) -> tuple[Checkpoint, Path]:
    loaded = checkpoint.load(ZOO / name, "cpu")
    return loaded, export(loaded, folders / name).folder


def opened(loaded: Checkpoint, folder: Path) -> transformers.PreTrainedModel:
    """With the attention that returns its weights."""
    kind = getattr(transformers, f"AutoModelFor{KINDS[loaded.config.family]}")
    return kind.from_pretrained(folder, local_files_only=True, attn_implementation="eager").eval()


def ours(loaded: Checkpoint) -> Trace:
    target = loaded.tokenizer.encode(TARGET) if loaded.config.family == "encoder-decoder" else None
    return trace(loaded, loaded.tokenizer.encode(TEXTS[loaded.name]), target=target)


def inputs(run: Trace) -> dict[str, Tensor]:
    """What the run read, START and [CLS] included."""
    source = {"input_ids": torch.tensor([run.ids])}
    return source if run.target_ids is None else source | {"decoder_input_ids": torch.tensor([run.target_ids])}


def same(found: Tensor, expected: Tensor, within: float) -> bool:
    return bool((found - expected).abs().max() <= within * expected.abs().max())


# --- BertViz: the head view and the model view ----------------------------------------------------------------


@pytest.mark.parametrize("view", ["head_view", "model_view"])
def test_bertviz_draws_the_weights_that_we_have(folders: Path, name: str, view: str) -> None:
    import bertviz

    loaded, folder = exported(folders, name)
    run, tokenizer = ours(loaded), AutoTokenizer.from_pretrained(folder, local_files_only=True)
    with torch.no_grad():
        found = opened(loaded, folder)(**inputs(run), output_attentions=True)
    tokens = tokenizer.convert_ids_to_tokens(run.ids)
    if loaded.config.family == "encoder-decoder":
        several = {f"{kind}_attention": found[f"{kind}_attentions"] for kind in ("encoder", "decoder", "cross")}
        target = tokenizer.convert_ids_to_tokens(run.target_ids)
        drawn = getattr(bertviz, view)(**several, encoder_tokens=tokens, decoder_tokens=target, html_action="return")
    else:
        drawn = getattr(bertviz, view)(found.attentions, tokens, html_action="return")
    expected = patterns(run, loaded)
    shown = of_document(drawn.data)
    assert [one["name"] for one in shown] == [kind and kind.capitalize() for kind in expected]
    for one, pattern in zip(shown, expected.values(), strict=True):
        torch.testing.assert_close(torch.tensor(one["attn"]), pattern, rtol=0, atol=1e-5)
        assert (len(one["left_text"]), len(one["right_text"])) == pattern.shape[-2:]


def of_document(html: str) -> list[dict[str, Any]]:
    """The attentions in BertViz's document, each with its name, [layer head query key], and the tokens at its sides."""
    found = re.search(r"const params = (\{.*\});", html)
    assert found
    return list(json.loads(found[1])["attention"])


def patterns(run: Trace, loaded: Checkpoint) -> dict[str | None, Tensor]:
    """Of each attention [layer head query key]."""
    several = loaded.config.family == "encoder-decoder"
    return {
        attention.id if several else None: torch.stack([run.tensors[tap] for tap in attention.roles["pattern"].taps])
        for attention in loaded.description.attentions
    }


# --- TransformerLens: its bridge computes our logits ----------------------------------------------------------


@pytest.mark.parametrize("name", GENERATORS)
def test_transformer_lens_s_bridge_has_our_logits_and_weights(folders: Path, name: str) -> None:
    from transformer_lens.model_bridge import TransformerBridge

    loaded, folder = exported(folders, name)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    bridge = TransformerBridge.boot_transformers(
        str(folder), hf_model=opened(loaded, folder), tokenizer=tokenizer, device="cpu"
    )
    run = ours(loaded)
    read = inputs(run)
    more = {"decoder_input": read["decoder_input_ids"]} if "decoder_input_ids" in read else {}
    with torch.no_grad():
        logits, kept = bridge.run_with_cache(read["input_ids"], **more)
    assert same(logits[0], run.tensors[loaded.description.logits.tap], 1e-5)
    if loaded.config.family == "decoder-only":
        for layer in range(loaded.config.n_layer):
            pattern = kept[f"blocks.{layer}.attn.hook_pattern"][0]
            torch.testing.assert_close(pattern, run.tensors[f"layers.{layer}.attn.pattern"], rtol=0, atol=1e-5)


# --- Inseq: attributions of a continuation (it is made for generation: no classifier) -------------------------


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("method", ["attention", "input_x_gradient"])
def test_inseq_attributes_our_continuation(
    folders: Path, name: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its attention is our weights; a gradient is there for each token that was read, and finite."""
    monkeypatch.syspath_prepend(str(INSEQ))
    import inseq

    loaded, folder = exported(folders, name)
    translates = loaded.config.family == "encoder-decoder"
    written, theirs = continuation(loaded), opened(loaded, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = inseq.load_model(theirs, method, tokenizer=tokenizer, device="cpu")
    if translates:  # Inseq and Marian's decoder would both scale the embeddings that Inseq hands in
        theirs.get_decoder().embed_scale = 1.0
    how = (
        {"generated_texts": tokenizer.decode(written[1:])}
        if translates
        else {"generation_args": {"max_new_tokens": NEW}}
    )
    (found,) = model.attribute(TEXTS[name], show_progress=False, **how)
    assert [token.id for token in found.target] == written
    shown = found.source_attributions if translates else found.target_attributions  # [key step …], NaN: not yet there
    first = len(written) - NEW
    if method == "input_x_gradient":
        for step in range(NEW):
            assert shown[:, step][: len(shown) if translates else first + step].isfinite().all()
        assert shown.nan_to_num().abs().sum((0, 2)).min() > 0
        return
    expected = cross_or_self(loaded, written)[..., first - 1 : -1, :]
    torch.testing.assert_close(shown.nan_to_num().permute(2, 3, 1, 0), expected, rtol=0, atol=1e-5)


def continuation(loaded: Checkpoint) -> list[int]:
    """The likeliest tokens after a prompt, with it; of a translation, with START."""
    text, tokenizer = TEXTS[loaded.name], loaded.tokenizer
    if loaded.config.family == "encoder-decoder":
        return [tokenizer.first_id, *translate(loaded, text, beams=1)[0].ids[:NEW]]
    session = DecoderSession(loaded, Run(tokenizer.encode(text)))
    with torch.inference_mode():
        return greedy_ids(session, tokenizer.never_sampled, tokenizer.end_id, NEW)


def cross_or_self(loaded: Checkpoint, written: list[int]) -> Tensor:
    """[layer head query key]."""
    if loaded.config.family == "encoder-decoder":
        return patterns(trace(loaded, loaded.tokenizer.encode(TEXTS[loaded.name]), target=written[1:]), loaded)["cross"]
    return patterns(trace(loaded, written), loaded)[None]


# --- TransformerLens: activation patching and direct paths ----------------------------------------------------

PAIR = ("Tom lost his red car. Mom found the red", "Tom lost his red ball. Mom found the red")
"""The run that is patched, and the one that is patched in."""


class Pair:
    """Both runs in our model and in TransformerLens's bridge to its export, with the answer of each."""

    def __init__(self, folders: Path) -> None:
        from transformer_lens.model_bridge import TransformerBridge

        self.loaded, folder = exported(folders, "stories-gpt")
        self.here, self.there = (self.loaded.tokenizer.encode(text) for text in PAIR)
        self.answer, self.against = (
            int(trace(self.loaded, ids, ["logits"]).tensors["logits"][-1].argmax()) for ids in (self.here, self.there)
        )
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self.bridge = TransformerBridge.boot_transformers(
            str(folder), hf_model=opened(self.loaded, folder), tokenizer=tokenizer, device="cpu"
        )
        with torch.no_grad():
            _, self.base = self.bridge.run_with_cache(torch.tensor([self.here]))
            _, self.other = self.bridge.run_with_cache(torch.tensor([self.there]))

    def source(self, taps: list[str]) -> Trace:
        return trace(self.loaded, self.there, [*taps, "logits"])

    def moved(self, found: Patching) -> Any:
        """The metric that TransformerLens gets: ours, of its logits."""

        def metric(logits: Tensor) -> Tensor:
            difference = logits[0, -1, self.answer] - logits[0, -1, self.against]
            return (difference - found.sides.base) / (found.sides.source - found.sides.base)

        return metric


@pytest.mark.parametrize("kind", ["resid_pre", "attn_out", "mlp_out"])
def test_transformer_lens_s_patching_maps_are_ours(folders: Path, kind: str) -> None:
    """Layers × positions of the normalised logit difference, each cell within 1e-4."""
    from transformer_lens import patching

    pair = Pair(folders)
    source = pair.source(patch_taps(pair.loaded.description))
    found = Patching(pair.loaded, pair.here, source, pair.answer, pair.against)
    what = {"resid_pre": "stream", "attn_out": "attention", "mlp_out": "ffn"}[kind]
    lengths = {"source": len(pair.here), "target": 0}
    parts = [part for part in patch_parts(pair.loaded.description, lengths) if part.what == what]
    own = torch.tensor([one.moved for one in found.patch(parts)]).view(pair.loaded.config.n_layer, len(pair.here))
    of_kind = getattr(patching, f"get_act_patch_{kind}")
    theirs = of_kind(pair.bridge, torch.tensor([pair.here]), pair.other, pair.moved(found))
    torch.testing.assert_close(theirs.detach().cpu(), own.float(), rtol=0, atol=1e-4)


@pytest.mark.parametrize("role", ["q", "k", "v"])
def test_transformer_lens_s_direct_paths_from_head_to_head_are_ours(folders: Path, role: str) -> None:
    """From one head to every later one, each within 1e-4."""
    from transformer_lens import patching

    pair, writer = Pair(folders), HeadPart("self", 3, 4)
    source, later = pair.source(path_taps(pair.loaded.description)), [(i, h) for i in (4, 5) for h in range(8)]
    own = torch.zeros(6, 8)
    for layer, head in later:
        to = Receiver("self", layer, head, role)
        found = PathPatching(pair.loaded, pair.here, source, pair.answer, pair.against, to=to)
        (one,) = found.patch([writer])
        own[layer, head] = one.moved
    tokens, metric = torch.tensor([pair.here]), pair.moved(found)
    with torch.no_grad():
        theirs = patching.get_act_patch_direct_path(
            pair.bridge, tokens, pair.other, pair.base, metric, writer.layer, writer.head, role, verbose=False
        )
    assert own.abs().max() > 1e-3
    torch.testing.assert_close(theirs.detach().cpu(), own, rtol=0, atol=1e-4)

"""What `chumoku export` writes, opened by transformers: the same numbers, ids and texts."""

import random
import unicodedata
from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor
from transformers import AutoTokenizer

from chumoku.model import checkpoint, masks
from chumoku.model.attribution.effects import Effects, WholePasses
from chumoku.model.attribution.norm_contributions import route_of
from chumoku.model.attribution.rollout import widest
from chumoku.model.checkpoint import ZOO, Checkpoint
from chumoku.model.config import ModelConfig
from chumoku.model.explain.head_labels import labels_of
from chumoku.model.explain.lens import lens_of
from chumoku.model.export.huggingface import export, gpt2, gpt_neox, marian, megatron_bert
from chumoku.model.export.huggingface.tokenizer import treebank as their_treebank
from chumoku.model.generate import greedy_ids
from chumoku.model.run import Run
from chumoku.model.session import DecoderSession
from chumoku.model.special_tokens import special_of
from chumoku.model.tokenizer import treebank
from chumoku.model.trace import trace
from chumoku.model.traceable import TraceableModel, ZooModel
from chumoku.model.traceable.huggingface import HuggingFaceFolders
from chumoku.model.transformer import Transformer, build
from chumoku.model.translate import translate
from tests.conftest import room_for

SMALL = {"vocab_size": 60, "n_layer": 2, "n_head": 3, "d_model": 12, "d_ff": 20, "max_seq_len": 16}
GPT2 = ModelConfig(**SMALL)
NEOX = ModelConfig(**SMALL, mechanism="rotary", position="none", tie_embeddings=False)
MARIAN = ModelConfig(**SMALL, family="encoder-decoder", position="sinusoidal", norm_order="post", scale_embeddings=True)
BERT = ModelConfig(**SMALL, family="encoder-only", classes=("bad", "so-so", "good"))
FORMS = {
    "gpt2": (gpt2, GPT2),
    "gpt_neox": (gpt_neox, NEOX),
    "marian": (marian, MARIAN),
    "megatron_bert": (megatron_bert, BERT),
}


def logits_of(model: Transformer, ids: Tensor, target: Tensor | None) -> Tensor:
    """Without PADs."""
    t, family = ids.shape[1], model.config.family
    causal, every = masks.causal(t, t)[None, None], torch.zeros(1, 1, t, t, dtype=torch.uint8)
    if target is None:
        return model(ids, causal if family == "decoder-only" else every)
    u = target.shape[1]
    return model(ids, target, every, masks.causal(u, u)[None, None], torch.zeros(1, 1, u, t, dtype=torch.uint8))


def random_numbers(model: Transformer) -> Transformer:
    """Biases and gains too, so that none can be forgotten."""
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


@pytest.mark.parametrize("name", FORMS)
def test_a_random_model_has_the_same_logits_in_float64(name: str) -> None:
    form, config = FORMS[name]
    assert [other for other, (one, _) in FORMS.items() if one.suits(config)] == [name]
    ours = random_numbers(build(config))
    theirs = form.build(ours, special_of(config.family, config.vocab_size)).eval().double()
    ours = ours.double()
    ids, target = torch.randint(60, (2, 9)), None
    if config.family == "encoder-decoder":
        target = torch.randint(60, (2, 7))
    with torch.no_grad():
        more = {} if target is None else {"decoder_input_ids": target}
        expected, found = logits_of(ours, ids, target), theirs(ids, **more).logits
    if name == "gpt_neox":  # transformers computes its angles in float32, whatever the weights are
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
    else:
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


@pytest.fixture(scope="module", params=["stories-gpt", "mini-rotary", "translate-enja", "sentiment-encoder"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkpoint, Path]:
    loaded = checkpoint.load(ZOO / request.param, "cpu")
    return loaded, export(loaded, tmp_path_factory.mktemp("hf") / loaded.name).folder


def opened(pair: tuple[Checkpoint, Path]) -> transformers.PreTrainedModel:
    loaded, folder = pair
    kind = {"decoder-only": "CausalLM", "encoder-decoder": "Seq2SeqLM", "encoder-only": "SequenceClassification"}
    name = f"AutoModelFor{kind[loaded.config.family]}"
    assert name in (folder / "README.md").read_text()
    return getattr(transformers, name).from_pretrained(folder, local_files_only=True).eval()


SENTENCES = {
    "stories-gpt": "Tom lost his red ball. Mom found the red",
    "mini-rotary": "Tom lost his red ball. Mom found the red",
    "translate-enja": "I ate a banana in the morning.",
    "sentiment-encoder": "a wonderful and funny film",
}


def test_a_zoo_model_reopened_has_our_logits_and_our_text(pair: tuple[Checkpoint, Path]) -> None:
    loaded, folder = pair
    theirs, tokenizer = opened(pair), AutoTokenizer.from_pretrained(folder, local_files_only=True)
    text = SENTENCES[loaded.name]
    read, ids = tokenizer(text, return_tensors="pt"), loaded.tokenizer.encode(text)
    assert "token_type_ids" not in read or not read["token_type_ids"].any()
    target = loaded.tokenizer.encode("私は朝") if loaded.config.family == "encoder-decoder" else None
    ours = trace(loaded, ids, target=target)
    more = {} if target is None else {"decoder_input_ids": torch.tensor([[loaded.tokenizer.first_id, *target]])}
    with torch.no_grad():
        found = theirs(**read, **more).logits[0]
    expected = ours.tensors[loaded.description.logits.tap]
    assert (found - expected).abs().max() <= 1e-5 * expected.abs().max()
    if loaded.config.family == "encoder-only":
        assert theirs.config.id2label[int(found.argmax())] == "positive"
        return
    with torch.no_grad():
        written = theirs.generate(**read)[0].tolist()
    if loaded.config.family == "encoder-decoder":
        best = translate(loaded, text, beams=1)[0]
        assert written == [loaded.tokenizer.first_id, *best.ids]
    else:
        session = DecoderSession(loaded, Run(ids))
        with torch.inference_mode():
            mine = greedy_ids(session, loaded.tokenizer.never_sampled, loaded.tokenizer.end_id, 60)
        assert written[: len(ids) + 60] == mine
        assert len(mine) > len(ids) + 20, "it does not stop after its default of 20"


@pytest.mark.parametrize("pair", ["sentiment-encoder"], indirect=True)
def test_a_classifier_reopened_in_float16_has_our_logits(pair: tuple[Checkpoint, Path]) -> None:
    """The factor around Megatron's tanh must leave float16 enough exponents."""
    loaded, _ = pair
    theirs = opened(pair).half()
    for text in (SENTENCES[loaded.name], "the script is weak and the jokes fall flat", "not bad at all"):
        ids = torch.tensor([loaded.tokenizer.encode(text)])
        with torch.no_grad():
            found = theirs(ids).logits.float()
        expected = logits_of(loaded.model, ids, None)
        assert (found - expected).abs().max() <= 0.005 * expected.abs().max(), text


def test_a_zoo_model_reopened_as_a_traceable_shows_our_numbers(pair: tuple[Checkpoint, Path]) -> None:
    """Every tensor and every parameter, under the same name: two ways to compute it, on trained weights."""
    loaded, folder = pair
    traceable = HuggingFaceFolders().open(folder, torch.device("cpu"))
    ids = loaded.tokenizer.encode(SENTENCES[loaded.name])
    assert traceable.tokenizer.encode(SENTENCES[loaded.name]) == ids
    target = loaded.tokenizer.encode("私は朝") if loaded.config.family == "encoder-decoder" else None
    ours = trace(loaded, ids, target=target)
    found = traceable.trace(Run(ours.ids, target=ours.target_ids), list(traceable.description.taps))
    without = {"positional"} if loaded.config.position == "none" else set()  # ours records zeros
    if found.dims.pop("token_types", None):  # BERT has them, ours do not
        assert not found.tensors["token_types"].any()
    assert found.dims == {name: dims for name, dims in ours.dims.items() if name not in without}
    assert found.ids == ours.ids
    order = marian.sines_first(loaded.config.d_model) if loaded.name == "translate-enja" else slice(None)
    for name in found.dims:
        x = ours.tensors[name]
        expected = x[..., order] if "d_model" in ours.dims[name] else x
        close = 1e-5 * max(float(expected.abs().max()), 1e-3)
        torch.testing.assert_close(found.tensors[name], expected, rtol=0, atol=close, msg=name)
    its_heads_and_its_lens_are_ours(loaded, traceable, Run(ours.ids, target=ours.target_ids))
    if loaded.name == "stories-gpt":
        answer = int(ours.tensors["logits"][-1].argmax())
        edges = widest(route_of(traceable, Run(ids)), len(ids) - 1, 4)
        knockouts, passes = Effects(loaded, ids, answer), WholePasses(traceable, Run(ids), answer)
        expected = [one.delta for one in passes.measure(edges)]
        assert {one.part: one.delta for one in knockouts.measure(edges)} == pytest.approx(
            dict(zip(edges, expected, strict=True)), abs=1e-4
        )
    parameters = loaded.model.state_dict()
    weights = traceable.weights(list(traceable.about.weights))
    assert not weights.pop("token_types.weight", torch.zeros(1)).any()
    for name, shown in weights.items():
        if loaded.name != "translate-enja":  # its stream is in another order
            assert torch.equal(shown, parameters[name]), name


def its_heads_and_its_lens_are_ours(loaded: Checkpoint, traceable: TraceableModel, run: Run) -> None:
    heads, own_heads = labels_of(traceable, run), labels_of(ZooModel(loaded), run)
    assert [head.label for head in heads] == [head.label for head in own_heads]
    assert traceable.description.can["lens"] == (loaded.name in ("stories-gpt", "mini-rotary"))
    if traceable.description.can["lens"]:
        lens, own_lens = lens_of(traceable, run), lens_of(ZooModel(loaded), run)
        assert lens.taps == own_lens.taps
        torch.testing.assert_close(lens.probability, own_lens.probability, rtol=1e-4, atol=1e-6)


def test_special_tokens_cannot_be_typed_and_are_where_they_belong(pair: tuple[Checkpoint, Path]) -> None:
    loaded, folder = pair
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    text = "<|endoftext|> [CLS] <|pad|> <|start|>"
    begun = [loaded.tokenizer.first_id] if loaded.config.family == "encoder-only" else []
    assert tokenizer(text)["input_ids"] == [*begun, *loaded.tokenizer.encode(text)]
    assert (tokenizer.eos_token_id, tokenizer.pad_token_id) == (loaded.tokenizer.end_id, loaded.tokenizer.pad_id)
    assert len(tokenizer) == loaded.tokenizer.vocab_size


def known(first: int, last: int) -> list[str]:
    """The characters that this Python's Unicode has: a library with a newer one has more letters."""
    every = (chr(i) for i in range(first, last) if not 0xD800 <= i < 0xE000)
    return [one for one in every if unicodedata.category(one) != "Cn"]


@pytest.mark.parametrize("pair", ["stories-gpt", "sentiment-encoder"], indirect=True)  # both splits
def test_every_character_has_the_same_ids(pair: tuple[Checkpoint, Path]) -> None:
    loaded, folder = pair
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    begun = int(loaded.config.family == "encoder-only")
    characters = known(0, 0x20000)
    texts = [" ".join(f"a{one}b{one} 1{one}." for one in characters[i : i + 64]) for i in range(0, len(characters), 64)]
    for text, ids in zip(texts, tokenizer(texts)["input_ids"], strict=True):
        assert ids[begun:] == loaded.tokenizer.encode(text), ascii(text[:40])


PARTS = [*"abn'-.,_! \t1Éß猫’“…—(", "n't", "'s", "'ll", "''", "--", "...", "-lrb-", "don", "It", "can", "ΟΔΟΣ"]


def test_any_text_has_the_same_treebank_form() -> None:
    draw, normaliser = random.Random(5), their_treebank()
    for _ in range(5_000):
        text = "".join(draw.choice(PARTS) for _ in range(draw.randint(1, 9)))
        assert normaliser.normalize_str(text) == treebank(text), text


def test_what_has_no_counterpart_is_refused_by_name(tmp_path: Path) -> None:
    loaded = checkpoint.load(ZOO / "mini-aft-simple", "cpu")
    with pytest.raises(ValueError, match=r"mini-aft-simple has no counterpart in transformers: .*aft-simple attention"):
        export(loaded, tmp_path)
    assert not list(tmp_path.iterdir())


def test_on_a_full_disk_an_export_leaves_nothing(tmp_path: Path) -> None:
    """Neither a folder that was not there, nor half of the files in one that was."""
    loaded = checkpoint.load(ZOO / "mini-softmax")
    there = tmp_path / "there"
    there.mkdir()
    (there / "config.json").write_text("mine")
    for folder in (tmp_path / "new" / "deep", there):
        with room_for(2_000), pytest.raises(OSError, match="nothing was written: ") as said:
            export(loaded, folder)
        assert "\n" not in str(said.value)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert [(path.name, path.read_text()) for path in there.iterdir()] == [("config.json", "mine")]
    export(loaded, there)
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= {one.name for one in there.iterdir()}


def test_a_model_of_ours_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text("{}")
    with pytest.raises(ValueError, match="name another folder"):
        export(checkpoint.load(ZOO / "sentiment-encoder", "cpu"), tmp_path)

"""Models with another head than their family's usual one, or with none: what they compute is shown, no more."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor

from chumoku.model.run import Run
from chumoku.model.traceable import source_of
from chumoku.model.traceable.huggingface.folders import read_settings
from chumoku.model.traceable.huggingface.loading import load_model
from tests.toys import huggingface as toys

CPU = torch.device("cpu")
TEXT = "a little cat"


def gpt2(kind: str, **more: Any) -> Any:
    config = toys.gpt2().config
    config.update({"num_labels": 3, "pad_token_id": 0} | more)
    return getattr(transformers, kind)(config)


def llama(kind: str) -> Any:
    return getattr(transformers, kind)(transformers.LlamaConfig(**toys.LLAMA_SIZES | {"num_labels": 3}))


def distilbert(kind: str) -> Any:
    return getattr(transformers, kind)(toys.distilbert().config)


def falcon(kind: str) -> Any:
    return getattr(transformers, kind)(toys.falcon().config)


def neox(kind: str) -> Any:
    return getattr(transformers, kind)(toys.gpt_neox().config)


def answers(kind: str) -> Any:
    return toys.bert(kind, num_labels=2, id2label={0: "start", 1: "end"}, label2id={"start": 0, "end": 1})


def spans(out: Any) -> Tensor:
    return torch.stack((out.start_logits, out.end_logits), -1)


def electra(kind: str) -> Any:
    return toys.bert(kind, embedding_size=15)


LAST, SCORES, TOKENS = ("last_hidden_state", "position d_model"), ("logits", "label"), ("logits", "position label")
CASES = {
    "BertModel": (toys.bert, LAST),
    "BertForQuestionAnswering": (answers, TOKENS),
    "BertForTokenClassification": (toys.bert, TOKENS),
    "BertForNextSentencePrediction": (toys.bert, SCORES),
    "RobertaModel": (toys.bert, LAST),
    "XLMRobertaForTokenClassification": (toys.bert, TOKENS),
    "CamembertForQuestionAnswering": (answers, TOKENS),
    "MegatronBertModel": (toys.bert, LAST),
    "DistilBertModel": (distilbert, LAST),
    "DistilBertForQuestionAnswering": (distilbert, TOKENS),
    "ElectraModel": (electra, LAST),
    "ElectraForPreTraining": (electra, ("logits", "position")),
    "AlbertModel": (toys.albert, LAST),
    "AlbertForTokenClassification": (toys.albert, TOKENS),
    "MPNetModel": (toys.bert, LAST),
    "ModernBertModel": (toys.modernbert, LAST),
    "ModernBertForTokenClassification": (toys.modernbert, TOKENS),
    "FalconModel": (falcon, LAST),
    "DebertaV2Model": (toys.deberta, LAST),
    "DebertaV2ForTokenClassification": (toys.deberta, TOKENS),
    "GPT2Model": (gpt2, LAST),
    "GPT2ForSequenceClassification": (gpt2, SCORES),
    "GPT2ForTokenClassification": (gpt2, TOKENS),
    "GPTNeoXModel": (neox, LAST),
    "LlamaModel": (llama, LAST),
    "LlamaForSequenceClassification": (llama, SCORES),
    "LlamaForQuestionAnswering": (llama, TOKENS),
}


@pytest.mark.parametrize("kind", CASES)
def test_what_the_model_computes_is_shown_bit_for_bit(tmp_path: Path, kind: str) -> None:
    build, (tap, dims) = CASES[kind]
    encoder = build in (toys.bert, toys.albert, toys.modernbert, toys.deberta, answers, electra, distilbert)
    traceable, eager = opened(tmp_path, build(kind), toys.word_piece() if encoder else toys.byte_level())
    assert traceable.description.predicts == "none"
    logits = traceable.description.logits
    assert (logits.tap, logits.dims) == (tap, dims)
    labels = traceable.description.logits.labels
    assert labels == ("start", "end") if kind.endswith("QuestionAnswering") else labels != ("start", "end")
    ids = traceable.tokenizer.encode(TEXT)
    pattern = traceable.description.attentions[0].roles["pattern"].taps
    found = traceable.trace(Run(ids), [*traceable.description.taps])
    with torch.inference_mode():
        theirs = eager(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), output_attentions=True)
    given = theirs.last_hidden_state if tap == LAST[0] else theirs.logits if "logits" in theirs else spans(theirs)
    assert torch.equal(found.tensors[tap], given[0])
    if dims.endswith("label"):
        assert len(labels) == found.tensors[tap].shape[-1]
    assert all(
        torch.equal(found.tensors[name], weights[0]) for name, weights in zip(pattern, theirs.attentions, strict=True)
    )
    assert not any(traceable.description.can[name] for name in ("generate", "lens", "effects", "ablations"))


def opened(folder: Path, model: Any, tokenizer: Any) -> tuple[Any, Any]:
    toys.save(folder, toys.random_numbers(model), tokenizer)
    source = source_of(folder)
    assert source is not None
    return source.open(folder, CPU), load_model(folder, read_settings(folder).architecture, "eager")


@pytest.mark.parametrize(
    "settings", [{"num_labels": 1}, {"problem_type": "multi_label_classification"}, {"problem_type": "regression"}]
)
@pytest.mark.parametrize("kind", ["BertForSequenceClassification", "MegatronBertForSequenceClassification"])
def test_scores_that_are_no_classes_predict_none(tmp_path: Path, kind: str, settings: dict[str, Any]) -> None:
    model = getattr(transformers, kind)(
        getattr(transformers, f"{kind.partition('For')[0]}Config")(**toys.BERT_SIZES | settings)
    )
    traceable, eager = opened(tmp_path, model, toys.word_piece())
    ids = traceable.tokenizer.encode(TEXT)
    assert (traceable.description.predicts, traceable.description.classes) == ("none", ())
    with torch.inference_mode():
        expected = eager(torch.tensor([ids])).logits[0]
    assert torch.equal(traceable.trace(Run(ids), ["logits"]).tensors["logits"], expected)


@pytest.mark.parametrize(("kind", "build"), [("BertForPreTraining", toys.bert), ("AlbertForPreTraining", toys.albert)])
def test_a_pretraining_model_fills_gaps(tmp_path: Path, kind: str, build: Any) -> None:
    traceable, _ = opened(tmp_path, build(kind), toys.word_piece())
    theirs = getattr(transformers, kind).from_pretrained(tmp_path, attn_implementation="eager").eval()
    ids = traceable.tokenizer.encode(TEXT)
    assert traceable.description.predicts == "same"
    with torch.inference_mode():
        expected = theirs(torch.tensor([ids])).prediction_logits[0]
    assert torch.equal(traceable.trace(Run(ids), ["logits"]).tensors["logits"], expected)


def test_a_folder_may_lack_the_pooler_and_may_name_the_base_in_front(tmp_path: Path) -> None:
    """As sentence-transformers save it, and as the hub's older files are."""
    toys.save(tmp_path, toys.random_numbers(toys.bert("BertForMaskedLM")), toys.word_piece())
    before = shown(tmp_path, "BertForMaskedLM")
    assert torch.equal(shown(tmp_path, "BertModel"), before)
    transformers.BertModel.from_pretrained(tmp_path, add_pooling_layer=False).save_pretrained(tmp_path)
    assert torch.equal(shown(tmp_path, "BertModel"), before)


def test_a_folder_of_sentence_transformers_opens_as_its_model(tmp_path: Path) -> None:
    """With its modules listed, and a folder for the pooling, beside the model's own files."""
    traceable, eager = opened(tmp_path, toys.bert("MPNetModel"), toys.word_piece())
    (tmp_path / "modules.json").write_text(
        '[{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"}]'
    )
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    source = source_of(tmp_path)
    assert source is not None
    run = Run(traceable.tokenizer.encode(TEXT))
    found = source.open(tmp_path, CPU).trace(run, ["last_hidden_state"]).tensors["last_hidden_state"]
    with torch.inference_mode():
        assert torch.equal(found, eager(torch.tensor([run.ids])).last_hidden_state[0])


def shown(folder: Path, kind: str) -> Tensor:
    """The stream after the last layer, opened as this class."""
    file = folder / "config.json"
    file.write_text(file.read_text().replace("BertForMaskedLM", kind).replace('"BertModel"', f'"{kind}"'))
    source = source_of(folder)
    assert source is not None
    traceable: Any = source.open(folder, CPU)
    leaves = traceable.description.readout.leaves.tap
    found: Tensor = traceable.trace(Run(traceable.tokenizer.encode(TEXT)), [leaves]).tensors[leaves]
    return found


def test_a_class_that_cannot_be_shown_names_those_that_can(tmp_path: Path) -> None:
    toys.save(tmp_path, toys.gpt2(), toys.byte_level())
    file = tmp_path / "config.json"
    file.write_text(file.read_text().replace("GPT2LMHeadModel", "GPT2DoubleHeadsModel"))
    with pytest.raises(ValueError, match="a GPT2DoubleHeadsModel cannot be shown; of gpt2, GPT2LMHeadModel can"):
        read_settings(tmp_path)

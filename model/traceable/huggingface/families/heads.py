"""Models of a known family without its usual head: with another one, or with none (`BertModel`, sentence-transformers).

Nothing is predicted. What the head gives is the tap `logits` all the same, and without a head the last state is the tap
`last_hidden_state`; everything before it is shown as in the family's other models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from chumoku.model.describe import Description, Logits
from chumoku.model.describe.build import STREAM
from chumoku.model.describe.variants import unable, without_unembedding
from chumoku.model.traceable.huggingface.layout import Adapter, GivenByHead
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

USUAL = ("ForCausalLM", "LMHeadModel", "ForMaskedLM", "ForImageClassification")
"""What follows a family's name in the class whose adapter is taken."""
CLASSIFIER = "ForSequenceClassification"


def spans(out: Any) -> Tensor:
    """Question answering: for each position, how well an answer would start and end there."""
    return torch.stack((out.start_logits, out.end_logits), dim=-1)


HEADS = {
    "Model": GivenByHead("last_hidden_state", STREAM, lambda out: out.last_hidden_state),
    CLASSIFIER: GivenByHead("logits", "label", lambda out: out.logits, None),
    "ForNextSentencePrediction": GivenByHead("logits", "label", lambda out: out.logits, ("follows", "random")),
    "ForTokenClassification": GivenByHead("logits", "position label", lambda out: out.logits, None),
    "ForPreTraining": GivenByHead("logits", "position", lambda out: out.logits, ("replaced",)),  # ELECTRA's
    "ForQuestionAnswering": GivenByHead("logits", "position label", spans, ("start", "end")),
}
"""By what follows a family's name in the class."""
SAME = {f"{kind}ForPreTraining": f"{kind}ForMaskedLM" for kind in ("Bert", "MegatronBert", "Albert")}
"""A class with more heads → the one that is loaded instead: its logits are the same."""


def usual_of(architecture: str, known: Sequence[str]) -> tuple[str, GivenByHead | None]:
    """The class whose adapter fits a class of a family, and its head if that is another one. `known` are the family's
    classes that have an adapter. Raises `LookupError` for a class that cannot be shown."""
    if architecture in known:
        return architecture, None
    for name in known:
        ending = next((ending for ending in USUAL if name.endswith(ending)), "\0")
        other = architecture.removeprefix(name.removesuffix(ending))
        if name.endswith(ending) and other in HEADS and architecture.endswith(other):
            return name, HEADS[other]
    raise LookupError(architecture)


def loaded(architecture: str) -> str:
    """The class to load for a class that a config names."""
    return SAME.get(architecture, architecture)


def predicts_no_class(settings: TransformersConfig) -> bool:
    """Whether a classifier's numbers are no classes of which one is right: a score, or several labels at once."""
    kind = settings.values.get("problem_type")
    return settings.architecture.endswith(CLASSIFIER) and (
        kind in ("regression", "multi_label_classification") or (kind is None and len(settings.labels()) == 1)
    )


def with_head(adapter: Adapter, head: GivenByHead, settings: TransformersConfig) -> Adapter:
    """The adapter of the same model with this head."""
    named = replace(head, labels=settings.labels()) if head.labels is None else head
    described = predicting_nothing(adapter.description, named)
    return replace(adapter, description=described, answer=head, head=None, tied=False)


def predicting_nothing(description: Description, head: GivenByHead) -> Description:
    found = without_unembedding(replace(description, predicts="none", writes=None, classes=()))
    given = Logits(head.tap, head.dims, found.logits.stack, found.logits.parameters, head.labels or ())
    return unable(replace(found, logits=given), "generate", "effects", "ablations")

"""The pictures of the start page's three cards: real weights of the models that ship.

    python -m tests.start_cards

writes static/start_cards.json, which the page draws; tests/test_start_cards.py holds that it is what the models give.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from chumoku.model import checkpoint
from chumoku.model.checkpoint import ZOO
from chumoku.model.trace import Masks, trace

FILE = Path(__file__).parent.parent / "static" / "start_cards.json"
EXAMPLES = FILE.with_name("examples.json")


def example(model: str, text: str = "") -> dict[str, Any]:
    examples = json.loads(EXAMPLES.read_text("utf-8"))["examples"]
    (found,) = [one for one in examples if one["model"] == model and one.get("text", "") == text]
    return found


def percents(weights: Tensor) -> list[list[int]]:
    """Weights as whole percents, row by row."""
    return [[round(100 * weight) for weight in row] for row in weights.tolist()]


def translation() -> dict[str, Any]:
    """Which English words each row of the translation attends to in one cross-attention head."""
    text, layer, head = "She sold her car yesterday.", 2, 5
    opened = checkpoint.load(ZOO / "translate-enja")
    source, target = opened.tokenizer.encode(text), opened.tokenizer.encode("彼女は昨日車を売った。")
    tap = f"decoder.layers.{layer}.cross_attn.pattern"
    run = trace(opened, source, [tap], target=target)

    def words(ids: list[int]) -> list[str]:
        return [token.text.strip() for token in opened.tokenizer.tokens(ids)]

    rows = run.tensors[tap][head][: len(target)]  # row t writes token t of the target
    said = {"from": words(source), "to": words(target), "weights": percents(rows)}
    return {"text": text, "layer": layer, "head": head, **said}


def masks() -> dict[str, Any]:
    """One head with its causal mask and without."""
    text, layer, head = "Tom lost his red car. Tom was sad. Mom found the red", 5, 5
    opened = checkpoint.load(ZOO / "stories-gpt")
    tap = f"layers.{layer}.attn.pattern"
    ids = opened.tokenizer.encode(text)
    causal, without = (
        percents(trace(opened, ids, [tap], use=Masks(causal=causal)).tensors[tap][head]) for causal in (True, False)
    )
    return {"text": text, "layer": layer, "head": head, "causal": causal, "without": without}


def digit() -> dict[str, Any]:
    """What [CLS] attends to in a picture, patch by patch, and the answer."""
    layer, head = 2, 3
    opened = checkpoint.load(ZOO / "digits-vit")
    pixels = example("digits-vit")["pixels"]
    picture = opened.config.picture
    assert picture is not None
    tap = f"layers.{layer}.attn.pattern"
    run = trace(opened, picture.ids(pixels), [tap, "logits"])
    answer = opened.config.classes[int(run.tensors["logits"].flatten().argmax())]
    return {"layer": layer, "head": head, "answer": answer, "weights": percents(run.tensors[tap][head][:1, 1:])[0]}


def made() -> dict[str, Any]:
    return {"translation": translation(), "masks": masks(), "digit": digit()}


if __name__ == "__main__":
    FILE.write_text(json.dumps(made(), ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")

"""The cost of the page's generation, with attention rows and distributions for every step, compared with the bare
cached loop and with Hugging Face's `generate(output_attentions=True)` on the same weights. All in CPU time of one
thread."""

from __future__ import annotations

from time import process_time

import torch

from benchmarks.measure import Row, side_by_side
from chumoku.model import checkpoint
from chumoku.model.checkpoint import ZOO
from chumoku.model.generate import generate
from chumoku.model.sampling import SamplingSettings
from tests.model.test_huggingface import gpt2

PROMPT, NEW = 16, 48


@torch.inference_mode()
def measure() -> list[Row]:
    """Tokens per second, and the two ratios."""
    loaded = checkpoint.load(ZOO / "stories-gpt")
    theirs = gpt2(loaded.model)
    ids = loaded.tokenizer.encode("Once upon a time there was a little girl. She had a red ball and a dog.")[:PROMPT]
    settings = SamplingSettings(0.8, 20, 0.95, 7)
    patterns = list(loaded.description.attentions[0].roles["pattern"].taps)

    def shown() -> None:
        for _ in generate(loaded, ids, settings, NEW, patterns):
            pass

    def bare() -> None:
        for _ in generate(loaded, ids, settings, NEW):
            pass

    def hugging_face() -> None:
        theirs.generate(
            torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), max_new_tokens=NEW, do_sample=True, top_k=20,
            top_p=0.95, temperature=0.8, output_attentions=True, return_dict_in_generate=True, pad_token_id=0,
        )  # fmt: skip

    with_rows, without, slowdown = side_by_side(bare, shown, 15, process_time)
    ours, hf, speed_up = side_by_side(hugging_face, shown, 15, process_time)
    return [
        Row("generation, shown ÷ bare cached loop (speed)", slowdown, "×", 0.9, at_most=False,
            note=f"{NEW / without:.0f} against {NEW / with_rows:.0f} tokens/s"),
        Row("generation, shown ÷ Hugging Face with attentions (speed)", speed_up, "×", 1.6, at_most=False,
            note=f"{NEW / hf:.0f} against {NEW / ours:.0f} tokens/s"),
    ]  # fmt: skip

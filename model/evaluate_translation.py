"""The quality of translations: chrF (Popović 2015) and BLEU on characters (Papineni et al. 2002), by sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence

from chumoku.model.checkpoint import Checkpoint
from chumoku.model.translate import translate


def chrf_and_bleu(checkpoint: Checkpoint, pairs: Sequence[tuple[str, str]], *, beams: int = 4) -> dict[str, float]:
    """{"chrf", "bleu"}, 0 to 100, of the translations of (source, reference) pairs.

    Raises `ValueError` if there are no pairs or a source cannot be translated.
    """
    from sacrebleu.metrics.bleu import BLEU  # from the extra `train`
    from sacrebleu.metrics.chrf import CHRF

    if not pairs:
        raise ValueError("there is no pair to evaluate on")
    outputs = [best(checkpoint, source, beams) for source, _ in pairs]
    references = [[reference for _, reference in pairs]]
    chrf, bleu = CHRF().corpus_score(outputs, references), BLEU(tokenize="char").corpus_score(outputs, references)
    return {"chrf": round(chrf.score, 2), "bleu": round(bleu.score, 2)}


def best(checkpoint: Checkpoint, source: str, beams: int) -> str:
    """The text of the best translation; errors name the source."""
    try:
        return translate(checkpoint, source, beams=beams)[0].text(checkpoint.tokenizer)
    except ValueError as error:
        raise ValueError(f"{source[:60]!r} cannot be translated: {error}") from None

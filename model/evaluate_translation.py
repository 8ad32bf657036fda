"""The quality of translations: chrF (Popović 2015) and BLEU on characters (Papineni et al. 2002), by sacrebleu."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from chumoku.model import masks
from chumoku.model.beams import Beams
from chumoku.model.block import Memory
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.trace import check_length
from chumoku.model.translate import beams_of

TOGETHER = 128
"""How many sources are translated at a time."""


def chrf_and_bleu(checkpoint: Checkpoint, pairs: Sequence[tuple[str, str]], *, beams: int = 4) -> dict[str, float]:
    """{"chrf", "bleu"}, 0 to 100, of the translations of (source, reference) pairs.

    Raises `ValueError` if there are no pairs or a source cannot be translated.
    """
    from sacrebleu.metrics.bleu import BLEU  # from the extra `train`
    from sacrebleu.metrics.chrf import CHRF

    if not pairs:
        raise ValueError("there is no pair to evaluate on")
    outputs = translations(checkpoint, [source for source, _ in pairs], beams=beams)
    references = [[reference for _, reference in pairs]]
    chrf, bleu = CHRF().corpus_score(outputs, references), BLEU(tokenize="char").corpus_score(outputs, references)
    return {"chrf": round(chrf.score, 2), "bleu": round(bleu.score, 2)}


def translations(checkpoint: Checkpoint, sources: Sequence[str], *, beams: int = 4, alpha: float = 0.6) -> list[str]:
    """The best translation of each source, as `translate` finds it, many of similar length at a time.

    Raises `ValueError` naming a source that cannot be translated.
    """
    ids = [read(checkpoint, source) for source in sources]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    found: dict[int, str] = {}
    for first in range(0, len(order), TOGETHER):
        some = order[first : first + TOGETHER]
        searches = search_together(checkpoint, [ids[i] for i in some], beams, alpha)
        found |= {i: search.best[0].text(checkpoint.tokenizer) for i, search in zip(some, searches, strict=True)}
    return [found[i] for i in range(len(ids))]


def read(checkpoint: Checkpoint, source: str) -> list[int]:
    ids = checkpoint.tokenizer.encode(source)
    try:
        check_length(len(ids), checkpoint.config.max_seq_len)
    except ValueError as error:
        raise ValueError(f"{source[:60]!r} cannot be translated: {error}") from None
    return ids


@torch.inference_mode()
def search_together(checkpoint: Checkpoint, sources: Sequence[list[int]], beams: int, alpha: float) -> list[Beams]:
    """Beam search for each source, with one forward pass per step for the open beams of all of them."""
    model, tokenizer = checkpoint.encoder_decoder, checkpoint.tokenizer
    searches = [beams_of(checkpoint, len(ids), beams, alpha) for ids in sources]
    rows = [torch.tensor(ids, device=checkpoint.device) for ids in sources]
    source = pad_sequence(rows, batch_first=True, padding_value=tokenizer.pad_id)  # search key
    is_pad = masks.pads_right([len(ids) for ids in sources]).to(checkpoint.device)
    x = model.encode(source, masks.encoder_mask(is_pad), is_pad=is_pad)
    cache, row_of = model.new_cache(), list(range(len(searches)))  # the search of each row
    while row_of:
        open_ones = list(dict.fromkeys(row_of))
        ids = torch.cat([searches[i].ids for i in open_ones])  # row position
        mask = masks.decoder_mask(torch.zeros_like(ids, dtype=torch.bool), query_len=1)
        pads = is_pad[row_of]
        memory = Memory(x if cache.positions == 0 else x[row_of], masks.cross_mask(pads, 1), is_pad=pads)
        logits = model.decode(ids[:, -1:], mask, memory, cache=cache)[:, -1].double()  # row vocab
        logits[:, tokenizer.never_sampled] = float("-inf")
        log_p, kept, first = logits.log_softmax(-1), list[Tensor](), 0
        row_of = []
        for i in open_ones:
            n = len(searches[i].ids)
            going_on = searches[i].extend(log_p[first : first + n])
            if searches[i].open:
                kept.append(first + going_on)
                row_of += [i] * len(going_on)
            first += n
        cache.select(torch.cat(kept) if kept else torch.zeros(0, dtype=torch.long, device=checkpoint.device))
    return searches

"""Our tokenizer as Hugging Face's: the same ids for the same text, and special tokens that cannot be typed."""

from __future__ import annotations

from itertools import pairwise

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from chumoku.model import tokenizer
from chumoku.model.special_tokens import CLS, END, PAD, START
from chumoku.model.traceable.huggingface.tokens import BYTES


def fast_tokenizer(ours: tokenizer.Tokenizer, window: int) -> PreTrainedTokenizerFast:
    special = sorted(ours.special_ids, key=ours.special_ids.__getitem__)
    theirs = backend(ours, special)
    return PreTrainedTokenizerFast(
        tokenizer_object=theirs,
        eos_token=END,
        pad_token=PAD,
        cls_token=CLS if CLS in special else None,
        bos_token=START if START in special else None,
        model_max_length=window,
        split_special_tokens=True,
        clean_up_tokenization_spaces=False,
    )


def backend(ours: tokenizer.Tokenizer, special: list[str]) -> Tokenizer:
    """A byte-level BPE: ranks as merges, tiktoken's split, and the text form as a normaliser."""
    ranks = {ours.encoding.decode_single_token_bytes(i): i for i in range(ours.vocab_size - len(special))}
    merges = [(spelt(left), spelt(right)) for left, right in merges_of(ranks)]
    vocab = {spelt(piece): rank for piece, rank in ranks.items()}
    theirs = Tokenizer(models.BPE(vocab, merges, ignore_merges=True))
    split = pre_tokenizers.Split(Regex(tokenizer.SPLIT), "isolated")
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    theirs.decoder = decoders.ByteLevel()
    if ours.text_form == "treebank":
        theirs.normalizer = treebank()
    theirs.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in special])
    if CLS in special:
        theirs.post_processor = processors.TemplateProcessing(
            single=f"{CLS} $A", special_tokens=[(CLS, ours.special_ids[CLS])]
        )
    return theirs


def merges_of(ranks: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """The two pieces that are merged into each longer piece, in the order of the ranks: its parts after all earlier
    merges."""
    found = []
    for piece, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [bytes([byte]) for byte in piece]
        while len(parts) > 2:
            _, at = min((ranks.get(left + right, rank), i) for i, (left, right) in enumerate(pairwise(parts)))
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        if len(parts) == 2:
            found.append((parts[0], parts[1]))
    return found


def spelt(piece: bytes) -> str:
    """GPT-2's spelling of bytes: printable ones as themselves, the others as characters from U+0100 on."""
    return "".join(LETTERS[byte] for byte in piece)


LETTERS = {byte: letter for letter, byte in BYTES.items()}

CONTRACTED = ("n't", "'s", "'m", "'d", "'re", "'ve", "'ll")
# Python's \w, \W without white space, \s and \b: this library's \w matches other characters.
LETTER, SPACE = r"\p{L}\p{N}_", r"\s\x1c-\x1f"
WORD, MARK, EDGE = f"[{LETTER}]", f"[^{LETTER}{SPACE}]", f"(?![{LETTER}])"
ENDS = "".join(f"(?<!{ending})" for ending in CONTRACTED)  # not after a contraction
ENDS_BEFORE_MARK = "".join(f"(?<!{ending}[-.,])" for ending in CONTRACTED)
JOINED = rf"(?=[-.,]{WORD})(?![-.,]n't{EDGE})"  # a dash, dot or comma that goes on inside a word
BOUNDARIES = "|".join(
    (
        rf"(?<={WORD})(?=n't{EDGE})",
        rf"(?<={WORD})(?={MARK})(?!(?<=n)'t{EDGE})(?!{ENDS}{JOINED})",
        rf"(?<={MARK})(?={WORD})(?!(?<=n')t{EDGE})(?!(?<=')(?:s|m|d|re|ve|ll){EDGE})"
        rf"(?!(?<={WORD}[-.,]){ENDS_BEFORE_MARK}(?!n't{EDGE}))",
        rf"(?<={MARK})(?={MARK})(?!(?<=\.)\.)(?!(?<=-)-)",
    )
)
"""Where `tokenizer.PIECES` ends a piece and begins the next without white space between them."""


CASED, BETWEEN = r"[\p{Lu}\p{Ll}\p{Lt}]", r"[\p{Mn}\p{Me}\p{Cf}\p{Lm}\p{Sk}'.:·‘’․‧]"
LAST_SIGMA = rf"(?:(?<={CASED})|(?<={CASED}{BETWEEN}))Σ(?!{BETWEEN}*{CASED})"
"""A capital sigma at the end of a word becomes ς (The Unicode Standard, table 3-17)."""


def treebank() -> normalizers.Sequence:
    """`tokenizer.treebank` as a normaliser, which puts a space between pieces."""
    quotes = [normalizers.Replace(chr(quote), plain) for quote, plain in tokenizer.QUOTES.items()]
    brackets = [normalizers.Replace(name, f" {bracket} ") for name, bracket in tokenizer.BRACKETS.items()]
    return normalizers.Sequence(
        [
            normalizers.Replace(Regex(LAST_SIGMA), "ς"),  # as Python's lower() does
            normalizers.Lowercase(),
            *quotes,
            *brackets,
            normalizers.Replace("''", '"'),
            normalizers.Replace(Regex(BOUNDARIES), " "),
            normalizers.Replace(Regex(f"[{SPACE}]+"), " "),
            normalizers.Strip(),
        ]
    )

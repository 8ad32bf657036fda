"""Typed text is normalised like the corpus: lower-cased, with punctuation and contractions separated."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chumoku.model.tokenizer import TEXT_FORMS, treebank

# Typed text, and its form in the Stanford Sentiment Treebank.
PAIRS = [
    ("It's a charming and often affecting journey.", "it 's a charming and often affecting journey ."),
    ("Unflinchingly bleak and desperate", "unflinchingly bleak and desperate"),
    ("The acting, costumes, music and sound are all astounding.",
     "the acting , costumes , music and sound are all astounding ."),
    ("It's slow -- very, very slow.", "it 's slow -- very , very slow ."),
    ("I don't know what all the fuss is about!", "i do n't know what all the fuss is about !"),
    ("You can't look away.", "you ca n't look away ."),
    ("It won't hold up over 90 minutes.", "it wo n't hold up over 90 minutes ."),
    ("That isn't funny; it's sad.", "that is n't funny ; it 's sad ."),
    ("He's seen better, and so have we.", "he 's seen better , and so have we ."),
    ("They're what we've got.", "they 're what we 've got ."),
    ("We'll see. I'd rather not.", "we 'll see . i 'd rather not ."),
    ("I'm not sure…", "i 'm not sure ..."),
    ("I'm not sure...", "i 'm not sure ..."),
    ("A film (and a good one) about nothing.", "a film ( and a good one ) about nothing ."),
    ("A film -LRB- and a good one -RRB- about nothing.", "a film ( and a good one ) about nothing ."),
    ("One [sic] of the best", "one [ sic ] of the best"),
    ('A "must-see" movie', 'a " must-see " movie'),
    ("A “must-see” movie", 'a " must-see " movie'),
    ("A ``must-see'' movie", 'a " must-see " movie'),
    ("a '' must-see '' movie", 'a " must-see " movie'),
    ("It’s ‘art’", "it 's ' art '"),
    ("The film's 95-minute running time", "the film 's 95-minute running time"),
    ("the Coen brothers' best", "the coen brothers ' best"),
    ("No. 1 in 3,000 theatres", "no . 1 in 3,000 theatres"),
    ("It cost $2.5 million", "it cost $ 2.5 million"),
    ("100% fun", "100 % fun"),
    ("So good?! Yes!!", "so good ? ! yes ! !"),
    ("Half comedy/half horror", "half comedy / half horror"),
    ("Rock'n'roll", "rock ' n ' roll"),
    ("Good—no, great", "good -- no , great"),
    ("good--no, great", "good -- no , great"),
    ("well-made but mush-hearted", "well-made but mush-hearted"),
    ("  Too   many\tspaces\n", "too many spaces"),
    ("ISN'T IT GRAND?", "is n't it grand ?"),
    ("Café Müller, naïve", "café müller , naïve"),
    ("The U.S.A. today", "the u.s.a . today"),
    ("Wait: there's more", "wait : there 's more"),
    ("Ham & eggs", "ham & eggs"),
    ("a 10/10", "a 10 / 10"),
    ("n't", "n't"),
    ("", ""),
    ("...", "..."),
]  # fmt: skip

signs = "'\"`’‘“”–—….,-!?()[]:;/&$% \n\t"
pieces = [*signs, "n't", "n'", "-lrb-", "-RRB-", "''", "--", "it's", "don", "t", "9", "İ", "ß"]
typed = st.lists(st.sampled_from(pieces)).map("".join)


@pytest.mark.parametrize(("text", "expected"), PAIRS, ids=[text for text, _ in PAIRS])
def test_what_people_type_becomes_the_corpus_text(text: str, expected: str) -> None:
    assert treebank(text) == expected
    assert treebank(expected) == expected


@given(st.one_of(st.text(max_size=30), typed))
@example("can'ts")
@example("a-n't")
@example("'''s")
@example("-lrb--lrb-")
@example("ΑΣ'S")
def test_text_that_has_the_form_keeps_it(text: str) -> None:
    once = treebank(text)
    assert treebank(once) == once


@given(st.text(alphabet="abc ABC'.,-!\"()n t", max_size=30))
def test_only_case_and_spaces_change_in_plain_text(text: str) -> None:
    plain = text.replace("''", '"')
    assert treebank(text).replace(" ", "") == plain.lower().replace(" ", "")


@given(st.text(max_size=30))
def test_natural_text_is_left_alone(text: str) -> None:
    assert TEXT_FORMS["natural"](text) == text

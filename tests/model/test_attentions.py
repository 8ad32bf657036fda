"""The list of a model's attentions is what its taps say."""

from model.attentions import attentions
from model.checkpoint import Checkpoint
from model.taps import tap_dims
from model.trace import Masks, trace
from tests.model.helpers import close, target_of

SOURCE, TARGET = list(b"attention"), list(b"is all")


def test_every_attention_is_named_and_has_its_own_taps(family: Checkpoint) -> None:
    known = [name for name in tap_dims(family.model) if name.endswith(".pattern")]
    named = [one.tap(n, "pattern") for one in attentions(family.config) for n in range(family.config.n_layer)]
    assert sorted(known) == sorted(named)


def test_queries_and_keys_are_of_the_sides_it_says(family: Checkpoint) -> None:
    run = trace(family, SOURCE, **target_of(family, TARGET))
    lengths = {"source": len(run.ids), "target": len(run.target_ids or [])}
    for one in attentions(family.config):
        for n in range(family.config.n_layer):
            shape = (family.config.n_head, lengths[one.queries], lengths[one.keys])
            assert run.tensors[one.tap(n, "pattern")].shape == shape


def test_causal_is_what_it_was_trained_to_be(family: Checkpoint) -> None:
    run = trace(family, SOURCE, **target_of(family, TARGET))
    assert any(one.causal for one in attentions(family.config)) == family.config.is_causal
    for one in attentions(family.config):
        mask = run.tensors[one.tap(0, "mask")]
        assert bool((mask != 0).any()) == one.causal


def test_a_tap_of_an_attention_of_a_zoo_model_is_there(zoo: Checkpoint) -> None:
    names = [one.tap(n, "pattern") for one in attentions(zoo.config) for n in range(zoo.config.n_layer)]
    run = trace(zoo, zoo.tokenizer.encode("Good morning."), names, use=Masks(), **target_of(zoo, [1, 2]))
    for name in names:
        sums = run.tensors[name].sum(-1)
        close(sums, sums.new_ones(sums.shape), 1e-5)

"""`chumoku train` end to end: a model folder, with a card that states its data and its quality."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from chumoku.app.cli.program import cli
from chumoku.model import checkpoint
from chumoku.model import translate as search
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.evaluate import bits_per_byte
from chumoku.model.evaluate_classification import accuracy, read_labelled
from chumoku.model.evaluate_translation import chrf_and_bleu
from chumoku.model.explain.units import Sample, count_units, summary
from chumoku.model.training import command, translation
from chumoku.model.training.classification import split_sentences
from chumoku.model.training.command import add_units, averaging, command_line, run_training
from chumoku.model.training.curve import draw_curve, read_metrics
from chumoku.model.training.data import is_held_out, spread
from chumoku.model.training.prepare import prepare
from chumoku.model.training.snapshots import stored
from chumoku.model.training.train import Trainer, TrainingRun
from chumoku.model.training.translation import split_pairs
from chumoku.model.translate import translate
from tests.training.helpers import (
    HELD_OUT,
    PAIRS,
    classification_preset,
    documents,
    tiny_preset,
    tiny_run,
    translation_preset,
    write_pairs,
    write_sentences,
)


def counted(loaded: Checkpoint, samples: list[Sample]) -> dict[str, Any]:
    """The card's counts of units: over up to 200 texts, here all of them."""
    assert len(samples) <= 200
    on = {name: loaded.card["units"][name] for name in ("on", "n_texts")}
    assert on["n_texts"] == len(samples)
    return on | json.loads(json.dumps(summary(count_units(loaded, samples))))


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for preset in (tiny_preset(), translation_preset(), classification_preset()):
        monkeypatch.setitem(command.PRESETS, preset.name, preset)


def test_a_run_ends_with_a_model_and_an_honest_card(data: Path, tmp_path: Path) -> None:
    folder = run_training(preset="tiny", data=data, device="cpu", steps=60, seed=5, snapshots=2, out=tmp_path)
    loaded = checkpoint.load(folder)
    card = loaded.card
    held_out = [document for document in documents("animals") if is_held_out(document, HELD_OUT)]
    measured = bits_per_byte(loaded.model, loaded.tokenizer, held_out)
    assert card["evaluation"]["bits_per_byte"] == pytest.approx(measured, abs=1e-4)
    last = card["snapshots"][-1]["held_out"]["bits_per_byte"]
    assert card["averaging"]["last_step"] == {"bits_per_byte": last}
    assert card["averaging"]["average"] == {"bits_per_byte": pytest.approx(measured, abs=1e-4)}
    assert last != pytest.approx(measured, abs=1e-3), "two models"
    assert card["evaluation"]["bytes"] == sum(len(document.encode()) for document in held_out)
    assert (card["steps"], card["tokens_seen"], card["seed"]) == (60, 60 * 4 * 32, 5)
    assert [source["licence"] for source in card["data"]] == ["CC0", "CC0"]
    assert card["n_parameters"] == sum(p.numel() for p in loaded.model.parameters())
    assert [s["text"].startswith(s["prompt"]) for s in card["samples"]] == [True] * 5
    assert f"chumoku train tiny --data {data} --steps 60 --seed 5" in card["command"]
    assert "plotly" in (tmp_path / "curve.html").read_text()
    assert card["units"] == counted(loaded, [(loaded.tokenizer.encode(text)[:32], None) for text in held_out])
    assert f"{len(held_out)} of the {len(held_out)} documents of animals.txt" in card["units"]["on"]


def test_a_translator_s_card_says_how_good_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "PROBES", ("the cat", "a dog"))
    monkeypatch.setattr(search, "LONGER", 2)  # an untrained model writes no END
    pairs = PAIRS[:50]  # held-out ones are translated four times
    data = write_pairs(tmp_path / "data", pairs)
    loaded = checkpoint.load(run_training(preset="tiny-translator", data=data, device="cpu", steps=6, out=tmp_path))
    card, (train, held_out) = loaded.card, split_pairs(pairs, 0.2)
    assert (card["family"], card["languages"], card["steps"]) == ("encoder-decoder", ["en", "ja"], 6)
    assert str(len(held_out)) in card["evaluation"]["on"]
    assert card["evaluation"]["greedy"] == chrf_and_bleu(loaded, held_out, beams=1)
    assert card["evaluation"]["beam_4"] == chrf_and_bleu(loaded, held_out, beams=4)
    assert card["evaluation"]["nats_per_token"] > 0
    said = [translate(loaded, text)[0].text(loaded.tokenizer) for text in ("the cat", "a dog")]
    assert card["samples"] == [{"source": s, "beam_4": b} for s, b in zip(("the cat", "a dog"), said, strict=True)]
    assert card["recipe"]["label_smoothing"] == 0.1
    assert "both_directions" not in card
    assert "back" not in card["evaluation"]
    assert train
    encode = loaded.tokenizer.encode
    assert card["units"] == counted(loaded, [(encode(source), encode(target)) for source, target in held_out])
    assert [one["path"] for one in card["units"]["layers"]] == ["encoder.layers.0.ffn", "decoder.layers.0.ffn"]


def test_the_card_of_a_translator_in_both_directions_has_figures_of_the_way_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translation, "PROBES", ("the cat",))
    monkeypatch.setattr(translation, "PROBES_BACK", ("a dog",))
    monkeypatch.setattr(search, "LONGER", 2)
    preset = translation_preset(both_directions=True)
    monkeypatch.setitem(command.PRESETS, preset.name, preset)
    pairs = [(source, f"{target}!") for source, target in PAIRS[:50]]
    data = write_pairs(tmp_path / "data", pairs)
    loaded = checkpoint.load(run_training(preset=preset.name, data=data, device="cpu", steps=6, out=tmp_path))
    back = [(target, source) for source, target in split_pairs(pairs, 0.2)[1]]
    assert loaded.card["both_directions"] is True
    assert loaded.card["evaluation"]["back"] == {
        "greedy": chrf_and_bleu(loaded, back, beams=1), "beam_4": chrf_and_bleu(loaded, back, beams=4)
    }  # fmt: skip
    assert [one["source"] for one in loaded.card["samples"]] == ["the cat", "a dog"]


def test_a_translator_s_card_says_what_each_averaged_checkpoint_reaches_alone(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "data", PAIRS[:50])
    preset, run = translation_preset(), tiny_run(tmp_path / "run", data, 10)  # a checkpoint every 5 steps
    trainer = Trainer(preset, run, prepare(preset, run.folder, run.data))
    kept = []
    trainer.fit(lambda metrics: kept.append(stored(trainer.model)))
    found = averaging(trainer, [{"nats_per_token": 1.5}])
    alone = [trainer.task.validate(trainer.model_of(kept[step - 1])) for step in (5, 10)]
    assert [one["nats_per_token"] for one in found["checkpoints"]] == pytest.approx(alone, abs=1e-3)
    # The same sums in another order may round to another last digit.
    assert found["last_step"] == pytest.approx(found["checkpoints"][-1], abs=1e-3)
    assert found["last_step"]["nats_per_token"] < found["checkpoints"][0]["nats_per_token"] - 1e-2
    assert found["average"] == {"nats_per_token": 1.5}


def test_a_classifier_s_card_says_where_it_fails(tmp_path: Path) -> None:
    data = write_sentences(tmp_path / "data")
    loaded = checkpoint.load(run_training(preset="tiny-classifier", data=data, device="cpu", steps=6, out=tmp_path))
    card, preset = loaded.card, classification_preset()
    held_out = split_sentences(read_labelled(data / "sentences.tsv"), preset.sources[0].held_out)[1]
    assert card["family"] == "encoder-only"
    assert card["evaluation"]["accuracy"] == pytest.approx(accuracy(loaded, held_out), abs=1e-4)
    table = card["evaluation"]["confusion"]["table"]
    assert sum(map(sum, table)) == len(held_out)
    assert [sum(row) for row in table] == [sum(label == n for _, label in held_out) for n in (0, 1)]
    assert card["units"] == counted(loaded, [(loaded.tokenizer.encode(text)[:63], None) for text, _ in held_out])
    surest = [sample["probability_of_it"] for sample in card["samples"]]
    assert surest == sorted(surest)
    assert dict(held_out)[card["samples"][0]["text"]] == ["negative", "positive"].index(card["samples"][0]["is"])


def test_units_are_added_to_a_card_that_lacks_them(tmp_path: Path) -> None:
    """Nothing else on the card changes; lists of numbers stay on one line, which keeps it readable."""
    data = write_sentences(tmp_path / "data")
    folder = run_training(preset="tiny-classifier", data=data, device="cpu", steps=2, out=tmp_path)
    file = folder / "card.json"
    card = json.loads(file.read_text())
    odd = {**card, "name": "tiny-classifier", "note": "[\n 1, 2 ] and [ 3 ]"}
    del odd["units"]
    file.write_text(json.dumps(odd))
    added = add_units(folder, data, torch.device("cpu"))
    assert json.loads(file.read_text()) == odd | {"units": added}
    assert added == card["units"]
    assert '"betas": [0.9, 0.98],\n' in file.read_text()
    file.write_text(json.dumps({"name": "somebody's"}))
    with pytest.raises(ValueError, match=r"names no preset.*presets are .*stories-gpt"):
        add_units(folder, data, torch.device("cpu"))
    file.write_text(json.dumps(odd))
    with pytest.raises(ValueError, match=r"lacks sentences\.tsv"):
        add_units(folder, tmp_path, torch.device("cpu"))


def test_a_sample_is_spread_over_a_sorted_file() -> None:
    assert spread(list(range(10)), 4) == [0, 2, 5, 7]
    assert spread([1, 2], 4) == [1, 2]
    assert spread([], 4) == []


def test_a_warm_start_is_part_of_the_command(tmp_path: Path) -> None:
    run = TrainingRun(tmp_path, Path("my data"), torch.device("cpu"), minutes=1.5, seed=3, warm_start=Path("zoo/one"))
    assert command_line("tiny", run, "float32") == (
        "chumoku train tiny --data 'my data' --minutes 1.5 --seed 3 --precision float32 --warm-start zoo/one"
    )
    assert command_line("tiny", replace(run, steps=9, warm_start=None), "bfloat16") == (
        "chumoku train tiny --data 'my data' --steps 9 --seed 3 --precision bfloat16"
    )


@pytest.mark.parametrize("how", [{"minutes": 0.0}, {"minutes": -1.0}, {"minutes": float("nan")}, {"steps": -1}])
def test_a_run_of_no_length_is_refused(how: dict[str, float], data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a run lasts some minutes or some steps, got"):
        run_training(preset="tiny", data=data, device="cpu", out=tmp_path / "run", **how)
    assert not (tmp_path / "run").exists()


def test_the_same_command_resumes(data: Path, tmp_path: Path) -> None:
    for steps in (10, 20):
        folder = run_training(preset="tiny", data=data, device="cpu", steps=steps, out=tmp_path)
    assert json.loads((folder / "card.json").read_text())["steps"] == 20


def test_a_cut_state_is_said_without_a_traceback(data: Path, tmp_path: Path) -> None:
    for steps in (2, 4):
        run_training(preset="tiny", data=data, device="cpu", steps=steps, out=tmp_path)
    files = [tmp_path / "state.safetensors", tmp_path / "state.before.safetensors"]
    for path in files:
        path.write_bytes(path.read_bytes()[:1000])
    result = CliRunner().invoke(cli, ["train", "tiny", "--data", str(data), "--out", str(tmp_path), "--steps", "6"])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(f"chumoku: {files[0]} cannot be read")
    assert f"; {files[1]} cannot be read" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_a_run_goes_on_from_the_state_before_and_says_so(
    data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for steps in (2, 4):
        run_training(preset="tiny", data=data, device="cpu", steps=steps, out=tmp_path)
    path = tmp_path / "state.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    capfd.readouterr()
    run_training(preset="tiny", data=data, device="cpu", steps=6, out=tmp_path)
    said = "".join(capfd.readouterr().err.split())  # folded at the width of a terminal, in a long path, too
    assert f"{path.name}cannotberead(" in said
    assert "goingonfromthestatebeforegoingonfromstep2," in said


def test_an_unknown_preset_lists_the_known_ones(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"unknown preset 'storis-gpt'; known are .*stories-gpt"):
        run_training(preset="storis-gpt", data=data, out=tmp_path)


def test_missing_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"lacks animals\.txt, weather\.txt"):
        run_training(preset="tiny", data=tmp_path, out=tmp_path)


def test_a_resumed_run_s_repeated_steps_count_once(tmp_path: Path) -> None:
    lines = [{"step": step, "loss": loss} for step, loss in ((50, 3.0), (100, 2.0), (50, 2.9), (100, 1.9))]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_metrics(tmp_path) == lines[2:]
    assert read_metrics(tmp_path / "nowhere") == []


def test_half_a_line_from_a_kill_is_skipped(tmp_path: Path) -> None:
    """At the end of the file, or directly followed by the first line of the resumed run."""
    file, whole = tmp_path / "metrics.jsonl", [{"step": step, "tokens": step, "loss": 1.0} for step in (50, 100, 150)]
    lines = [json.dumps(line) for line in whole]
    for cut in range(len(lines[2])):
        file.write_text(f"{lines[0]}\n{lines[1]}\n{lines[2][:cut]}")
        assert read_metrics(tmp_path) == whole[:2]
    file.write_text(f"{lines[0]}\n{lines[1][:9]}{lines[1]}\n{lines[2]}\n")
    assert read_metrics(tmp_path) == [whole[0], whole[2]]
    assert "loss" in draw_curve(tmp_path, "accuracy").read_text()


def test_the_curve_is_of_the_task_s_own_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures: list[Any] = []
    monkeypatch.setattr("plotly.graph_objects.Figure.write_html", lambda figure, *a, **how: figures.append(figure))
    lines = [{"step": n, "tokens": 10 * n, "loss": 1 / n, "accuracy": n / 10} for n in (1, 2)]
    lines.append({"step": 3, "tokens": 30, "loss": 1 / 3})
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    draw_curve(tmp_path, "accuracy")
    loss, held_out = figures[0].data
    assert (list(loss.x), list(loss.y)) == ([10, 20, 30], [1, 1 / 2, 1 / 3])
    assert (list(held_out.x), list(held_out.y), held_out.name) == ([10, 20], [0.1, 0.2], "held-out, accuracy")

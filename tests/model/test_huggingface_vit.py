"""Folders of ViT: the pixels that its image processor makes, and our own model of pictures, reopened."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

from chumoku.model import checkpoint
from chumoku.model.attribution.effects import Effects, WholePasses, knockout
from chumoku.model.attribution.norm_contributions import route_of
from chumoku.model.attribution.rollout import Edge, widest
from chumoku.model.checkpoint import ZOO
from chumoku.model.explain.anatomy import Options
from chumoku.model.explain.lens import lens_of
from chumoku.model.export.huggingface import export
from chumoku.model.pictures.examples import read_examples
from chumoku.model.pictures.picture import Photo, Picture
from chumoku.model.run import Run
from chumoku.model.trace import Padding, trace
from chumoku.model.traceable import TraceableModel, source_of
from chumoku.model.traceable.huggingface import HuggingFaceFolders
from chumoku.model.traceable.huggingface.loading import load_model
from chumoku.model.traceable.huggingface.processing import FILE, Processing, processing_of
from tests.shortcuts import logit_lens
from tests.toys import huggingface as toys

CPU = torch.device("cpu")
SIDE = 12
BIG = 10**400
"""As JSON may have it, and as no float is."""


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Smooth enough that every way to resize it gives other bytes."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    small = np.random.default_rng(width).integers(0, 256, (5, 5, bands), dtype=np.uint8)
    return Image.fromarray(small.squeeze(), mode).resize((width, height), Image.Resampling.BICUBIC)


def opened(folder: Path) -> Any:
    source = source_of(folder)
    assert source is not None
    return source.open(folder, CPU)


def made(processing: Processing, picture: Image.Image) -> torch.Tensor:
    pixels = torch.frombuffer(bytearray(processing.fitted(picture)), dtype=torch.uint8)
    return processing.numbers(pixels.view(SIDE, SIDE, processing.channels))


def as_saved(theirs: ViTImageProcessorPil) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(theirs.to_json_string())
    return found


def processing(given: dict[str, Any], channels: int = 3) -> Processing:
    return processing_of(given, channels, SIDE)


@pytest.mark.parametrize("size", [(12, 12), (31, 17), (7, 90), (1, 1), (300, 200)])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"resample": 3},
        {"resample": 0, "do_normalize": False},
        {"do_rescale": False, "image_mean": [120.0, 110, 100], "image_std": [60.0, 61, 62]},
        {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225], "resample": 1},
        {"size": {"shortest_edge": 14}, "do_center_crop": True, "crop_size": {"height": 12, "width": 12}},
        {"do_resize": False, "do_center_crop": True, "crop_size": {"height": 12, "width": 12}},
    ],
    ids=lambda one: ",".join(one) or "as it is",
)
def test_pixels_are_those_of_transformers_own_processor(settings: dict[str, Any], size: tuple[int, int]) -> None:
    theirs = ViTImageProcessorPil(**{"size": {"height": SIDE, "width": SIDE}} | settings)
    picture = noise(*size)
    expected = theirs(picture, return_tensors="pt")["pixel_values"][0]
    assert torch.equal(made(processing(as_saved(theirs)), picture), expected)


@pytest.mark.parametrize("kind", ["Bit", "DeiT"])
def test_pixels_are_those_of_deits_and_dinov2s_processors(kind: str) -> None:
    """Whose defaults differ: a file that leaves something out is refused."""
    theirs, picture = toys.cropped(kind), noise(31, 17)
    expected = theirs(picture, return_tensors="pt")["pixel_values"][0]
    assert torch.equal(made(processing(as_saved(theirs)), picture), expected)
    lacking = {name: x for name, x in as_saved(theirs).items() if name != "resample"}
    with pytest.raises(ValueError, match=f"a {kind}ImageProcessor.* without resample cannot be shown"):
        processing(lacking)


def test_pictures_that_are_no_squares_are_refused_by_name(tmp_path: Path) -> None:
    toys.save(tmp_path, toys.vit(image_size=[12, 16]), toys.pictures())
    with pytest.raises(ValueError, match="image_size is 12 × 16, and only squares are drawn here: open a vit whose"):
        HuggingFaceFolders().about(tmp_path)
    square = toys.save(tmp_path / "square", toys.random_numbers(toys.vit(image_size=[12, 12])), toys.pictures())
    assert opened(square).description.picture.size == SIDE


@pytest.mark.parametrize("kind", ["Dinov2Model", "Dinov2WithRegistersModel", "DeiTModel", "ViTModel"])
def test_a_model_without_a_head_gives_its_last_state(tmp_path: Path, kind: str) -> None:
    build = toys.dino if "Dino" in kind else toys.deit
    config = toys.vit().config
    model: Any = transformers.ViTModel(config) if kind == "ViTModel" else build(kind)
    folder = toys.save(tmp_path, toys.random_numbers(model), toys.pictures() if kind == "ViTModel" else toys.cropped())
    traceable = opened(folder)
    assert (traceable.description.predicts, traceable.description.logits.tap) == ("none", "last_hidden_state")
    picture = traceable.description.picture
    pixels = bytes(range(256)) * 2
    run = Run(picture.places, pixels=pixels[: picture.n_bytes])
    found = traceable.trace(run, ["last_hidden_state"]).tensors["last_hidden_state"]
    with torch.inference_mode():
        theirs = load_model(folder, kind, "eager")(traceable.processing.numbers(traceable.pixels_of(run))[None])
    assert torch.equal(found, theirs.last_hidden_state[0])


def test_registers_are_named_tokens_without_positions(tmp_path: Path) -> None:
    kind = "Dinov2WithRegistersForImageClassification"
    traceable = opened(toys.save(tmp_path, toys.random_numbers(toys.dino(kind)), toys.cropped()))
    names = [token.text for token in traceable.tokenizer.tokens(traceable.trace(traceable.simplest, []).ids)]
    assert names[:5] == ["[CLS]", "[REG1]", "[REG2]", "0,0", "0,1"]
    (stack,) = traceable.description.stacks
    tap = stack.embedding.roles["positional"].tap
    positions = traceable.trace(traceable.simplest, [tap]).tensors[tap]
    assert not positions[1:3].any()
    assert positions[[0, 3]].any(-1).all()


def test_a_grey_model_reads_grey_pictures() -> None:
    picture = noise(40, 30, "L")
    theirs = ViTImageProcessorPil(size={"height": SIDE, "width": SIDE}, image_mean=[0.5], image_std=[0.25])
    expected = theirs(picture, return_tensors="pt")["pixel_values"][0]
    assert torch.equal(made(processing(as_saved(theirs), channels=1), picture), expected)


def test_old_files_and_no_file_mean_what_the_class_does(tmp_path: Path) -> None:
    theirs = ViTImageProcessorPil(size={"height": SIDE, "width": SIDE})
    expected = theirs(noise(33, 21), return_tensors="pt")["pixel_values"][0]
    old = {"feature_extractor_type": "ViTFeatureExtractor", "size": SIDE, "resample": 2, "do_normalize": True,
           "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "do_resize": True}  # fmt: skip
    for given in ({}, old):
        assert torch.equal(made(processing(given), noise(33, 21)), expected)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"image_processor_type": "CLIPImageProcessor"}, "pictures for a CLIPImageProcessor cannot be made here"),
        ({"do_pad": True}, "ViTImageProcessor with do_pad cannot be shown yet"),
        ({"size": {"height": 14, "width": 12}}, "pictures are 14 × 12, and the model reads 12 × 12"),
        ({"size": {"shortest_edge": 12}}, "pictures are 12 on their shorter side, and the model reads 12 × 12"),
        ({"size": {"longest_edge": 12}}, "a size is a height and a width or a shortest_edge"),
        ({"resample": "bilinear"}, "resample must be a whole number from 0 to 5"),
        ({"rescale_factor": "1/255"}, "rescale_factor must be a number"),
        *[
            ({"rescale_factor": x}, "rescale_factor must be a number from 1e-30 to 1e[+]30")
            for x in (0, 1e-320, -1, BIG)
        ],
        ({"image_mean": [BIG] * 3}, "image_mean must be 3 numbers up to 1e[+]30"),
        ({"image_std": BIG}, "image_std must be 3 numbers from 1e-30 to 1e[+]30"),
        ({"image_std": [1, 1e-320, 1]}, "image_std must be 3 numbers"),
        ({"image_std": [1, 0, 1]}, "image_std must be 3 numbers"),
        ({"image_mean": [1, 2]}, "image_mean must be 3 numbers"),
    ],
)
def test_a_processor_that_makes_other_pictures_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        processing(given)


def test_only_a_model_of_pictures_needs_its_processor(tmp_path: Path) -> None:
    """Text models on the hub may bring such a file, too."""
    text = toys.save(tmp_path / "text", toys.random_numbers(toys.gpt2()), toys.byte_level())
    photo = toys.save(tmp_path / "photo", toys.random_numbers(toys.vit()), toys.pictures())
    for folder in (text, photo):
        (folder / FILE).write_text("no JSON")
    assert HuggingFaceFolders().about(text).name == "text"
    with pytest.raises(ValueError, match=f"{FILE} is not JSON"):
        HuggingFaceFolders().about(photo)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return toys.save(tmp_path / "tiny", toys.random_numbers(toys.vit()), toys.pictures())


def test_logits_are_those_of_a_model_that_nobody_looks_into(folder: Path) -> None:
    """The way that transformers' documentation shows: a processor, then the model, without a mask."""
    traceable, picture = opened(folder), noise(50, 40)
    pixels = ViTImageProcessorPil.from_pretrained(folder)(picture, return_tensors="pt")
    with torch.inference_mode():
        expected = load_model(folder, "ViTForImageClassification", "eager")(**pixels).logits[0]
    run = Run(traceable.picture.places, pixels=traceable.processing.fitted(picture))
    assert torch.equal(traceable.trace(run, ["logits"]).tensors["logits"], expected)
    assert traceable.description.classes == ("cat", "dog", "bird")
    assert traceable.description.picture == Photo(SIDE, 4, 3)


def test_its_lens_ends_with_its_answer_and_a_cut_is_an_edit_of_its_mask(folder: Path) -> None:
    traceable = opened(folder)
    run = Run(traceable.picture.places, pixels=traceable.processing.fitted(noise(50, 40)))
    logits = traceable.trace(run, ["logits"]).tensors["logits"]
    lens = lens_of(traceable, run, k=3)
    assert lens.probability.shape == (3, 1, 3)
    torch.testing.assert_close(lens.probability[-1, 0], logits.double().softmax(-1).sort(descending=True).values)
    passes, edge = WholePasses(traceable, run, 1), Edge("self", 1, 0, 4)
    (effect,) = passes.measure([edge])
    cut = Run(
        run.ids, pixels=run.pixels, edit={traceable.description.attention("self").tap("mask", 1): knockout(edge, None)}
    )
    after = traceable.trace(cut, ["logits", "layers.1.attn.pattern"]).tensors
    assert after["layers.1.attn.pattern"][:, 0, 4].max() == 0
    assert effect.p == pytest.approx(float(after["logits"].double().softmax(-1)[1]), rel=1e-6)
    assert effect.delta != 0


def test_patches_times_their_matrix_are_the_embedding(folder: Path) -> None:
    traceable = opened(folder)
    run = Run(traceable.picture.places, pixels=traceable.processing.fitted(noise(50, 40)))
    found = traceable.trace(run, list(traceable.description.taps)).tensors
    (stack,) = traceable.description.stacks
    taps = {role: found[place.tap] for role, place in stack.embedding.roles.items()}
    weights = traceable.weights(list(traceable.about.weights))
    w, b, special = (weights[stack.embedding.parameters[role]] for role in ("w_patch", "b_patch", "special"))
    torch.testing.assert_close(taps["embedding"][1:], taps["patches"][1:] @ w.T + b)
    assert torch.equal(taps["embedding"][0], special[0])
    assert torch.equal(taps["embedding"] + taps["positional"], found[stack.layers[0].sublayers[0].reads.tap])
    assert torch.equal(taps["positional"], weights[stack.embedding.parameters["positions"]])


def test_a_hidden_patch_is_a_key_that_nobody_sees(folder: Path) -> None:
    traceable = opened(folder)
    run = Run(traceable.picture.places, pixels=bytes(range(144)) * 3, pad=Padding(hidden=(2, 5)))
    found = traceable.trace(run, list(traceable.description.taps)).tensors
    for layer in range(2):
        pattern = found[traceable.description.attention("self").tap("pattern", layer)]
        assert not pattern[..., [2, 5]].any()
        torch.testing.assert_close(pattern.sum(-1), torch.ones(pattern.shape[:-1]))
    other = bytearray(run.pixels or b"")
    for row in range(4):
        other[row * 36 + 12 : row * 36 + 24] = bytes(12)  # the pixels of patch 1, at position 2
    changed = traceable.trace(Run(run.ids, pixels=bytes(other), pad=run.pad), ["logits"]).tensors["logits"]
    assert torch.equal(changed, found["logits"])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"image_size": 13}, "a picture's size is a multiple of its patch, got 13 and 4"),
        ({"image_size": "12"}, "image_size must be a whole number"),
        ({"num_channels": 4}, "a picture has 1 or 3 channels, got 4"),
        ({"problem_type": "multi_label_classification"}, "cannot be shown yet"),
        ({"architectures": ["ViTForMaskedImageModeling"]}, "a ViTForMaskedImageModeling cannot be shown"),
        ({"image_size": 512, "patch_size": 2}, "its pictures are 65,537 tokens, and with 2 layers 3,162 can be drawn"),
    ],
)
def test_a_config_that_cannot_be_shown(folder: Path, settings: dict[str, Any], said: str) -> None:
    (folder / FILE).unlink()
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))
    with pytest.raises(ValueError, match=said):
        HuggingFaceFolders().about(folder)


def test_a_picture_that_is_not_whole_is_refused(folder: Path) -> None:
    traceable = opened(folder)
    for pixels in (None, bytes(431)):
        with pytest.raises(ValueError, match="a picture is 432 bytes, got"):
            traceable.trace(Run(traceable.picture.places, pixels=pixels), [])
    for spelt, said in (("€", "not base64"), ("AAAA", "432 bytes in base64, got 3"), ("A", "not base64")):
        with pytest.raises(ValueError, match=said):
            traceable.picture.bytes_of(spelt)
    assert traceable.picture.bytes_of(traceable.picture.spell(bytes(range(216)) * 2)) == bytes(range(216)) * 2


def test_our_own_model_reopened_shows_the_numbers_of_our_own_path(tmp_path: Path) -> None:
    """Both read the same runs: a digit's patches are ids, some of them hidden."""
    ours = checkpoint.load(ZOO / "digits-vit")
    theirs: TraceableModel = opened(export(ours, tmp_path / "digits").folder)
    picture = ours.config.picture
    assert isinstance(theirs.description.picture, Picture)
    assert theirs.description.picture == picture
    assert theirs.description.classes == ours.description.classes
    assert theirs.tokenizer.special == ours.tokenizer.special
    names = [name for name in theirs.description.taps if name in ours.description.taps]
    assert len(names) == len(theirs.description.taps)
    for one in read_examples(ZOO / "digits-vit", picture, 10)[:3]:
        for pad in (Padding(), Padding(hidden=(6, 7))):
            ids = picture.ids(one.pixels)
            expected, found = trace(ours, ids, names, pad=pad), theirs.trace(Run(ids, pad=pad), names)
            assert (found.ids, found.is_pad, found.position_ids) == (
                expected.ids,
                expected.is_pad,
                expected.position_ids,
            )
            for name in names:
                torch.testing.assert_close(found.tensors[name], expected.tensors[name], rtol=1e-4, atol=2e-5)
    weights, same = theirs.weights(list(theirs.about.weights)), ours.model.state_dict()
    for name, x in weights.items():
        own = same[name] if "special" not in name else same[name][2:]  # only [CLS]
        torch.testing.assert_close(x, own, rtol=0, atol=0)
    its_lens_and_effects_are_ours(ours, theirs, ids)


def its_lens_and_effects_are_ours(ours: checkpoint.Checkpoint, theirs: TraceableModel, ids: list[int]) -> None:
    """Its effects are whole passes of transformers' modules, ours begin at the layer of each cut. Every kind of run: a
    patch is hidden, a look is cut already."""
    cut = Edge("self", 1, 0, 9)
    edit = {ours.description.attention("self").tap("mask", 1): knockout(cut, None)}
    options: Options = {"pad": Padding(hidden=(6,)), "edit": edit}
    run = Run(ids, pad=Padding(hidden=(6,)), edit=edit)
    lens, own_lens = lens_of(theirs, run, k=3), logit_lens(ours, ids, k=3, **options)
    assert (lens.taps, lens.rows) == (own_lens.taps, own_lens.rows)
    torch.testing.assert_close(lens.probability, own_lens.probability, rtol=1e-4, atol=1e-5)
    assert torch.equal(lens.top, own_lens.top)
    answer = int(lens.top[-1, 0, 0])
    found, own = WholePasses(theirs, run, answer), Effects(ours, ids, answer, **options)
    edges = widest(route_of(theirs, run), 0, 8)
    edges = [*edges, cut, Edge("self", 0, 0, 6)]  # nothing is left to cut in the last two
    assert [found.can_knock_out(edge) for edge in edges] == [own.can_knock_out(edge) for edge in edges] == [True] * 10
    measured = {one.part: one.delta for batch in own.batches(edges) for one in own.measure(batch)}
    effects = [one for batch in found.batches(edges) for one in found.measure(batch)]
    assert (found.row, found.log_p) == (own.row, pytest.approx(own.log_p, abs=1e-5))
    assert {one.part: one.delta for one in effects} == pytest.approx(measured, abs=1e-5)
    assert max(abs(one.delta) for one in effects) > 1e-3
    assert [one.delta for one in effects[-2:]] == [0, 0]

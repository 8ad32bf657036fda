"""DeiT (Touvron et al. 2021) and DINOv2 (Oquab et al. 2024): ViTs with more tokens before the patches, scaled layers.

DeiT has a distillation token after [CLS]; DINOv2 may have registers there (Darcet et al. 2024), without positions. Its
sublayers' outputs are multiplied by a vector each (LayerScale), which W_O and W_2 contain here. Its processor may make
smaller pictures than it was trained on; its positions are then interpolated, as in transformers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from chumoku.model.describe.variants import without_our_modules, without_unembedding
from chumoku.model.pictures.picture import Photo
from chumoku.model.special_tokens import CLS
from chumoku.model.traceable.huggingface.families.vit import MAIN as VIT
from chumoku.model.traceable.huggingface.families.vit import PARTS, described, flat, n_tokens, sizes_of
from chumoku.model.traceable.huggingface.layout import SCALE, Adapter, Part, StackLayout, whole
from chumoku.model.traceable.huggingface.processing import processing_of, size_of
from chumoku.model.traceable.huggingface.transformers_config import TransformersConfig

DEIT, TEACHER = "DeiTForImageClassification", "DeiTForImageClassificationWithTeacher"
DEIT_ARCHITECTURES = (DEIT, TEACHER)
SPECIALS, POSITIONS = "shown_specials", "shown_positions"
"""Parameters that are added to the embeddings: what is before the patches, and the positions of all tokens."""


def layout_at(base: str, block: str, parts: dict[str, Part], norm: str) -> StackLayout:
    start = f"{base}.embeddings"
    tables = {
        "w_patch": (f"{start}.patch_embeddings.projection.weight", flat),
        "b_patch": (f"{start}.patch_embeddings.projection.bias", whole),
        "special": (f"{start}.{SPECIALS}", whole),
        "positions": (f"{start}.{POSITIONS}", whole),
    }
    return replace(
        VIT, embedding=start, block=f"{base}.{block}", parts=parts, final_norm=f"{base}.{norm}", tables=tables
    )


def adapt_deit(settings: TransformersConfig) -> Adapter:
    settings.need("problem_type", "single_label_classification")
    side, patch, channels = sizes_of(settings)
    processing = processing_of(settings.processor, channels, side)
    found = without_our_modules(described(settings, Photo(side, patch, channels, before=(CLS, "[DIST]"))))
    averages = settings.architecture == TEACHER  # the mean of two heads
    return Adapter(without_unembedding(found) if averages else found,
                   {"main": layout_at("deit", "layers.{n}", PARTS, "layernorm")}, None if averages else "classifier",
                   n_tokens(found), processing=processing, prepare=name_deits)  # fmt: skip


def name_deits(model: nn.Module) -> None:
    start: Any = model.get_submodule("deit.embeddings")
    add(start, torch.cat((start.cls_token, start.distillation_token), dim=1)[0], start.position_embeddings[0])


def add(start: nn.Module, specials: Tensor, positions: Tensor) -> None:
    for name, x in ((SPECIALS, specials), (POSITIONS, positions)):
        setattr(start, name, nn.Parameter(x.detach().clone(), requires_grad=False))


DINO_ARCHITECTURES = ("Dinov2ForImageClassification",)
REGISTER_ARCHITECTURES = ("Dinov2WithRegistersForImageClassification",)
DINO_PARTS = {
    **{f"self {x}": Part(f"attention.{x}_proj") for x in "qkv"},
    "self o": Part("attention.o_proj", is_scaled=True),
    "self norm": Part("norm1"),
    "ffn 1": Part("mlp.fc1"),
    "ffn 2": Part("mlp.fc2", is_scaled=True),
    "ffn norm": Part("norm2"),
}


def adapt_dino(settings: TransformersConfig) -> Adapter:
    """Raises `ValueError` for a gated FFN (the giant one)."""
    settings.refuse("use_swiglu_ffn")
    settings.need("problem_type", "single_label_classification")
    base = settings.model_type
    n_register = settings.whole("num_register_tokens", 4) if base.endswith("registers") else 0
    values = dict(settings.values) | {"patch_size": settings.values.get("patch_size", 14)}
    side, patch, channels = sizes_of(replace(settings, values=values))
    side = processed(settings, side)
    d_ff = settings.whole("hidden_size", 768) * settings.whole("mlp_ratio", 4)
    more = {"intermediate_size": d_ff, "layer_norm_eps": settings.number("layer_norm_eps", 1e-6)}
    named = replace(settings, values=dict(settings.values) | more)
    before = (CLS, *(f"[REG{n}]" for n in range(1, n_register + 1)))
    found = without_our_modules(without_unembedding(described(named, Photo(side, patch, channels, before=before))))

    def prepare(model: nn.Module) -> None:
        name_dinos(model.get_submodule(base), side)

    return Adapter(found, {"main": layout_at(base, "encoder.layer.{n}", DINO_PARTS, "layernorm")}, None,
                   n_tokens(found), processing=processing_of(settings.processor, channels, side),
                   prepare=prepare)  # fmt: skip


def processed(settings: TransformersConfig, side: int) -> int:
    """The side of the pictures that the processor makes; the config's without one."""
    given = settings.processor.get("crop_size") if settings.processor.get("do_center_crop") else None
    given = given or (settings.processor.get("size") if settings.processor.get("do_resize", True) else None)
    size = size_of(given) if given else side
    return size[0] if isinstance(size, tuple) else size


def name_dinos(model: nn.Module, side: int) -> None:
    start: Any = model.get_submodule("embeddings")
    n = (side // start.patch_embeddings.projection.kernel_size[0]) ** 2
    with torch.no_grad():
        positions = start.interpolate_pos_encoding(torch.zeros(1, n + 1, start.cls_token.shape[-1]), side, side)[0]
    specials = start.cls_token[0]
    if (registers := getattr(start, "register_tokens", None)) is not None:
        specials = torch.cat((specials, registers[0]))
        positions = torch.cat((positions[:1], torch.zeros_like(registers[0]), positions[1:]))
    add(start, specials, positions)
    for block in model.get_submodule("encoder.layer").children():
        parts: Any = block
        parts.attention.o_proj = Scaled(parts.attention.o_proj, parts.layer_scale1.lambda1)
        parts.mlp.fc2 = Scaled(parts.mlp.fc2, parts.layer_scale2.lambda1)
        parts.layer_scale1, parts.layer_scale2 = nn.Identity(), nn.Identity()


class Scaled(nn.Module):
    """A Linear whose output is multiplied by a vector."""

    def __init__(self, linear: Any, scale: nn.Parameter) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias
        setattr(self, SCALE, scale)

    def forward(self, x: Tensor) -> Tensor:
        scale: Tensor = getattr(self, SCALE)
        return nn.functional.linear(x, self.weight, self.bias) * scale

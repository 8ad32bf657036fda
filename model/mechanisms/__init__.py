"""The ways to attend, by name. A new one is one file in this folder, and one line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from model.mechanisms import softmax
from model.mechanisms.mixer import MixerDescription

if TYPE_CHECKING:
    from model.config import ModelConfig

MECHANISMS: dict[str, Callable[[ModelConfig], MixerDescription]] = {"softmax": softmax.describe}

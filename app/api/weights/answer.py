"""The response with a model's parameters, for `/docs`."""

from __future__ import annotations

from chumoku.app.api.answer import tensors_answer

WEIGHTS_ANSWER = tensors_answer("the parameters, float32; the metadata's `chumoku` is JSON text: model, dims.")

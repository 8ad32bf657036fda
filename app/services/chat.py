"""Turns as the text that a model's chat template makes of them."""

from __future__ import annotations

from typing import Any

from chumoku.app.api.requests import ChatRequest
from chumoku.app.errors import AppError
from chumoku.model.traceable import About


def chat(about: About, request: ChatRequest, max_chars: int) -> dict[str, Any]:
    """The answer of `/api/models/{name}/chat`: a text, and how a run reads it. Raises `cannot` for a model without a
    template, `bad_chat` for turns that it refuses, and `broken_template` for one that fails."""
    if about.chat is None:
        message = f"{about.name!r} has no chat template."
        raise AppError("cannot", message, "Use a model whose `chat` is true in GET /api/models.", where="name")
    from chumoku.model.traceable.huggingface.chat import Unusable, rendered

    turns = [turn.model_dump() for turn in request.messages]
    try:
        text = rendered(about.chat, turns, max_chars, generation_prompt=request.generation_prompt)
    except Unusable as error:
        message = f"The chat template of {about.name!r} cannot be used: {error}."
        hint = "Write the text of the chat yourself, and have its special tokens read as such."
        raise AppError("broken_template", message, hint, where="messages", got=str(error)) from None
    except ValueError as error:
        message = f"The chat template of {about.name!r} refuses these turns: {error}."
        hint = "Try other roles or another order: user, assistant, user; a system turn only first."
        raise AppError("bad_chat", message, hint, where="messages", got=str(error)) from None
    return {"model": about.name, "input": {"text": text, "special": True, "add_special_tokens": False}}

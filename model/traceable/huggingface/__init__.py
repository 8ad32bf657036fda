"""Models of Hugging Face's transformers, opened as they are: `HuggingFaceFolders`. Needs the extra `hf`."""

from chumoku.model.traceable.huggingface.folders import HuggingFaceFolders

__all__ = ["HuggingFaceFolders"]

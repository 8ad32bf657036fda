"""Our models for Hugging Face's transformers: the same weights under the names of one of its architectures.

`export` writes a folder that `from_pretrained` opens. Needs the extra `hf`.
"""

from chumoku.model.export.huggingface.export import export

__all__ = ["export"]

"""Chumoku: see, with a trained Transformer's own numbers, how attention turns a sentence into the next token.

In a checkout `chumoku/app`, `model`, `static` and `templates` are links to the folders beside this one; an
installed package holds the folders themselves. Either way a notebook's own `model.py` shadows none of them.
"""

"""The position-wise feed-forward network."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn

from chumoku.model.taps import Tap


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (Vaswani et al. 2017, equation 2)."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.pre = Tap("position d_ff")
        self.post = Tap("position d_ff")
        self.out = Tap("position d_model")

    def writers(self) -> Iterator[nn.Linear]:
        """The matrix that writes to the residual stream."""
        yield self.w_2

    def forward(self, x: Tensor) -> Tensor:
        """[batch position d_model] → [batch position d_model]"""
        pre = self.pre(self.w_1(x))  # batch position d_ff
        post = self.post(pre.relu())  # batch position d_ff
        return self.out(self.w_2(post))

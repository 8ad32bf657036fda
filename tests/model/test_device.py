"""A GPU gives the CPU's numbers."""

import pytest
import torch

from chumoku.model import checkpoint
from chumoku.model.checkpoint import Checkpoint
from chumoku.model.generate import generate
from chumoku.model.sampling import SamplingSettings
from chumoku.model.trace import Padding, trace
from tests.model.helpers import close, target_of

TEXT = "Once upon a time, there was a tiny dragon who could not find her way home."


def on(zoo: Checkpoint, device: str) -> Checkpoint:
    return checkpoint.load(checkpoint.ZOO / zoo.name, device)


def compare_traces(zoo: Checkpoint, device: str) -> None:
    ids = zoo.tokenizer.encode(TEXT)
    options = target_of(zoo, ids)
    there, here = (trace(each, ids, pad=Padding(3), **options) for each in (on(zoo, device), zoo))
    for name, tensor in here.tensors.items():
        assert there.tensors[name].device.type == "cpu"
        close(there.tensors[name], tensor, 1e-4)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_a_trace_on_cuda_is_the_cpus_within_1e_4(zoo: Checkpoint) -> None:
    compare_traces(zoo, "cuda")


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")
def test_a_generation_on_cuda_writes_what_the_cpu_writes(gpt: Checkpoint) -> None:
    ids, settings = gpt.tokenizer.encode(TEXT), SamplingSettings(0.8, 20, 0.95, 7)
    there, here = (list(generate(each, ids, settings, 20)) for each in (on(gpt, "cuda"), gpt))
    assert [step.ids for step in there] == [step.ids for step in here]


@pytest.mark.skipif(not torch.backends.mps.is_available(), reason="no Apple GPU on this machine")
def test_a_trace_on_mps_is_the_cpus_within_1e_4(zoo: Checkpoint) -> None:
    compare_traces(zoo, "mps")


def test_tensors_of_a_trace_are_float32_and_masks_uint8(zoo: Checkpoint) -> None:
    for name, tensor in trace(zoo, zoo.tokenizer.encode("Hi"), **target_of(zoo, [1])).tensors.items():
        rows = name.endswith("distance")  # indices into the tables of relative positions
        kind = torch.int64 if rows else torch.uint8 if name.endswith("mask") else torch.float32
        assert tensor.dtype == kind, name

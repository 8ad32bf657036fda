"""Freed memory stays with a training process."""

import platform
import subprocess
import sys

import pytest

PAGES = 16_384

AGAIN = """
import ctypes, resource, sys
from chumoku.model.training.machine import keep_freed_memory
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
def mapped_again():
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        memory = libc.malloc(int(sys.argv[1]) * 4096)
        ctypes.memset(memory, 1, int(sys.argv[1]) * 4096)
        libc.free(memory)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
given_back = mapped_again()
if not keep_freed_memory():
    sys.exit("no malloc with mallopt")
print(given_back, mapped_again())
"""
"""Prints the page faults of filling 64 MiB for the second time, by default and with `keep_freed_memory`."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's malloc has these options")
def test_a_large_tensor_s_memory_is_mapped_once() -> None:
    command = [sys.executable, "-c", AGAIN, str(PAGES)]
    given_back, kept = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    assert 10 * kept < given_back

# SPDX-License-Identifier: GPL-2.0-or-later
"""Results follow from QEMU's source, not from the compiler that built it: that is why no digest has it."""

import shutil

import pytest

from ringsteplib import build_qemu
from ringsteplib import parts as parts_of
from ringsteplib.run import run


@pytest.fixture(scope="module")
def by_clang(real_cache):
    if not shutil.which("clang"):
        pytest.skip("there is no clang: apt-get install clang")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_qemu, "COMPILER", ["--cc=ccache clang", "-Doptimization=2"])
        return parts_of.collect(real_cache)


@pytest.mark.parametrize("coherence", ["off", "atomic", "full"])
@pytest.mark.parametrize("bench", ["iowq-echo", "zc-wait", "tw-order", "sqpoll-read", "hybrid-echo"])
def test_the_same_bits(real_cache, by_clang, machine_of, bench, coherence):
    by_gcc = parts_of.collect(real_cache)
    assert by_gcc.qemu.read_bytes() != by_clang.qemu.read_bytes()
    left = []
    for parts in (by_gcc, by_clang):
        machine = machine_of(bench, "after", parts, coherence=coherence)
        with real_cache.run_folder() as folder:
            outcome = run(machine, folder)
            outcome.check()
            left.append((machine.digest(), {path.name: path.read_bytes() for path in folder.iterdir()
                                            if path.suffix in (".txt", ".bin")}))
    assert left[0] == left[1]

# SPDX-License-Identifier: GPL-2.0-or-later
"""Both arms of all five changes on a kernel that checks itself (lockdep, KASAN): it has nothing to say."""

import pytest

from ringsteplib import benchmark, metrics
from ringsteplib import parts as parts_of
from ringsteplib.run import run

SHORTER = {"sqpoll-read": {"depth": "64", "ramp_ms": "10", "runtime_ms": "40"}}


@pytest.fixture(scope="module")
def debug_parts(real_cache):
    return parts_of.collect(real_cache, configuration="debug")


@pytest.mark.parametrize("arm", benchmark.ARMS)
@pytest.mark.parametrize("bench", ["iowq-echo", "hybrid-echo", "zc-wait", "tw-order", "sqpoll-read"])
def test_benchmark_is_clean(real_cache, debug_parts, machine_of, bench, arm):
    machine = machine_of(bench, arm, debug_parts, SHORTER.get(bench), memory_mib=1024)
    with real_cache.run_folder() as folder:
        outcome = run(machine, folder, host_limit_s=3600)
        outcome.check()
        assert outcome.complaints() == []
        assert outcome.results.code == 0
        assert metrics.of_outcome(outcome)[0]["requests"] > 0
        assert "lock validator" in outcome.console or "KernelAddressSanitizer" in outcome.console

# SPDX-License-Identifier: GPL-2.0-or-later
"""Both arms of both benchmarks on a kernel that checks itself: it has nothing to say."""

import pytest

from ringsteplib import benchmark, metrics, profile
from ringsteplib.machine import Machine
from ringsteplib.run import run


@pytest.mark.parametrize("arm", benchmark.ARMS)
@pytest.mark.parametrize("bench", ["iowq-echo", "hybrid-echo"])
def test_benchmark_is_clean(real_cache, debug_parts, bench, arm):
    found = benchmark.load(bench)
    machine = Machine(debug_parts, profile.load(found.profile), memory_mib=1024,
                      command=found.command_line(), peer=found.peer, parameters=found.parameters(arm))
    with real_cache.run_folder() as folder:
        outcome = run(machine, folder, host_limit_s=3600)
        outcome.check()
        assert outcome.complaints() == []
        assert outcome.results.code == 0
        assert metrics.of_outcome(outcome)[0]["requests"] > 0
        assert "lock validator" in outcome.console or "KernelAddressSanitizer" in outcome.console

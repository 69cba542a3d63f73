# SPDX-License-Identifier: GPL-2.0-or-later
"""liburing's own tests in the guest: what passes with the kernel's defaults passes with each switch the other way."""

from dataclasses import replace

import pytest

from ringsteplib import build_image, build_liburing, switches
from ringsteplib import parts as parts_of
from ringsteplib.machine import Machine
from ringsteplib.profile import Profile
from ringsteplib.run import run
from ringsteplib.sources import Sources

FLIPPED = [("iowq_free_batch=8",), ("iowq_free_batch=8", "iowq_free_batch_flush=sleep"), ("iowq_hybrid=0",),
           ("lazy_wake=0",), ("tw_fifo=0",), ("tw_prio=1",), ("submit_tw=1",)]
# A slow CPU, 500 million instructions in a second: tests that wait for seconds with a busy CPU would take the host minutes.
SLOW = Profile("slow", "", {"insn-ps": 2000})
# The exit codes are those of liburing's test/runtests.sh: 0 passed, 77 skipped.
COMMAND = """\
cd /tmp
for test in /bin/*.t; do
    timeout -s KILL 60 $test > log 2>&1
    code=$?
    echo "result ${test##*/} $code"
    case $code in 0|77) ;; *) sed 's/^/    /' log ;; esac
    rm -rf /tmp/*
done"""


@pytest.fixture(scope="module")
def passed(real_cache):
    """The function from switches to the names of the tests that pass with them, and what all printed."""
    fetch = Sources(real_cache)
    image = build_image.build(real_cache, fetch, extra=[build_liburing.tests(real_cache, fetch)])
    parts = replace(parts_of.collect(real_cache), initramfs=image)

    def run_all(*settings):
        machine = Machine(parts, SLOW, memory_mib=4096, command=COMMAND, limit_ns=3600 * 10**9,
                          parameters=tuple(switches.parameter(text) for text in settings))
        with real_cache.run_folder() as folder:
            outcome = run(machine, folder, host_limit_s=3600)
            outcome.check()
            assert outcome.complaints() == []
            return _passed(outcome.output), outcome.output

    return run_all


def _passed(output):
    results = [line.split() for line in output.splitlines() if line.startswith("result ")]
    return {name for _, name, code in results if code == "0"}


@pytest.fixture(scope="module")
def by_default(passed):
    names, output = passed()
    assert len(names) >= 100, output
    return names


@pytest.mark.parametrize("settings", FLIPPED, ids=" ".join)
def test_what_passes_by_default_passes(passed, by_default, settings):
    names, output = passed(*settings)
    assert by_default - names == set(), output

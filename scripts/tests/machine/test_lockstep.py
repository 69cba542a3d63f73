# SPDX-License-Identifier: GPL-2.0-or-later
"""Four vCPUs are four."""

import subprocess
from dataclasses import replace

import pytest

from ringsteplib.errors import BrokenMachine
from ringsteplib.profile import Profile

# Increments by each thread: 120 us without a wait, beside which the start of four threads and a tick of the guest's timer,
# some 3 us each, are little.
COUNT = 100_000


def elapsed(boot, command, **options):
    outcome, _ = boot(command, **options)
    outcome.check()
    assert outcome.results.code == 0
    return outcome.results.metrics["elapsed_ns"]


def test_four_spinning_threads_take_as_long_as_one(boot):
    one = elapsed(boot, "spin --threads 1 --count 20000000")
    four = elapsed(boot, "spin --threads 4 --count 20000000")
    assert four <= 1.02 * one


def test_one_counter_costs_its_line(boot):
    """Without a directory, or if a transfer did not end the slice, four threads take hardly longer than one."""
    one = elapsed(boot, f"share --threads 1 --count {COUNT}")
    four = elapsed(boot, f"share --threads 4 --count {COUNT}")
    apart = elapsed(boot, f"share --threads 4 --count {COUNT} --stride 64")
    assert apart <= 1.25 * one
    assert four >= 3 * one


def test_threads_take_turns_at_a_counter(boot):
    """Each increment is a transfer of 40 ns, one after the other."""
    four = elapsed(boot, "share --threads 4 --count 10000")
    assert abs(four - 4 * 10000 * 40) <= 0.02 * four


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_no_thread_uses_a_line_ahead_of_the_others(boot, threads):
    """A transfer of half a quantum, so that one vCPU could use the line several times before the next one comes."""
    fast = Profile("fast", "", {"insn-ps": 140, "locked-ps": 5500, "line-upgrade-ps": 12000,
                                "line-read-ps": 12000, "line-write-ps": 12000})
    took = elapsed(boot, f"share --threads {threads} --count 20000", profile=fast)
    assert abs(took - threads * 20000 * 12) <= 0.02 * took


def test_levels_of_coherence(boot):
    share = f"share --threads 4 --count {COUNT}"
    plain = f"{share} --stride 8 --plain"
    off = elapsed(boot, plain, coherence="off")
    assert elapsed(boot, plain, coherence="atomic") <= 1.25 * off
    assert elapsed(boot, plain, coherence="full") >= 3 * off
    assert elapsed(boot, f"{share} --stride 64 --plain", coherence="full") <= 1.25 * off
    assert elapsed(boot, share, coherence="off") <= 1.25 * off


def test_a_hand_over_between_spinning_threads_is_prompt(boot):
    """zephyr #26868: with one clock for all vCPUs, one of them freezes while another spins."""
    assert elapsed(boot, "pingpong") > 0


def test_a_plugin_of_another_qemu_is_refused(boot, real_parts, tmp_path):
    source, other = tmp_path / "other.c", tmp_path / "other.so"
    source.write_text("extern void qemu_plugin_of_another_qemu(void);\n"
                      "int qemu_plugin_version = 4;\n"
                      "int qemu_plugin_install(void) { qemu_plugin_of_another_qemu(); return 0; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", other, source], check=True)
    outcome, _ = boot("true", parts=replace(real_parts, coherence=other))
    with pytest.raises(BrokenMachine, match=r"coherence\.so: undefined symbol: qemu_plugin_of_another_qemu"):
        outcome.check()


@pytest.mark.parametrize("quantum", [10, 50, 60])
def test_who_spins_for_a_lock_gets_it(boot, quantum):
    """The firmware's CPUs hand a lock round. One that looked at it when it asked for the line, and not when the line
    came, found it taken each time, for ever.
    """
    outcome, _ = boot("true", quantum=quantum)
    outcome.check()

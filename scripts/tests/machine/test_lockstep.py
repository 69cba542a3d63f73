# SPDX-License-Identifier: GPL-2.0-or-later
"""Four vCPUs are four."""


def elapsed(boot, command, **options):
    outcome, _ = boot(command, **options)
    outcome.check()
    assert outcome.results.code == 0
    return outcome.results.metrics["elapsed_ns"]


def test_four_spinning_threads_take_as_long_as_one(boot):
    one = elapsed(boot, "spin --threads 1 --count 20000000")
    four = elapsed(boot, "spin --threads 4 --count 20000000")
    assert four <= 1.02 * one


def test_a_hand_over_between_spinning_threads_is_prompt(boot):
    """zephyr #26868: with one clock for all vCPUs, one of them freezes while another spins."""
    assert elapsed(boot, "pingpong") > 0

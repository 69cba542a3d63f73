# SPDX-License-Identifier: GPL-2.0-or-later
"""The benchmarks, end to end: the switches switch, the results repeat, the tables are printed."""

import json

import pytest


def measured(ringstep, tmp_path, bench, arm, *more):
    path = tmp_path / f"{arm}.json"
    done = ringstep("run", bench, "--arm", arm, "--json", path, *more)
    assert done.code == 0, done.err
    return json.loads(path.read_text())


def test_iowq_echo_frees_in_batches_when_told(ringstep, tmp_path):
    before, after = (measured(ringstep, tmp_path, "iowq-echo", arm) for arm in ("before", "after"))
    for found in (before, after):
        assert found["metrics"]["requests"] > 1000
        assert found["metrics"]["latency_p99_ns"] >= found["metrics"]["latency_p50_ns"] > 0
        assert found["counters"]["io_uring_tw_adds"] > 0
    assert before["counters"]["io_uring_iowq_free_batches"] == 0
    assert after["counters"]["io_uring_iowq_free_batches"] > 0


def test_hybrid_echo_polls_when_told_and_gains(ringstep, tmp_path):
    before, after = (measured(ringstep, tmp_path, "hybrid-echo", arm) for arm in ("before", "after"))
    assert before["counters"]["io_uring_iowq_polls"] == 0
    assert after["counters"]["io_uring_iowq_polls"] > 0
    assert after["metrics"]["requests_per_s"] >= 1.5 * before["metrics"]["requests_per_s"]


def test_zc_wait_sleeps_when_told_and_switches_less(ringstep, tmp_path):
    before, after = (measured(ringstep, tmp_path, "zc-wait", arm)["counters"]
                     for arm in ("before", "after"))
    assert before["io_uring_tw_local_lazy_adds"] == 0
    assert after["io_uring_tw_local_lazy_adds"] > 0
    assert before["server_voluntary_switches"] >= 3 * after["server_voluntary_switches"] > 0


def test_zc_wait_for_one_buffer_is_the_same_in_both_arms(ringstep, tmp_path):
    before, after = (measured(ringstep, tmp_path, "zc-wait", arm, "--set", "guest.wait=1")["counters"]
                     for arm in ("before", "after"))
    assert after["io_uring_tw_local_lazy_adds"] == 0
    switches = [found["server_voluntary_switches"] for found in (before, after)]
    assert max(switches) - min(switches) <= max(switches) / 100


def test_tw_order_turns_lists_round_when_told(ringstep, tmp_path):
    before, after = (measured(ringstep, tmp_path, "tw-order", arm)["counters"]
                     for arm in ("before", "after"))
    for found in (before, after):
        assert found["io_uring_tw_local_lists"] > 100
        assert found["peer_payload_errors"] == 0
        assert found["peer_connections"] == 4
    assert before["io_uring_tw_local_fifo_lists"] == 0
    assert after["io_uring_tw_local_fifo_lists"] == after["io_uring_tw_local_lists"]


SHORT_READS = ("--set", "guest.depth=64", "--set", "guest.ramp_ms=10", "--set", "guest.runtime_ms=40")


def test_sqpoll_read_puts_completions_first_when_told(ringstep, tmp_path):
    before, after = (measured(ringstep, tmp_path, "sqpoll-read", arm, *SHORT_READS)
                     for arm in ("before", "after"))
    for found in (before, after):
        assert found["metrics"]["requests"] > 1000
        assert found["metrics"]["latency_p99_ns"] >= found["metrics"]["latency_p50_ns"] > 0
        assert found["counters"]["io_uring_submit_tws"] >= found["metrics"]["requests"]
    assert before["counters"]["io_uring_tw_prio_adds"] == 0
    assert after["counters"]["io_uring_tw_prio_adds"] >= after["metrics"]["requests"]


def test_arms_can_be_two_programs(ringstep, tmp_path):
    epoll, ring = (measured(ringstep, tmp_path, "epoll-echo", arm) for arm in ("before", "after"))
    for found in (epoll, ring):
        assert found["metrics"]["requests"] > 1000
        assert found["counters"]["peer_connections"] == 32
    assert epoll["counters"]["io_uring_tw_local_first_adds"] == 0
    assert epoll["metrics"]["guest_instructions"] != ring["metrics"]["guest_instructions"]


@pytest.mark.parametrize("bench", ["iowq-echo", "hybrid-echo", "zc-wait"])
def test_a_repeat_under_load_is_the_same_bit_for_bit(ringstep, bench):
    done = ringstep("verify", bench)
    assert done.code == 0, done.err


def test_a_repeat_gives_the_same_object(ringstep, tmp_path):
    one = measured(ringstep, tmp_path, "iowq-echo", "after")
    two = measured(ringstep, tmp_path, "iowq-echo", "after", "--force")
    del one["host"], two["host"]
    assert one == two


def test_every_queue_pair_is_used(ringstep, tmp_path):
    counters = measured(ringstep, tmp_path, "iowq-echo", "after")["counters"]
    for direction in ("rx", "tx"):
        packets = [counters[f"peer_{direction}_packets_q{queue}"] for queue in range(4)]
        assert sum(1 for count in packets if count) >= 2, packets


def test_compare_prints_its_table(ringstep):
    done = ringstep("compare", "iowq-echo", "--seeds", "1-2", "-j", "2")
    assert done.code == 0, done.err
    for word in ("digest", "kvm-noapicv", "seeds    1-2", "requests_per_s", "io_uring_tw_adds",
                 "published", "55,886"):
        assert word in done.out
    assert ringstep("compare", "iowq-echo", "--seeds", "1-2", "-j", "2").out == done.out

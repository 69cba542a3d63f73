# SPDX-License-Identifier: GPL-2.0-or-later
"""The speed test runs to its end. What it measures is the host's, and nothing is asserted about that."""

from ringsteplib import perf


def test_every_mode_does_the_work(real_cache, real_parts, monkeypatch):
    monkeypatch.setattr(perf, "GUESTS", {"spin": "spin --threads 4 --count 100000"})
    found = perf.by_mode(real_cache, real_parts, repeat=1)
    assert all(timing.work_s >= 0 and timing.boot_s > 0 for timing in found["spin"].values())
    text = perf.render_modes(found)
    assert all(mode.title in text for mode in perf.MODES)
    assert found["spin"][perf.DEFAULT.title].instructions > 800_000


def test_every_number_of_vcpus_does_the_work(real_cache, real_parts, monkeypatch):
    monkeypatch.setattr(perf, "VCPUS", (1, 2))
    monkeypatch.setattr(perf, "TURNS", 1_000_000)
    text = perf.render_vcpus(*perf.by_vcpus(real_cache, real_parts, repeat=1))
    assert [line.split()[0] for line in text.splitlines()[-2:]] == ["1", "2"]

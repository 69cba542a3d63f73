# SPDX-License-Identifier: GPL-2.0-or-later
"""Ablations: the groups, and parts that add up where the costs act independently."""

import pytest

from ringsteplib import ablate, benchmark, profile
from ringsteplib.errors import Usage
from ringsteplib.measure import Measurement
from ringsteplib.profile import Profile

BENCH = benchmark.parse("""
[benchmark]
name = x
profile = bare
guest = server
[arms]
before =
after =
[metrics]
time_ns = lower: of an operation
""", "x.ini")
PROFILE = Profile("p", "", {"insn-ps": 1000, "wake-ps": 3000, "interrupt-ps": 2000, "locked-ps": 500,
                            "mmio-ps": 0, "string-bytes": 32})
# What the fake guest does for an operation: (instructions, wake-ups, interrupts, locked instructions).
WORK = {"before": (100, 20, 10, 40), "after": (90, 10, 8, 40)}


def measure(machine):
    """A guest whose time is the sum of its costs."""
    costs, arm, seed = machine
    instructions, wakes, interrupts, locked = WORK[arm]
    ns = (instructions * costs.costs["insn-ps"] + wakes * costs.costs["wake-ps"]
          + interrupts * costs.costs["interrupt-ps"] + locked * costs.costs["locked-ps"]) / 1000 + seed
    return Measurement(f"{costs.name} {arm} {seed}", {"time_ns": ns, "rate_per_s": 1e9 / ns, "zero": 0}, {}, 0.1)


def run(metric="time_ns", coherence="atomic"):
    return ablate.ablate(BENCH, metric, PROFILE, coherence, [1, 2, 3], lambda *key: key, measure, 2)


@pytest.mark.parametrize("metric", ["time_ns", "rate_per_s"])
def test_parts_add_up(metric):
    result = run(metric)
    base = 100 + 20 * 3 + 10 * 2 + 40 * 0.5 + 2  # 2: the mean of the seeds
    wanted = {"wake-ups": -10 * 3, "interrupts and IPIs": -2 * 2, "cache lines": 0}
    for variant in result.variants:
        if variant.reference:
            mean, low, high = result.part(variant)
            assert [mean, low, high] == pytest.approx([100 * wanted[variant.group] / base] * 3, abs=1e-6)
    assert result.effect(ablate.WHOLE) == pytest.approx(100 * (-10 - 30 - 4) / base, abs=1e-6)
    assert result.effect(ablate.NOTHING) == pytest.approx(100 * -10 / base, abs=1e-6)
    text = ablate.render(result)
    rest = f"{100 * -34 / base:+.2f}"
    assert text.splitlines()[-2].split()[-1] == text.splitlines()[-1].split()[-1] == rest
    assert text.count(f"{rest} together") == 2


def test_only_what_costs_is_a_variant():
    titles = [variant.title for variant in ablate.variants(PROFILE, "atomic")]
    assert titles == ["all costs", "without wake-ups", "without interrupts and IPIs", "without cache lines",
                      "instructions only", "only wake-ups", "only interrupts and IPIs", "only cache lines"]
    assert not any("cache" in v.title for v in ablate.variants(PROFILE, "off"))
    costs = {v.title: v.profile.costs for v in ablate.variants(PROFILE, "atomic")}
    assert costs["without wake-ups"] == {**PROFILE.costs, "wake-ps": 0}
    assert costs["only wake-ups"] == {**dict.fromkeys(PROFILE.costs, 0), "insn-ps": 1000, "wake-ps": 3000,
                                      "string-bytes": 32}


def test_every_cost_belongs_to_one_group():
    grouped = [cost for costs in ablate.GROUPS.values() for cost in costs] + list(ablate.BASE)
    assert sorted(grouped) == sorted(profile.COSTS)


@pytest.mark.parametrize("metric", ["nonsense", "zero"])
def test_a_metric_without_a_percentage_is_refused(metric):
    with pytest.raises(Usage):
        run(metric)


def test_document():
    entries = ablate.document(run(), {})["variants"]
    assert entries[0]["part_points"] is None
    assert entries[1]["group"] == "wake-ups"
    assert len(entries[0]["runs"]) == 6


def test_command(ringstep):
    code, out, _ = ringstep("-q", "ablate", "iowq-echo", "--seeds", "1", "--metric", "requests", "--json", "a.json")
    assert code == 0
    assert "without wake-ups" in out and "instructions only" in out
    code, out, _ = ringstep("-q", "ablate", "iowq-echo", "--dry-run")
    assert code == 0 and "# only spinning" in out and "pause-ps=0" in out

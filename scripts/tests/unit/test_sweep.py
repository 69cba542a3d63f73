# SPDX-License-Identifier: GPL-2.0-or-later
"""Sweeps: the grid, the table, the files."""

import csv

import pytest

from ringsteplib import benchmark, report, sweep
from ringsteplib.errors import Usage
from ringsteplib.measure import Measurement

BENCH = benchmark.parse("""
[benchmark]
name = x
profile = bare
guest = server
[arms]
before =
after =
[metrics]
rate = higher: echoes
""", "x.ini")
AXES = [sweep.Axis.parse("peer.depth=1,2"), sweep.Axis.parse("machine.vcpus=4,8")]


def measure(machine):
    (depth, vcpus), arm, seed = machine
    rate = 100 * int(depth) + int(vcpus) + (10 if arm == "after" else 0) + seed
    return Measurement(f"digest-{depth}-{vcpus}-{arm}-{seed}", {"rate": rate}, {"c": 1}, 0.1)


def run(arms):
    return sweep.sweep(BENCH, AXES, arms, [1, 2], lambda *key: key, measure, 2)


def test_a_grid_in_order():
    result = run(["before", "after"])
    assert result.points == [("1", "4"), ("1", "8"), ("2", "4"), ("2", "8")]
    assert len(result.measurements) == 16
    assert sweep.texts(AXES, ("1", "8")) == ("peer.depth=1", "machine.vcpus=8")
    assert result.values(("2", "4"), "after", "rate") == [215, 216]


def test_both_arms_are_compared():
    lines = sweep.render(run(["before", "after"]), ["rate"]).splitlines()
    assert lines[2].split()[:2] == ["peer.depth", "machine.vcpus"]
    assert len(lines) == 4 + 4
    assert lines[4].split() == ["1", "4", "105.5", "±", "0.7%", "+9.5%", "[+9.5%,", "+9.5%]",
                                "115.5", "±", "0.6%", "rate"]


def test_one_arm_shows_its_range():
    lines = sweep.render(run(["after"]), ["rate"]).splitlines()
    assert lines[4].split() == ["1", "4", "115.5", "±", "0.6%", "115..116", "rate"]


def test_csv_and_json_have_every_run():
    result = run(["before", "after"])
    rows = list(csv.DictReader(sweep.to_csv(result).splitlines()))
    assert len(rows) == 16
    assert rows[0] == {"peer.depth": "1", "machine.vcpus": "4", "arm": "before", "seed": "1",
                       "digest": "digest-1-4-before-1", "c": "1", "rate": "105"}
    document = report.of_sweep(result, 1.0)
    assert document["schema"] == "ringstep.sweep/1"
    assert document["runs"][0]["point"] == {"peer.depth": "1", "machine.vcpus": "4"}
    assert document["runs"][0]["metrics"] == {"rate": 105}


@pytest.mark.parametrize("text", ["peer.depth", "peer.depth=", "peer.depth=1,,2", "peer.depth=1,1"])
def test_a_wrong_axis_is_refused(text):
    with pytest.raises(Usage):
        sweep.Axis.parse(text)


def test_one_key_twice_is_refused():
    with pytest.raises(Usage):
        sweep.sweep(BENCH, [AXES[0], AXES[0]], ["after"], [1], lambda *key: key, measure, 1)

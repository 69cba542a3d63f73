# SPDX-License-Identifier: GPL-2.0-or-later
"""Where costs come from and where effects come from: calibrate, validate and ablate, end to end."""

import json

import pytest

from ringsteplib import profile

# What the change saves is known: 10,000 atomic increments by one thread. The least of five times is one that no tick of the
# guest's timer is in: where costs, and so moments, change, a tick comes into the window of one arm only.
SYNTHETIC = """
[benchmark]
profile = bare
guest = count=20000; grep -q arm=after /proc/cmdline && count=10000;
        for i in 1 2 3 4 5; do RINGSTEP_DEVICE=none share --threads 1 --count $count; done > /tmp/times;
        sort -n -k 3 /tmp/times | head -n 1 | ringstep-ctl write
[arms]
before = synthetic.arm=before
after = synthetic.arm=after
[metrics]
elapsed_ns = lower: of the increments
"""


def test_an_effect_is_put_down_to_its_costs(ringstep, tmp_path):
    (tmp_path / "synthetic.ini").write_text(SYNTHETIC)
    done = ringstep("ablate", "./synthetic.ini", "--seeds", "1", "-j2", "--set", "profile.pause-ps=0",
                    "--set", "profile.locked-ps=6000", "--json", "a.json")
    assert done.code == 0, done.err
    found = {entry["title"]: entry for entry in json.loads((tmp_path / "a.json").read_text())["variants"]}
    runs = {run["arm"]: run["value"] for run in found["all costs"]["runs"]}
    part = {title: entry["part_points"]["mean"] * runs["before"] / 100
            for title, entry in found.items() if entry["part_points"]}
    for title in ("without cache lines", "only cache lines"):
        assert part[title] == pytest.approx(-10000 * 6, rel=0.01)
    for title in ("without long instructions", "only long instructions"):
        assert abs(part[title]) < 0.01 * 60000
    instructions = {run["arm"]: run["value"] for run in found["instructions only"]["runs"]}
    rest = runs["after"] - runs["before"] - (instructions["after"] - instructions["before"])
    assert part["without cache lines"] + part["without long instructions"] == pytest.approx(rest, rel=0.01)


def test_a_profile_of_this_host_is_made_and_checked(ringstep, tmp_path):
    """To the end, whatever this host's times are."""
    done = ringstep("calibrate", "--passes", "1", "--max-spread", "1000000000", "--out", "here.profile")
    assert done.code == 0, done.err
    costs = profile.load(str(tmp_path / "here.profile")).costs
    assert costs["insn-ps"] > 0 and costs["division-ps"] >= 0
    done = ringstep("validate", "--profile", "here.profile", "--passes", "1", "--json", "v.json")
    assert done.code == 0, done.err
    assert "median error" in done.out
    document = json.loads((tmp_path / "v.json").read_text())
    assert len(document["operations"]) >= 10 and document["pairs"] > 0

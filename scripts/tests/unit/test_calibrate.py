# SPDX-License-Identifier: GPL-2.0-or-later
"""Calibration and validation, with a host and a machine whose costs are known."""

import itertools
import re

import pytest

from ringsteplib import build_image, calibrate, microbench, profile, validate
from ringsteplib.errors import CannotTell
from ringsteplib.microbench import Entry, Reading
from ringsteplib.profile import Profile

TRUTH = {"insn-ps": 300, "string-bytes": 32, "division-ps": 4000, "pause-ps": 17000, "locked-ps": 5000,
         "string-ps": 9000, "syscall-ps": 60000, "fault-ps": 500000, "switch-ps": 700000,
         "wake-ps": 2000000, "line-write-ps": 30000, "line-read-ps": 30000, "line-upgrade-ps": 30000}
# operation -> (instructions, bytes of a REP, events)
WORK = {
    "interpreter": (140, 0, {}), "list": (6, 0, {}), "crc": (8, 0, {}), "format": (900, 0, {}),
    "string-64": (4, 64, {"string": 1}), "string-4096": (4, 4096, {"string": 1}),
    "division": (5, 0, {"division": 1}), "pause": (3, 0, {"pause": 1}), "locked": (3, 0, {"locked": 1}),
    "syscall": (150, 0, {"syscall": 1}), "fault": (900, 4096, {"fault": 1, "string": 1}),
    "pipe-same-cpu": (6000, 0, {"syscall": 4, "switch": 2, "locked": 30}),
    "pipe-two-cpus": (9000, 0, {"syscall": 4, "wake": 2, "locked": 40}),
    "contended": (0, 0, {"line-write": 1}), "memcpy": (80, 0, {}),
}
ENTRIES = [Entry(name, 2 if name in ("contended", "pipe-two-cpus") else 1, f"what {name} is") for name in WORK]


def took(name, costs):
    instructions, length, events = WORK[name]
    executed = instructions + -(-length // costs.get("string-bytes", 1))
    ps = executed * costs["insn-ps"] + sum(n * costs.get(f"{event}-ps", 0) for event, n in events.items())
    return Reading(ps, 3.0, events=events)


def machine(found, names=WORK):
    return {name: took(name, found.costs) for name in names}


def host(names=WORK):
    return machine(Profile("truth", "", TRUTH), names)


def test_known_costs_are_found():
    found = calibrate.calibrate("h", host(), machine, Profile("base", "", {"insn-ps": 1, "mmio-ps": 7}), 30)
    assert found.profile.costs == {**TRUTH, "mmio-ps": 7}
    assert "not measured: as in the profile base" in found.sources["mmio-ps"]
    text = calibrate.profile_text(found, "a processor, 2 CPUs")
    again = profile.parse("h", text)
    assert again.costs == found.profile.costs
    assert again.description.startswith("Calibrated")
    assert all("#" in line for line in text.splitlines() if line and not line.startswith("version"))
    table = calibrate.render(found, ENTRIES)
    rows = [line.split() for line in table.splitlines() if ": what" in line]
    assert len(rows) == len(WORK)
    assert re.search(r"1\.00 +check +memcpy", table)
    assert re.search(r"1\.00 +wake-ps +pipe-two-cpus", table)


def test_nothing_is_below_zero():
    fast = {**host(), "syscall": Reading(1000, 0.0)}
    found = calibrate.calibrate("h", fast, machine, Profile("base", "", {}), 30)
    assert found.profile.costs["syscall-ps"] == 0
    assert "nothing is left" in found.sources["syscall-ps"]


def test_a_noisy_host_is_refused_with_its_spread():
    noisy = {**host(), "crc": Reading(2400, 61.0)}
    with pytest.raises(CannotTell, match="more than 30 % of the median: crc 61 %"):
        calibrate.calibrate("h", noisy, machine, Profile("base", "", {}), 30)
    calibrate.calibrate("h", noisy, machine, Profile("base", "", {}), 61)


def test_a_cost_that_no_profile_can_have_is_refused():
    with pytest.raises(CannotTell, match="wake-ps comes out as"):
        calibrate.calibrate("h", {**host(), "pipe-two-cpus": Reading(10**13, 1.0)}, machine,
                            Profile("base", "", {}), 30)


def test_one_cpu_leaves_costs_to_the_base():
    one = [entry.name for entry in ENTRIES if entry.cpus == 1]
    base = Profile("base", "", {"insn-ps": 1, "wake-ps": 11, "line-write-ps": 12})
    found = calibrate.calibrate("h", host(one), lambda costs: machine(costs, one), base, 30)
    assert found.profile.costs["wake-ps"] == 11 and found.profile.costs["line-write-ps"] == 12
    assert "line-read-ps" not in found.profile.costs
    assert "needs more CPUs" in calibrate.render(found, ENTRIES)


def test_what_the_host_refuses_is_shown():
    readings = {**host(), "memcpy": Reading(None, refused="Operation not permitted")}
    found = calibrate.calibrate("h", readings, machine, Profile("base", "", {}), 30)
    assert "Operation not permitted" in calibrate.render(found, ENTRIES)


def test_an_event_that_never_comes_is_an_error():
    with pytest.raises(CannotTell, match="'division' causes no division"):
        calibrate.calibrate("h", host(), lambda costs: {
            name: Reading(reading.ps, events={}) for name, reading in machine(costs).items()},
            Profile("base", "", {}), 30)


def test_validation_counts_errors_and_pairs():
    found = validate.Validation(
        Profile("p", "", {}), "atomic", 2,
        {"a": Reading(100.0), "b": Reading(140.0), "c": Reading(300.0), "d": Reading(1000.0),
         "e": Reading(None, refused="no io_uring")},
        {"a": Reading(110.0), "b": Reading(70.0), "c": Reading(360.0), "d": Reading(200.0),
         "e": Reading(None, refused="no io_uring")})
    assert found.ratios() == {"a": 1.1, "b": 0.5, "c": 1.2, "d": 0.2}
    assert found.median_error_percent() == pytest.approx(35)
    assert found.ranking() == (5, 4)  # a and b are too near; d is predicted to be faster than c
    text = validate.render(found, [Entry(name, 1, "what") for name in "abcde"])
    assert "median error 35 % of 4 operations; the worst is d" in text
    assert "right in 4 of 5 pairs" in text
    assert "no io_uring" in text
    assert validate.document(found, {})["operations"]["b"]["predicted_ps"] == 70


def script(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_rounds_become_a_median_and_a_spread(tmp_path):
    program = script(tmp_path, "p", "for ns in 1000 1100 1200 9999; do echo a 10 $ns; done; "
                                    "echo b refused Operation not permitted")
    found = microbench.on_host(program, ["a", "b"], passes=1)
    assert found["a"].ps == 115000 and 0 < found["a"].spread_percent < 300
    assert found["b"] == Reading(None, refused="Operation not permitted")


def test_a_program_that_fails_is_no_result(tmp_path):
    with pytest.raises(CannotTell, match="no pipes here"):
        microbench.on_host(script(tmp_path, "p", "echo no pipes here >&2; exit 1"), ["a"])


def test_in_a_machine_the_set_up_is_subtracted():
    rounds = ["a 20 5000 syscall=21 vcpu=1\na 20 4000 syscall=22\n", "a 40 9000\na 40 7000 syscall=42\n"]
    short, long = (microbench._last_rounds(text) for text in rounds)
    found = microbench._per_operation(short["a"], long["a"])
    assert found.ps == 150000 and found.events == {"syscall": 1.0}


def native_program(folder, name, rounds):
    """A program of the host's side: says what operations there are, and ROUNDS, lines, of those that it is given."""
    (folder / "list").write_text("".join(f"{entry.name} {entry.cpus} {entry.what}\n" for entry in ENTRIES))
    (folder / f"{name}.rounds").write_text("".join(f"{line}\n" for line in rounds))
    script(folder, name, f"cd {folder}\n[ $1 = --list ] && exec cat list\n"
                         f"shift 2; for n; do grep \"^$n \" {name}.rounds; done")


@pytest.fixture
def native(monkeypatch, tmp_path):
    """Programs that measure the truth, on a host and in a machine."""
    folder = tmp_path / "native"
    folder.mkdir()
    for name in ("micro", "workload"):
        native_program(folder, name, (f"{bench} 1000 {took(bench, TRUTH).ps}" for bench in WORK))
    monkeypatch.setattr(build_image, "programs", lambda _: folder)
    monkeypatch.setattr(microbench, "host_cpus", lambda: 2)
    monkeypatch.setattr(microbench, "in_machine",
                        lambda _cache, _parts, found, _program, names, *_: machine(found, names))
    return folder


def test_commands(ringstep, native, tmp_path):
    code, out, _ = ringstep("-q", "calibrate", "--out", "mine.profile")
    assert code == 0 and "wake-ps" in out
    assert profile.load(str(tmp_path / "mine.profile")).costs == {**profile.load("bare").costs, **TRUTH}
    code, out, _ = ringstep("-q", "validate", "--profile", "mine.profile", "--json", "v.json")
    assert code == 0 and "median error 0 %" in out
    code, _, err = ringstep("-q", "validate", "--profile", "nowhere.profile")
    assert code == 2 and "nowhere.profile" in err


def test_a_noisy_host_gets_no_profile(ringstep, native, tmp_path):
    native_program(native, "micro",
                   (f"{bench} 1000 {ns}" for bench, ns in itertools.product(WORK, (1000, 2000, 9000))))
    code, _, err = ringstep("-q", "calibrate", "--out", "mine.profile")
    assert code == 125 and "too noisy" in err and "--max-spread" in err
    assert not list(tmp_path.glob("mine*"))


def test_a_host_with_one_cpu_says_so(ringstep, native, monkeypatch):
    monkeypatch.setattr(microbench, "host_cpus", lambda: 1)
    code, out, err = ringstep("calibrate")
    assert code == 0 and "this host has 1 CPU" in err
    assert "wake-ps" not in out.partition("version")[2]

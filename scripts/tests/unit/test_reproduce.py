# SPDX-License-Identifier: GPL-2.0-or-later
"""`ringstep reproduce`: the table, and the check of a results file."""

import json

import pytest

from ringsteplib import benchmark, reproduce
from ringsteplib.compare import Comparison
from ringsteplib.errors import BrokenMachine, CannotTell, Usage
from ringsteplib.measure import Measurement

BENCH = benchmark.parse("""
[benchmark]
name = x
description = some echoes
profile = bare
guest = server
[arms]
before =
after =
[metrics]
rate = higher: echoes
[published]
change = 4
metric = rate
before = 100
after = 150
source = a list
cause = fewer wake-ups {wakes}
""", "x.ini")


def compared(before, after):
    found = {(arm, seed): Measurement(f"{arm}{seed}", {"rate": rate + seed}, {"wakes": 10}, 1.0)
             for arm, rate in (("before", before), ("after", after)) for seed in (1, 2)}
    return Comparison(BENCH, [1, 2], {}, found)


def row_of(comparison):
    return reproduce.render([comparison]).splitlines()[2].split()


def test_a_row_has_both_changes():
    assert row_of(compared(1000, 1250)) == [
        "4", "rate", "100", "150", "+50.0%", "1,002", "1,252", "+25.0%", "[+25.0%,", "+25.0%]",
        "same", "0.50x", "x"]
    assert row_of(compared(1000, 750))[-3:] == ["opposite", "-0.50x", "x"]
    assert row_of(compared(1000, 1000))[-4:] == ["+0.0%]", "none", "-", "x"]


def test_the_cause_is_shown_by_its_counter():
    assert "cause  fewer wake-ups (wakes 10 -> 10, +0 %)" in reproduce.render([compared(1, 2)])


def test_the_five_changes_have_a_benchmark_each():
    assert [bench.published["change"] for bench in reproduce.benchmarks()] == [0, 1, 2, 3, 4]
    for bench in reproduce.benchmarks():
        assert {"source", "host", "cause"} <= bench.published.keys()


class FakeMachine:
    def __init__(self, *key, digest=None):
        self.key, self.text = key, digest or f"{key[1]}{key[2]}"

    def digest(self):
        return self.text


def results_file(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(reproduce.document([compared(10, 20)], {})))
    return path


def checked(path, machine_of=FakeMachine, comparison=None):
    measured = (comparison or compared(10, 20)).measurements
    return reproduce.check(reproduce.read(path), machine_of, lambda machines: {
        key: measured[key[1:]] for key in machines})


def test_a_check_of_equal_runs(tmp_path):
    path = results_file(tmp_path)
    assert "4 runs, the same digests, the same results" in checked(path).verdict(path)


def test_a_check_tells_another_result(tmp_path):
    path = results_file(tmp_path)
    with pytest.raises(BrokenMachine) as caught:
        checked(path, comparison=compared(10, 21)).verdict(path)
    assert "x, arm after, seed 1: rate 21 -> 22" in caught.value.message


def test_a_check_tells_other_inputs(tmp_path):
    path = results_file(tmp_path)
    with pytest.raises(CannotTell, match="4 runs of .* have other digests here"):
        checked(path, lambda *key: FakeMachine(*key, digest="another")).verdict(path)


@pytest.mark.parametrize("text", [
    "", "{}", "[]", '{"schema": "ringstep.run/1"}', '{"schema": "ringstep.reproduce/1"}',
    '{"schema": "ringstep.reproduce/1", "runs": []}',
    '{"schema": "ringstep.reproduce/1", "runs": [{"bench": "iowq-echo"}]}'])
def test_what_is_no_results_file_is_refused(tmp_path, text):
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(Usage, match="is no results file"):
        reproduce.read(path)


@pytest.mark.parametrize("bench,says", [("nothing", "unknown benchmark"), ("zc-wait", "has no run of")])
def test_a_check_of_nothing_is_refused(tmp_path, ringstep, bench, says):
    path = results_file(tmp_path)
    path.write_text(path.read_text().replace('"bench": "x"', f'"bench": "{bench}"'))
    code, out, err = ringstep("reproduce", "--check", path, "--bench", "iowq-echo")
    assert (code, out) == (2, "") and says in err


def test_reproduce_and_compare_run_the_same_machine(ringstep):
    whole = ringstep("reproduce", "--bench", "iowq-echo", "--dry-run")
    assert whole[0] == 0 and whole[1] in ringstep("compare", "iowq-echo", "--dry-run")[1]

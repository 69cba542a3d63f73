# SPDX-License-Identifier: GPL-2.0-or-later
"""Every change with a published figure, ours beside it; and the check of a results file, bit by bit.

A results file names each run by benchmark, arm and seed, with its digest, its metrics and a hash of
its counters. Whoever has the same digests has to get the same numbers.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from . import benchmark, digest, stats, table
from .benchmark import ARMS
from .errors import BrokenMachine, CannotTell, Usage

SCHEMA = "ringstep.reproduce/1"
RECORD = {"bench": str, "arm": str, "seed": int, "digest": str, "metrics": dict,
          "counters_sha256": str}
HEAD = ["change", "metric", "published before", "after", "%change", "ours before", "after",
        "%change", "95 % interval", "sign", "size", "benchmark"]


def benchmarks():
    """Those that reproduce a published figure, in the order of the changes."""
    found = [benchmark.load(name) for name in benchmark.names()]
    return sorted((bench for bench in found if "change" in bench.published),
                  key=lambda bench: bench.published["change"])


# the table

def render(comparisons):
    """The table, and below it each change's cause with the counters that show it."""
    rows = [_row(comparison) for comparison in comparisons]
    return "\n\n".join([table.grid(HEAD, rows), *map(_about, comparisons)]) + "\n"


def _row(comparison):
    published = comparison.benchmark.published
    theirs = stats.percent(published["before"], published["after"])
    values = [comparison.values(arm, published["metric"]) for arm in ARMS]
    change = stats.change(*values)
    return [f"{published['change']:.0f}", published["metric"],
            table.quantity(published["before"]), table.quantity(published["after"]),
            f"{theirs:+.1f}%", *(table.quantity(stats.mean(v)) for v in values),
            table.percent(change), table.interval(change), _sign(change, theirs),
            _size(change, theirs), comparison.benchmark.name]


def _sign(change, theirs):
    """Does the change go the way that was published, beyond doubt?"""
    if not change.real:
        return "none"
    return "same" if change.percent * theirs > 0 else "opposite"


def _size(change, theirs):
    """Our change as a multiple of the published one."""
    return f"{change.percent / theirs:.2f}x" if change.real else "-"


def _about(comparison):
    bench = comparison.benchmark
    published = bench.published
    lines = [f"{published['change']:.0f}  {bench.name}: {bench.description}"]
    for key in ("source", "host"):
        if key in published:
            lines.append(f"   {key:<7}{published[key]}")
    if "cause" in published:
        lines.append(f"   cause  {_filled(published['cause'], comparison)}")
    return "\n".join(lines)


def _filled(text, comparison):
    """TEXT with {NAME} replaced by what was measured: before -> after (change)."""

    def measured(match):
        values = [comparison.values(arm, match[1]) for arm in ARMS]
        if None in values:
            raise Usage(f"{comparison.benchmark.name}: [published] cause names {match[1]}, which no run has")
        before, after = map(stats.mean, values)
        change = stats.change(*values)
        percent = "" if change.percent is None else f", {change.percent:+.0f} %"
        return f"({match[1]} {table.quantity(before)} -> {table.quantity(after)}{percent})"

    return re.sub(r"\{(\w+)\}", measured, text)


# the results file

def document(comparisons, host):
    """The object of a results file."""
    runs = [{"bench": comparison.benchmark.name, "arm": arm, "seed": seed,
             **_record(comparison.measurements[arm, seed])}
            for comparison in comparisons for seed in comparison.seeds for arm in ARMS]
    return {"schema": SCHEMA, "runs": runs, "host": host}


def _record(measurement):
    return {"digest": measurement.digest, "metrics": measurement.metrics,
            "counters_sha256": digest.of_value(measurement.counters)}


def read(path):
    """The runs in the results file PATH."""
    try:
        found = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise Usage(f"{path} is no results file: {error}", "ringstep reproduce --json FILE writes one") from error
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise Usage(f"{path} is no results file: its schema is not {SCHEMA}")
    runs = found.get("runs")
    if not isinstance(runs, list) or not runs or not all(map(_whole, runs)):
        raise Usage(f"{path} is no results file: it has no runs, or one that lacks something")
    return runs


def _whole(run):
    """Has RUN all that is compared?"""
    return isinstance(run, dict) and all(isinstance(run.get(key), kind)
                                         for key, kind in RECORD.items())


@dataclass(frozen=True)
class Check:
    """What became of the runs of a results file."""

    same: int
    other_inputs: list  # runs whose digest is another one here
    other_results: list  # texts: runs of equal digest with another result

    def verdict(self, path):
        """One line if all is well; else the error."""
        if self.other_results:
            raise BrokenMachine(f"equal digests, other results than in {path}:\n    "
                                + "\n    ".join(self.other_results), "this is a bug of ringstep")
        if self.other_inputs:
            first = self.other_inputs[0]
            raise CannotTell(
                f"{len(self.other_inputs)} runs of {path} have other digests here, the first one is "
                f"{first['bench']}, arm {first['arm']}, seed {first['seed']}",
                "another version of ringstep, or another compiler, has made the file")
        return f"{path}: {self.same} runs, the same digests, the same results, bit for bit\n"


def check(runs, machine_of, measure_all):
    """Run again what RUNS record; `measure_all({key: machine})` simulates."""
    keyed = {(run["bench"], run["arm"], run["seed"]): run for run in runs}
    equal, other_inputs = {}, []
    for key, run in keyed.items():
        machine = machine_of(*key)
        if machine.digest() == run["digest"]:
            equal[key] = machine
        else:
            other_inputs.append(run)
    measured = measure_all(equal)
    differences = {key: _differences(keyed[key], found) for key, found in measured.items()}
    wrong = [f"{bench}, arm {arm}, seed {seed}: {text}"
             for (bench, arm, seed), text in differences.items() if text]
    return Check(len(equal) - len(wrong), other_inputs, wrong)


def _differences(recorded, measurement):
    """What differs, as a text; empty if nothing does."""
    found = _record(measurement)
    names = {*recorded["metrics"], *found["metrics"]}
    texts = [f"{name} {recorded['metrics'].get(name)} -> {found['metrics'].get(name)}"
             for name in sorted(names)
             if recorded["metrics"].get(name) != found["metrics"].get(name)]
    if recorded["counters_sha256"] != found["counters_sha256"]:
        texts.append("counters")
    return ", ".join(texts)

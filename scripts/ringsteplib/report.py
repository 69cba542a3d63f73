# SPDX-License-Identifier: GPL-2.0-or-later
"""Machine-readable reports. Everything that may differ between two equal runs is under `host`."""

import json
import os
from pathlib import Path

from . import host, stats
from .benchmark import ARMS
from .errors import CannotTell

RUN_SCHEMA = "ringstep.run/1"
COMPARE_SCHEMA = "ringstep.compare/1"
SWEEP_SCHEMA = "ringstep.sweep/1"


def of_run(benchmark, arm, machine, measurement):
    """The object for one run."""
    return {
        "schema": RUN_SCHEMA, "bench": benchmark.name, "arm": arm, "seed": machine.seed,
        "profile": machine.profile.name, "digest": measurement.digest,
        "metrics": measurement.metrics, "counters": measurement.counters,
        "host": {**host.description(), "cached": measurement.wall_seconds is None,
                 "wall_seconds": measurement.wall_seconds},
    }


def of_comparison(comparison, wall_seconds):
    """The object for one comparison."""
    names = comparison.names()
    arms = {arm: {name: _summary(comparison.values(arm, name)) for name in names} for arm in ARMS}
    changes = {name: comparison.change(name) for name in names}
    return {
        "schema": COMPARE_SCHEMA, "bench": comparison.benchmark.name, "seeds": comparison.seeds,
        "profile": comparison.machines["before"].profile.name,
        "digest": {arm: comparison.digest(arm) for arm in ARMS}, "arms": arms,
        "change": {name: {"percent": _rounded(change.percent), "low": _rounded(change.low),
                          "high": _rounded(change.high)} for name, change in changes.items()},
        "published": comparison.benchmark.published,
        "host": {**host.description(), "wall_seconds": wall_seconds},
    }


def of_sweep(sweep, wall_seconds):
    """The object for one sweep: every run's digest, metrics and counters."""
    keys = [axis.key for axis in sweep.axes]
    runs = []
    for point, arm, seed in sweep.runs():
        found = sweep.measurements[point, arm, seed]
        runs.append({"point": dict(zip(keys, point)), "arm": arm, "seed": seed,
                     "digest": found.digest, "metrics": found.metrics, "counters": found.counters})
    return {"schema": SWEEP_SCHEMA, "bench": sweep.benchmark.name, "runs": runs,
            "vary": {axis.key: list(axis.values) for axis in sweep.axes},
            "arms": sweep.arms, "seeds": sweep.seeds,
            "host": {**host.description(), "wall_seconds": wall_seconds}}


def _summary(values):
    return {"mean": _rounded(stats.mean(values)), "sd": _rounded(stats.deviation(values))}


def _rounded(value):
    """Six decimals: the last bits of a logarithm or root are the host's library's."""
    return None if value is None else round(value, 6)


def write(path, document):
    """Write DOCUMENT as JSON to PATH, whole or not at all (`-`: to stdout)."""
    write_text(path, json.dumps(document, indent=2, sort_keys=True) + "\n")


def write_text(path, text):
    """Write TEXT to PATH, whole or not at all (`-`: to stdout)."""
    if path == "-":
        print(text, end="")
        return
    aside = Path(f"{path}.{os.getpid()}.part")
    try:
        aside.write_text(text)
        os.replace(aside, path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise CannotTell(f"{path} cannot be written: {error.strerror}",
                         "give another file") from error

# SPDX-License-Identifier: GPL-2.0-or-later
"""A sweep: a benchmark at every point of a grid of settings. What has been run already is not run again."""

import csv
import io
import itertools
from dataclasses import dataclass

from . import measure, stats, table
from .compare import measure_all, seeds_text
from .errors import Usage


@dataclass(frozen=True)
class Axis:
    """One setting and the values that it takes."""

    key: str
    values: tuple

    @classmethod
    def parse(cls, text):
        key, separator, values = text.partition("=")
        found = tuple(values.split(","))
        if not separator or not key or not all(found) or len(set(found)) != len(found):
            raise Usage(f"--vary {text}: not KEY=VALUE,VALUE,...",
                        "for example --vary peer.connections=1,8,64")
        return cls(key, found)


@dataclass(frozen=True)
class Sweep:
    benchmark: object
    axes: list
    arms: list
    seeds: list
    points: list  # tuples of values, one for each axis
    measurements: dict  # (point, arm, seed) -> Measurement

    def values(self, point, arm, name):
        """The values of a metric or counter over the seeds; None if a run lacks it."""
        return measure.values((self.measurements[point, arm, seed] for seed in self.seeds), name)

    def runs(self):
        """(point, arm, seed) of every run, in the grid's order."""
        return itertools.product(self.points, self.arms, self.seeds)

    def names(self):
        """Every metric and counter that all runs have, sorted."""
        return measure.common_names(self.measurements.values())


def points(axes):
    """The grid: tuples of values, one for each axis."""
    keys = [axis.key for axis in axes]
    if len(set(keys)) != len(keys):
        raise Usage("--vary: a key is there twice")
    return list(itertools.product(*(axis.values for axis in axes)))


def texts(axes, point):
    """POINT as KEY=VALUE."""
    return tuple(f"{axis.key}={value}" for axis, value in zip(axes, point))


def sweep(benchmark, axes, arms, seeds, machine_of, measure_one, jobs):
    """`measure_one(machine_of(point, arm, seed))` over the whole grid, JOBS at once."""
    grid = points(axes)
    machines = {(point, arm, seed): machine_of(point, arm, seed)
                for point in grid for arm in arms for seed in seeds}
    measurements = measure_all(f"sweep {benchmark.name}", machines, measure_one, jobs)
    return Sweep(benchmark, axes, arms, seeds, grid, measurements)


def render(result, metrics):
    """One row for each point and metric."""
    keys = [axis.key for axis in result.axes]
    both = len(result.arms) == 2
    head = ["before", "%change", "95 % interval", "after"] if both else [result.arms[0], "range"]
    rows = []
    for name in metrics:
        for point in result.points:
            cells = _compared(result, point, name) if both else _single(result, point, name)
            if cells:
                rows.append([*point, *cells, name])
    arms = "both arms" if both else f"arm {result.arms[0]}"
    title = f"{result.benchmark.name}: {arms}, seeds {seeds_text(result.seeds)}"
    return f"{title}\n\n{table.grid([*keys, *head, 'metric'], rows)}\n"


def _compared(result, point, name):
    values = [result.values(point, arm, name) for arm in result.arms]
    if None in values:
        return None
    change = stats.change(*values)
    return [table.spread(values[0]), table.percent(change), table.interval(change),
            table.spread(values[1])]


def _single(result, point, name):
    values = result.values(point, result.arms[0], name)
    return values and [table.spread(values), table.extent(values)]


def to_csv(result):
    """One line for each run: where it is in the grid, and all that was measured."""
    names = result.names()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(axis.key for axis in result.axes), "arm", "seed", "digest", *names])
    for point, arm, seed in result.runs():
        measurement = result.measurements[point, arm, seed]
        writer.writerow([*point, arm, seed, measurement.digest, *map(measurement.get, names)])
    return text.getvalue()

# SPDX-License-Identifier: GPL-2.0-or-later
"""A comparison: both arms for every seed, each in a boot of its own, paired by seed."""

from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass

from . import digest, measure, process, progress, stats
from .benchmark import ARMS
from .errors import BrokenMachine, Usage


@dataclass(frozen=True)
class Comparison:
    benchmark: object
    seeds: list
    machines: dict  # arm -> the machine of its first seed
    measurements: dict  # (arm, seed) -> Measurement

    def values(self, arm, name):
        """The values of a metric or counter over the seeds, in their order; None if one lacks it."""
        return measure.values((self.measurements[arm, seed] for seed in self.seeds), name)

    def names(self):
        """Every metric and counter that all runs have, sorted."""
        return measure.common_names(self.measurements.values())

    def change(self, name):
        return stats.change(*(self.values(arm, name) for arm in ARMS))

    def regressions(self):
        """The metrics that are worse after, beyond doubt."""
        worse = []
        for shown in self.benchmark.metrics:
            sign = {"higher": -1, "lower": 1}.get(shown.direction, 0)
            if None in (self.values(arm, shown.name) for arm in ARMS):
                continue
            change = self.change(shown.name)
            if change.real and change.percent * sign > 0:
                worse.append(shown.name)
        return worse

    def digest(self, arm):
        """One digest for all runs of ARM."""
        return digest.of_value([self.measurements[arm, seed].digest for seed in self.seeds])


def parse_seeds(text):
    """`1-3,7` as [1, 2, 3, 7]."""
    seeds = []
    for part in text.split(","):
        first, separator, last = part.partition("-")
        try:
            seeds += range(int(first), int(last if separator else first) + 1)
        except ValueError:
            raise Usage(f"--seeds {text}: not a list of numbers and ranges",
                        "for example 1-10 or 1,3,7-9") from None
    if not seeds or len(seeds) != len(set(seeds)):
        raise Usage(f"--seeds {text}: empty, or a seed is there twice")
    return seeds


def seeds_text(seeds):
    """[1, 2, 3, 7] as `1-3,7`."""
    parts, start = [], 0
    for i in range(1, len(seeds) + 1):
        if i == len(seeds) or seeds[i] != seeds[i - 1] + 1:
            first, last = seeds[start], seeds[i - 1]
            parts.append(f"{first}" if first == last else f"{first}-{last}")
            start = i
    return ",".join(parts)


def compare(benchmark, seeds, machine_of, measure_one, jobs):
    """`measure_one(machine_of(arm, seed))` for every arm and seed, JOBS at once."""
    machines = {(arm, seed): machine_of(arm, seed) for seed in seeds for arm in ARMS}
    measurements = measure_all(f"compare {benchmark.name}", machines, measure_one, jobs)
    first = {arm: machines[arm, seeds[0]] for arm in ARMS}
    return Comparison(benchmark, seeds, first, measurements)


def measure_all(title, machines, measure_one, jobs):
    """{key: measurement} for MACHINES, a dict by the same keys; JOBS at once."""
    measurements = {}
    with ThreadPoolExecutor(jobs) as pool, progress.Bar(title) as bar:
        futures = {pool.submit(measure_one, machine): key for key, machine in machines.items()}
        try:
            pending = set(futures)
            while pending:
                bar.update(len(measurements), len(machines), "runs")
                done, pending = wait(pending, timeout=1, return_when=FIRST_EXCEPTION)
                for future in done:
                    measurements[futures[future]] = future.result()
        finally:
            _stop(futures)
    if not all(measurements[key].metrics for key in machines):
        raise BrokenMachine("a run reported no metric at all",
                            "does the benchmark's command mark its window? see ringstep boot")
    return measurements


def _stop(futures):
    """End what still runs and start nothing more."""
    for future in futures:
        future.cancel()
    while not all(future.done() for future in futures):
        process.stop_all()
        wait(futures, timeout=0.1)

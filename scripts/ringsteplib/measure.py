# SPDX-License-Identifier: GPL-2.0-or-later
"""One measurement: the record of a machine's run, from the store or simulated now."""

import re
import shutil
from dataclasses import dataclass

from . import metrics, progress
from .errors import Bad, CannotTell, Usage, unknown
from .outcome import tail
from .run import run


@dataclass(frozen=True)
class Measurement:
    digest: str
    metrics: dict
    counters: dict
    wall_seconds: float | None  # None: from the store

    def get(self, name):
        """The metric or counter NAME, or None."""
        return self.metrics.get(name, self.counters.get(name))


def values(measurements, name):
    """The metric or counter NAME of each; None if one lacks it."""
    found = [measurement.get(name) for measurement in measurements]
    return None if None in found else found


def common_names(measurements):
    """Every metric and counter that all have, sorted."""
    return sorted(set.intersection(*({*m.metrics, *m.counters} for m in measurements)))


@dataclass(frozen=True)
class Requirement:
    """`METRIC>=VALUE` or `METRIC<=VALUE`: what a good kernel reaches."""

    name: str
    operator: str
    bound: float

    @classmethod
    def parse(cls, text):
        match = re.fullmatch(r"([a-z0-9_.]+)(>=|<=)([0-9.eE+-]+)", text.replace(" ", ""))
        try:
            return cls(match[1], match[2], float(match[3]))
        except (TypeError, ValueError):
            raise Usage(f"--require {text}: not METRIC>=VALUE or METRIC<=VALUE",
                        "for example --require 'requests_per_s>=50000'") from None

    def check(self, measurement):
        value = measurement.get(self.name)
        if value is None:
            raise unknown("metric", self.name, {**measurement.metrics, **measurement.counters})
        holds = value >= self.bound if self.operator == ">=" else value <= self.bound
        if not holds:
            raise Bad(f"{self.name} is {value}, required: {self.operator} {self.bound:g}")


class Runner:
    """Runs machines, remembering their results."""

    def __init__(self, cache, store, force=False, keep=False, host_limit_s=3600):
        self.cache, self.store, self.force, self.keep = cache, store, force, keep
        self.host_limit_s = host_limit_s

    def measure(self, machine):
        """The measurement of MACHINE; simulated only when its digest is not in the store."""
        key = machine.digest()
        record = None if self.force else self.store.get(key)
        if record:
            progress.say(f"seed {machine.seed}: cached (digest {key[:12]}; --force runs it again)")
            return Measurement(key, record["metrics"], record["counters"], None)
        with self.cache.run_folder() as folder:
            try:
                outcome = run(machine, folder, host_limit_s=self.host_limit_s)
                finished(outcome)
                found, counters = metrics.of_outcome(outcome)
            finally:
                if self.keep:
                    keep_folder(folder)
        if machine.digest() != key:
            raise CannotTell("a file that the machine reads has changed while it ran",
                             "is the disk's image in use by something else?")
        self.store.put(key, {"metrics": found, "counters": counters})
        return Measurement(key, found, counters, outcome.wall_seconds)


def finished(outcome):
    """Raise unless the benchmark came to its end in the guest."""
    outcome.check()
    for line in outcome.complaints()[:5]:
        progress.warn(f"the guest kernel complains: {line.strip()}")
    wrong = outcome.results.counters.get("peer_payload_errors")
    if wrong:
        raise Bad(f"the clients got {wrong} replies with other bytes than they asked for",
                  "the server or the kernel lost the order of a stream; --keep leaves the folder")
    if outcome.results.code != 0:
        said = "".join(f"\n    {text}" for text in outcome.results.texts)
        raise Bad(f"the benchmark failed in the guest with exit code {outcome.results.code}"
                  + said + tail(outcome.output or outcome.console),
                  "run it by hand: ringstep boot, then the command that --dry-run shows")


def keep_folder(folder):
    """Leave a copy of a run folder where the user is."""
    target = f"ringstep-{folder.name}"
    shutil.copytree(folder, target, symlinks=True, dirs_exist_ok=True)
    progress.warn(f"the run's folder is kept in {target}")

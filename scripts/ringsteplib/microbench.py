# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's micro-benchmarks (guest-tests/lib/bench.h), on this host and in a machine."""

import os
import statistics
import subprocess
from dataclasses import dataclass

from . import process
from .errors import CannotTell
from .machine import MAX_VCPUS, Machine
from .measure import finished
from .run import run

PASSES = 3  # the whole table so often, so that a disturbance does not hit one operation alone
ROUNDS = 7  # of each operation in a pass
GUEST_PERCENT = (2, 4)  # of a host's operations; what two such rounds differ by has no set-up in it
GUEST_ROUNDS = 2  # the first one warms up
MACHINE_SECONDS = 600


@dataclass(frozen=True)
class Reading:
    """What an operation took."""

    ps: float | None  # None: refused
    spread_percent: float = 0.0  # the middle half of the rounds, of the median
    events: dict = None  # of an operation, in a machine: event -> count
    refused: str = ""


@dataclass(frozen=True)
class Entry:
    """A line of a table of operations."""

    name: str
    cpus: int
    what: str


def host_cpus():
    """How many CPUs the programs may use here."""
    return len(os.sched_getaffinity(0))


def entries(program):
    """The table of PROGRAM, a path."""
    rows = (line.split(" ", 2) for line in _native([program, "--list"]).splitlines())
    return [Entry(name, int(cpus), what) for name, cpus, what in rows]


def on_host(program, names, passes=PASSES, rounds=ROUNDS):
    """{name: Reading} of the operations NAMES of PROGRAM on this host."""
    samples = {}
    for _ in range(passes):
        _parse(_native([program, "--rounds", rounds, *names]), samples)
    return {name: _reading(rows) for name, rows in samples.items()}


def in_machine(cache, parts, profile, program, names, vcpus, coherence):
    """{name: Reading} of the same in a machine with PROFILE."""
    percents = " ".join(map(str, GUEST_PERCENT))
    command = (f"for p in {percents}; do echo percent $p; "
               f"{program.name} --rounds {GUEST_ROUNDS} --percent $p {' '.join(names)} || exit 1; done")
    machine = Machine(parts, profile, vcpus=min(vcpus, MAX_VCPUS), command=command, peer={},
                      coherence=coherence)
    text = []
    with cache.run_folder() as folder:
        finished(run(machine, folder, output=text.append, host_limit_s=MACHINE_SECONDS))
    _, *parts_of = b"".join(text).decode().replace("\r", "").split("percent ")
    short, long = (_last_rounds(part.partition("\n")[2]) for part in parts_of)
    return {name: _per_operation(short[name], long[name]) for name in short}


@dataclass(frozen=True)
class _Round:
    count: int
    ns: int
    events: dict
    refused: str = ""


def _native(argv):
    child = process.start(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, wrong = child.communicate()
    finally:
        process.stop(child)
    if child.returncode:
        raise CannotTell(f"a micro-benchmark failed on this host: {wrong.strip() or child.returncode}",
                         "does something forbid system calls here, a container's seccomp filter?")
    return out


def _parse(text, samples):
    """Add the rounds in TEXT to SAMPLES, a dict of lists by name."""
    for line in text.splitlines():
        name, first, *rest = line.split(" ")
        if first == "refused":
            found = _Round(0, 0, {}, " ".join(rest))
        else:
            events = dict(word.split("=") for word in rest[1:])
            found = _Round(int(first), int(rest[0]), {key: int(n) for key, n in events.items()})
        samples.setdefault(name, []).append(found)


def _reading(rows):
    if rows[0].refused:
        return Reading(None, refused=rows[0].refused)
    times = [1000 * row.ns / row.count for row in rows]
    middle = statistics.median(times)
    low, _, high = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else 3 * times
    return Reading(middle, 100 * (high - low) / middle)


def _last_rounds(text):
    samples = {}
    _parse(text, samples)
    return {name: rows[-1] for name, rows in samples.items()}


def _per_operation(short, long):
    """What an operation takes and causes in a machine: the difference of two rounds."""
    if short.refused:
        return Reading(None, refused=short.refused)
    count = long.count - short.count
    events = {name: (n - short.events.get(name, 0)) / count for name, n in long.events.items()}
    return Reading(1000 * (long.ns - short.ns) / count, events=events)


def without_refused(readings):
    """Those that could be measured."""
    return {name: reading for name, reading in readings.items() if reading.ps is not None}

# SPDX-License-Identifier: GPL-2.0-or-later
"""The same run twice, the second on a busy host and one CPU; everything that came out, compared."""

import contextlib
import os
import sys
from dataclasses import dataclass

from . import process, progress
from .measure import finished
from .run import run

FILES = ("results.txt", "latency.bin", "console.txt", "output.txt")
BUSY_PROCESSES = 4
CONTEXT = 24


@dataclass(frozen=True)
class Difference:
    """Where two runs first differ."""

    file: str
    offset: int
    line: int
    first: bytes
    second: bytes

    def __str__(self):
        return (f"{self.file} differs first at byte {self.offset} (line {self.line}):\n"
                f"    quiet host: {self.first!r}\n    busy host:  {self.second!r}")


def verify(machine, first_folder, second_folder):
    """Run MACHINE twice; return the differences (none: good) and both outcomes."""
    progress.say("first run, on the host as it is")
    first = run(machine, first_folder)
    finished(first)
    cpu = max(os.sched_getaffinity(0))
    progress.say(f"second run, on host CPU {cpu} only, beside {BUSY_PROCESSES} busy processes")
    with busy_host(BUSY_PROCESSES):
        second = run(machine, second_folder, affinity={cpu})
    finished(second)
    return differences(first_folder, second_folder), (first, second)


@contextlib.contextmanager
def busy_host(count):
    """COUNT processes that do nothing but use the host's CPUs."""
    busy = []
    try:
        for _ in range(count):
            busy.append(process.start([sys.executable, "-c", "while True: pass"]))
        yield
    finally:
        for child in busy:
            process.stop(child)


def differences(first_folder, second_folder):
    """The first difference of each output file."""
    found = []
    for name in FILES:
        one, two = (_bytes(folder / name) for folder in (first_folder, second_folder))
        if one != two:
            found.append(_first_difference(name, one, two))
    return found


def _first_difference(name, one, two):
    shorter = min(len(one), len(two))
    offset = next((i for i in range(shorter) if one[i] != two[i]), shorter)
    begin = max(0, offset - CONTEXT)
    end = offset + CONTEXT
    return Difference(name, offset, one[:offset].count(b"\n") + 1, one[begin:end], two[begin:end])


def _bytes(path):
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""

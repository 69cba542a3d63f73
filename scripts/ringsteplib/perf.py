# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast the machine is on this host: the same guest work in lockstep and in plain -icount.

A guest does its work between two lines of output; the host's clock is read when each appears. The
ratio is (time in plain -icount) / (time in lockstep), of the same QEMU build, the runs interleaved.
"""

import time
from dataclasses import dataclass

from . import profile, progress
from .machine import Machine
from .measure import finished
from .run import run

GUESTS = {
    "idle": "idle --threads 4 --wakeups 1000 --period-us 1000",
    "syscalls": "syscalls --threads 4 --rounds 25000 --length 2000",
    "spin": "spin --threads 4 --count 100000000",
}
QUANTA = (50, 100, 200, 500, 1000)
DEFAULT_QUANTUM = 200
PROFILE = "bare"
PLAIN = "plain"


@dataclass(frozen=True)
class Timing:
    boot_s: float
    work_s: float


class Stopwatch:
    """Reads the host's clock when the lines `begin` and `end` appear."""

    def __init__(self):
        self.text, self.times = b"", {}

    def __call__(self, data):
        self.text += data
        for word in (b"begin", b"end"):
            if word in self.text:
                self.times.setdefault(word, time.monotonic())


def measure(cache, parts, repeat):
    """{guest: {PLAIN or quantum: Timing, the best of REPEAT runs}}."""
    found = {}
    for name, work in GUESTS.items():
        timings = {mode: [] for mode in (PLAIN, *QUANTA)}
        for number in range(repeat):
            for mode, list_of in timings.items():
                progress.say(f"{name}, {_title(mode)}, run {number + 1} of {repeat}")
                list_of.append(_once(cache, _machine(parts, work, mode)))
        found[name] = {mode: _best(list_of) for mode, list_of in timings.items()}
    return found


def _machine(parts, work, mode):
    command = f"echo begin; {work}; code=$?; echo end; exit $code"
    lockstep = mode != PLAIN
    return Machine(parts, profile.load(PROFILE), command=command, lockstep=lockstep,
                   quantum=mode if lockstep else DEFAULT_QUANTUM)


def _once(cache, machine):
    with cache.run_folder() as folder:
        watch = Stopwatch()
        begin = time.monotonic()
        outcome = run(machine, folder, output=watch)
        finished(outcome)
    started, ended = (watch.times[word] for word in (b"begin", b"end"))
    return Timing(started - begin, ended - started)


def _best(timings):
    """The least of each time: whatever else the host does can only add to it."""
    return Timing(min(t.boot_s for t in timings), min(t.work_s for t in timings))


def _title(mode):
    return "plain -icount" if mode == PLAIN else f"lockstep, quantum {mode}"


def render(found):
    """The table of ratios."""
    lines = ["Host time of the same guest work on 4 vCPUs; ratio: plain -icount / lockstep.", ""]
    lines.append("  " + f"{'':<24}" + "".join(f"{name:>20}" for name in found))
    for mode in (PLAIN, *QUANTA):
        cells = []
        for timings in found.values():
            ratio = timings[PLAIN].work_s / timings[mode].work_s
            cells.append(f"{timings[mode].work_s:.2f} s {ratio:.2f}x")
        default = " *" if mode == DEFAULT_QUANTUM else ""
        lines.append("  " + f"{_title(mode) + default:<24}" + "".join(f"{c:>20}" for c in cells))
    boots = [t[DEFAULT_QUANTUM].boot_s for t in found.values()]
    lines += ["", f"  * the default; boot to user space: {min(boots):.1f} s of host time"]
    return "\n".join(lines) + "\n"

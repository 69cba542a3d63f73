# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast the machine is on this host: the same guest work in lockstep and in plain -icount.

What counts is the time that QEMU spends on the host's CPUs: with all virtual time skipped in which
no vCPU runs it is never idle, and the wall clock would measure what else the host does, too. The
guest says when it begins to work. The ratio is (time in plain -icount) / (time in lockstep), of the
same QEMU build, the least of several runs each, interleaved.
"""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

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
    """Splits QEMU's CPU time where the line `begin` appears in the guest's output."""

    def __init__(self):
        self.process, self.text, self.boot_s = None, b"", None
        self.before_s = _children_s()

    def started(self, process):
        self.process = process

    def output(self, data):
        self.text += data
        if b"begin" in self.text and self.boot_s is None:
            self.boot_s = _cpu_s(self.process)

    def timing(self):
        """What the run took that has ended."""
        return Timing(self.boot_s, _children_s() - self.before_s - self.boot_s)


def _cpu_s(process):
    """The CPU time of a PROCESS that runs (proc(5): utime and stime of /proc/PID/stat)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _children_s():
    """The CPU time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


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
    command = f"echo begin; {work}"
    lockstep = mode != PLAIN
    return Machine(parts, profile.load(PROFILE), command=command, lockstep=lockstep,
                   quantum=mode if lockstep else DEFAULT_QUANTUM)


def _once(cache, machine):
    with cache.run_folder() as folder:
        watch = Stopwatch()
        finished(run(machine, folder, output=watch.output, started=watch.started))
        return watch.timing()


def _best(timings):
    """The least of each time: whatever else the host does can only add to it."""
    return Timing(min(t.boot_s for t in timings), min(t.work_s for t in timings))


def _title(mode):
    return "plain -icount" if mode == PLAIN else f"lockstep, quantum {mode}"


def render(found):
    """The table of ratios."""
    lines = ["CPU time on the host of the same guest work on 4 vCPUs; ratio: plain -icount / lockstep.", ""]
    lines.append("  " + f"{'':<24}" + "".join(f"{name:>20}" for name in found))
    for mode in (PLAIN, *QUANTA):
        cells = []
        for timings in found.values():
            ratio = timings[PLAIN].work_s / timings[mode].work_s
            cells.append(f"{timings[mode].work_s:.2f} s {ratio:.2f}x")
        default = " *" if mode == DEFAULT_QUANTUM else ""
        lines.append("  " + f"{_title(mode) + default:<24}" + "".join(f"{c:>20}" for c in cells))
    boots = [t[DEFAULT_QUANTUM].boot_s for t in found.values()]
    lines += ["", f"  * the default; boot to user space: {min(boots):.1f} s of CPU time on the host"]
    return "\n".join(lines) + "\n"

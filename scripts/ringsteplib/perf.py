# SPDX-License-Identifier: GPL-2.0-or-later
"""How fast the machine is on this host: the same guest work in lockstep and in QEMU as it is.

What counts is the time that QEMU spends on the host's CPUs: with all virtual time skipped in which
no vCPU runs it is never idle, and the wall clock would measure what else the host does, too. The
guest says when it begins to work. Ratios are (time in plain -icount) / (time in that mode), of the
same QEMU build, the least of several runs each, interleaved.
"""

import os
import resource
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import metrics, profile, progress
from .machine import ICOUNT, MULTI, SINGLE, Machine
from .measure import finished
from .run import run
from .table import grid


@dataclass(frozen=True)
class Mode:
    """A way to run a machine: options of Machine that differ from the default."""

    title: str
    options: dict = field(default_factory=dict)


GUESTS = {
    "idle": "idle --threads 4 --wakeups 1000 --period-us 1000",
    "syscalls": "syscalls --threads 4 --rounds 25000 --length 2000",
    "spin": "spin --threads 4 --count 100000000",
}
PLAIN = Mode("plain -icount", {"clock": ICOUNT})
THREADS = Mode("TCG on the host's clock, a thread per vCPU", {"clock": MULTI})
DEFAULT = Mode("lockstep: quantum 200, coherence atomic")
MODES = (PLAIN, Mode("TCG on the host's clock, one thread", {"clock": SINGLE}), THREADS, DEFAULT,
         *(Mode(f"  quantum {quantum}", {"quantum": quantum}) for quantum in (50, 100, 500, 1000)),
         *(Mode(f"  coherence {level}", {"coherence": level}) for level in ("off", "full")))
VCPUS = (1, 2, 4, 8, 16)
TURNS = 50_000_000  # of a loop of two instructions, by each busy vCPU
PROFILE = "bare"


@dataclass(frozen=True)
class Timing:
    """What a run took of the host, in seconds; the work's instructions are None where nothing counts them."""

    boot_s: float
    work_s: float
    wall_s: float  # of the work
    instructions: int | None = None

    @property
    def rate(self):
        """Guest instructions for a second of the host's CPU."""
        return self.instructions / self.work_s


class Stopwatch:
    """Splits QEMU's CPU time where the line `begin` appears in the guest's output."""

    def __init__(self):
        self.process, self.text, self.boot_s, self.begin = None, b"", None, None
        self.before_s = _children_s()

    def started(self, process):
        self.process = process

    def output(self, data):
        self.text += data
        if b"begin" in self.text and self.boot_s is None:
            self.boot_s, self.begin = _cpu_s(self.process), time.monotonic()

    def timing(self, instructions):
        """What the run took that has ended."""
        return Timing(self.boot_s, _children_s() - self.before_s - self.boot_s, time.monotonic() - self.begin,
                      instructions)


def _cpu_s(process):
    """The CPU time of a PROCESS that runs (proc(5): utime and stime of /proc/PID/stat)."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _children_s():
    """The CPU time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def by_mode(cache, parts, repeat):
    """{guest: {mode's title: Timing}}, on four vCPUs."""
    return {name: _timings(cache, {mode.title: _machine(parts, work, mode.options) for mode in MODES}, repeat,
                           name)
            for name, work in GUESTS.items()}


def by_vcpus(cache, parts, repeat):
    """{number of vCPUs: Timing} with one of them busy, and with all."""
    machines = {}
    for number in VCPUS:
        for busy in {1, number}:
            work = f"spin --threads {busy} --count {TURNS}"
            machines[number, busy] = _machine(parts, work, {"vcpus": number})
    timings = _timings(cache, machines, repeat, "vCPUs, and of them busy")
    return ({number: timings[number, 1] for number in VCPUS}, {number: timings[number, number] for number in VCPUS})


def _machine(parts, work, options):
    command = f"echo begin; echo begin | ringstep-ctl write; {work} && echo end | ringstep-ctl write"
    return Machine(parts, profile.load(PROFILE), command=command, **options)


def _timings(cache, machines, repeat, title):
    """The best of REPEAT runs of each of MACHINES."""
    found = {key: [] for key in machines}
    for number in range(repeat):
        for key, machine in machines.items():
            progress.say(f"{title}: {key}, run {number + 1} of {repeat}")
            found[key].append(_once(cache, machine))
    return {key: _best(timings) for key, timings in found.items()}


def _once(cache, machine):
    with cache.run_folder() as folder:
        watch = Stopwatch()
        outcome = run(machine, folder, output=watch.output, started=watch.started)
        finished(outcome)
        return watch.timing(metrics.of_outcome(outcome)[0].get("guest_instructions"))


def _best(timings):
    """The least of each time: whatever else the host does can only add to it."""
    return Timing(min(t.boot_s for t in timings), min(t.work_s for t in timings), min(t.wall_s for t in timings),
                  timings[0].instructions)


def render_modes(found):
    """The table of ratios."""
    rows = []
    for mode in MODES:
        cells = []
        for timings in found.values():
            timing = timings[mode.title]
            cells += [f"{timing.work_s:.2f} s", f"{timings[PLAIN.title].work_s / timing.work_s:.2f}x"]
        rows.append([*cells, mode.title])
    head = [word for name in found for word in (name, "ratio")]
    default = {name: timings[DEFAULT.title] for name, timings in found.items()}
    rates = ", ".join(f"{timing.rate / 1e6:.0f} ({name})" for name, timing in default.items())
    threads = ", ".join(f"{timings[THREADS.title].wall_s:.2f} s ({name})" for name, timings in found.items())
    return "\n".join([
        "CPU time on the host of the same guest work on 4 vCPUs; ratio: plain -icount / that mode.", "",
        grid([*head, "mode"], rows), "",
        f"  millions of guest instructions in a second of the host's CPU, by default: {rates}",
        f"  boot to user space: {min(t.boot_s for t in default.values()):.1f} s",
        f"  a thread per vCPU, on this host's {os.cpu_count()} CPUs: {threads} of wall-clock time", ""])


def render_vcpus(one, each):
    """What a vCPU more costs."""
    rows = [[str(number), f"{one[number].work_s:.2f} s", f"{one[number].work_s / one[1].work_s:.2f}x",
             f"{each[number].work_s:.2f} s", f"{each[number].work_s / each[1].work_s / number:.2f}x",
             f"{each[number].boot_s:.1f} s"] for number in VCPUS]
    return "\n".join([
        f"{2 * TURNS / 1e6:.0f} million instructions by one vCPU, the others idle; and by each. A ratio of 1: an idle vCPU",
        "costs nothing; a busy one costs as much as the first.", "",
        grid(["vCPUs", "one busy", "ratio", "all busy", "ratio for each", "boot"], rows), ""])

# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile of this host from micro-benchmarks.

The same executable runs on the host and in a machine in which an instruction takes 1 ns and nothing
else takes time. There the time of an operation is the number of its instructions I, and the events
that it causes are counted. An operation that takes T on the host then yields the cost of its event:

  cost = (T - I * insn-ps - costs already known * their events) / events

A cost that comes out below zero is zero: the instructions alone take longer in the model.
"""

import statistics
from dataclasses import dataclass

from . import microbench, table
from .errors import CannotTell
from .profile import COSTS, VERSION, Profile

ORDINARY = ("interpreter", "list", "crc", "format")  # code whose instructions take insn-ps
STRINGS = ("string-64", "string-4096")
UNIT = {"insn-ps": 1000}


@dataclass(frozen=True)
class Rule:
    """How a cost follows: from the operation BENCH, which causes EVENT."""

    cost: str
    bench: str
    event: str
    contains: str = ""  # what else is in it


RULES = (  # in this order: each may use what those before it have found
    Rule("division-ps", "division", "division"),
    Rule("pause-ps", "pause", "pause"),
    Rule("locked-ps", "locked", "locked"),
    Rule("string-ps", "string-64", "string"),
    Rule("syscall-ps", "syscall", "syscall"),
    Rule("fault-ps", "fault", "fault", "the exception and what the kernel's work takes longer than "
                                       "its instructions"),
    Rule("switch-ps", "pipe-same-cpu", "switch", "cold caches and TLBs"),
    Rule("wake-ps", "pipe-two-cpus", "wake", "sending and taking the interrupt"),
)
LINE = "contended"  # each increment waits for the line once: in the mean that is what a transfer takes
LINE_COST = "line-write-ps"
AS_LINE = ("line-read-ps", "line-upgrade-ps")


@dataclass(frozen=True)
class Calibration:
    profile: Profile
    sources: dict  # cost -> text
    host: dict  # bench -> Reading
    machine: dict  # bench -> Reading, with the profile
    uses: dict  # bench -> the cost that it yielded


def calibrate(name, host, in_machine, base, max_spread):
    """The profile NAME.

    HOST: {bench: Reading} of this host. IN_MACHINE(profile): the same of a machine with that
    profile. BASE: where costs come from that cannot be measured here.
    """

    def count(**costs):
        return in_machine(Profile("count", "", {**UNIT, **costs}))

    measured = microbench.without_refused(host)
    needed = (*ORDINARY, *STRINGS, *(rule.bench for rule in RULES), LINE)
    _refuse_noise({name: measured[name] for name in needed if name in measured}, max_spread)
    costs, sources, uses = {}, {}, {}

    ordinary = count()
    each = {name: 1000 * measured[name].ps / ordinary[name].ps for name in ORDINARY}
    costs["insn-ps"] = max(1, round(statistics.median(each.values())))
    sources["insn-ps"] = "median of " + ", ".join(f"{name} {ps:.0f}" for name, ps in each.items())

    costs["string-bytes"] = _string_bytes(measured, costs["insn-ps"])
    sources["string-bytes"] = "REP MOVSB: " + ", ".join(
        f"{name.partition('-')[2]} bytes in {measured[name].ps / 1000:.1f} ns" for name in STRINGS)

    counted = count(**{"string-bytes": costs["string-bytes"]})
    for rule in RULES:
        if rule.bench in measured:
            costs[rule.cost], sources[rule.cost] = _solve(rule, measured, counted, costs)
            uses[rule.bench] = rule.cost
    if LINE in measured:
        costs[LINE_COST] = round(measured[LINE].ps)
        sources[LINE_COST] = (f"measured: {LINE}{_spread(measured[LINE])}, an increment of a counter that "
                              "two CPUs increment")
        uses[LINE] = LINE_COST
        for cost in AS_LINE:
            costs[cost], sources[cost] = costs[LINE_COST], f"assumed: as {LINE_COST}"
    for cost, ps in base.costs.items():
        if cost not in costs:
            costs[cost], sources[cost] = ps, f"not measured: as in the profile {base.name}"
    found = Profile(name, "", costs)
    return Calibration(found, sources, host, in_machine(found), uses)


def _refuse_noise(readings, max_spread):
    noisy = [f"{name} {reading.spread_percent:.0f} %" for name, reading in readings.items()
             if reading.spread_percent > max_spread]
    if noisy:
        raise CannotTell(
            f"this host is too noisy to calibrate: the middle half of the rounds spreads over more than "
            f"{max_spread} % of the median: {', '.join(noisy)}",
            "stop what else runs here, or allow more with --max-spread")


def _string_bytes(measured, insn_ps):
    """The power of two nearest to what REP MOVSB moves in the time of an instruction."""
    short, long = (measured[name].ps for name in STRINGS)
    sizes = [int(name.partition("-")[2]) for name in STRINGS]
    rate = (sizes[1] - sizes[0]) * insn_ps / max(long - short, 1)
    power = 1
    while power < COSTS["string-bytes"][1] and power * 1.5 <= rate:
        power *= 2
    return power


def _solve(rule, measured, counted, costs):
    """(cost in ps, where it comes from)."""
    took, model = measured[rule.bench].ps, counted[rule.bench]
    known = model.ps * costs["insn-ps"] / 1000
    known += sum(n * costs.get(f"{event}-ps", 0) for event, n in model.events.items())
    number = model.events.get(rule.event, 0)
    if number < 0.5:
        raise CannotTell(f"'{rule.bench}' causes no {rule.event} in a machine",
                         "is this ringstep's own kernel and image?")
    cost, most = round((took - known) / number), COSTS[rule.cost][1]
    if cost > most:
        raise CannotTell(f"{rule.cost} comes out as {cost}, more than the {most} ps that a profile can have",
                         f"'{rule.bench}' took {took / 1000:.0f} ns: what disturbs this host?")
    text = (f"measured: {rule.bench} {took / 1000:.4g} ns{_spread(measured[rule.bench])}, less "
            f"{model.ps / 1000:.0f} instructions and known costs")
    if rule.contains:
        text += f"; contains {rule.contains}"
    if cost < 0:
        return 0, f"{text}: nothing is left"
    return cost, text


def _spread(reading):
    return f" (spread {reading.spread_percent:.0f} %)"


def profile_text(calibration, host_line):
    """The profile as a file."""
    lines = [f"# Calibrated: {host_line}.", "#",
             "# Written by ringstep calibrate; see qemu-device/timing/README.md.", "",
             f"version = {VERSION}", ""]
    costs = calibration.profile.costs
    width = max(map(len, costs))
    lines += [f"{cost:<{width}} = {ps:<8} # {calibration.sources[cost]}" for cost, ps in costs.items()]
    return "\n".join(lines) + "\n"


def render(calibration, entries):
    """The table: what was measured, what the machine makes of it with the profile."""
    rows = [row(calibration.host, calibration.machine, entry, calibration.uses.get(
                entry.name, "insn-ps" if entry.name in ORDINARY else
                "string-bytes" if entry.name in STRINGS else "check"))
            for entry in entries]
    return table.grid(["measured", "spread", "machine", "ratio", "gives", "operation"], rows) + "\n"


def row(host, machine, entry, *more):
    """The cells of a line: time measured, its spread, time in the machine, their ratio."""
    label = f"{entry.name}: {entry.what}"
    here = host.get(entry.name)
    if here is None or here.ps is None:
        why = here.refused if here else "needs more CPUs"
        return [why, "", "", "", *more, label]
    there = machine.get(entry.name)
    if there is None or there.ps is None:
        return [duration(here.ps), f"{here.spread_percent:.0f}%", there.refused if there else "none", "",
                *more, label]
    return [duration(here.ps), f"{here.spread_percent:.0f}%", duration(there.ps),
            f"{there.ps / here.ps:.2f}", *more, label]


def duration(ps):
    """A time with three digits and its unit."""
    for unit, size in (("ms", 10**9), ("us", 10**6), ("ns", 10**3)):
        if ps >= size:
            return f"{ps / size:.3g} {unit}"
    return f"{ps:.0f} ps"

# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of a comparison, in the manner of the kernel test robot's mails and of benchstat."""

from . import stats
from .benchmark import ARMS
from .compare import seeds_text

NO_DIFFERENCE = "~"
PER = 1000  # counters are shown for so many requests


def render(comparison):
    """The whole text; a function of the results alone."""
    parts = [_head(comparison), _metrics(comparison), _counters(comparison), _published(comparison)]
    return "\n\n".join(part for part in parts if part) + "\n"


def of_run(benchmark, arm, machine, measurement):
    """The text of a single run: its metrics, and the counters that the benchmark names."""
    lines = [f"{benchmark.name}, arm {arm}, seed {machine.seed}, profile {machine.profile.name}, "
             f"{machine.vcpus} vCPUs, kernel {machine.parts.kernel.name}",
             f"digest {measurement.digest}", ""]
    named = {shown.name: measurement.get(shown.name)
             for shown in benchmark.metrics + benchmark.counters}
    rows = {**measurement.metrics, **{name: v for name, v in named.items() if v is not None}}
    width = max(map(len, rows))
    lines += [f"  {name:<{width}}  {quantity(value)}" for name, value in sorted(rows.items())]
    rest = len(measurement.counters.keys() - rows.keys())
    return "\n".join([*lines, "", f"  and {rest} more counters: see --json"]) + "\n"


def _head(comparison):
    benchmark = comparison.benchmark
    machine = comparison.machines["before"]
    kernels = {arm: comparison.machines[arm].parts.kernel.name for arm in ARMS}
    lines = [f"{benchmark.name}: {benchmark.description}",
             f"  machine  {machine.vcpus} vCPUs, {machine.memory_mib} MiB, profile "
             f"{machine.profile.name}, quantum {machine.quantum}, coherence {machine.coherence}",
             f"  seeds    {seeds_text(comparison.seeds)}, each run in a boot of its own"]
    for arm in ARMS:
        words = " ".join([f"kernel {kernels[arm]}", *comparison.machines[arm].parameters])
        lines.append(f"  {arm:<8} {words}")
        lines.append(f"           digest {comparison.digest(arm)}")
    return "\n".join(lines)


def _metrics(comparison):
    rows = [_row(comparison, shown.name, _label(shown))
            for shown in comparison.benchmark.metrics]
    return grid(["before", "%change", "95 % interval", "after", "range before", "range after",
                 "metric"], [row for row in rows if row])


def _label(shown):
    wish = {"higher": " (more is better)", "lower": " (less is better)"}.get(shown.direction, "")
    return shown.name + wish


def _row(comparison, name, label, scale=None):
    """The cells of one row; None where a run lacks NAME."""
    values = {arm: comparison.values(arm, name) for arm in ARMS}
    if None in values.values():
        return None
    if scale:
        values = {arm: [PER * v / s for v, s in zip(values[arm], scale[arm], strict=True)]
                  for arm in ARMS}
    change = stats.change(values["before"], values["after"])
    return [spread(values["before"]), percent(change), interval(change), spread(values["after"]),
            extent(values["before"]), extent(values["after"]), label]


def _counters(comparison):
    """The counters that prove the mechanism, for 1,000 requests where requests are counted."""
    requests = {arm: comparison.values(arm, "requests") for arm in ARMS}
    usable = all(values and all(values) for values in requests.values())
    rows = [_row(comparison, shown.name, f"{shown.name}: {shown.text}",
                 requests if usable else None)
            for shown in comparison.benchmark.counters]
    unit = f" (for {PER:,} requests)" if usable else ""
    return grid(["before", "%change", "95 % interval", "after", "range before", "range after",
                 f"counter{unit}"], [row for row in rows if row])


def _published(comparison):
    """The figures that the change was published with, beside ours."""
    published = comparison.benchmark.published
    if not {"metric", "before", "after"} <= published.keys():
        return ""
    before, after = published["before"], published["after"]
    values = " -> ".join(_with_spread(published, arm) for arm in ARMS)
    lines = [f"published: {values} {published.get('unit', '')} "
             f"({stats.percent(before, after):+.1f}%)"]
    lines += [f"  {key:<7}{published[key]}" for key in ("source", "host") if key in published]
    return "\n".join(lines)


def _with_spread(published, arm):
    deviation = published.get(f"{arm}_spread")
    return quantity(published[arm]) + (f" ± {quantity(deviation)}" if deviation else "")


def grid(head, rows):
    """Right-aligned columns, the last one left-aligned."""
    if not rows:
        return ""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head) - 1)]
    lines = []
    for row in [head, ["-" * width for width in widths] + ["-" * len(head[-1])], *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row, widths)]
        lines.append("  ".join(["", *cells, row[-1]]).rstrip())
    return "\n".join(lines)


def spread(values):
    """The mean, and the deviation in percent of it."""
    middle = stats.mean(values)
    deviation = 100 * stats.deviation(values) / abs(middle) if middle else 0.0
    return f"{quantity(middle)} ±{deviation:4.1f}%"


def percent(change):
    """The change of the mean, if there is one beyond doubt."""
    if change.percent is None:
        return "n/a"
    if change.low is not None and not change.real:
        return NO_DIFFERENCE
    return f"{change.percent:+.1f}%"


def interval(change):
    """The interval of a change."""
    if change.low is None:
        return "one seed" if change.percent is not None else "n/a"
    return f"[{change.low:+.1f}%, {change.high:+.1f}%]"


def extent(values):
    """The least and the greatest value."""
    return f"{quantity(min(values))}..{quantity(max(values))}"


def quantity(value):
    """A number with as many digits as one reads: 55,886 but 3.21."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"

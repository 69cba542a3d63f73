# SPDX-License-Identifier: GPL-2.0-or-later
"""An ablation: a comparison repeated with each group of costs set to zero, and with each group alone.

Costs are times, so effects are measured on a time: on the metric itself, or, where it is a rate, on
its inverse. An effect is what the change adds to it, in percent of the mean before with all costs. What
the effect loses without a group is the group's part; what a group alone adds to the effect with
instructions only is the same asked from the other side. Where the costs act independently both agree
and the parts add up; where they do not, the table shows it.
"""

from dataclasses import dataclass, replace

from . import measure, stats, table
from .benchmark import ARMS
from .compare import measure_all, seeds_text
from .errors import Usage, unknown

GROUPS = {
    "wake-ups": ("hlt-ps", "wake-ps"),
    "interrupts and IPIs": ("interrupt-ps", "apic-ps", "ipi-ps", "ipi-latency-ps"),
    "device accesses": ("mmio-ps", "pio-ps"),
    "spinning": ("pause-ps",),
    "cache lines": ("locked-ps", "line-upgrade-ps", "line-read-ps", "line-write-ps"),
    "kernel entries": ("syscall-ps", "fault-ps", "switch-ps"),
    "long instructions": ("division-ps", "string-ps"),
}
BASE = ("insn-ps", "string-bytes")  # what time itself consists of is never taken away
CACHE_LINES = "cache lines"  # has a cost only where coherence is modelled
WHOLE, NOTHING = "all costs", "instructions only"


@dataclass(frozen=True)
class Variant:
    """Some of the costs of a profile; GROUP is what it differs by from WHOLE or NOTHING."""

    title: str
    group: str | None
    reference: str | None  # the title of the variant that it is compared with
    profile: object


@dataclass(frozen=True)
class Ablation:
    benchmark: object
    metric: str
    profile: object
    coherence: str
    seeds: list
    variants: list
    measurements: dict  # (title, arm, seed) -> Measurement

    def values(self, title, arm):
        return measure.values((self.measurements[title, arm, seed] for seed in self.seeds), self.metric)

    def change(self, title):
        return stats.change(*(self.values(title, arm) for arm in ARMS))

    def effect(self, title):
        """The mean effect of the change, in percent."""
        return stats.mean(self._effects(title))

    def part(self, variant):
        """(mean, low, high) of the part of the effect that VARIANT's group makes, in percentage points."""
        here, there = (self._effects(title) for title in (variant.title, variant.reference))
        sign = -1 if variant.reference == WHOLE else 1
        return stats.mean_interval([sign * (a - b) for a, b in zip(here, there, strict=True)])

    def _effects(self, title):
        """The effect for each seed."""
        base = stats.mean(self._times(WHOLE, "before"))
        before, after = (self._times(title, arm) for arm in ARMS)
        return [100 * (b - a) / base for a, b in zip(before, after, strict=True)]

    def _times(self, title, arm):
        values = self.values(title, arm)
        return [1 / value for value in values] if is_rate(self.metric) else values


def is_rate(metric):
    return metric.endswith("_per_s")


def variants(profile, coherence):
    """WHOLE, NOTHING, and each group that costs something without and alone."""
    groups = {name: costs for name, costs in GROUPS.items()
              if any(profile.costs.get(cost) for cost in costs)
              and (name != CACHE_LINES or coherence != "off")}
    found = [Variant(WHOLE, None, None, profile)]
    found += [Variant(f"without {name}", name, WHOLE, _zeroed(profile, f"without {name}", costs))
              for name, costs in groups.items()]
    nothing = {cost for costs in GROUPS.values() for cost in costs}
    found.append(Variant(NOTHING, None, None, _zeroed(profile, NOTHING, nothing)))
    found += [Variant(f"only {name}", name, NOTHING,
                      _zeroed(profile, f"only {name}", nothing - set(costs)))
              for name, costs in groups.items()]
    return found


def _zeroed(profile, what, costs):
    rest = {cost: 0 if cost in costs else value for cost, value in profile.costs.items()}
    return replace(profile, name=f"{profile.name}, {what}", costs=rest)


def ablate(bench, metric, profile, coherence, seeds, machine_of, measure_one, jobs):
    """`measure_one(machine_of(profile of the variant, arm, seed))` for every variant, arm and seed."""
    found = variants(profile, coherence)
    machines = {(variant.title, arm, seed): machine_of(variant.profile, arm, seed)
                for variant in found for seed in seeds for arm in ARMS}
    measurements = measure_all(f"ablate {bench.name}", machines, measure_one, jobs)
    names = measure.common_names(measurements.values())
    if metric not in names:
        raise unknown("metric", metric, names)
    if not all(found.get(metric) for found in measurements.values()):
        raise Usage(f"{metric} is 0 in a run: there is no effect in percent", "give another --metric")
    return Ablation(bench, metric, profile, coherence, seeds, found, measurements)


def render(result):
    """A row for each variant: both arms, the change, its effect, and the group's part of it."""
    rows = [_row(result, variant) for variant in result.variants]
    time = f"1 / {result.metric}" if is_rate(result.metric) else result.metric
    lines = [f"{result.benchmark.name}: {result.metric}, seeds {seeds_text(result.seeds)}",
             f"  costs    profile {result.profile.name}, coherence {result.coherence}",
             f"  effect   of the change on {time}, in percent of what it is before with all costs", "",
             table.grid(["before", "after", "%change", "95 % interval", "effect", "the group's part",
                         "95 % interval", "costs"], rows), "", *_sums(result)]
    return "\n".join(lines) + "\n"


def _row(result, variant):
    change = result.change(variant.title)
    before, after = (table.spread(result.values(variant.title, arm)) for arm in ARMS)
    part = ["", ""]
    if variant.reference:
        mean, low, high = result.part(variant)
        part = [f"{mean:+.2f}", "one seed" if low is None else f"[{low:+.2f}, {high:+.2f}]"]
    return [before, after, table.percent(change), table.interval(change),
            f"{result.effect(variant.title):+.2f}", *part, variant.title]


def _sums(result):
    """Do the parts add up?"""
    rest = result.effect(WHOLE) - result.effect(NOTHING)
    lines = []
    for reference, text in ((WHOLE, "lost without each group"), (NOTHING, "added by each group alone")):
        total = sum(result.part(variant)[0] for variant in result.variants
                    if variant.reference == reference)
        lines.append(f"  {text}: {total:+.2f} together; all costs at once make {rest:+.2f}")
    return lines


def document(result, host):
    """The same for programs."""
    return {"schema": "ringstep.ablate/1", "bench": result.benchmark.name, "metric": result.metric,
            "profile": result.profile.name, "coherence": result.coherence, "seeds": result.seeds,
            "variants": [_entry(result, variant) for variant in result.variants], "host": host}


def _entry(result, variant):
    keys = ("mean", "low", "high")
    change = result.change(variant.title)
    return {"title": variant.title, "group": variant.group,
            "change_percent": _rounded(dict(zip(keys, (change.percent, change.low, change.high)))),
            "part_points": _rounded(dict(zip(keys, result.part(variant)))) if variant.reference else None,
            "runs": [{"arm": arm, "seed": seed,
                      "digest": result.measurements[variant.title, arm, seed].digest,
                      "value": result.measurements[variant.title, arm, seed].get(result.metric)}
                     for seed in result.seeds for arm in ARMS]}


def _rounded(numbers):
    """Six decimals, as in every report."""
    return {key: None if value is None else round(value, 6) for key, value in numbers.items()}

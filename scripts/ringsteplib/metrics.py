# SPDX-License-Identifier: GPL-2.0-or-later
"""From what the machine counted to what is reported: all integers there, all arithmetic here."""

import array
import re
import sys

from . import stats

NS_PER_S = 10**9
QUANTILES = {"p50": (50, 100), "p90": (90, 100), "p95": (95, 100), "p99": (99, 100),
             "p999": (999, 1000), "max": (1, 1)}
_OF_VCPU = re.compile(r"vcpu\d+_(\w+)")
LATENCIES = "latency.bin"


def of_outcome(outcome):
    """The metrics of a run by their flat names, and its counters."""
    raw = outcome.results.metrics
    metrics = dict(raw)
    if raw.get("window_ns"):
        metrics["requests_per_s"] = raw.get("requests", 0) * NS_PER_S / raw["window_ns"]
    metrics.update(latencies(read_latencies(outcome.folder / LATENCIES)))
    metrics.update(of_vcpus(outcome.results.counters))
    return metrics, dict(outcome.results.counters)


def of_vcpus(counters):
    """What all vCPUs did together: instructions, and the parts of their time."""
    sums = {}
    for name, value in counters.items():
        match = _OF_VCPU.fullmatch(name)
        if match:
            sums[match[1]] = sums.get(match[1], 0) + value
    time, idle = sums.pop("local_ps", 0), sums.pop("idle_ps", 0)
    if not time:
        return {}
    events = sum(value for name, value in sums.items() if name.endswith("_ps"))
    return {"guest_instructions": sums.get("instructions", 0),
            "cpu_use_percent": 100 * (time - idle) / time,
            "vm_events_percent": 100 * events / time}


def latencies(values):
    """Exact quantiles (nearest rank) and the mean of latencies in ns."""
    if not values:
        return {}
    ordered = sorted(values)
    found = {f"latency_{name}_ns": stats.quantile(ordered, *rank)
             for name, rank in QUANTILES.items()}
    found["latency_mean_ns"] = sum(ordered) / len(ordered)
    return found


def read_latencies(path):
    """The u64 little-endian values in PATH; none where there is no such file."""
    values = array.array("Q")
    if path.exists():
        values.frombytes(path.read_bytes())
        if sys.byteorder == "big":
            values.byteswap()
    return values

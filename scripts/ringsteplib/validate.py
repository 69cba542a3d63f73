# SPDX-License-Identifier: GPL-2.0-or-later
"""How well a machine with a profile predicts what this host does: other operations than the profile's."""

import itertools
import statistics
from dataclasses import dataclass

from . import calibrate, microbench, table

APART = 1.5  # two operations whose times differ by more have to come out in the same order


@dataclass(frozen=True)
class Validation:
    profile: object
    coherence: str
    vcpus: int
    host: dict  # operation -> Reading
    machine: dict

    def ratios(self):
        """{operation: predicted / measured}."""
        host, machine = map(microbench.without_refused, (self.host, self.machine))
        return {name: machine[name].ps / host[name].ps for name in host if name in machine}

    def median_error_percent(self):
        return 100 * statistics.median(abs(ratio - 1) for ratio in self.ratios().values())

    def ranking(self):
        """(pairs whose times differ by more than APART, those of them in the same order)."""
        pairs = right = 0
        for a, b in itertools.combinations(self.ratios(), 2):
            fast, slow = sorted((a, b), key=lambda name: self.host[name].ps)
            if self.host[slow].ps > APART * self.host[fast].ps:
                pairs += 1
                right += self.machine[slow].ps > self.machine[fast].ps
        return pairs, right


def render(found, entries):
    """The table, bad rows included."""
    rows = [calibrate.row(found.host, found.machine, entry) for entry in entries]
    pairs, right = found.ranking()
    ratios = found.ratios()
    worst = max(ratios, key=lambda name: max(ratios[name], 1 / ratios[name]))
    return "\n".join([
        f"profile {found.profile.name}, coherence {found.coherence}, {found.vcpus} vCPUs", "",
        table.grid(["measured", "spread", "predicted", "ratio", "operation"], rows), "",
        f"  median error {found.median_error_percent():.0f} % of {len(ratios)} operations; the worst is {worst}",
        f"  order of two that differ by more than {APART}: right in {right} of {pairs} pairs"]) + "\n"


def document(found, description):
    """The same for programs."""
    pairs, right = found.ranking()
    rows = {name: {"measured_ps": round(found.host[name].ps), "predicted_ps": round(found.machine[name].ps),
                   "spread_percent": round(found.host[name].spread_percent, 1)}
            for name in found.ratios()}
    return {"schema": "ringstep.validate/1", "profile": found.profile.name, "operations": rows,
            "median_error_percent": round(found.median_error_percent(), 1),
            "pairs": pairs, "pairs_right": right, "host": description}

# SPDX-License-Identifier: GPL-2.0-or-later
"""The statistics of a comparison: exact quantiles, spread, and Student's t."""

import math
from dataclasses import dataclass


def quantile(ordered, numerator, denominator):
    """The nearest-rank quantile NUMERATOR/DENOMINATOR of a sorted list, exactly."""
    rank = -(-len(ordered) * numerator // denominator)
    return ordered[max(rank, 1) - 1]


def mean(values):
    return math.fsum(values) / len(values)


def deviation(values):
    """The sample standard deviation; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    middle = mean(values)
    return math.sqrt(math.fsum((v - middle) ** 2 for v in values) / (len(values) - 1))


def percent(before, after):
    """The change from one number to another."""
    return 100 * (after - before) / before


@dataclass(frozen=True)
class Change:
    """A paired difference in percent of the mean before, with its interval; None: unknown."""

    percent: float | None
    low: float | None
    high: float | None

    @property
    def real(self):
        """Does the interval exclude zero?"""
        return self.low is not None and (self.low > 0 or self.high < 0)


def mean_interval(values, confidence=0.95):
    """(mean, low, high): the mean of VALUES and its interval; of a single value there is none."""
    middle, n = mean(values), len(values)
    if n < 2:
        return middle, None, None
    half = t_quantile((1 + confidence) / 2, n - 1) * deviation(values) / math.sqrt(n)
    return middle, middle - half, middle + half


def change(before, after, confidence=0.95):
    """The change from BEFORE to AFTER, lists paired by seed."""
    base = mean(before)
    if base == 0:
        return Change(None, None, None)
    scale = 100 / abs(base)
    return Change(*mean_interval([(b - a) * scale for a, b in zip(before, after, strict=True)],
                                 confidence))


def t_cumulative(t, freedom):
    """P(T <= t) of Student's t with FREEDOM degrees: the finite series, exact for integers."""
    theta = math.atan(t / math.sqrt(freedom))
    cosine2 = math.cos(theta) ** 2
    odd = freedom % 2
    term, total = 1.0, 0.0
    for k in range(freedom // 2):
        total += term
        term *= cosine2 * (2 * k + 1 + odd) / (2 * k + 2 + odd)
    if odd:
        inside = theta + (math.sin(theta) * math.cos(theta) * total)
        return 0.5 + inside / math.pi
    return 0.5 + 0.5 * math.sin(theta) * total


def t_quantile(probability, freedom):
    """The t for which t_cumulative is PROBABILITY (above one half), by bisection."""
    low, high = 0.0, 1.0
    while t_cumulative(high, freedom) < probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if t_cumulative(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return high

# SPDX-License-Identifier: GPL-2.0-or-later
"""Quantiles, spread and intervals against values from textbooks."""

import pytest

from ringsteplib import stats


@pytest.mark.parametrize("freedom,t", [(1, 12.7062047362), (2, 4.3026527297), (4, 2.7764451052),
                                       (9, 2.2621571628), (30, 2.0422724563), (120, 1.9799304051)])
def test_t_quantile_matches_the_tables(freedom, t):
    assert stats.t_quantile(0.975, freedom) == pytest.approx(t, abs=1e-9)


def test_quantiles_are_nearest_rank():
    values = list(range(1, 101))
    assert stats.quantile(values, 50, 100) == 50
    assert stats.quantile(values, 99, 100) == 99
    assert stats.quantile(values, 999, 1000) == 100
    assert stats.quantile([7], 50, 100) == 7


def test_deviation_is_the_sample_one():
    assert stats.deviation([2, 4, 4, 4, 5, 5, 7, 9]) == pytest.approx(2.13808993)
    assert stats.deviation([5]) == 0


def test_paired_change_with_its_interval():
    change = stats.change([100, 102, 98], [110, 113, 107])
    assert change.percent == pytest.approx(10)
    half = 4.3026527297 * 1 / 3 ** 0.5
    assert (change.low, change.high) == pytest.approx((10 - half, 10 + half))
    assert change.real


def test_an_interval_over_zero_is_no_difference():
    assert not stats.change([100, 100, 100], [90, 110, 101]).real


def test_one_seed_has_no_interval_and_zero_has_no_percent():
    assert stats.change([100], [110]) == stats.Change(10, None, None)
    assert stats.change([0, 0], [1, 2]).percent is None

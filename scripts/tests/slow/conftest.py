# SPDX-License-Identifier: GPL-2.0-or-later
"""The machine with the debug kernel: lockdep and KASAN."""

import pytest

from ringsteplib import parts as parts_of
from ringsteplib.cache import Cache


@pytest.fixture(scope="session")
def real_cache():
    return Cache()


@pytest.fixture(scope="session")
def debug_parts(real_cache):
    return parts_of.collect(real_cache, configuration="debug")

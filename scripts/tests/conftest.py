# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared by all tests: the package's path, and a cache of a test's own."""

import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS))
sys.dont_write_bytecode = True


@pytest.fixture
def cache(tmp_path):
    """An empty cache."""
    from ringsteplib.cache import Cache
    return Cache(tmp_path / "cache")

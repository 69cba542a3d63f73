# SPDX-License-Identifier: GPL-2.0-or-later
"""Where things are: the checkout, and the cache outside it."""

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
QEMU_DEVICE = CHECKOUT / "qemu-device"
PROFILES = QEMU_DEVICE / "timing" / "profiles"
GUEST_DRIVER = CHECKOUT / "guest-driver"
GUEST_TESTS = CHECKOUT / "guest-tests"
BENCHMARKS = GUEST_TESTS / "benchmarks"
IMAGES = CHECKOUT / "images"
SOURCES_LOCK = CHECKOUT / "scripts" / "sources.lock"


def cache_root():
    """$XDG_CACHE_HOME/ringstep, else ~/.cache/ringstep."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "ringstep"

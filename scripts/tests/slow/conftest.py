# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines of benchmarks with other parts than the usual ones."""

import pytest

from ringsteplib import benchmark, disk, profile
from ringsteplib.cache import Cache
from ringsteplib.machine import Machine


@pytest.fixture(scope="session")
def real_cache():
    return Cache()


@pytest.fixture
def machine_of():
    """One ARM of the benchmark NAME with PARTS; GUEST replaces values in its command."""

    def make(name, arm, parts, guest=None, **options):
        found = benchmark.load(name)
        found.guest.update(guest or {})
        options.setdefault("memory_mib", found.memory_mib)
        return Machine(parts, profile.load(found.profile), vcpus=found.vcpus, command=found.command_line(),
                       peer=found.peer, disk=disk.parse(found.disk), parameters=found.parameters(arm), **options)

    return make

# SPDX-License-Identifier: GPL-2.0-or-later
"""The device tests of qemu-device/tests: they need QEMU, and no guest kernel."""

import os
import subprocess

import pytest

from ringsteplib import paths


def programs():
    """net/link-test.c is built as ringstep-net-link-test."""
    folder = paths.QEMU_DEVICE / "tests"
    sources = (path.relative_to(folder).with_suffix("") for path in folder.rglob("*-test.c"))
    return sorted("-".join(["ringstep", *path.parts]) for path in sources)


@pytest.mark.parametrize("name", programs())
def test_device(real_parts, name):
    program = real_parts.qemu.parent / "tests" / name
    assert program.exists(), "no meson.build below qemu-device/tests builds it"
    environment = dict(os.environ, QTEST_QEMU_BINARY=str(real_parts.qemu),
                       G_TEST_DBUS_DAEMON="/bin/false")
    # QEMU finds the BIOS, which it wants even here, in the working folder.
    done = subprocess.run([program, "--tap", "-k"], cwd=real_parts.firmware, env=environment,
                          text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok 1 " in done.stdout and "\nnot ok" not in done.stdout

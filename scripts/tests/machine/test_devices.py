# SPDX-License-Identifier: GPL-2.0-or-later
"""The device tests of qemu-device/tests: they need QEMU, and no guest kernel."""

import os
import subprocess

import pytest

from ringsteplib import paths


def names():
    return sorted(path.stem for path in (paths.QEMU_DEVICE / "tests").glob("*-test.c"))


@pytest.mark.parametrize("name", names())
def test_device(real_parts, tmp_path, name):
    program = real_parts.qemu.parent / "tests" / f"ringstep-{name}"
    assert program.exists(), "qemu-device/tests/meson.build does not build it"
    environment = dict(os.environ, QTEST_QEMU_BINARY=str(real_parts.qemu),
                       G_TEST_DBUS_DAEMON="/bin/false")
    done = subprocess.run([program, "--tap", "-k"], cwd=tmp_path, env=environment, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ok 1 " in done.stdout and "\nnot ok" not in done.stdout

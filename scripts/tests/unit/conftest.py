# SPDX-License-Identifier: GPL-2.0-or-later
"""A QEMU that is a shell script, so that faults can be played."""

import os
import stat
import sys

import pytest

from ringsteplib import cli, parts
from ringsteplib.build_kernel import Kernel
from ringsteplib.machine import Machine, Parts
from ringsteplib.profile import Profile

GOOD_RUN = """
printf 'ready\\n' > output.txt
echo '[    0.1] Run /init as init process' > console.txt
printf 'metric requests 3\\nmetric window_ns 1000000\\ncounter switches 7\\nexit 0\\n' > results.txt
printf '\\144\\0\\0\\0\\0\\0\\0\\0\\310\\0\\0\\0\\0\\0\\0\\0\\054\\1\\0\\0\\0\\0\\0\\0' > latency.bin
"""


@pytest.fixture
def fake_parts(tmp_path):
    """Make the parts of a machine whose QEMU is the given shell script."""

    def make(script=GOOD_RUN):
        folder = tmp_path / "parts"
        folder.mkdir(exist_ok=True)
        (folder / "firmware").mkdir(exist_ok=True)
        for name in ("kernel", "initramfs"):
            (folder / name).write_bytes(name.encode())
        qemu = folder / "qemu"
        qemu.write_text(f"#!/bin/sh\n{script}")
        qemu.chmod(qemu.stat().st_mode | stat.S_IXUSR)
        return Parts(qemu, "qemu's hash", folder / "coherence.so", folder / "firmware",
                     folder / "initramfs",
                     Kernel(folder / "kernel", "6.12.0-fake"))

    return make


@pytest.fixture
def fake_machine(fake_parts):
    """A machine with a QEMU that is the given shell script."""

    def make(script=GOOD_RUN, **options):
        options.setdefault("command", "true")
        return Machine(fake_parts(script), Profile("none", "", {}), **options)

    return make


@pytest.fixture
def ringstep(monkeypatch, tmp_path, fake_parts, capfd):
    """Run the command in this process with a fake QEMU: (exit code, stdout, stderr)."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)

    def command(*argv, script=GOOD_RUN):
        monkeypatch.setattr(parts, "collect", lambda *_: fake_parts(script))
        try:
            code = cli.main([str(word) for word in argv])
        except SystemExit as leave:
            code = leave.code
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return code, out, err

    return command


@pytest.fixture
def children():
    """The processes below this one, to see that none is left."""

    def alive():
        me = str(os.getpid())
        found = []
        for pid in filter(str.isdecimal, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat") as f:
                    fields = f.read().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[1] == me and fields[0] != "Z":
                found.append(pid)
        return found

    return alive

# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts a machine and waits for its end."""

import contextlib
import os
import sys
import time

from . import process
from .errors import CannotTell
from .outcome import Outcome

POLL_S = 0.02


def run(machine, folder, affinity=None, output=None, started=None, host_limit_s=3600):
    """Run MACHINE in the empty FOLDER; return how it ended. OUTPUT(bytes) gets the command's output.

    STARTED(process id) is called when QEMU runs.
    """
    machine.prepare(folder)
    begin = time.monotonic()
    with open(folder / "qemu.txt", "wb") as messages:
        child = process.start([machine.parts.qemu, *machine.arguments()], cwd=folder,
                              stdout=messages, stderr=messages, affinity=affinity)
    try:
        if started:
            started(child.pid)
        status = _wait(child, folder, output, begin + host_limit_s)
    finally:
        process.stop(child)
    return Outcome.read(folder, status, time.monotonic() - begin)


def interactive(machine, folder):
    """Run MACHINE with its console on this terminal; return how it ended."""
    machine.prepare(folder)
    begin = time.monotonic()
    child = process.start([machine.parts.qemu, *machine.arguments()], cwd=folder, stdin=sys.stdin,
                          own_group=False)
    try:
        status = child.wait()
    finally:
        process.stop(child)
    return Outcome.read(folder, status, time.monotonic() - begin)


def _wait(child, folder, output, deadline):
    """Wait for CHILD, passing on what its command prints as it appears."""
    with contextlib.ExitStack() as stack:
        follow = stack.enter_context(_Follower(folder / "output.txt", output)) if output else None
        while True:
            status = child.poll()
            if follow:
                follow.pass_on()
            if status is not None:
                return status
            if time.monotonic() > deadline:
                raise CannotTell("QEMU has run for too long on this host",
                                 "is the host overloaded? raise --host-limit SECONDS")
            time.sleep(POLL_S)


class _Follower:
    """Reads a file that grows."""

    def __init__(self, path, output):
        self.path, self.output, self.offset = path, output, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pass_on()

    def pass_on(self):
        with contextlib.suppress(FileNotFoundError), open(self.path, "rb") as f:
            f.seek(self.offset)
            data = f.read()
            if data:
                self.offset += len(data)
                self.output(data)


def to_stdout(data):
    """Pass the guest's output on, unchanged."""
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), data)

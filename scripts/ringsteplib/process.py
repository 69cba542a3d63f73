# SPDX-License-Identifier: GPL-2.0-or-later
"""Child processes that never outlive us."""

import ctypes
import os
import signal
import subprocess

NOTHING = subprocess.DEVNULL

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_alive = {}  # process id -> Popen, of every child that has not been waited for


class Signalled(BaseException):
    """SIGTERM or SIGHUP came: unwinds like KeyboardInterrupt."""


def install_signal_handlers():
    """Make SIGTERM and SIGHUP unwind the stack, so that children are stopped and folders removed."""

    def unwind(number, _frame):
        raise Signalled(signal.Signals(number).name)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, unwind)


def start(argv, own_group=True, affinity=None, **options):
    """Start ARGV so that it dies with this process, in a process group of its own, without input."""
    parent = os.getpid()

    def in_child():
        if own_group:
            os.setpgid(0, 0)
        if affinity:
            os.sched_setaffinity(0, affinity)
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    options.setdefault("stdin", subprocess.DEVNULL)
    child = subprocess.Popen([str(a) for a in argv], preexec_fn=in_child, **options)
    _alive[child.pid] = child
    child.own_group = own_group
    return child


def stop(child):
    """End CHILD and whatever it started, now."""
    try:
        if child.own_group:
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
    except ProcessLookupError:
        pass
    child.wait()
    _alive.pop(child.pid, None)


def stop_all():
    """End every child that other threads still wait for."""
    for child in list(_alive.values()):
        stop(child)


def run(argv, **options):
    """Run ARGV to its end; return its exit status. Stops it when we are interrupted."""
    child = start(argv, **options)
    try:
        return child.wait()
    finally:
        stop(child)


def lines(argv, log, **options):
    """Run ARGV, append its output to the file LOG, and yield its lines; return its exit status."""
    child = start(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                  errors="replace", **options)
    try:
        with open(log, "a", encoding="utf-8") as out:
            out.write("+ " + " ".join(str(a) for a in argv) + "\n")
            for line in child.stdout:
                out.write(line)
                yield line.rstrip("\n")
        return child.wait()
    finally:
        stop(child)
        child.stdout.close()


def output(argv, **options):
    """The standard output of ARGV as text; None when it fails or is missing."""
    try:
        done = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None

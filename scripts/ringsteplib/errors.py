# SPDX-License-Identifier: GPL-2.0-or-later
"""What can go wrong, each with the exit code that `git bisect run` understands."""

import difflib

GOOD, BAD, USAGE, BROKEN_MACHINE, CANNOT_TELL = 0, 1, 2, 3, 125


class Error(Exception):
    """A failure that a user can act on: what happened, and the next step."""

    exit_code = CANNOT_TELL

    def __init__(self, message, next_step=None):
        super().__init__(message)
        self.message = message
        self.next_step = next_step


class Bad(Error):
    """The kernel under test failed: a regression, a failed test."""

    exit_code = BAD


class Usage(Error):
    """The command line or a file of the user's own is wrong."""

    exit_code = USAGE


class BrokenMachine(Error):
    """The simulated machine is not what was asked for, or broke its promise."""

    exit_code = BROKEN_MACHINE


class CannotTell(Error):
    """Nothing can be said about the kernel: it does not build or boot, or the host failed."""


class Interrupted(CannotTell):
    """Ctrl-C or SIGTERM."""


def unknown(kind, name, known):
    """The error for a NAME that is no KIND: lists those that are, the closest one first."""
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    listing = ", ".join(sorted(known)) or "none"
    return Usage(f"unknown {kind} '{name}'", f"{hint}known: {listing}")

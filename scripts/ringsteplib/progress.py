# SPDX-License-Identifier: GPL-2.0-or-later
"""What is being done, on stderr: a bar on a terminal, plain lines elsewhere."""

import shutil
import subprocess
import sys
import time

_quiet = False
PLAIN_INTERVAL_S = 20


def set_quiet(quiet):
    global _quiet
    _quiet = quiet


def say(text):
    """One line about what is being done."""
    if not _quiet:
        warn(text)


def warn(text):
    """One line that --quiet does not hide."""
    clear = "\r\033[K" if sys.stderr.isatty() else ""  # a bar may stand there
    print(f"{clear}ringstep: {text}", file=sys.stderr, flush=True)


def passthrough():
    """Where a tool that shows its own progress may write: stderr if somebody watches."""
    watched = not _quiet and sys.stderr.isatty()
    return sys.stderr.fileno() if watched else subprocess.DEVNULL


class Bar:
    """Progress of one long step: `with Bar("QEMU") as bar: bar.update(3, 10)`."""

    def __init__(self, title, stream=None):
        self.title = title
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self.last_plain = time.monotonic()
        self.drawn = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.drawn:
            self._write("\r\033[K")

    def update(self, done, total=None, note=""):
        """Show that DONE of TOTAL (None: not known) steps are over."""
        if _quiet:
            return
        if self.terminal:
            self._write("\r\033[K" + self._line(done, total, note))
            self.drawn = True
        elif time.monotonic() - self.last_plain >= PLAIN_INTERVAL_S:
            self.last_plain = time.monotonic()
            say(f"{self.title}: {count(done, total)}")

    def _line(self, done, total, note):
        width = shutil.get_terminal_size().columns - 1
        head = f"{self.title} "
        if total:
            full = min(20, 20 * done // total)
            head += "[" + "#" * full + "." * (20 - full) + "] "
        return (head + count(done, total) + " " + note)[:width]

    def _write(self, text):
        self.stream.write(text)
        self.stream.flush()


def count(done, total):
    """`done/total`, or `done` where the total is not known."""
    return f"{done}/{total}" if total else f"{done}"

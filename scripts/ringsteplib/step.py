# SPDX-License-Identifier: GPL-2.0-or-later
"""One command of a build: its output goes to a log, its progress to the terminal."""

import re
import shutil
from collections import deque

from . import process, progress
from .errors import CannotTell

TAIL_LINES = 25
_NINJA = re.compile(r"^\[(\d+)/(\d+)\] (.*)")
_KBUILD = re.compile(r"^  (?:CC|AS|LD|AR|HOSTCC|OBJCOPY|GEN|UPD|HOSTLD|VDSO|RELOCS)\b +(?:\[M\] +)?(\S+)")


def build_step(title, argv, log, expected=None, **options):
    """Run ARGV with a bar; raise CannotTell with the end of its output when it fails.

    EXPECTED is the number of steps where the tool does not tell it (kbuild). Returns the steps seen.
    """
    tail = deque(maxlen=TAIL_LINES)
    done = 0
    run = process.lines(argv, log, **options)
    with progress.Bar(title) as bar:
        while True:
            try:
                line = next(run)
            except StopIteration as stop:
                status = stop.value
                break
            tail.append(line)
            ninja = _NINJA.match(line)
            kbuild = _KBUILD.match(line)
            if ninja:
                done = int(ninja[1])
                bar.update(done, int(ninja[2]), ninja[3])
            elif kbuild:
                done += 1
                bar.update(done, max(expected, done) if expected else None, kbuild[1])
    if status != 0:
        raise failure(title, argv, status, tail, log)
    return done


def failure(title, argv, status, tail, log):
    """The error for a build step that ended with STATUS."""
    free = shutil.disk_usage(log.parent).free
    text = "\n".join(f"    {line}" for line in tail)
    if free < 64 << 20 or "No space left on device" in text:
        return CannotTell(f"{title}: the disk of {log.parent} is full",
                          "free some space (ringstep clean) or set XDG_CACHE_HOME to a larger disk")
    return CannotTell(f"{title} failed: {argv[0]} ended with status {status}\n{text}",
                      f"the whole output is in {log}")

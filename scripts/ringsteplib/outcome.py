# SPDX-License-Identifier: GPL-2.0-or-later
"""How a run ended, read from what QEMU left in the run folder; each fault by its cause."""

import re
import signal
from dataclasses import dataclass, field
from pathlib import Path

from .errors import Bad, BrokenMachine, CannotTell, Usage

LIMIT_STATUS = 3  # QEMU's own exit status when virtual time passes the limit
TAIL_LINES = 15
USER_SPACE = "Run /init as init process"
_COMPLAINT = re.compile(r"\] (WARNING: |BUG: |INFO: (task|possible|suspicious|rcu)|Oops|"
                        r"general protection fault|KASAN|UBSAN|=+ ?WARNING|"
                        r".*: probe with driver .* failed)")
_REFUSED = re.compile(r"^\S+: -(netdev|blockdev) ringstep,.*?: (?:ringstep: )?(.*)$", re.M)
PARTS = {"netdev": "peer", "blockdev": "disk"}
KILLERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


@dataclass
class Results:
    """results.txt, parsed."""

    metrics: dict = field(default_factory=dict)
    counters: dict = field(default_factory=dict)
    texts: list = field(default_factory=list)
    code: int | None = None  # the guest's exit code
    limit: bool = False


def parse_results(text):
    """The lines `metric NAME VALUE`, `counter NAME VALUE`, `text ...`, `exit CODE`."""
    results = Results()
    for line in text.rpartition("\n")[0].splitlines():  # an unfinished last line is not one
        kind, _, rest = line.partition(" ")
        if kind in ("metric", "counter"):
            name, _, value = rest.partition(" ")
            target = results.metrics if kind == "metric" else results.counters
            target[name] = number(value)
        elif kind == "text":
            results.texts.append(rest)
        elif kind == "exit":
            results.code = int(rest)
        elif kind == "limit":
            results.limit = True
    return results


def number(text):
    """An integer where it is one, else a float."""
    return float(text) if "." in text else int(text)


@dataclass
class Outcome:
    """What a run left behind."""

    folder: Path
    status: int  # QEMU's exit status; negative: the signal that ended it
    wall_seconds: float
    results: Results
    console: str  # what the guest said
    messages: str  # what QEMU said
    output: str  # what the command printed

    @classmethod
    def read(cls, folder, status, wall_seconds):
        results, *rest = (_text(folder / name) for name in
                          ("results.txt", "console.txt", "qemu.txt", "output.txt"))
        return cls(folder, status, wall_seconds, parse_results(results), *rest)

    def complaints(self):
        """The lines of the console in which the kernel reports a fault of its own."""
        return [line for line in self.console.splitlines() if _COMPLAINT.search(line)]

    def check(self):
        """Raise the error for a run that did not end by itself or was no machine to measure on."""
        broken = [text for text in self.results.texts if text.startswith("error: ")]
        if self.results.code is not None:
            if self.results.code == 3 and broken:
                raise BrokenMachine(broken[0].removeprefix("error: "),
                                    "this kernel or configuration does not give the machine that "
                                    "was asked for; see ringstep boot -- dmesg")
            return
        raise self._fault()

    def _fault(self):
        console = self.console
        in_user_space = USER_SPACE in console
        verdict = Bad if in_user_space else CannotTell
        where = "in user space" if in_user_space else "before user space"
        if self.status < 0:
            return self._killed(signal.Signals(-self.status))
        if "Kernel panic" in console:
            return self._panic(console, verdict, where)
        if self.results.limit or self.status == LIMIT_STATUS:
            return verdict(f"the guest hangs {where}: the limit of virtual time has passed"
                           + tail(console), "raise it with --limit SECONDS, or look at the console")
        refused = _REFUSED.search(self.messages)
        if self.status == 1 and refused:
            return Usage(f"[{PARTS[refused[1]]}]: {refused[2]}",
                         "guest-tests/benchmarks/README.md tells the options")
        if self.status != 0:
            return BrokenMachine(f"QEMU ended with status {self.status}" + tail(self.messages),
                                 "if the message names an option, check the profile")
        return verdict(f"the guest ended {where} without an exit code" + tail(console),
                       "does its init end through the control device? see ringstep boot")

    def _killed(self, number):
        if number in KILLERS:
            return CannotTell(f"QEMU was killed by {number.name}",
                              "was it the kernel's out-of-memory killer? see dmesg; run it again")
        return BrokenMachine(f"QEMU crashed with {number.name}"
                             + tail(self.messages),
                             "this is a bug of ringstep: keep the digest and the command")

    def _panic(self, console, verdict, where):
        line = next(line for line in console.splitlines() if "Kernel panic" in line)
        if "init" in line and ("No working init" in line or "Attempted to kill init" in line
                               or "Requested init" in line):
            return CannotTell("the guest's init is broken" + tail(console),
                              "rebuild the initramfs: ringstep build image")
        return verdict(f"the guest kernel panics {where}: {line.partition('] ')[2] or line}"
                       + tail(console), "--keep leaves the whole console")


def tail(text):
    """The last lines of TEXT, indented, for a message."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()][-TAIL_LINES:]
    return "".join(f"\n    {line}" for line in lines) if lines else "\n    (nothing was printed)"


def _text(path):
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""

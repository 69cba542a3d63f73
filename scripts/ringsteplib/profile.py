# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles: what the events of one kind of host cost.

Lines of `key = integer   # source`. `version = 1` has to be there, and insn-ps; a cost that is not there
is nothing. qemu-device/timing/README.md says what each cost is.
"""

import re
from dataclasses import dataclass, replace

from . import described, paths
from .errors import Usage, unknown

VERSION = 1  # what the costs mean; a file of another version would be misread
EVENTS = ("mmio", "pio", "apic", "interrupt", "ipi", "hlt", "wake", "pause", "syscall", "switch", "fault",
          "division", "string", "locked", "line-upgrade", "line-read", "line-write", "ipi-latency")
MOST_EVENT_PS = 10**9  # 1 ms: more is a mistake
# cost -> (least, most), as the lockstep object has it
COSTS = {"insn-ps": (1, 10**6), "string-bytes": (1, 4096),
         **{f"{event}-ps": (0, MOST_EVENT_PS) for event in EVENTS}}
_LINE = re.compile(r"^([a-z][a-z0-9-]*)\s*=\s*(\d{1,18})\s*(?:#.*)?$")


@dataclass(frozen=True)
class Profile:
    name: str
    description: str
    costs: dict  # property of the lockstep object -> integer

    def changed(self, costs):
        """With some COSTS replaced (their values are texts), and a name that says so."""
        if not costs:
            return self
        numbers = {}
        for key, value in costs.items():
            if not value.isdecimal():
                raise Usage(f"profile.{key}={value}: not a whole number, 0 or more")
            numbers[key] = _checked(key, int(value), f"profile.{key}={value}")
        name = "+".join([self.name, *(f"{key}={value}" for key, value in sorted(costs.items()))])
        return replace(self, name=name, costs={**self.costs, **numbers})


def names():
    """The profiles that come with ringstep."""
    return described.names(paths.PROFILES, ".profile")


def load(name):
    """The profile NAME, or the one in the file NAME (any name with a slash or a suffix)."""
    path = described.find("profile", name, paths.PROFILES, ".profile")
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        raise Usage(f"{path} is no profile: it is not text") from None
    return parse(path.stem, text, path)


def parse(name, text, path="profile"):
    """The profile in TEXT."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.match(line)
        if not match:
            raise Usage(f"{path}:{number}: not 'key = integer   # source': {line}",
                        "an integer is 0 or more")
        key, value = match[1], int(match[2])
        if key in found:
            raise Usage(f"{path}:{number}: {key} is there twice")
        found[key] = value if key == "version" else _checked(key, value, f"{path}:{number}")
    _check_version(found.pop("version", None), path)
    if "insn-ps" not in found:
        raise Usage(f"{path}: there is no insn-ps", "it says how long an instruction takes, in picoseconds")
    return Profile(name, _description(text), found)


def _check_version(version, path):
    if version is None:
        raise Usage(f"{path}: there is no version", f"a profile has the line 'version = {VERSION}'")
    if version != VERSION:
        raise Usage(f"{path}: profiles of version {version} are another ringstep's, this one reads "
                    f"{VERSION}", "make it again: ringstep calibrate --out FILE")


def _checked(key, value, where):
    """VALUE, if it is one for the cost KEY."""
    if key not in COSTS:
        error = unknown("cost", key, COSTS)
        raise Usage(f"{where}: {error.message}", error.next_step)
    least, most = COSTS[key]
    if not least <= value <= most:
        raise Usage(f"{where}: {key} is {value}; it must be from {least} to {most}")
    if key == "string-bytes" and value & (value - 1):
        raise Usage(f"{where}: {key} is {value}; it must be a power of two")
    return value


def _description(text):
    """The first sentence of the first comment (SPDX aside)."""
    words = []
    for line in text.splitlines():
        comment = line.lstrip("# ").strip()
        if line.startswith("#") and comment and not comment.startswith("SPDX"):
            words.append(comment)
        elif words:
            break
    return re.split(r"(?<=\w)[.:;](?:\s|$)", " ".join(words))[0]

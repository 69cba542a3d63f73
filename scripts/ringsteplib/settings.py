# SPDX-License-Identifier: GPL-2.0-or-later
"""What `--set` and `--vary` can change, each as KEY=VALUE.

  SWITCH, MODULE.NAME   a parameter of the kernel, in both arms
  guest.NAME            what replaces {NAME} in the benchmark's command
  peer.OPTION           of the simulated clients
  disk.OPTION           of the disk
  profile.COST          of the profile
  machine.NAME          vcpus, quantum, memory_mib or coherence (off, atomic, full)
"""

from dataclasses import dataclass, field

from . import switches
from .errors import Usage, unknown
from .machine import COHERENCE, MAX_VCPUS

SECTIONS = ("disk", "guest", "machine", "peer", "profile")
MACHINE = {"vcpus": MAX_VCPUS, "quantum": 14336, "memory_mib": 1 << 20}  # the most of each


@dataclass(frozen=True)
class Settings:
    """What KEY=VALUE texts change."""

    parameters: tuple = ()  # of the kernel
    sections: dict = field(default_factory=dict)  # section -> {name: value}

    def of(self, section):
        return self.sections.get(section, {})

    def machine(self):
        """What the machine has of it."""
        return {name: _level(value) if name == "coherence" else _number(name, value)
                for name, value in self.of("machine").items()}

    def refuse(self, sections):
        """Raise when one of SECTIONS is set."""
        for section in sections:
            for name in self.of(section):
                raise Usage(f"--set {section}.{name}: there is no benchmark that it could change",
                            "see ringstep run --help")


def parse(texts):
    """The settings in TEXTS; a later one replaces an earlier one."""
    parameters, sections = [], {}
    for text in texts:
        key, separator, value = text.partition("=")
        section, dot, name = key.partition(".")
        if separator and value and name and dot and section in SECTIONS:
            sections.setdefault(section, {})[name] = value
        else:
            parameters.append(switches.parameter(text))
    return Settings(tuple(parameters), sections)


def _level(value):
    if value not in COHERENCE:
        raise unknown("level of coherence", value, COHERENCE)
    return value


def _number(name, value):
    if name not in MACHINE:
        raise unknown("property of the machine", name, ["coherence", *MACHINE])
    if not value.isdecimal() or not 1 <= int(value) <= MACHINE[name]:
        raise Usage(f"machine.{name}={value}: not a number from 1 to {MACHINE[name]}")
    return int(value)

# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmarks: what is measured, described in one file each (guest-tests/benchmarks/NAME.ini).

  [benchmark]  name, description, profile, guest (the command), vcpus, memory_mib
  [guest]      NAME = value: replaces {NAME} in the command
  [peer]       options of the simulated client machine (-netdev ringstep,...)
  [disk]       the disk, see disk.py; an image's name is relative to the file
  [arms]       before, after: kernel parameters
  [metrics]    NAME = higher|lower|info: text, the rows of the table
  [counters]   NAME = text, what proves the mechanism
  [published]  metric, before, after, before_spread, after_spread, unit, source, host,
               change (its number in `ringstep reproduce`), cause ({NAME}: a counter or metric)
"""

import configparser
from dataclasses import dataclass, field, replace
from pathlib import Path

from . import described, paths
from .errors import Usage, unknown

ARMS = ("before", "after")
DIRECTIONS = ("higher", "lower", "info")


@dataclass(frozen=True)
class Shown:
    """A row of the table."""

    name: str
    direction: str
    text: str


@dataclass(frozen=True)
class Benchmark:
    name: str
    description: str
    profile: str
    command: str  # of the guest's shell, with {NAME} for what is in guest
    guest: dict
    vcpus: int
    memory_mib: int
    peer: dict
    disk: dict
    arms: dict  # arm -> list of kernel parameters
    metrics: list
    counters: list
    published: dict = field(default_factory=dict)

    def command_line(self):
        """The command with its values filled in."""
        text = self.command
        for name, value in self.guest.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def changed(self, settings):
        """As SETTINGS have it."""
        for name in settings.of("guest"):
            if name not in self.guest:
                raise unknown(f"value in the command of {self.name}", name, self.guest)
        return replace(self, guest={**self.guest, **settings.of("guest")},
                       peer={**self.peer, **settings.of("peer")},
                       disk={**self.disk, **settings.of("disk")})

    def parameters(self, arm):
        """The kernel parameters of ARM."""
        if arm not in self.arms:
            raise unknown(f"arm of {self.name}", arm, self.arms)
        return tuple(self.arms[arm])


def names():
    """The benchmarks that come with ringstep."""
    return described.names(paths.BENCHMARKS, ".ini")


def load(name):
    """The benchmark NAME, or the one in the file NAME (any name with a slash or .ini)."""
    path = described.find("benchmark", name, paths.BENCHMARKS, ".ini")
    return parse(path.read_text(), path)


def parse(text, path):
    """The benchmark described in TEXT."""
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",),
                                       comment_prefixes=("#",))
    parser.optionxform = str
    try:
        parser.read_string(text, source=str(path))
        return _benchmark(parser, Path(path))
    except (configparser.Error, KeyError, ValueError) as error:
        raise Usage(f"{path}: {_reason(error)}",
                    "guest-tests/benchmarks holds examples") from error


def _reason(error):
    return f"there is no {error}" if isinstance(error, KeyError) else str(error)


def _benchmark(parser, path):
    main = parser["benchmark"]
    arms = {arm: words.split() for arm, words in parser["arms"].items()}
    if set(arms) != set(ARMS):
        raise ValueError(f"[arms] has {', '.join(arms)}; it needs {' and '.join(ARMS)}")
    return Benchmark(
        name=main.get("name", path.stem), description=main.get("description", ""),
        profile=main["profile"], command=" ".join(main["guest"].split()),
        guest=_section(parser, "guest"), vcpus=int(main.get("vcpus", "4")),
        memory_mib=int(main.get("memory_mib", "512")), peer=_section(parser, "peer"),
        disk=_disk(_section(parser, "disk"), path.parent), arms=arms,
        metrics=[_shown(name, value) for name, value in _section(parser, "metrics").items()],
        counters=[Shown(name, "info", value)
                  for name, value in _section(parser, "counters").items()],
        published={key: _figure(value) for key, value in _section(parser, "published").items()})


def _section(parser, name):
    return dict(parser[name]) if parser.has_section(name) else {}


def _disk(section, folder):
    """The same with the image's full name."""
    if "image" in section:
        section["image"] = str(folder / Path(section["image"]).expanduser())
    return section


def _shown(name, value):
    direction, _, text = value.partition(":")
    direction = direction.strip()
    if direction not in DIRECTIONS:
        raise ValueError(f"[metrics] {name}: '{direction}' is none of {', '.join(DIRECTIONS)}")
    return Shown(name, direction, text.strip())


def _figure(text):
    """A number where it is one."""
    try:
        return float(text)
    except ValueError:
        return text

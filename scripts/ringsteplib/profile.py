# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles: what the events of one kind of host cost. Lines `key = integer   # source`."""

import re
from dataclasses import dataclass, replace

from . import described, paths
from .errors import Usage, unknown

_LINE = re.compile(r"^([a-z][a-z0-9-]*)\s*=\s*(\d+)\s*(?:#.*)?$")


@dataclass(frozen=True)
class Profile:
    name: str
    description: str
    costs: dict  # property of the lockstep object -> integer

    def changed(self, costs):
        """With some COSTS replaced (their values are texts), and a name that says so."""
        if not costs:
            return self
        for key, value in costs.items():
            if key not in self.costs:
                raise unknown("cost", key, self.costs)
            if not value.isdecimal():
                raise Usage(f"profile.{key}={value}: not a number of picoseconds")
        name = "+".join([self.name, *(f"{key}={value}" for key, value in sorted(costs.items()))])
        numbers = {key: int(value) for key, value in costs.items()}
        return replace(self, name=name, costs={**self.costs, **numbers})


def names():
    """The profiles that come with ringstep."""
    return described.names(paths.PROFILES, ".profile")


def load(name):
    """The profile NAME, or the one in the file NAME (any name with a slash or a suffix)."""
    path = described.find("profile", name, paths.PROFILES, ".profile")
    return parse(path.stem, path.read_text(), path)


def parse(name, text, path="profile"):
    """The profile in TEXT."""
    costs = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line and not line.startswith("#"):
            match = _LINE.match(line)
            if not match:
                raise Usage(f"{path}:{number}: not 'key = integer   # source': {line}")
            if match[1] in costs:
                raise Usage(f"{path}:{number}: {match[1]} is there twice")
            costs[match[1]] = int(match[2])
    return Profile(name, _description(text), costs)


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

# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's archives through an apt configuration of our own: the user's stays untouched.

The mirror is the one that the machine is configured for, asked of apt at run time.
"""

import os
import re
from dataclasses import dataclass
from urllib.parse import unquote

from . import digest, process, progress
from .errors import CannotTell

HELPER = "/usr/lib/apt/apt-helper"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
LABELS = {"debian": "Debian", "security": "Debian-Security"}

CONFIGURATION = """\
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "{folder}/lists";
Dir::Cache "{folder}/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


@dataclass(frozen=True)
class Candidate:
    """A file that the archive offers."""

    version: str
    uri: str
    sha256: str


class Apt:
    def __init__(self, cache):
        self.cache = cache
        self.folder = cache.folder("apt")
        self.configuration = self.folder / "apt.conf"
        self._mirrors = None
        self._updated = set()

    def download(self, uri, sha256, target):
        """Fetch URI to TARGET when its content is what SHA256 says; tell whether that worked."""
        self._configure()
        aside = target.with_name(f"{target.name}.part")
        aside.unlink(missing_ok=True)
        status = _run([HELPER, "-c", self.configuration, "download-file", uri, aside,
                       f"SHA256:{sha256}"])
        whole = status == 0 and aside.exists() and digest.of_file(aside) == sha256
        if whole:
            os.replace(aside, target)
        aside.unlink(missing_ok=True)
        return whole

    def mirror(self, archive):
        """The address of ARCHIVE (debian, security) on this machine's mirror, or None."""
        if self._mirrors is None:
            self._mirrors = self._find_mirrors()
        return self._mirrors.get(LABELS[archive])

    def newest(self, package, kind, suites):
        """The newest version of PACKAGE (kind: source, binary) that SUITES offer."""
        self._update(suites)
        if kind == "source":
            argv = ["source", "--download-only", "--only-source", "--print-uris", package]
        else:
            argv = ["download", "--print-uris", package]
        text = process.output(["apt-get", "-c", self.configuration, "-q", *argv],
                              env=dict(os.environ, LC_ALL="C"), cwd=self.folder)
        wanted = r"\.orig\.tar\.\w+$" if kind == "source" else r"\.deb$"
        for uri, name, sha256 in re.findall(r"^'(\S+)' (\S+) \d+ SHA256:(\w+)", text or "", re.M):
            if re.search(wanted, name):
                return Candidate(unquote(name.split("_")[1]).split(".orig.")[0], uri, sha256)
        raise CannotTell(f"the Debian mirror has no package {package} in {' or '.join(suites)}",
                         "check the network and the machine's apt configuration")

    def _update(self, suites):
        """Read the package lists of SUITES, from whichever archive has each."""
        if self._updated == set(suites):
            return
        entries = []
        for suite in suites:
            uri = self.mirror("security" if suite.endswith("-security") else "debian")
            if uri:
                entries += [f"{kind} [signed-by={KEYRING}] {uri} {suite} main"
                            for kind in ("deb", "deb-src")]
        self._configure()
        (self.folder / "sources.list").write_text("\n".join(entries) + "\n")
        progress.say(f"reading the package lists of {', '.join(suites)}")
        if _run(["apt-get", "-c", self.configuration, "-q", "update"]) != 0:
            progress.say("some package lists could not be read")
        self._updated = set(suites)

    def _configure(self):
        for name in ("lists/partial", "cache/archives/partial"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        self.configuration.write_text(CONFIGURATION.format(folder=self.folder))

    def _find_mirrors(self):
        """Label of archive -> address, of the machine's own configuration."""
        found = self._index_targets()
        if not found:
            lists = self.cache.folder("apt", "machine-lists")
            (lists / "partial").mkdir(exist_ok=True)
            options = ["-o", f"Dir::State::lists={lists}", "-o", "APT::Sandbox::User=root"]
            progress.say("asking the machine's package mirror what it has")
            _run(["apt-get", "update", *options])
            found = self._index_targets(options)
        if not found:
            raise CannotTell("this machine's apt configuration names no Debian mirror",
                             "check /etc/apt/sources.list and `apt-get update`")
        return found

    @staticmethod
    def _index_targets(options=()):
        text = process.output(["apt-get", "indextargets", *options, "--format",
                               "$(REPO_URI) $(COMPONENT) $(LABEL)"])
        found = {}
        for line in (text or "").splitlines():
            uri, component, label = line.split(" ", 2)
            if component == "main":
                found.setdefault(label, uri.rstrip("/"))
        return found


def _run(argv):
    """Run one of apt's tools; its own progress is shown to whoever watches."""
    return process.run(argv, stdout=progress.passthrough(), stderr=process.NOTHING)

# SPDX-License-Identifier: GPL-2.0-or-later
"""The sources that everything is built from: pinned in sources.lock, or a tree of the user's own."""

import configparser
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import unquote

from . import digest, paths, process, progress
from .apt import Apt, Candidate
from .errors import CannotTell, Usage

DOWNLOAD_SPACE = 512 << 20  # the largest file and the package lists
OVERRIDES = {"qemu": "QEMU", "linux": "LINUX"}


@dataclass(frozen=True)
class Pin:
    """One entry of sources.lock."""

    name: str
    package: str
    kind: str
    version: str
    archive: str
    suites: tuple
    file: str
    sha256: str


@dataclass(frozen=True)
class Source:
    """An archive file that has been fetched, or a folder of the user's own."""

    name: str
    version: str
    path: Path
    identity: str

    @property
    def is_tree(self):
        return self.path.is_dir()


def read_lock(path=paths.SOURCES_LOCK):
    """sources.lock as {name: Pin}."""
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    try:
        parser.read_string(Path(path).read_text(), source=str(path))
        return {name: _pin(name, parser[name]) for name in parser.sections()}
    except (configparser.Error, KeyError) as error:
        raise Usage(f"{path}: {error}", "restore it: git checkout scripts/sources.lock") from error


def _pin(name, section):
    fields = {field: section[field] for field in
              ("package", "kind", "version", "archive", "file", "sha256")}
    return Pin(name=name, suites=tuple(section["suites"].split()), **fields)


def user_tree(name):
    """The folder that the user gave for NAME in the environment (QEMU=, LINUX=), or None."""
    variable = OVERRIDES.get(name)
    value = os.environ.get(variable, "") if variable else ""
    if not value:
        return None
    path = Path(value).expanduser().absolute()
    if not path.is_dir():
        raise Usage(f"{variable}={value}: there is no such folder",
                    f"give a source tree, or unset {variable} for the pinned version")
    return path


class Sources:
    """Fetches what sources.lock pins, once."""

    def __init__(self, cache, lock=None):
        self.cache = cache
        self.pins = lock or read_lock()
        self.apt = Apt(cache)

    def get(self, name):
        """The source NAME, fetched when missing."""
        tree = user_tree(name)
        if tree:
            return Source(name, "own tree", tree, _tree_identity(tree))
        pin = self.pins[name]
        target = self.cache.folder("dl") / pin.file.rsplit("/", 1)[1]
        if target.exists():
            return Source(name, pin.version, target, pin.sha256)
        self.cache.require_space(DOWNLOAD_SPACE)
        with self.cache.lock("dl"):
            if not self._record(pin).exists() and self._fetch_pinned(pin, target):
                return Source(name, pin.version, target, pin.sha256)
            return self._substitute(pin)

    def _fetch_pinned(self, pin, target):
        uri = self.apt.mirror(pin.archive)
        if not uri:
            return False
        progress.say(f"fetching {pin.package} {pin.version}")
        return self.apt.download(f"{uri}/{pin.file}", pin.sha256, target)

    def _substitute(self, pin):
        """The newest version in the place of a pinned one that is gone; asked of the mirror once."""
        record = self._record(pin)
        if record.exists():
            newest = Candidate(**json.loads(record.read_text()))
        else:
            newest = self.apt.newest(pin.package, pin.kind, pin.suites)
        if newest.sha256 != pin.sha256:
            progress.warn(f"{pin.package} {pin.version}, which sources.lock pins, is gone; taking "
                          f"{newest.version} instead: results get another digest")
        target = self.cache.folder("dl") / unquote(newest.uri.rsplit("/", 1)[1])
        if not target.exists() and not self.apt.download(newest.uri, newest.sha256, target):
            raise CannotTell(f"{newest.uri} cannot be fetched",
                             "check the network, then run the same command again")
        record.write_text(json.dumps(asdict(newest)))
        return Source(pin.name, newest.version, target, newest.sha256)

    def _record(self, pin):
        return self.cache.folder("dl") / f"{pin.name}.{pin.sha256[:8]}.newest"

    def unpacked(self, name):
        """The files of the Debian package NAME, in a folder of the cache."""
        source = self.get(name)
        return self.cache.artifact("package", {"package": name, "source": source.identity},
                                   lambda folder: unpack_deb(source.path, folder))


def unpack_deb(package, folder):
    """Extract the files of a .deb below FOLDER."""
    if process.run(["dpkg-deb", "-x", package, folder]) != 0:
        raise CannotTell(f"{package} cannot be unpacked",
                         "check that the disk is not full; delete that file to fetch it again")


def unpack_tar(archive, folder):
    """Extract a tar archive below FOLDER, less its top folder."""
    if process.run(["tar", "-x", "--strip-components=1", "--no-same-owner", "-f", archive,
                    "-C", folder]) != 0:
        raise CannotTell(f"{archive} cannot be unpacked",
                         "check that the disk is not full; delete that file to fetch it again")


def copy_tree(tree, folder, skip=()):
    """Copy a source tree of the user's own, less what it has built (and SKIP), to FOLDER."""
    _rsync(["-rlpt", "--exclude=.git", "--exclude=*.o", "--exclude=*.cmd", "--exclude=*.a"],
           tree, folder, skip)


def mirror_files(source, folder, skip=()):
    """Make FOLDER the same as SOURCE, less SKIP; what is equal already is not touched."""
    _rsync(["-rlp", "--checksum", "--exclude=__pycache__"], source, folder, skip)


def _rsync(options, source, folder, skip):
    excludes = [f"--exclude=/{name}" for name in skip]
    if process.run(["rsync", "--delete", *options, *excludes, f"{source}/", f"{folder}/"]) != 0:
        raise CannotTell(f"{source} cannot be copied to {folder}",
                         "check that rsync is installed and the disk is not full")


def apply_patches(folder, patches):
    """Apply PATCHES, in their order, to the tree in FOLDER."""
    for patch in patches:
        status = process.run(["patch", "-p1", "--batch", "--forward", "--no-backup-if-mismatch",
                              "-s", "-d", folder, "-i", patch], stdout=2)
        if status != 0:
            raise CannotTell(f"the patch {patch.name} does not apply to {folder}",
                             "take the pinned version, or port the patch to this tree")


def numbered_patches(folder):
    """The patches in FOLDER, in the order of their numbers."""
    return sorted(Path(folder).glob("[0-9]*.patch"))


def patches_identity(patches):
    return [[patch.name, digest.of_file(patch)] for patch in patches]


def _tree_identity(tree):
    """A fingerprint of a big tree that need not read every file: names, sizes and times."""
    entries = []
    for name, path in digest.files(tree, skip=(".git",)):
        status = os.lstat(path)
        entries.append([name, status.st_size, status.st_mtime_ns])
    return digest.of_value(entries)

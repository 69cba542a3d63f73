# SPDX-License-Identifier: GPL-2.0-or-later
"""The content-addressed cache: each artifact is a folder named by the hash of its inputs.

Layout below the root:
  dl/               downloads, by file name
  KIND/HASH/        artifacts: whole, never changed once there
  work/NAME-HASH/   incremental build trees, changed under their lock only
  locks/, log/, runs/, ccache/, apt/
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from . import digest, paths, progress
from .errors import CannotTell

KEY_LENGTH = 20
KEPT_TREES = 3  # of each kind; ccache makes a new one quick


class Cache:
    def __init__(self, root=None):
        self.root = Path(root or paths.cache_root())

    def folder(self, *parts):
        """A folder of the cache, made when missing."""
        path = self.root.joinpath(*parts)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def require_space(self, size):
        """Raise unless SIZE bytes are free: some tools hang on a full disk."""
        if shutil.disk_usage(self.folder()).free < size:
            raise CannotTell(f"the disk of {self.root} is full: {size >> 20} MiB are needed",
                             "free some space or set XDG_CACHE_HOME to a larger disk")

    def log(self, name):
        """An empty log file, the one before it overwritten."""
        path = self.folder("log") / f"{name}.log"
        path.write_text("")
        return path

    @contextlib.contextmanager
    def lock(self, name):
        """Hold the lock NAME against every other process; it goes with the process."""
        with open(self.folder("locks") / name, "w") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                progress.say(f"waiting for another ringstep that is busy with {name}")
                fcntl.flock(f, fcntl.LOCK_EX)
            yield

    def find(self, kind, inputs):
        """The folder of the artifact made from INPUTS, or None."""
        path = self._artifact(kind, inputs)
        return path if path.is_dir() else None

    def artifact(self, kind, inputs, build):
        """The folder of the artifact made from INPUTS; `build(folder)` fills it when it is missing.

        Built aside and renamed when done: a half-built one is never taken for a whole one.
        """
        path = self._artifact(kind, inputs)
        if path.is_dir():
            return path
        with self.lock(f"{kind}-{path.name}"):
            if path.is_dir():
                return path
            aside = path.with_name(f".{path.name}.building")
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            try:
                build(aside)
                os.rename(aside, path)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        return path

    @contextlib.contextmanager
    def work(self, name, inputs):
        """An incremental build tree for INPUTS, locked; the oldest ones of that NAME go."""
        tree = self.root / "work" / f"{name}-{key(inputs)}"
        with self.lock(tree.name):
            tree.mkdir(parents=True, exist_ok=True)
            os.utime(tree)
            self._prune_work(name)
            yield tree

    def _prune_work(self, name):
        trees = sorted(self.folder("work").glob(f"{name}-*"), key=lambda t: t.stat().st_mtime)
        for tree in trees[:-KEPT_TREES]:
            with open(self.folder("locks") / tree.name, "w") as f:
                with contextlib.suppress(BlockingIOError):  # it is in use
                    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(tree, ignore_errors=True)

    @contextlib.contextmanager
    def run_folder(self):
        """A private folder for one run, removed afterwards; so are those of runs that were killed."""
        self._prune_runs()
        fresh = Path(tempfile.mkdtemp(prefix=".", dir=self.folder("runs")))
        held = _hold(fresh)
        path = fresh.rename(fresh.with_name("run-" + fresh.name[1:]))  # now that it is held
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
            os.close(held)

    def _prune_runs(self):
        for path in self.folder("runs").glob("run-*"):
            with contextlib.suppress(FileNotFoundError, BlockingIOError):  # gone by now, or in use
                held = _hold(path)
                shutil.rmtree(path, ignore_errors=True)
                os.close(held)

    def _artifact(self, kind, inputs):
        return self.root / kind / key(inputs)


def _hold(folder):
    """Lock FOLDER until the descriptor that is returned is closed, or this process ends."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise
    return held


def key(inputs):
    """The name of what is made from INPUTS."""
    return digest.of_value(inputs)[:KEY_LENGTH]

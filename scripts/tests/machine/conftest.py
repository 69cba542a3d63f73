# SPDX-License-Identifier: GPL-2.0-or-later
"""The real machine, built when it is missing, and the command as a user starts it."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from ringsteplib import parts as parts_of
from ringsteplib import profile
from ringsteplib.cache import Cache
from ringsteplib.machine import Machine
from ringsteplib.run import run

COMMAND = Path(__file__).resolve().parents[2] / "ringstep"


@dataclasses.dataclass
class Done:
    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def real_cache():
    return Cache()


@pytest.fixture(scope="session")
def real_parts(real_cache):
    return parts_of.collect(real_cache)


@pytest.fixture
def ringstep(tmp_path):
    """Run the command in an empty folder: .code, .out, .err."""

    def command(*argv):
        done = subprocess.run([COMMAND, *map(str, argv)], cwd=tmp_path, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        sys.stderr.write(done.stderr)
        return Done(done.returncode, done.stdout, done.stderr)

    return command


@pytest.fixture
def machine(real_parts):
    """A machine that runs the given command."""

    def make(command, **options):
        options.setdefault("profile", profile.load("bare"))
        options.setdefault("limit_ns", 20 * 10**9)
        options.setdefault("parts", real_parts)
        return Machine(command=command, **options)

    return make


@pytest.fixture
def boot(machine, real_cache):
    """Boot a machine with the given command; what came out, its console, its output."""

    def run_once(command, affinity=None, **options):
        with real_cache.run_folder() as folder:
            outcome = run(machine(command, **options), folder, affinity=affinity)
            files = {path.name: path.read_bytes() for path in folder.iterdir()
                     if path.suffix in (".txt", ".bin") and path.name != "qemu.txt"}
        return outcome, files

    return run_once

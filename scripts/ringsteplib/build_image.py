# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's initramfs: busybox and the programs of guest-tests, put together by images/build."""

import shutil
from pathlib import Path

from . import digest, host, paths, progress
from .step import build_step

BUSYBOX = "/bin/busybox"
LIBRARIES = ("liburing.a", "libc.a")
NATIVE = ("micro", "workload")  # programs that measure hosts


def build(cache):
    """The path of the initramfs, built when it is missing."""
    return _artifact(cache) / "initramfs"


def native(cache):
    """The folder of the guest's programs that run on the host, too."""
    return _artifact(cache) / "native"


def _artifact(cache):
    return cache.artifact("image", _inputs(), lambda folder: _build(cache, folder))


def _inputs():
    if any(not path.exists() for path in host_files()):
        host.ensure_packages()
    return {
        "programs": digest.of_tree(paths.GUEST_TESTS, skip=("benchmarks", "build")),
        "image": digest.of_tree(paths.IMAGES),
        "native": NATIVE,
        "host": [digest.of_file(path) for path in host_files()],
        "compiler": host.compiler(),
    }


def host_files():
    """The files of the host that end up in the image."""
    library_folder = Path("/usr/lib/x86_64-linux-gnu")
    return [Path(BUSYBOX), *(library_folder / name for name in LIBRARIES)]


def _build(cache, folder):
    progress.say("building the guest programs and the initramfs")
    log = cache.log("image")
    environment = host.build_environment(cache)
    with cache.run_folder() as aside:
        build_step("guest programs",
                   ["make", f"-j{host.jobs()}", "-C", paths.GUEST_TESTS, f"O={aside}",
                    "CC=ccache gcc"], log, env=environment)
        build_step("initramfs",
                   [host.PYTHON, paths.IMAGES / "build", "--out", folder / "initramfs",
                    "--bin", aside / "bin", "--busybox", BUSYBOX], log, env=environment)
        (folder / "native").mkdir()
        for name in NATIVE:
            shutil.copy2(aside / "bin" / name, folder / "native")

# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's initramfs: busybox and the programs of guest-tests, put together by images/build."""

from pathlib import Path

from . import digest, host, paths, progress
from .step import build_step

BUSYBOX = "/bin/busybox"
LIBRARIES = ("liburing.a", "libc.a")


def build(cache):
    """The path of the initramfs, built when it is missing."""
    return cache.artifact("image", _inputs(), lambda folder: _build(cache, folder)) / "initramfs"


def _inputs():
    if any(not path.exists() for path in host_files()):
        host.ensure_packages()
    return {
        "programs": digest.of_tree(paths.GUEST_TESTS, skip=("benchmarks", "build")),
        "image": digest.of_tree(paths.IMAGES),
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

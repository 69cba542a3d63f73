# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's initramfs: busybox, fio and the programs of guest-tests, put together by images/build."""

import shutil
from pathlib import Path

from . import build_fio, digest, host, paths, progress
from .step import build_step

BUSYBOX = Path("/bin/busybox")
LIBRARIES = ("liburing.a", "libc.a")


def build(cache, fetch, extra=()):
    """The path of the initramfs, built when it is missing; FETCH gives fio's source.

    EXTRA folders of programs go into it, too.
    """
    folders = [programs(cache), build_fio.build(cache, fetch), *extra]
    inputs = {"programs": [folder.name for folder in folders], "image": digest.of_tree(paths.IMAGES),
              "host": host.fingerprints([BUSYBOX])}
    return cache.artifact("image", inputs, lambda folder: _build(cache, folders, folder)) / "initramfs"


def programs(cache):
    """The folder of our guest programs. They are static and run on the host, too."""
    inputs = {"programs": digest.of_tree(paths.GUEST_TESTS, skip=("benchmarks", "build")),
              "host": host.libraries(LIBRARIES), "compiler": host.compiler()}
    return cache.artifact("programs", inputs, lambda folder: _build_programs(cache, folder))


def _build_programs(cache, folder):
    progress.say("building the guest programs")
    with cache.run_folder() as aside:
        build_step("guest programs",
                   ["make", f"-j{host.jobs()}", "-C", paths.GUEST_TESTS, f"O={aside}",
                    "CC=ccache gcc"], cache.log("programs"), env=host.build_environment(cache))
        shutil.copytree(aside / "bin", folder, dirs_exist_ok=True)


def _build(cache, folders, folder):
    progress.say("building the initramfs")
    options = [word for programs_folder in folders for word in ("--bin", programs_folder)]
    build_step("initramfs",
               [host.PYTHON, paths.IMAGES / "build", "--out", folder / "initramfs", *options,
                "--busybox", BUSYBOX], cache.log("image"), env=host.build_environment(cache))

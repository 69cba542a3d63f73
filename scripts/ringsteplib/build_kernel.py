# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest kernel: Debian's 6.12 source, our patches and driver, a lean configuration."""

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import digest, host, paths, progress, sources
from .errors import CannotTell, Usage
from .step import build_step

KERNEL_FOLDER = paths.GUEST_DRIVER / "kernel"
PATCHES = KERNEL_FOLDER / "patches"
CONFIGURATIONS = {"release": ["config"], "debug": ["config", "config-debug"]}
DRIVER_IN_TREE = "drivers/ringstep"
NOT_DRIVER = ("kernel", "tests")
EXPECTED_STEPS = 1560
# Loops of the delay loop a tick, by the 1 GHz TSC and HZ=250: without it each vCPU but the first
# measures that for 80 ms.
PARAMETERS = ("lpj=4000000",)
COMPILER_OPTIONS = {"CC": "ccache gcc", "HOSTCC": "ccache gcc"}
REPRODUCIBLE = {"KBUILD_BUILD_TIMESTAMP": "2026-01-01", "KBUILD_BUILD_USER": "ringstep",
                "KBUILD_BUILD_HOST": "ringstep", "KBUILD_BUILD_VERSION": "1"}


@dataclass(frozen=True)
class Kernel:
    """A kernel to boot, and what it is called in reports."""

    image: Path
    name: str
    parameters: tuple = ()  # on its command line, beside those that every kernel gets

    @property
    def identity(self):
        return digest.of_file(self.image)


def build(cache, fetch, configuration="release"):
    """Our guest kernel, built when it is missing."""
    linux = fetch.get("linux")
    inputs = _inputs(linux, configuration)
    folder = cache.artifact("kernel", inputs,
                            lambda folder: _build(cache, linux, configuration, folder))
    version = (folder / "version").read_text().strip()
    return Kernel(folder / "vmlinux", version, PARAMETERS)


def own(path):
    """The kernel that the user gave with --kernel: a bzImage, a vmlinux or a build folder."""
    path = Path(path).expanduser()
    if path.is_dir():
        for name in ("vmlinux", "arch/x86/boot/bzImage"):
            if (path / name).is_file() and (name != "vmlinux" or _has_pvh(path)):
                return Kernel(path / name, str(path))
        raise CannotTell(f"{path} has neither vmlinux nor arch/x86/boot/bzImage",
                         "build the kernel there first: make bzImage (or vmlinux, with CONFIG_PVH)")
    if not path.is_file():
        raise Usage(f"--kernel {path}: there is no such file or folder")
    return Kernel(path, str(path))


def _has_pvh(folder):
    """Can QEMU boot the vmlinux in FOLDER directly?"""
    config = folder / ".config"
    return config.is_file() and "CONFIG_PVH=y" in config.read_text().splitlines()


def _inputs(linux, configuration):
    return {
        "linux": linux.identity,
        "patches": sources.patches_identity(sources.numbered_patches(PATCHES)),
        "driver": digest.of_tree(paths.GUEST_DRIVER, skip=NOT_DRIVER),
        "config": [(KERNEL_FOLDER / name).read_text() for name in CONFIGURATIONS[configuration]],
        "environment": REPRODUCIBLE,
        "compiler": host.compiler(),
    }


def _build(cache, linux, configuration, folder):
    host.ensure_packages()
    patches = sources.numbered_patches(PATCHES)
    inputs = {"linux": "own" if linux.is_tree else linux.identity,
              "patches": sources.patches_identity(patches)}
    environment = {**host.build_environment(cache), **REPRODUCIBLE}
    with cache.work("linux", inputs) as tree:
        log = cache.log(f"{tree.name}-{configuration}")
        source = _prepare(cache, tree, linux, patches)
        # A build folder inside the source tree: the compiler sees relative paths only.
        build_folder = source / f"build-{configuration}"
        _configure(source, build_folder, configuration, log, environment)
        progress.say(f"building the {configuration} kernel")
        _make(source, build_folder, ["vmlinux"], "kernel", log, environment)
        _collect(build_folder, folder)


def _prepare(cache, tree, linux, patches):
    """The patched source with our driver in it; only what changed is touched."""
    source = tree / "source"
    stamp = tree / "prepared"
    if not stamp.exists() or stamp.read_text() != linux.identity:
        progress.say(f"unpacking Linux {linux.version}")
        stamp.unlink(missing_ok=True)
        if linux.is_tree:
            source.mkdir(exist_ok=True)
            sources.copy_tree(linux.path, source, skip=("build-*", DRIVER_IN_TREE))
            for name in (".config", "include/config", "include/generated",
                         "arch/x86/include/generated"):
                _remove(source / name)
        else:
            shutil.rmtree(source, ignore_errors=True)
            source.mkdir()
            _unpack(cache, linux, source)
        sources.apply_patches(source, patches)
        stamp.write_text(linux.identity)
    driver = source / DRIVER_IN_TREE
    driver.mkdir(exist_ok=True)
    sources.mirror_files(paths.GUEST_DRIVER, driver, skip=NOT_DRIVER)
    return source


def _unpack(cache, linux, source):
    """Debian's package holds a tar archive of the sources."""
    with cache.run_folder() as aside:
        sources.unpack_deb(linux.path, aside)
        archives = sorted(aside.glob("usr/src/linux-source-*.tar.*"))
        if not archives:
            raise CannotTell(f"{linux.path} holds no linux-source archive", "delete it and try again")
        sources.unpack_tar(archives[0], source)


def _remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def _configure(source, build_folder, configuration, log, environment):
    """Write .config from the fragments, unless it is from the same ones already."""
    build_folder.mkdir(exist_ok=True)
    fragment = build_folder / "ringstep.config"
    wanted = "".join((KERNEL_FOLDER / name).read_text() for name in CONFIGURATIONS[configuration])
    if fragment.exists() and fragment.read_text() == wanted and (build_folder / ".config").exists():
        return
    fragment.write_text(wanted)
    environment = {**environment, "KCONFIG_ALLCONFIG": str(fragment)}
    _make(source, build_folder, ["allnoconfig"], "kernel configuration", log, environment)


def _make(source, build_folder, targets, title, log, environment):
    options = [f"{name}={value}" for name, value in COMPILER_OPTIONS.items()]
    build_step(title, ["make", f"-j{host.jobs()}", "ARCH=x86_64", f"O={build_folder}", *options,
                       *targets], log, expected=EXPECTED_STEPS, cwd=source, env=environment)


def _collect(build_folder, folder):
    """Keep what a boot and its reader need."""
    release = (build_folder / "include/config/kernel.release").read_text()
    (folder / "version").write_text(release)
    shutil.copy(build_folder / ".config", folder / "config")
    shutil.copy(build_folder / "System.map", folder / "System.map")
    shutil.copy(build_folder / "vmlinux", folder)

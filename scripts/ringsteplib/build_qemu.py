# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU with our devices: one incremental build tree a source version, one artifact a content."""

import re
import shutil

from . import digest, host, paths, process, progress, sources
from .step import build_step

CONFIGURE = [
    "--target-list=x86_64-softmmu", "--with-devices-x86_64=ringstep",
    "--without-default-features", "--without-default-devices", "--enable-tcg", "--enable-plugins",
    "--disable-install-blobs", "--disable-docs", "--disable-download", "--disable-debug-info",
    "--disable-qom-cast-debug", "--disable-werror", f"--python={host.PYTHON}",
]
# What makes it faster and changes no result: not a part of QEMU's identity.
COMPILER = ["--cc=ccache gcc", "--enable-lto", "-Doptimization=3"]
PATCHES = paths.QEMU_DEVICE / "patches"
NOT_BEHAVIOUR = ("patches", "profiles", "tests", "README.md")
BINARY = "qemu-system-x86_64"
PLUGIN = "coherence.so"
FIRMWARE = {
    "seabios": ["usr/share/seabios/bios-256k.bin", "usr/share/seabios/bios.bin"],
    "qemu-data": [f"usr/share/qemu/{name}.bin" for name in
                  ("kvmvapic", "linuxboot", "linuxboot_dma", "multiboot", "multiboot_dma", "pvh")],
}


def identity(fetch):
    """What QEMU's behaviour follows from: its sources, our patches and devices; not the compiler."""
    fetched = _fetched(fetch)
    return {
        "qemu": fetched["qemu"].identity,
        "lwip": fetched["lwip"].identity,
        "patches": sources.patches_identity(sources.numbered_patches(PATCHES)),
        "devices": digest.of_tree(paths.QEMU_DEVICE, skip=NOT_BEHAVIOUR),
        "configure": CONFIGURE,
    }


def build(cache, fetch):
    """The folder with QEMU and the device tests; FETCH gives the sources."""
    fetched = _fetched(fetch)
    inputs = {**identity(fetch), "compiler": [host.compiler(), *COMPILER],
              "tests": digest.of_tree(paths.QEMU_DEVICE / "tests")}
    return cache.artifact("qemu", inputs, lambda folder: _build(cache, fetch, fetched, folder))


def _fetched(fetch):
    return {name: fetch.get(name) for name in ("qemu", "lwip")}


def firmware(cache, fetch):
    """The folder of firmware for `-L`: private copies, the same bits on every host."""
    packages = {name: fetch.unpacked(name) for name in FIRMWARE}

    def copy(folder):
        for name, files in FIRMWARE.items():
            for file in files:
                shutil.copy(packages[name] / file, folder)

    return cache.artifact("firmware", {name: path.name for name, path in packages.items()}, copy)


def _build(cache, fetch, fetched, folder):
    host.ensure_packages()
    patches = sources.numbered_patches(PATCHES)
    inputs = {"qemu": "own" if fetched["qemu"].is_tree else fetched["qemu"].identity,
              "patches": sources.patches_identity(patches), "configure": CONFIGURE + COMPILER,
              "compiler": host.compiler()}
    environment = host.build_environment(cache)
    environment["PYTHONPATH"] = str(_python_path(cache, fetch))
    with cache.work("qemu", inputs) as tree:
        log = cache.log(tree.name)
        source = _prepare(tree, fetched, patches)
        build_folder = tree / "build"
        if not (build_folder / "build.ninja").exists():
            _configure(source, build_folder, log, environment)
        progress.say("building QEMU")
        _ninja(build_folder, [BINARY, f"ringstep/timing/{PLUGIN}"], log, environment)
        tests = _test_targets(build_folder, environment)
        if tests:
            _ninja(build_folder, tests, log, environment)
        _collect(build_folder, tests, folder)


def _prepare(tree, fetched, patches):
    """The patched source with our devices and lwIP in it; only what changed is touched."""
    source = tree / "source"
    stamp = tree / "prepared"
    if not stamp.exists() or stamp.read_text() != fetched["qemu"].identity:
        progress.say(f"unpacking QEMU {fetched['qemu'].version}")
        stamp.unlink(missing_ok=True)
        if fetched["qemu"].is_tree:
            source.mkdir(exist_ok=True)
            sources.copy_tree(fetched["qemu"].path, source, skip=("build", "ringstep"))
        else:
            shutil.rmtree(source, ignore_errors=True)
            source.mkdir()
            sources.unpack_tar(fetched["qemu"].path, source)
        sources.apply_patches(source, patches)
        stamp.write_text(fetched["qemu"].identity)
    devices = source / "ringstep"
    devices.mkdir(exist_ok=True)
    sources.mirror_files(paths.QEMU_DEVICE, devices, skip=("lwip-src", "lwip-stamp"))
    _prepare_lwip(devices, fetched["lwip"])
    return source


def _prepare_lwip(devices, lwip):
    stamp = devices / "lwip-stamp"
    if stamp.exists() and stamp.read_text() == lwip.identity:
        return
    folder = devices / "lwip-src"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    sources.unpack_tar(lwip.path, folder)
    stamp.write_text(lwip.identity)


def _python_path(cache, fetch):
    """A folder with meson and pycotap in versions that QEMU's configure accepts."""
    packages = [fetch.unpacked(name) for name in ("meson", "pycotap")]

    def merge(folder):
        for package in packages:
            shutil.copytree(package / "usr/lib/python3/dist-packages", folder, dirs_exist_ok=True)

    return cache.artifact("python", {"packages": [p.name for p in packages]}, merge)


def _configure(source, build_folder, log, environment):
    shutil.rmtree(build_folder, ignore_errors=True)
    build_folder.mkdir()
    progress.say("configuring QEMU")
    build_step("QEMU configure", [source / "configure", *CONFIGURE, *COMPILER], log, cwd=build_folder,
               env=environment)


def _ninja(build_folder, targets, log, environment):
    build_step("QEMU", ["ninja", f"-j{host.jobs()}", *targets], log, cwd=build_folder,
               env=environment)


def _test_targets(build_folder, environment):
    """The device tests: the programs that ringstep/tests/meson.build defines."""
    text = process.output(["ninja", "-t", "targets", "all"], cwd=build_folder, env=environment)
    return re.findall(r"^(ringstep/tests/\S+): c_LINKER", text or "", re.M)


def _collect(build_folder, tests, folder):
    shutil.copy2(build_folder / BINARY, folder)
    shutil.copy2(build_folder / "ringstep/timing" / PLUGIN, folder)
    (folder / "tests").mkdir()
    for test in tests:
        shutil.copy2(build_folder / test, folder / "tests")

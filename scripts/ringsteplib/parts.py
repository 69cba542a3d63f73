# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything that a machine consists of, built when it is missing."""

from . import build_image, build_kernel, build_qemu, digest
from .machine import Parts
from .sources import Sources

PARTS = ("qemu", "kernel", "image", "all")


def build(cache, part="all", configuration="release"):
    """Build PART; return {what: path}."""
    fetch = Sources(cache)
    built = {}
    if part in ("qemu", "all"):
        built["qemu"] = build_qemu.build(cache, fetch)
        built["firmware"] = build_qemu.firmware(cache, fetch)
    if part in ("image", "all"):
        built["image"] = build_image.build(cache, fetch)
    if part in ("kernel", "all"):
        built["kernel"] = build_kernel.build(cache, fetch, configuration).image
    return built


def collect(cache, kernel=None, configuration="release"):
    """The parts of a machine with KERNEL (None: ours)."""
    fetch = Sources(cache)
    qemu = build_qemu.build(cache, fetch)
    return Parts(
        qemu=qemu / build_qemu.BINARY, coherence=qemu / build_qemu.PLUGIN,
        qemu_identity=digest.of_value(build_qemu.identity(fetch)),
        firmware=build_qemu.firmware(cache, fetch),
        initramfs=build_image.build(cache, fetch),
        kernel=kernel or build_kernel.build(cache, fetch, configuration))

# SPDX-License-Identifier: GPL-2.0-or-later
"""What the host must have: Debian packages, compilers, and what it is called in reports."""

import functools
import os
import platform
import shutil
import subprocess
from pathlib import Path

from . import digest, process, progress
from .errors import CannotTell

# One list for everything: build, run and tests. Debian 12 and 13 differ in EXTRA only.
PACKAGES = """
    bc bison busybox-static ccache cpio flex gcc libc6-dev libelf-dev libglib2.0-dev libssl-dev
    liburing-dev make ninja-build patch pkgconf python3 python3-pytest python3-venv rsync
    xz-utils zlib1g-dev
""".split()

EXTRA = {"12": [], "13": []}

PYTHON = "/usr/bin/python3"
LIBRARY_FOLDER = Path("/usr/lib/x86_64-linux-gnu")


def ensure_packages():
    """Install the packages that are missing, in one step."""
    missing = missing_packages()
    if not missing:
        return
    names = " ".join(missing)
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    by_hand = f"install them by hand: apt-get install {names}"
    if os.geteuid() != 0:
        if not shutil.which("sudo"):
            raise CannotTell(f"packages are missing and there is no sudo: {names}", by_hand)
        command.insert(0, "sudo")
    progress.say(f"installing packages: {names}")
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive", LC_ALL="C")
    if subprocess.call(command, env=environment, stdout=2) == 0:
        return
    progress.say("apt-get failed; once more with fresh package lists")
    update = command[:command.index("install")] + ["update"]
    subprocess.call(update, env=environment, stdout=2)
    if subprocess.call(command, env=environment, stdout=2) != 0:
        raise CannotTell(f"these packages cannot be installed: {names}", by_hand)


def missing_packages():
    """Those of the needed packages that are not installed."""
    if not shutil.which("dpkg-query"):
        raise CannotTell("this host is no Debian: there is no dpkg-query",
                         "run on Debian 12 or 13, or in a container of it")
    wanted = PACKAGES + EXTRA.get(os_release().get("VERSION_ID", ""), [])
    text = process.output(["dpkg-query", "-W", "-f", r"${Package} ${Status}\n"]) or ""
    installed = {line.split()[0] for line in text.splitlines() if line.endswith(" installed")}
    return [name for name in wanted if name not in installed]


def libraries(names):
    """Fingerprints of the host's static libraries NAMES."""
    return fingerprints([LIBRARY_FOLDER / name for name in names])


def fingerprints(files):
    """Of FILES of the host, which end up in what is built; they come with the packages."""
    if any(not path.exists() for path in files):
        ensure_packages()
    return [digest.of_file(path) for path in files]


def os_release():
    """/etc/os-release as a dict."""
    values = {}
    path = Path("/etc/os-release")
    for line in path.read_text().splitlines() if path.exists() else []:
        name, separator, value = line.partition("=")
        if separator:
            values[name] = value.strip('"')
    return values


@functools.cache
def compiler():
    """One line that names the compiler and linker; part of the name of what they build."""
    lines = [process.output([tool, "--version"]) or f"no {tool}" for tool in ("gcc", "ld")]
    return "; ".join(text.splitlines()[0] for text in lines)


def jobs():
    """How many compilers at once."""
    return len(os.sched_getaffinity(0))


def build_environment(cache):
    """The environment of every build: nothing of the user's locale, and a ccache in the cache.

    The depend mode spares the preprocessor's run before each compilation: a third of a cold build.
    """
    wanted = {"PATH", "HOME", "TMPDIR", "USER", "LOGNAME"}
    environment = {k: v for k, v in os.environ.items()
                   if k in wanted or k.lower().endswith("_proxy")}
    environment["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    environment.update(
        LC_ALL="C", TZ="UTC", SOURCE_DATE_EPOCH="1767225600",
        CCACHE_DIR=str(cache.folder("ccache")), CCACHE_MAXSIZE="4G",
        CCACHE_BASEDIR=str(cache.root), CCACHE_NOHASHDIR="1", CCACHE_DEPEND="1",
        PYTHONDONTWRITEBYTECODE="1")
    return environment


def line():
    """This host in a line: processor, CPUs, system."""
    text = Path("/proc/cpuinfo").read_text()
    names = [row.partition(":")[2].strip() for row in text.splitlines() if row.startswith("model name")]
    guest = ", a virtual machine" if " hypervisor " in text else ""
    return (f"{names[0] if names else 'unknown processor'}, {os.cpu_count()} CPUs{guest}, "
            f"Linux {platform.release()}")


def description():
    """What may differ between two hosts, for the `host` part of a report."""
    return {"system": os_release().get("PRETTY_NAME", "unknown"), "kernel": platform.release(),
            "machine": platform.machine(), "cpus": os.cpu_count(),
            "python": platform.python_version()}

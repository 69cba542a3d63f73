# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: verbs, options, exit codes."""

import argparse
import errno
import sys

from . import build_image, build_kernel, build_qemu, errors, process, progress
from .cache import Cache
from .sources import Sources

PARTS = ("qemu", "kernel", "image", "all")


def main(argv):
    process.install_signal_handlers()
    arguments = parser().parse_args(argv)
    progress.set_quiet(arguments.quiet)
    try:
        return arguments.verb(arguments)
    except errors.Error as error:
        return report(error)
    except (KeyboardInterrupt, process.Signalled):
        return report(errors.CannotTell("interrupted; nothing half-done is kept"))
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return report(errors.CannotTell(
                f"the disk is full: {error}",
                "free some space (ringstep clean) or set XDG_CACHE_HOME to a larger disk"))
        return report(errors.CannotTell(str(error)))


def report(error):
    """Say what happened and what to do; return the exit code."""
    print(f"ringstep: error: {error.message}", file=sys.stderr)
    if error.next_step:
        print(f"ringstep: next: {error.next_step}", file=sys.stderr)
    return error.exit_code


def parser():
    top = argparse.ArgumentParser(
        prog="ringstep", description="A deterministic machine for measuring Linux kernel changes.",
        epilog="Exit codes: 0 good, 1 bad (regression, failed test), 2 usage, 3 broken machine, "
               "125 cannot tell (the kernel does not build or boot).")
    top.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    verbs = top.add_subparsers(title="verbs", required=True, metavar="VERB")
    build = verbs.add_parser("build", help="build what is missing")
    build.add_argument("part", nargs="?", choices=PARTS, default="all", help="what (default: all)")
    build.add_argument("--debug-kernel", action="store_true",
                       help="the kernel with lockdep and KASAN")
    build.set_defaults(verb=build_verb)
    return top


def build_verb(arguments):
    cache = Cache()
    fetch = Sources(cache)
    if arguments.part in ("qemu", "all"):
        build_qemu.build(cache, fetch)
        build_qemu.firmware(cache, fetch)
    if arguments.part in ("image", "all"):
        build_image.build(cache)
    if arguments.part in ("kernel", "all"):
        build_kernel.build(cache, fetch, "debug" if arguments.debug_kernel else "release")
    return errors.GOOD

# SPDX-License-Identifier: GPL-2.0-or-later
"""liburing's own tests as static programs for the guest. The library itself is the host's package."""

from . import host, progress, sources
from .step import build_step

LEFT_OUT = "sq-full-cpp"  # sq-full in C++, which not every host has; named twice in the Makefile
LIBRARIES = ("libc.a", "libpthread.a")


def tests(cache, fetch):
    """The folder with the tests, NAME.t each; FETCH gives the source."""
    source = fetch.get("liburing")
    inputs = {"source": source.identity, "left out": LEFT_OUT, "host": host.libraries(LIBRARIES),
              "compiler": host.compiler()}
    return cache.artifact("liburing", inputs, lambda folder: _build(cache, source, folder))


def _build(cache, source, folder):
    host.ensure_packages()
    progress.say(f"building the tests of liburing {source.version}")
    log = cache.log("liburing")
    environment = host.build_environment(cache)
    with cache.run_folder() as tree:
        sources.unpack_tar(source.path, tree)
        makefile = tree / "test" / "Makefile"
        makefile.write_text(makefile.read_text().replace(f"\t{LEFT_OUT}.cc \\\n", ""))
        make = ["make", f"-j{host.jobs()}"]
        for title, argv in (("configure", ["./configure", "--cc=ccache gcc"]),
                            ("library", [*make, "-C", "src"]),
                            ("tests", [*make, "-C", "test", "LDFLAGS=-static", "CONFIG_HAVE_CXX="])):
            build_step(f"liburing {title}", argv, log, cwd=tree, env=environment)
        for program in sorted((tree / "test").glob("*.t")):
            build_step(f"strip {program.name}", ["strip", "-o", folder / program.name, program], log,
                       env=environment)

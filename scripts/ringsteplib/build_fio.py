# SPDX-License-Identifier: GPL-2.0-or-later
"""fio for the guest: static, and without what the guest's kernel or the libraries of a host may lack."""

from . import host, progress, sources
from .step import build_step

CONFIGURE = ["--build-static", "--disable-native", "--disable-lex", "--disable-http", "--disable-numa",
             "--disable-pmem", "--disable-rdma", "--disable-rados", "--disable-rbd", "--disable-gfapi",
             "--disable-libzbc", "--disable-xnvme", "--disable-tcmalloc", "--disable-libnfs", "--disable-dfs",
             "--disable-shm"]  # the guest's kernel has no System V IPC
# What configure takes where the host happens to have it, without an option against it. Valgrind's
# headers would even add instructions to each request.
LEFT_OUT = ("CONFIG_VALGRIND_DEV", "CONFIG_LIBAIO")
LIBRARIES = ("libc.a", "libz.a")


def build(cache, fetch):
    """The folder with fio as its only file; FETCH gives the source."""
    source = fetch.get("fio")
    inputs = {"source": source.identity, "configure": CONFIGURE, "left out": LEFT_OUT,
              "host": host.libraries(LIBRARIES), "compiler": host.compiler()}
    return cache.artifact("fio", inputs, lambda folder: _build(cache, source, folder))


def _build(cache, source, folder):
    host.ensure_packages()
    progress.say(f"building fio {source.version}")
    log = cache.log("fio")
    environment = host.build_environment(cache)
    with cache.run_folder() as tree:
        sources.unpack_tar(source.path, tree)
        build_step("fio configure", ["./configure", "--cc=ccache gcc", *CONFIGURE], log, cwd=tree,
                   env=environment)
        for name in ("config-host.h", "config-host.mak"):
            _leave_out(tree / name)
        build_step("fio", ["make", f"-j{host.jobs()}", "fio"], log, cwd=tree, env=environment)
        build_step("fio strip", ["strip", "-o", folder / "fio", tree / "fio"], log, env=environment)


def _leave_out(path):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not any(name in line for name in LEFT_OUT)))

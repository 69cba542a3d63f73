# SPDX-License-Identifier: GPL-2.0-or-later
"""fio for the guest: static, and without what the guest's kernel or the libraries of a host may lack."""

from . import host, progress, sources
from .step import build_step

CONFIGURE = ["--build-static", "--disable-native", "--disable-lex", "--disable-http", "--disable-numa",
             "--disable-pmem", "--disable-rdma",
             "--disable-shm"]  # the guest's kernel has no System V IPC


def build(cache, fetch):
    """The folder with fio as its only file; FETCH gives the source."""
    source = fetch.get("fio")
    inputs = {"source": source.identity, "configure": CONFIGURE, "compiler": host.compiler()}
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
        build_step("fio", ["make", f"-j{host.jobs()}", "fio"], log, cwd=tree, env=environment)
        build_step("fio strip", ["strip", "-o", folder / "fio", tree / "fio"], log, env=environment)

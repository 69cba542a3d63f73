# SPDX-License-Identifier: GPL-2.0-or-later
"""Fetching and building when the host or the mirror does not help."""

import os
import subprocess

import pytest

from ringsteplib import build_kernel, host, progress, sources, step
from ringsteplib.apt import Candidate
from ringsteplib.errors import CannotTell, Usage

PIN = sources.Pin("qemu", "qemu", "source", "1.0", "debian", ("trixie",), "pool/qemu_1.0.tar.xz",
                  "a" * 64)
NEWER = Candidate("1.1", "http://mirror/pool/qemu_1.1%2bds.tar.xz", "b" * 64)


class FakeApt:
    """A mirror that has the files it is given: {uri: sha256}."""

    def __init__(self, files, newest=NEWER):
        self.files, self.candidate, self.asked = files, newest, 0

    def mirror(self, _archive):
        return "http://mirror"

    def download(self, uri, sha256, target):
        if self.files.get(uri) != sha256:
            return False
        target.write_text(uri)
        return True

    def newest(self, *_):
        self.asked += 1
        return self.candidate


@pytest.fixture
def fetch(cache, monkeypatch):
    def make(files):
        monkeypatch.delenv("QEMU", raising=False)
        fetch = sources.Sources(cache, {"qemu": PIN})
        fetch.apt = FakeApt(files)
        return fetch

    return make


def test_the_pinned_version_is_fetched_once(fetch):
    first = fetch({"http://mirror/pool/qemu_1.0.tar.xz": "a" * 64})
    assert first.get("qemu").version == "1.0"
    assert fetch({}).get("qemu").identity == "a" * 64


def test_a_newer_point_release_is_taken_and_said_so(fetch, capsys):
    progress.set_quiet(True)
    gone = fetch({NEWER.uri: NEWER.sha256})
    found = gone.get("qemu")
    assert (found.version, found.identity, found.path.name) == ("1.1", "b" * 64, "qemu_1.1+ds.tar.xz")
    assert "which sources.lock pins, is gone; taking 1.1 instead" in capsys.readouterr().err
    again = fetch({NEWER.uri: NEWER.sha256})
    assert again.get("qemu") == found and again.apt.asked == 0
    progress.set_quiet(False)


def test_a_download_with_another_content_is_not_taken(fetch):
    with pytest.raises(CannotTell, match="cannot be fetched"):
        fetch({"http://mirror/pool/qemu_1.0.tar.xz": "c" * 64}).get("qemu")


def test_a_tree_of_the_users_own_comes_first(fetch, monkeypatch, tmp_path):
    (tmp_path / "tree").mkdir()
    fetch = fetch({})
    monkeypatch.setenv("QEMU", str(tmp_path / "tree"))
    found = fetch.get("qemu")
    assert found.is_tree
    (tmp_path / "tree/file").write_text("x")
    assert fetch.get("qemu").identity != found.identity
    monkeypatch.setenv("QEMU", str(tmp_path / "none"))
    with pytest.raises(Usage, match="no such folder"):
        fetch.get("qemu")


def test_a_patch_that_does_not_apply_is_named(tmp_path):
    patch = tmp_path / "0001-x.patch"
    patch.write_text("--- a/file\n+++ b/file\n@@ -1 +1 @@\n-old\n+new\n")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_text("old\n")
    sources.apply_patches(tree, [patch])
    assert (tree / "file").read_text() == "new\n"
    with pytest.raises(CannotTell, match="0001-x.patch does not apply"):
        sources.apply_patches(tree, [patch])


def test_mirroring_leaves_equal_files_alone(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    (one / "same").write_text("x")
    (one / "other").write_text("new")
    (two / "same").write_text("x")
    (two / "other").write_text("old")
    (two / "gone").write_text("x")
    (two / "kept").write_text("x")
    os.utime(two / "same", (1, 1))
    sources.mirror_files(one, two, skip=("kept",))
    assert (two / "same").stat().st_mtime == 1
    assert (two / "other").read_text() == "new"
    assert sorted(os.listdir(two)) == ["kept", "other", "same"]


def test_a_failed_build_shows_the_end_of_its_output(cache):
    log = cache.log("x")
    with pytest.raises(CannotTell) as caught:
        step.build_step("QEMU", ["sh", "-c", "echo '[1/2] a'; echo broken.c: error; exit 1"], log)
    assert "broken.c: error" in caught.value.message and str(log) in caught.value.next_step
    assert "broken.c: error" in log.read_text()


def test_a_full_disk_is_named_as_such(cache):
    with pytest.raises(CannotTell, match="is full"):
        step.build_step("QEMU", ["sh", "-c", "echo x: No space left on device; exit 1"],
                        cache.log("x"))


def test_nothing_is_fetched_to_a_full_disk(fetch, cache, monkeypatch):
    monkeypatch.setattr(sources, "DOWNLOAD_SPACE", 1 << 60)
    with pytest.raises(CannotTell, match="is full"):
        fetch({"http://mirror/pool/qemu_1.0.tar.xz": "a" * 64}).get("qemu")
    assert not list(cache.folder("dl").iterdir())


def test_steps_of_kbuild_are_counted(cache):
    lines = "  CC      a.o\\n  LD [M]  b.ko\\nnoise\\n  AR      c.a\\n"
    assert step.build_step("kernel", ["printf", lines], cache.log("x"), expected=2) == 3


def test_missing_packages_are_installed_in_one_step(monkeypatch):
    commands = []
    monkeypatch.setattr(host, "missing_packages", lambda: ["ccache", "flex"])
    monkeypatch.setattr(host.subprocess, "call", lambda argv, **_: commands.append(argv) or 0)
    monkeypatch.setattr(host.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(host.shutil, "which", lambda name: f"/usr/bin/{name}")
    host.ensure_packages()
    assert len(commands) == 1
    assert commands[0][:3] == ["sudo", "apt-get", "install"]
    assert commands[0][-2:] == ["ccache", "flex"]


def test_packages_that_cannot_be_installed_are_named(monkeypatch):
    monkeypatch.setattr(host, "missing_packages", lambda: ["ccache", "flex"])
    monkeypatch.setattr(host.subprocess, "call", lambda argv, **_: 100)
    with pytest.raises(CannotTell, match="ccache flex"):
        host.ensure_packages()
    monkeypatch.setattr(host.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(host.shutil, "which", lambda _: None)
    with pytest.raises(CannotTell, match="no sudo: ccache flex") as caught:
        host.ensure_packages()
    assert "apt-get install ccache flex" in caught.value.next_step


def test_a_build_folder_gives_its_kernel(tmp_path):
    with pytest.raises(CannotTell, match="has neither"):
        build_kernel.own(tmp_path)
    image = tmp_path / "arch/x86/boot/bzImage"
    image.parent.mkdir(parents=True)
    image.write_bytes(b"x")
    (tmp_path / "vmlinux").write_bytes(b"x")
    (tmp_path / ".config").write_text("# CONFIG_PVH is not set\n")
    assert build_kernel.own(tmp_path).image == image
    (tmp_path / ".config").write_text("CONFIG_PVH=y\n")
    assert build_kernel.own(tmp_path).image == tmp_path / "vmlinux"


def test_nothing_names_a_mirror():
    """The mirror is the machine's own."""
    found = subprocess.run(["git", "grep", "-nE", "(deb|snapshot|security)[.]debian[.]org"],
                           cwd=sources.paths.CHECKOUT, stdout=subprocess.PIPE, text=True)
    assert found.stdout == ""


# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache: nothing half-built is taken, two builds at once do not clash."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ringsteplib import digest, newc, paths
from ringsteplib.cache import Cache
from ringsteplib.store import Store


def test_an_artifact_is_built_once(cache):
    calls = []

    def build(folder):
        calls.append(folder)
        (folder / "file").write_text("content")

    first = cache.artifact("kind", {"a": 1}, build)
    assert cache.artifact("kind", {"a": 1}, build) == first
    assert (first / "file").read_text() == "content"
    assert len(calls) == 1
    assert cache.artifact("kind", {"a": 2}, build) != first


def test_a_failed_build_leaves_nothing(cache):
    def build(folder):
        (folder / "half").write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.artifact("kind", {}, build)
    assert cache.find("kind", {}) is None
    assert list(cache.folder("kind").iterdir()) == []


def test_what_a_killed_build_left_is_not_taken(cache):
    def build(folder):
        assert list(folder.iterdir()) == []
        (folder / "whole").write_text("")

    done = cache.artifact("kind", {}, build)
    left = done.with_name(f".{done.name}.building")
    done.rename(left)
    assert cache.find("kind", {}) is None
    assert (cache.artifact("kind", {}, build) / "whole").exists()


def test_two_builds_at_once_build_once(cache):
    calls = []
    barrier = threading.Barrier(2)

    def build(folder):
        calls.append(folder)

    def work():
        barrier.wait()
        Cache(cache.root).artifact("kind", {}, build)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1


def test_old_work_trees_go_unless_they_are_in_use(cache, monkeypatch):
    monkeypatch.setattr("ringsteplib.cache.KEPT_TREES", 1)
    with cache.work("linux", 1) as used:
        with cache.work("linux", 2) as other:
            assert used.is_dir()
        with cache.work("linux", 3):
            assert used.is_dir() and not other.is_dir()


def test_run_folders_are_private_and_removed(cache):
    with cache.run_folder() as one, cache.run_folder() as two:
        assert one != two
    assert not one.exists() and not two.exists()


def test_a_tree_is_known_by_its_content_alone(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "sub/file").write_text("x")
    same = digest.of_tree(tmp_path / "one")
    assert digest.of_tree(tmp_path / "two") == same
    (tmp_path / "two/sub/file").chmod(0o755)
    assert digest.of_tree(tmp_path / "two") != same


def test_the_store_keeps_records_by_digest(cache):
    store = Store(cache)
    assert store.get("d") is None
    store.put("d", {"metrics": {"a": 1}})
    assert Store(cache).get("d") == {"metrics": {"a": 1}}


def test_other_arithmetic_makes_old_records_useless(cache):
    store = Store(cache)
    store.put("d", {})
    store.arithmetic = "newer"
    assert store.get("d") is None


def test_a_cpio_archive_has_the_file_and_its_folders():
    data = newc.archive({"ringstep/cmd": b"echo\n"})
    assert data.startswith(b"070701") and len(data) % 4 == 0
    assert data.index(b"ringstep\0") < data.index(b"ringstep/cmd\0") < data.index(b"TRAILER!!!")


RUNS_UNTIL_KILLED = """
import sys, time
sys.path.insert(0, sys.argv[1])
from ringsteplib.cache import Cache
with Cache(sys.argv[2]).run_folder() as folder:
    print(folder, flush=True)
    time.sleep(600)
"""


def test_what_a_killed_run_left_goes_at_the_next_start(cache):
    argv = [sys.executable, "-c", RUNS_UNTIL_KILLED, str(paths.CHECKOUT / "scripts"), str(cache.root)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as child:
        left = Path(child.stdout.readline().strip())
        with cache.run_folder() as mine:
            assert left.is_dir() and mine.is_dir(), "the folder of a run that goes on is left alone"
        child.kill()
    assert left.is_dir()
    with cache.run_folder() as mine:
        assert not left.exists() and mine.is_dir()
    assert list(cache.folder("runs").iterdir()) == []

# SPDX-License-Identifier: GPL-2.0-or-later
"""One digest, one output: bit for bit, whatever the host does and wherever it runs."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor


from ringsteplib import paths
from ringsteplib.verify import busy_host

WORK = ("cat /dev/ringstep; syscalls --threads 4 --rounds 300; pingpong; dmesg; "
        "cat /proc/interrupts /proc/stat /proc/uptime /proc/self/maps")


def test_equal_runs_are_equal(boot):
    outcome, first = boot(WORK)
    outcome.check()
    assert first["output.txt"].count(b"\n") > 50
    cpu = max(os.sched_getaffinity(0))
    with busy_host(4):
        _, loaded = boot(WORK)
        with ThreadPoolExecutor(2) as pool:
            pinned = [f.result()[1] for f in
                      [pool.submit(boot, WORK, {cpu}) for _ in range(2)]]
    for other in (loaded, *pinned):
        assert_equal(first, other)


def test_the_seed_of_the_machine_is_an_input(boot):
    _, one = boot("ringstep-ctl read seed")
    _, two = boot("ringstep-ctl read seed", seed=2)
    assert one["output.txt"] != two["output.txt"]


def test_another_checkout_has_the_same_digest(tmp_path):
    other = tmp_path / "checkout"
    root = paths.CHECKOUT
    shutil.copytree(root, other, symlinks=True,
                    ignore=shutil.ignore_patterns(".git", "__pycache__"))
    digests = {subprocess.run([folder / "scripts/ringstep", "run", "iowq-echo", "--dry-run"],
                              capture_output=True, text=True, check=True).stdout.splitlines()[0]
               for folder in (root, other)}
    assert len(digests) == 1


def assert_equal(one, two):
    assert one.keys() == two.keys()
    for name, data in one.items():
        if data != two[name]:
            at = next((i for i, (a, b) in enumerate(zip(data, two[name])) if a != b), -1)
            raise AssertionError(f"{name} differs at byte {at}: {data[at - 40:at + 40]!r} "
                                 f"{two[name][at - 40:at + 40]!r}")
